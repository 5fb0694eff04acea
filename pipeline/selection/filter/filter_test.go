package filter_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"satchel/pipeline/candidate"
	"satchel/pipeline/selection/filter"
	"satchel/schemas"

	"pgregory.net/rapid"
)

// A filter that nothing can pass is refused, and the error names it.
func TestFiltersThatMakeNoSense(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		field string
		value any
		says  string
	}{
		"operator":          {"trust", map[string]any{"above": 1.0}, "above"},
		"in without a list": {"kind", map[string]any{"in": "memory"}, "needs a list"},
		"a text as a date":  {"created_at", map[string]any{"gte": "last Tuesday"}, "a date"},
		"a number as text":  {"category", 7.0, "want a text"},
		"a text as number":  {"trust", map[string]any{"gte": "high"}, "want a number"},
		"upside down":       {"created_at", map[string]any{"gte": "2026-03-01", "lt": "2026-02-01"}, "upside down"},
		"an empty range":    {"importance", map[string]any{"gt": .5, "lte": .5}, "upside down"},
		"mixed times":       {"valid_from", map[string]any{"gte": "2026-03-01", "lt": "2026-02-01T00:00:00Z"}, "upside down"},
		"a letter missing":  {"catgory", "x", `"category"`},
		"a letter other":    {"sesion", "x", `"session"`},
		"swapped":           {"knid", "memory", `"kind"`},
		"camel case":        {"createdAt", "2026-01-31", `"created_at"`},
		"another":           {"accessCount", 3.0, `"access_count"`},
		"hyphens":           {"Source-URI", "x", `"source_uri"`},
		"a short one":       {"Org", "x", `"org"`},
		"an id":             {"session_id", "x", `"session"`},
		"an Id":             {"sessionId", map[string]any{"in": []any{"x"}}, `"session"`},
		"an id of another":  {"org_id", "x", `"org"`},
		"no kind":           {"kind", "memori", "memory, summary"},
		"no kind in a list": {"kind", []any{"memory", "memori"}, "memory, summary"},
		"no level":          {"level", map[string]any{"eq": "secret"}, "public, internal, confidential, restricted"},
		"no type":           {"type", map[string]any{"in": []any{"episodes"}}, "episodic, procedural, semantic"},
		"a slash":           {"speakr", map[string]any{"eq": "a/b"}, `"speaker"`},
	} {
		_, _, err := filter.Parse("/filters", map[string]any{tc.field: tc.value}, time.UTC)
		var e *schemas.Error
		if !errors.As(err, &e) || e.Code != schemas.CodeValidation || e.Field != "/filters/"+tc.field || !strings.Contains(e.Message, tc.says) {
			t.Errorf("%s: error is %v, want one of %s with %q", name, err, tc.field, tc.says)
		}
	}
	for _, fine := range []map[string]any{
		{"test_type": "e2e", "status": "failed"}, {"attributes.catgory": "x"}, {"deep.kind": 3.0}, {"created_at": "2026-01-31"},
		{"created_at": map[string]any{"gte": "2026-01-31", "lt": "2026-02-01T00:00:00+01:00"}}, {"env": "x"}, {"trust": map[string]any{"gte": .2, "lte": .2}},
		{"groups": []any{"ops", "dev"}}, {"attributes.session_id": "x", "attributes.createdAt": "x", "request_id": "x", "valid": true, "idea": "x", "orgId2": "x"},
		{"kind": []any{"memory", "tool"}, "type": map[string]any{"in": []any{"semantic"}}, "level": "internal"}, {"kind": map[string]any{"gte": "m"}}, {"type": []any{}},
	} {
		if _, _, err := filter.Parse("/filters", fine, time.UTC); err != nil {
			t.Errorf("%v: %v", fine, err)
		}
	}
	for _, field := range filter.Fields() {
		if _, _, err := filter.Parse("/filters", map[string]any{field: nil}, time.UTC); err == nil {
			t.Errorf("%s takes null", field)
		}
	}
}

func TestFilterTypes(t *testing.T) {
	t.Parallel()
	r := candidate.Visible{MemoryItem: schemas.MemoryItem{
		Kind: schemas.KindCommit, Speaker: "Ana", CreatedAt: time.Date(2026, 1, 2, 9, 30, 0, 0, time.UTC), SecurityLabel: []string{"level:internal", "team:b"},
		Attributes: json.RawMessage(`{"files":["a.go","b.go"],"size":{"lines":12},"merged":true,"order":653247040368672769,"price":0.1,` +
			`"http.status":200,"a.b":{"c.d":"x"},"a":{"b":{"e":"y"}},"parts":[{"k":"p","n":1},{"k":"q"}],"none":null}`),
	}}
	r.Facets = r.MemoryItem.Facets()
	for _, tc := range []struct {
		filters string
		want    bool
	}{
		{`{"kind":"commit"}`, true},
		{`{"kind":["tool","commit"]}`, true},
		{`{"kind":"tool"}`, false},
		{`{"files":"b.go"}`, true},
		{`{"files":"c.go"}`, false},
		{`{"size.lines":{"gte":12,"lt":13}}`, true},
		{`{"size.lines":{"gt":12}}`, false},
		{`{"merged":true}`, true},
		{`{"merged":false}`, false},
		{`{"absent":"x"}`, false},
		{`{"created_at":{"gte":"2026-01-01","lt":"2026-01-03T00:00:00Z"}}`, true},
		{`{"created_at":{"lt":"2026-01-01"}}`, false},
		{`{"trust":{"gte":0.4}}`, true},
		{`{"trust":{"gt":0.5}}`, false},
		{`{"speaker":{"in":["Bo","Ana"]}}`, true},
		{`{"confidence":1}`, true},
		{`{"order":653247040368672769}`, true},
		{`{"order":653247040368672768}`, false},
		{`{"order":{"in":[1,653247040368672769.0]}}`, true},
		{`{"order":{"gt":653247040368672768}}`, true},
		{`{"order":{"gt":653247040368672769}}`, false},
		{`{"order":{"ne":653247040368672768}}`, true},
		{`{"price":1e-1}`, true},
		{`{"price":{"gte":1e-999999999}}`, true},
		{`{"created_at":"2026-01-02"}`, true},
		{`{"created_at":["2026-01-01","2026-01-02"]}`, true},
		{`{"created_at":"2026-01-01"}`, false},
		{`{"created_at":{"lte":"2026-01-02"}}`, true},
		{`{"created_at":{"gte":"2026-01-02"}}`, true},
		{`{"created_at":{"gte":"2026-01-02T09:00:00Z","lte":"2026-01-02"}}`, true},
		{`{"created_at":{"gt":"2026-01-02"}}`, false},
		{`{"created_at":{"lt":"2026-01-02"}}`, false},
		{`{"created_at":{"ne":"2026-01-02"}}`, false},
		{`{"created_at":"2026-01-02T10:30:00+01:00"}`, true},
		{`{"created_at":"2026-01-02T09:00:00Z"}`, false},
		{`{"valid_to":{"exists":false}}`, true},
		{`{"valid_to":{"ne":"2026-01-02"}}`, false},
		{`{"http.status":200}`, true},
		{`{"attributes.http.status":{"gte":200}}`, true},
		{`{"a.b.c.d":"x"}`, true},
		{`{"a.b.e":"y"}`, true},
		{`{"parts.k":"q"}`, true},
		{`{"parts.k":{"ne":"q"}}`, false},
		{`{"parts.1.k":"p"}`, false},
		{`{"parts.n":1}`, true},
		{`{"merged":{"ne":false}}`, true},
		{`{"absent":{"ne":"x"}}`, false},
		{`{"absent":{"exists":false}}`, true},
		{`{"none":{"exists":true}}`, false},
		{`{"merged":{"exists":true}}`, true},
		{`{"category":{"exists":true}}`, false},
		{`{"labels":{"ne":"team:a"}}`, true},
		{`{"labels":{"ne":"team:b"}}`, false},
		{`{"or":[{"kind":"tool"},{"speaker":"Ana"}]}`, true},
		{`{"or":[{"kind":"commit","speaker":"Bo"},{"merged":false}]}`, false},
		{`{"or":[{"kind":"commit"}],"merged":false}`, false},
	} {
		var named schemas.Filters
		if err := json.Unmarshal([]byte(tc.filters), &named); err != nil {
			t.Fatal(err)
		}
		f, where, err := filter.Parse("/filters", named, time.UTC)
		if err != nil {
			t.Fatal(err)
		}
		got := f.Match(&r.Facets)
		for _, holds := range where {
			got = got && holds(&r)
		}
		if got != tc.want {
			t.Errorf("%s: %v, want %v", tc.filters, got, tc.want)
		}
	}
	if _, _, err := filter.Parse("/filters", map[string]any{"size/x": map[string]any{"near": 1}}, time.UTC); err == nil || !strings.Contains(err.Error(), "size~1x") {
		t.Errorf("unknown operator: %v", err)
	}
}

// Filters let through what the conditions mean, whether a store or the record decides.
func TestPropertyFilters(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 31, 0, 0, 0, 0, time.UTC)
	rapid.Check(t, func(t *rapid.T) {
		r := drawItem(t, "a", now)
		r.Category = rapid.SampledFrom([]string{"", "x", "y"}).Draw(t, "category")
		r.SecurityLabel = []string{"level:internal", rapid.SampledFrom([]string{"team:a", "team:b"}).Draw(t, "label")}
		r.Attributes = []byte(rapid.SampledFrom([]string{`{}`, `{"size":3,"deep":{"tags":["p","q"]}}`, `{"size":"3"}`}).Draw(t, "attributes"))
		r.Facets = r.MemoryItem.Facets()
		importance := .5
		if r.Importance != nil {
			importance = *r.Importance
		}
		type cond struct {
			name string
			test any
			want bool
		}
		number := func(name string, v float64) cond {
			op := rapid.SampledFrom([]string{"gte", "gt", "lte", "lt", "eq"}).Draw(t, "op")
			x := rapid.SampledFrom([]float64{0, .25, v, .75, 1}).Draw(t, "operand")
			return cond{name, map[string]any{op: x}, map[string]bool{"gte": v >= x, "gt": v > x, "lte": v <= x, "lt": v < x, "eq": v == x}[op]}
		}
		size, tag := string(r.Attributes) != `{}` && r.Attributes[8] == '3', len(r.Attributes) > 12
		since := now.Add(-time.Duration(rapid.IntRange(-50, 4001).Draw(t, "since")) * time.Hour)
		all := []cond{
			{"category", "x", r.Category == "x"},
			{"category", map[string]any{"in": []any{"x", "y"}}, r.Category != ""},
			{"session", []any{"a", "b"}, r.Session != ""},
			{"labels", r.SecurityLabel[1], true},
			{"labels", "team:a", r.SecurityLabel[1] == "team:a"},
			{"kind", "memory", true},
			{"size", float64(3), size},
			{"deep.tags", "q", tag},
			{"attributes.deep.tags.0", "p", tag},
			{"nosuchattribute", "x", false},
			{"created_at", map[string]any{"gte": since.Format(time.RFC3339)}, !r.CreatedAt.Before(since)},
			{"access_count", map[string]any{"lt": float64(100)}, r.AccessCount < 100},
			number("trust", r.Facets.Trust),
			number("sensitivity", r.Facets.Sensitivity),
			number("importance", importance),
		}
		picked := rapid.SliceOfNDistinct(rapid.IntRange(0, len(all)-1), 0, 4, func(i int) string { return all[i].name }).Draw(t, "conditions")
		named, want := map[string]any{}, true
		for _, i := range picked {
			named[all[i].name] = all[i].test
			want = want && all[i].want
		}
		f, left, err := filter.Parse("/filters", named, time.UTC)
		if err != nil {
			t.Fatal(err)
		}
		got := f.Match(&r.Facets)
		for _, holds := range left {
			got = got && holds(r)
		}
		if got != want {
			t.Fatalf("%v passes %t, want %t: %+v", named, got, want, r)
		}
	})
}

func drawItem(t *rapid.T, id string, now time.Time) *candidate.Visible {
	unit := rapid.Float64Range(0, 1)
	optional := func(label string) *float64 {
		if rapid.Bool().Draw(t, label+" given") {
			v := unit.Draw(t, label)
			return &v
		}
		return nil
	}
	r := &candidate.Visible{MemoryItem: schemas.MemoryItem{
		ID: id, Kind: schemas.KindMemory, CreatedAt: now.Add(-time.Duration(rapid.IntRange(-48, 4000).Draw(t, "age")) * time.Hour),
		Importance: optional("importance"), Trust: optional("trust"), Sensitivity: optional("sensitivity"), Novelty: optional("novelty"),
		Session: rapid.SampledFrom([]string{"", "a", "b"}).Draw(t, "session"),
	}, AccessCount: int64(rapid.IntRange(0, 300).Draw(t, "accesses"))}
	switch rapid.IntRange(0, 5).Draw(t, "decay") {
	case 0:
		r.TTL = int64(rapid.IntRange(1, 1<<22).Draw(t, "ttl"))
	case 1:
		r.DecayFn = &schemas.DecayFn{Kind: rapid.SampledFrom([]string{"exponential", "linear", "step", "none"}).Draw(t, "kind"),
			Lambda: rapid.Float64Range(0, 2).Draw(t, "own lambda"), Days: rapid.Float64Range(0, 90).Draw(t, "days")}
	}
	return r
}
