package schemas_test

import (
	"encoding/json"
	"errors"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"

	"satchel/schemas"
)

func item(t testing.TB, change func(*schemas.MemoryItem)) *schemas.MemoryItem {
	t.Helper()
	m, issues := schemas.DecodeMemoryItem([]byte(exampleItem))
	if len(issues) > 0 {
		t.Fatalf("example item: %v", issues)
	}
	if change != nil {
		change(&m)
	}
	return &m
}

// fault is a change to a valid item and the pointer that must name it.
type fault struct {
	pointer string
	change  func(*schemas.MemoryItem)
}

func TestItemFaults(t *testing.T) {
	t.Parallel()
	for i, c := range slices.Concat(headFaults(), bodyFaults(), attributeFaults()) {
		issues := item(t, c.change).Validate()
		if len(issues) != 1 || issues[0].Pointer != c.pointer || issues[0].Message == "" {
			t.Errorf("case %d: issues %v, want one at %s", i, issues, c.pointer)
		}
	}
}

func headFaults() []fault {
	number := func(f float64) *float64 { return &f }
	return []fault{
		{"/id", func(m *schemas.MemoryItem) { m.ID = "" }},
		{"/id", func(m *schemas.MemoryItem) { m.ID = strings.Repeat("x", 129) }},
		{"/type", func(m *schemas.MemoryItem) { m.Type = "spatial" }},
		{"/kind", func(m *schemas.MemoryItem) { m.Kind = "" }},
		{"/scope/tenant", func(m *schemas.MemoryItem) { m.Scope.Tenant, m.SecurityLabel = "", []string{"level:public"} }},
		{"/scope/org", func(m *schemas.MemoryItem) { m.Scope.Org = strings.Repeat("ä", 257) }},
		{"/created_at", func(m *schemas.MemoryItem) { m.CreatedAt, m.UpdatedAt = time.Time{}, time.Time{} }},
		{"/updated_at", func(m *schemas.MemoryItem) { m.UpdatedAt = m.CreatedAt.Add(-1) }},
		{"/ttl", func(m *schemas.MemoryItem) { m.TTL = -1 }},
		{"/ttl", func(m *schemas.MemoryItem) { m.TTL = schemas.MaxTTL + 1 }},
		{"/decay_fn/kind", func(m *schemas.MemoryItem) { m.DecayFn = &schemas.DecayFn{Kind: "cubic"} }},
		{"/decay_fn/lambda", func(m *schemas.MemoryItem) { m.DecayFn = &schemas.DecayFn{Kind: "exponential"} }},
		{"/decay_fn/days", func(m *schemas.MemoryItem) { m.DecayFn = &schemas.DecayFn{Kind: "step", Days: -1} }},
		{"/confidence", func(m *schemas.MemoryItem) { m.Confidence = number(math.NaN()) }},
		{"/importance", func(m *schemas.MemoryItem) { m.Importance = number(1.01) }},
		{"/trust", func(m *schemas.MemoryItem) { m.Trust = number(-0.01) }},
		{"/sensitivity", func(m *schemas.MemoryItem) { m.Sensitivity = number(math.Inf(1)) }},
		{"/novelty", func(m *schemas.MemoryItem) { m.Novelty = number(2) }},
		{"/provenance/checksum", func(m *schemas.MemoryItem) { m.Provenance.Checksum = "sha256:00" }},
	}
}

func bodyFaults() []fault {
	now := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	return []fault{
		{"/security_label", func(m *schemas.MemoryItem) { m.SecurityLabel = nil }},
		{"/security_label", func(m *schemas.MemoryItem) {
			m.SecurityLabel = slices.Repeat([]string{"group:a"}, schemas.MaxLabels+1)
		}},
		{"/security_label/1", func(m *schemas.MemoryItem) { m.SecurityLabel[1] = "Level:internal" }},
		{"/security_label/0", func(m *schemas.MemoryItem) { m.SecurityLabel[0] = "tenant:other" }},
		{"/security_label/1", func(m *schemas.MemoryItem) { m.SecurityLabel[1] = "level:secret" }},
		{"/security_label/2", func(m *schemas.MemoryItem) { m.SecurityLabel[2] = "level:public" }},
		{"/security_label/2", func(m *schemas.MemoryItem) { m.SecurityLabel[2] = "credentials:True" }},
		{"/security_label/2", func(m *schemas.MemoryItem) { m.SecurityLabel[2] = "credentials:yes" }},
		{"/security_label/2", func(m *schemas.MemoryItem) { m.SecurityLabel[2] = "extract:abc" }},
		{"/security_label/2", func(m *schemas.MemoryItem) { m.SecurityLabel[2] = "extract:0" }},
		{"/security_label/2", func(m *schemas.MemoryItem) { m.SecurityLabel[2] = "extract:1234567" }},
		{"/security_label/2", func(m *schemas.MemoryItem) { m.SecurityLabel[2] = "export:Restricted" }},
		{"/security_label/2", func(m *schemas.MemoryItem) { m.SecurityLabel[2] = "export:no" }},
		{"/pii_flags/0", func(m *schemas.MemoryItem) { m.PIIFlags = []string{""} }},
		{"/content", func(m *schemas.MemoryItem) { m.Content, m.Summary = schemas.Content{}, nil }},
		{"/content", func(m *schemas.MemoryItem) { m.Content, m.Summary = schemas.TextContent(" \n"), nil }},
		{"/content", func(m *schemas.MemoryItem) { m.Content, m.Summary = schemas.JSONContent([]byte(`{ }`)), nil }},
		{"/content", func(m *schemas.MemoryItem) {
			m.Content = schemas.TextContent(strings.Repeat("x", schemas.MaxText+1))
		}},
		{"/summary/text", func(m *schemas.MemoryItem) { m.Summary.Text = "" }},
		{"/summary/dropped_spans/0/end", func(m *schemas.MemoryItem) { m.Summary.DroppedSpans[0].End = 1 << 20 }},
		{"/session", func(m *schemas.MemoryItem) { m.Session = "other" }},
		{"/category", func(m *schemas.MemoryItem) { m.Category = "a\x00b" }},
		{"/seq", func(m *schemas.MemoryItem) { m.Seq = -1 }},
		{"/role", func(m *schemas.MemoryItem) { m.Role = "boss" }},
		{"/valid_to", func(m *schemas.MemoryItem) { m.ValidFrom, m.ValidTo = now, now }},
		{"/valid_to", func(m *schemas.MemoryItem) { m.ValidTo = m.ValidFrom.Add(-1) }},
		{"/links/0/rel", func(m *schemas.MemoryItem) { m.Links[0].Rel = "likes" }},
		{"/links/0/to", func(m *schemas.MemoryItem) { m.Links[0].To = "no good" }},
		{"/links/0/to", func(m *schemas.MemoryItem) { m.Links[0].To = m.ID }},
		{"/signer", func(m *schemas.MemoryItem) { m.Signer = "key-7" }},
	}
}

func attributeFaults() []fault {
	return []fault{
		{"/attributes", func(m *schemas.MemoryItem) { m.Attributes = []byte(`[1]`) }},
		{"/attributes", func(m *schemas.MemoryItem) { m.Attributes = []byte(`{"a":`) }},
		{"/attributes/a", func(m *schemas.MemoryItem) { m.Attributes = []byte(`{"a":1,"a":2}`) }},
		{"/attributes/confidence_tier", func(m *schemas.MemoryItem) {
			m.Kind, m.Attributes = schemas.KindExperience, []byte(`{"confidence_tier":"tin"}`)
		}},
		{"/attributes/iteration_count", func(m *schemas.MemoryItem) {
			m.Kind, m.Attributes = schemas.KindExperience, []byte(`{"iteration_count":"two"}`)
		}},
		{"/attributes/end_line", func(m *schemas.MemoryItem) {
			m.Kind, m.Attributes = schemas.KindCode, []byte(`{"start_line":9,"end_line":3}`)
		}},
		{"/attributes/sha", func(m *schemas.MemoryItem) { m.Kind, m.Attributes = schemas.KindCommit, []byte(`{"sha":"zz"}`) }},
		{"/attributes/safety_tags/0", func(m *schemas.MemoryItem) {
			m.Kind, m.Attributes = schemas.KindTool, []byte(`{"safety_tags":[3]}`)
		}},
		{"/attributes/similarity_to_centroid", func(m *schemas.MemoryItem) {
			m.Kind, m.Attributes = schemas.KindValue, []byte(`{"similarity_to_centroid":1.5}`)
		}},
	}
}

func TestItemRoundTrip(t *testing.T) {
	t.Parallel()
	m := item(t, nil)
	raw, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	again, issues := schemas.DecodeMemoryItem(raw)
	if len(issues) > 0 {
		t.Fatal(issues)
	}
	if !reflect.DeepEqual(*m, again) {
		t.Errorf("round trip changed the item:\n%+v\n%+v", *m, again)
	}
}

// TestExamplesRoundTrip reads the documented request and response and writes them
// again: every value given is still there.
func TestExamplesRoundTrip(t *testing.T) {
	t.Parallel()
	req, issues := schemas.DecodeContextRequest([]byte(exampleRequest))
	if len(issues) > 0 {
		t.Fatal(issues)
	}
	contains(t, exampleRequest, req)
	var res schemas.ContextResult
	if err := json.Unmarshal([]byte(exampleResponse), &res); err != nil {
		t.Fatal(err)
	}
	contains(t, exampleResponse, res)
}

func contains(t *testing.T, text string, v any) {
	t.Helper()
	raw, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	var want, have any
	if err := errors.Join(json.Unmarshal([]byte(text), &want), json.Unmarshal(raw, &have)); err != nil {
		t.Fatal(err)
	}
	var compare func(at string, want, have any)
	compare = func(at string, want, have any) {
		switch w := want.(type) {
		case map[string]any:
			h, ok := have.(map[string]any)
			if !ok {
				t.Errorf("%s: have %v", at, have)
				return
			}
			for name, value := range w {
				compare(at+"/"+name, value, h[name])
			}
		case []any:
			h, ok := have.([]any)
			if !ok || len(h) != len(w) {
				t.Errorf("%s: have %v", at, have)
				return
			}
			for i := range w {
				compare(at+"/"+strconv.Itoa(i), w[i], h[i])
			}
		default:
			if !cmp.Equal(want, have) {
				t.Errorf("%s: want %v, have %v", at, want, have)
			}
		}
	}
	compare("", want, have)
}

func TestRequestFaults(t *testing.T) {
	t.Parallel()
	cases := []struct{ pointer, text string }{
		{"", `{"payload":`},
		{"", "{\"payload\":{\"query\":{\"text\":\"\xff\"}}}"},
		{"/payload", `{"payload":[]}`},
		{"/payload/query/text", `{"payload":{}}`},
		{"/payload/query/type", `{"payload":{"query":{"type":"magic","text":"q"}}}`},
		{"/payload/query/text", `{"payload":{"query":{"type":"keyword","vector":[1]}}}`},
		{"/payload/query/vector/1", `{"payload":{"query":{"vector":[1,"NaN"]}}}`},
		{"/payload/query/vector", `{"payload":{"query":{"vector":[0,0]}}}`},
		{"/payload/limit", `{"payload":{"query":{"text":"q"},"limit":1001}}`},
		{"/payload/limit", `{"payload":{"query":{"text":"q"},"limit":1.5}}`},
		{"/payload/token_budget", `{"payload":{"query":{"text":"q"},"token_budget":-1}}`},
		{"/payload/token_budget", `{"payload":{"query":{"text":"q"},"token_budget":1000001}}`},
		{"/payload/limt", `{"payload":{"query":{"text":"q"},"limt":3}}`},
		{"/payload/query/filters/a/near", `{"payload":{"query":{"text":"q","filters":{"a":{"near":1}}}}}`},
		{"/payload/query/filters/a/lt", `{"payload":{"query":{"text":"q","filters":{"a":{"gte":5,"lt":5}}}}}`},
		{"/payload/query/filters/a/lte", `{"payload":{"query":{"text":"q","filters":{"a":{"gt":"2026-02-01T00:00:00Z","lte":"2026-01-01T00:00:00+01:00"}}}}}`},
		{"/payload/query/filters/a/lte", `{"payload":{"query":{"text":"q","filters":{"a":{"gte":"x","lte":3}}}}}`},
		{"/payload/query/filters/a/in", `{"payload":{"query":{"text":"q","filters":{"a":{"in":"x"}}}}}`},
		{"/payload/query/filters/a/in", `{"payload":{"query":{"text":"q","filters":{"a":{"in":[]}}}}}`},
		{"/payload/query/filters/a", `{"payload":{"query":{"text":"q","filters":{"a":null}}}}`},
		{"/payload/query/filters/a", `{"payload":{"query":{"text":"q","filters":{"a":1e999}}}}`},
		{"/payload/query/filters/a/exists", `{"payload":{"query":{"text":"q","filters":{"a":{"exists":"yes"}}}}}`},
		{"/payload/query/filters/a/ne", `{"payload":{"query":{"text":"q","filters":{"a":{"ne":[1]}}}}}`},
		{"/payload/query/filters/or", `{"payload":{"query":{"text":"q","filters":{"or":"x"}}}}`},
		{"/payload/query/filters/or/1", `{"payload":{"query":{"text":"q","filters":{"or":[{"a":1},"x"]}}}}`},
		{"/payload/query/filters/or/0/or", `{"payload":{"query":{"text":"q","filters":{"or":[{"or":[{"a":1}]}]}}}}`},
		{"/payload/query/filters/or/0/a/near", `{"payload":{"query":{"text":"q","filters":{"or":[{"a":{"near":1}}]}}}}`},
		{"/payload/query/filters/a b", `{"payload":{"query":{"text":"q","filters":{"a b":1}}}}`},
		{"/payload/min_position", `{"payload":{"query":{"text":"q"},"as_of":3,"min_position":4}}`},
		{"/payload/prefer", `{"payload":{"query":{"text":"q"},"prefer":"talk"}}`},
		{"/payload/repeat", `{"payload":{"query":{"text":"q"},"repeat":"twice"}}`},
		{"/payload/relevance/mode", `{"payload":{"query":{"text":"q"},"relevance":{"mode":""}}}`},
		{"/payload/relevance/signals/x", `{"payload":{"query":{"text":"q"},"relevance":{"mode":"ACT","signals":{"x":[1]}}}}`},
		{"/payload/now", `{"payload":{"query":{"text":"q"},"now":"noon"}}`},
		{"/meta/type", `{"meta":{"type":"ContextResult"},"payload":{"query":{"text":"q"}}}`},
		{"/meta/from/securityLevel", `{"meta":{"from":{"id":"a","securityLevel":"top"}},"payload":{"query":{"text":"q"}}}`},
		{"/meta/from/id", `{"meta":{"from":{"id":""}},"payload":{"query":{"text":"q"}}}`},
	}
	for _, c := range cases {
		_, issues := schemas.DecodeContextRequest([]byte(c.text))
		if len(issues) != 1 || issues[0].Pointer != c.pointer {
			t.Errorf("%s\n\tissues %v, want one at %q", c.text, issues, c.pointer)
		}
		if err := schemas.Invalid(issues); err == nil || err.Code != schemas.CodeValidation || err.Field != c.pointer {
			t.Errorf("%s: error %v", c.text, err)
		}
	}
	r := schemas.ContextRequest{}
	r.Payload.Query.Vector = []float32{1, float32(math.NaN())}
	if issues := r.Validate(); len(issues) != 1 || issues[0].Pointer != "/payload/query/vector/1" {
		t.Errorf("a NaN vector: %v", issues)
	}
}

func TestStrictDecoding(t *testing.T) {
	t.Parallel()
	replace := func(old, new string) string { return strings.Replace(exampleItem, old, new, 1) }
	nested := strings.Repeat(`[`, 80) + `1` + strings.Repeat(`]`, 80)
	cases := []struct{ pointer, text string }{
		{"/seq", replace(`"seq":4`, `"seq":4,"seq":4`)},
		{"/seq", replace(`"seq":4`, `"seq":4,"s\u0065q":5`)},
		{"/SEQ", replace(`"seq":4`, `"SEQ":4`)},
		{"/seq", replace(`"seq":4`, `"seq":4.0`)},
		{"/seq", replace(`"seq":4`, `"seq":99999999999999999999`)},
		{"/confidence", replace(`"confidence":0.9`, `"confidence":1e999`)},
		{"/role", replace(`"role":"assistant"`, `"role":null`)},
		{"/created_at", replace(`"2026-03-01T10:00:00Z"`, `"2026-03-01"`)},
		{"/content", replace(`"The login test failed: #login-button was not found."`, `17`)},
		{"/attributes/k", replace(`{"test_type":"e2e"}`, `{"k":1,"k":1}`)},
		{"/a~1b~0c", replace(`"seq":4`, `"a/b~c":4`)},
		{"/links/0/to", replace(`"to":"018f`, `"to":7,"x018f":"`)},
	}
	for _, c := range cases {
		_, issues := schemas.DecodeMemoryItem([]byte(c.text))
		if len(issues) == 0 || !slices.ContainsFunc(issues, func(i schemas.Issue) bool { return i.Pointer == c.pointer }) {
			t.Errorf("want an issue at %s: %v", c.pointer, issues)
		}
	}
	_, issues := schemas.DecodeMemoryItem([]byte(replace(`{"test_type":"e2e"}`, `{"deep":`+nested+`}`)))
	if len(issues) == 0 || !strings.Contains(issues[0].Message, "nested deeper") {
		t.Errorf("deep nesting: %v", issues)
	}
	wide := map[string]int{}
	for i := range 200 {
		wide["k"+strconv.Itoa(i)] = i
	}
	raw, err := json.Marshal(wide)
	if err != nil {
		t.Fatal(err)
	}
	text := replace(`{"test_type":"e2e"}`, `{"k7":1,`+string(raw[1:]))
	if _, issues := schemas.DecodeMemoryItem([]byte(text)); len(issues) != 1 || issues[0].Pointer != "/attributes/k7" {
		t.Errorf("a repeated name among many: %v", issues)
	}
}

func TestLint(t *testing.T) {
	t.Parallel()
	one := strings.ReplaceAll(exampleItem, "\n", "")
	event := func(eventType, data string) string {
		return `{"specversion":"1.0","id":"e1","source":"s","type":"` + eventType + `","data":` + data + `}`
	}
	lines := []string{
		"\xef\xbb\xbf" + one, "", strings.Replace(one, `"security_label":["tenant:acme","level:internal","pii:none"]`, `"security_label":[]`, 1),
		event(schemas.TypeMemoryRecorded, one), event(schemas.TypeMemoryLinked, `{"scope":{"tenant":"acme"},"from":"a","links":[]}`),
		event(schemas.TypeContextPacked, `{}`), strings.Repeat("x", schemas.MaxLine+10), "not json", one,
	}
	have := map[int]string{}
	in := iotest.HalfReader(strings.NewReader(strings.Join(lines, "\n")))
	report, err := schemas.Lint(in, func(line int, issues []schemas.Issue) { have[line] = issues[0].Pointer })
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[int]string{3: "/security_label", 5: "/data/links", 6: "/type", 7: "", 8: ""}, have); diff != "" {
		t.Errorf("lines with issues (-want +have):\n%s", diff)
	}
	if diff := cmp.Diff(schemas.LintReport{Lines: 8, Valid: 3, Bad: 5, Issues: 5}, report); diff != "" {
		t.Errorf("report (-want +have):\n%s", diff)
	}
	broken := errors.New("disk gone")
	if _, err := schemas.Lint(iotest.ErrReader(broken), func(int, []schemas.Issue) {}); !errors.Is(err, broken) {
		t.Errorf("error of the reader: %v", err)
	}
}

func TestAttributes(t *testing.T) {
	t.Parallel()
	m := item(t, func(m *schemas.MemoryItem) {
		m.Kind, m.Attributes = schemas.KindExperience, []byte(`{"goal":"g","lesson":"keep it small"}`)
	})
	if issues := m.Validate(); len(issues) > 0 {
		t.Fatal(issues)
	}
	a, err := m.Experience()
	if err != nil || a.Goal != "g" || a.Lesson == nil || a.Lesson.WhatWorked != "keep it small" {
		t.Errorf("experience %+v, %v", a, err)
	}
	m.Attributes = nil
	if _, err := m.Code(); err == nil {
		t.Error("attributes of an item without any")
	}
}

func TestChecksum(t *testing.T) {
	t.Parallel()
	const abc = "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
	if have := schemas.TextContent("abc").Checksum(); have != abc {
		t.Errorf("checksum %s, want %s (FIPS 180-2)", have, abc)
	}
}

// TestValidateAllocatesNothing keeps the ingest path free of garbage.
func TestValidateAllocatesNothing(t *testing.T) {
	m := item(t, func(m *schemas.MemoryItem) { m.Attributes = nil })
	if n := testing.AllocsPerRun(100, func() {
		if len(m.Validate()) > 0 {
			t.Error("a valid item is refused")
		}
	}); n != 0 {
		t.Errorf("Validate allocates %v times", n)
	}
}
