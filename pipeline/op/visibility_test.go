package op_test

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"satchel/pipeline/op"
	"satchel/pipeline/scope"
	"satchel/policies"
	"satchel/schemas"
)

// A filter finds what passes it however many other items are nearer to the question.
func TestFiltersReachWhatIsFar(t *testing.T) {
	t.Parallel()
	w := openWorld(t, nil)
	old := memory("old", "level:internal", "Ana", "Old report: the weekly report of the first quarter was filed by Ana.")
	old.CreatedAt = time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC)
	old.Attributes = json.RawMessage(`{"shelf":"b7"}`)
	w.put(t, "acme", old)
	many := make([]schemas.MemoryItem, 1200)
	for i := range many {
		many[i] = memory(fmt.Sprintf("m%04d", i), "level:internal", "Ben", fmt.Sprintf("Weekly report %d on the budget of the group was filed.", i))
		many[i].CreatedAt = time.Date(2026, 2, 1, 0, 0, i, 0, time.UTC)
	}
	w.put(t, "acme", many...)
	s := as(t, "acme", schemas.Internal)
	for _, tc := range []struct {
		name   string
		change func(p *schemas.RequestPayload)
	}{
		{"speaker", func(p *schemas.RequestPayload) { p.Query.Filters = map[string]any{"speaker": "Ana"} }},
		{"id", func(p *schemas.RequestPayload) { p.Query.Filters = map[string]any{"id": "old"} }},
		{"attribute", func(p *schemas.RequestPayload) { p.Query.Filters = map[string]any{"shelf": "b7"} }},
		{"time", func(p *schemas.RequestPayload) {
			p.Query.Filters = map[string]any{"created_at": map[string]any{"lt": "2026-01-31"}}
		}},
		{"as of a position", func(p *schemas.RequestPayload) { p.AsOf = 1 }},
		{"as of a time", func(p *schemas.RequestPayload) { p.AsOfTime = time.Date(2026, 1, 31, 0, 0, 0, 0, time.UTC) }},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			req := ask("weekly report on the budget of the group")
			tc.change(&req.Payload)
			res, err := w.engine.Context(context.Background(), s, req)
			must(t, err)
			if diff := cmp.Diff([]string{"old"}, ids(&res)); diff != "" {
				t.Errorf("shown (-want +got):\n%s\n%v %+v", diff, res.Payload.Explainability.Warnings, res.Payload.Drop)
			}
		})
	}
}

// Whatever a filter asks of an item that the asker may not see, the reply is the same; and
// of what redaction takes away of one that may be seen, filters know nothing.
func TestFiltersDoNotTellWhatIsHidden(t *testing.T) {
	t.Parallel()
	w := openWorld(t, nil)
	expired := memory("gone", "level:internal", "Ana", "The umbrella of the director is in the hall.")
	expired.TTL = 60
	expired.Attributes = json.RawMessage(`{"salary":61234}`)
	masked := memory("masked", "level:internal", "Rumpelstiltskin", "The umbrella stand is by the door.")
	masked.PIIFlags = []string{"$.speaker"}
	w.put(t, "acme", expired, masked, memory("plain", "level:internal", "Ben", "Nobody knows whose umbrella it is."))
	s := as(t, "acme", schemas.Internal)
	reply := func(filters map[string]any) *schemas.ResultPayload {
		t.Helper()
		req := ask("umbrella")
		req.Payload.Query.Filters = filters
		res, err := w.engine.Context(context.Background(), s, req)
		must(t, err)
		return &res.Payload
	}
	if open := reply(nil); open.Explainability.Slicing.TotalDenied != 0 || len(open.Results) != 2 {
		t.Fatalf("the expired item is counted: %+v", open.Explainability.Slicing)
	}
	audited, err := w.engine.Context(context.Background(), asAuditor(t, "acme", schemas.Internal), ask("umbrella"))
	must(t, err)
	if n := audited.Payload.Explainability.Slicing.TotalDenied; n != 1 {
		t.Fatalf("the auditor is told of %d denied items, not of the expired one", n)
	}
	for _, pair := range [][2]map[string]any{
		{{"salary": map[string]any{"gte": 61234.0}}, {"salary": map[string]any{"gte": 61235.0}}},
		{{"speaker": map[string]any{"gte": "Ru", "lt": "Rv"}}, {"speaker": map[string]any{"gte": "Rv", "lt": "Rw"}}},
		{{"id": "gone"}, {"id": "none"}},
	} {
		hit, miss := reply(pair[0]), reply(pair[1])
		for _, p := range []*schemas.ResultPayload{hit, miss} {
			if len(p.Results) != 0 || p.TotalCount != 0 || p.Explainability.Slicing.TotalDenied != 0 {
				t.Errorf("%v: %d results of %d, %+v", pair, len(p.Results), p.TotalCount, p.Explainability.Slicing)
			}
		}
		if diff := cmp.Diff(miss.Explainability.Warnings, hit.Explainability.Warnings); diff != "" {
			t.Errorf("%v: warnings differ:\n%s", pair, diff)
		}
		if hit.Text != miss.Text {
			t.Errorf("%v: texts differ:\n%s\n%s", pair, hit.Text, miss.Text)
		}
	}
	if got := reply(map[string]any{"speaker": "Ben"}); got.TotalCount != 1 || len(got.Results) != 1 {
		t.Errorf("what may be seen is found: %+v", got.Results)
	}
}

// What policy denies takes no place of what passes and may be seen.
func TestHiddenItemsDoNotCrowdOutWhatPasses(t *testing.T) {
	t.Parallel()
	w := openWorld(t, nil)
	list := make([]schemas.MemoryItem, 0, 1300)
	for i := range 300 {
		m := memory(fmt.Sprintf("h%04d", i), "level:internal", "Ana", fmt.Sprintf("Weekly report %d on the budget of the group was filed.", i))
		m.TTL = 60
		list = append(list, m)
	}
	for i := range 900 {
		list = append(list, memory(fmt.Sprintf("m%04d", i), "level:internal", "Ben", fmt.Sprintf("Weekly report %d on the budget of the group was filed.", i)))
	}
	w.put(t, "acme", append(list, memory("seen", "level:internal", "Ana", "The report of the first quarter was filed by Ana."))...)
	req := ask("weekly report on the budget of the group")
	req.Payload.Query.Filters, req.Payload.Limit = map[string]any{"speaker": "Ana"}, 5
	res, err := w.engine.Context(context.Background(), as(t, "acme", schemas.Internal), req)
	must(t, err)
	if diff := cmp.Diff([]string{"seen"}, ids(&res)); diff != "" || res.Payload.TotalCount != 1 {
		t.Errorf("shown of %d (-want +got):\n%s\n%v", res.Payload.TotalCount, diff, res.Payload.Explainability.Warnings)
	}
}

// obliges allows everything and has personal data masked in it.
type obliges struct{ policies.PDP }

func (obliges) Decide(_ context.Context, _ scope.Scope, r policies.Request) (policies.Decision, error) {
	d := policies.Decision{Revision: "r1", InputHash: strings.Repeat("0", 64)}
	for range r.Resources {
		d.Verdicts = append(d.Verdicts, policies.Verdict{Allow: true, Reason: "allowed", Obligations: schemas.Obligations{PII: "redact"}})
	}
	return d, nil
}

// What an obligation masks passes no filter either.
func TestFiltersDoNotTellWhatIsMasked(t *testing.T) {
	t.Parallel()
	w := openWorld(t, func(c *op.Config) { c.PDP = obliges{c.PDP} })
	m := memory("m", "level:internal", "Ana", "The umbrella stand is by the door.")
	m.Attributes = json.RawMessage(`{"mail":"bob@example.org"}`)
	w.put(t, "acme", m)
	for _, low := range []string{"bob", "boc"} {
		req := ask("umbrella")
		req.Payload.Query.Filters = map[string]any{"mail": map[string]any{"gte": low, "lt": low + "zz"}}
		res, err := w.engine.Context(context.Background(), as(t, "acme", schemas.Internal), req)
		must(t, err)
		if len(res.Payload.Results) != 0 || res.Payload.TotalCount != 0 {
			t.Errorf("from %q: %d of %d", low, len(res.Payload.Results), res.Payload.TotalCount)
		}
	}
}

// Policy decides on a few times what may be shown, and on more where that leaves too little.
func TestDecidingGoesOnWherePolicyDenies(t *testing.T) {
	t.Parallel()
	w := openWorld(t, func(c *op.Config) { c.Defend.OffTopic = -1 })
	s := as(t, "acme", schemas.Internal)
	put := func(prefix string, n int, ttl int64, text string) {
		many := make([]schemas.MemoryItem, n)
		for i := range many {
			many[i] = memory(fmt.Sprintf("%s%04d", prefix, i), "level:internal", "Ben", fmt.Sprintf(text, i))
			many[i].TTL = ttl
		}
		w.put(t, "acme", many...)
	}
	put("gone", 180, 60, "The harbour gate number %d was opened by the night watch of the harbour.")
	put("kept", 60, 0, "Gate %d.")
	reply := func(question string) *schemas.ResultPayload {
		req := ask(question)
		req.Payload.Limit, req.Payload.TokenBudget, req.Payload.Fill = 40, 6000, true
		res, err := w.engine.Context(context.Background(), s, req)
		must(t, err)
		return &res.Payload
	}
	if r := reply("who opened the harbour gate at night?"); len(r.Results) < 30 {
		t.Errorf("%d shown of 60 that may be, %+v", len(r.Results), r.Explainability.Slicing)
	}
	put("new", 200, 0, "The lighthouse lamp %d was cleaned by the keeper of the lighthouse.")
	if r := reply("who cleaned the lighthouse lamp?"); len(r.Results) != 40 || len(r.Results)+len(r.Drop.Drops) != r.TotalCount {
		t.Errorf("%d shown and %d left out of %d found", len(r.Results), len(r.Drop.Drops), r.TotalCount)
	}
}

// A turn beside one that was found helps to rank it. It was not found itself, and unless it is a candidate the drop
// report is not about it.
func TestTurnsBesideAreNotFound(t *testing.T) {
	t.Parallel()
	w := openWorld(t, nil)
	turns := make([]schemas.MemoryItem, 300)
	for i := range turns {
		text := fmt.Sprintf("The kettle number %d was filled.", i)
		if i%10 == 5 {
			text = fmt.Sprintf("The umbrella number %d was dried.", i)
		}
		turns[i] = memory(fmt.Sprintf("t%03d", i), "level:internal", "Ben", text)
	}
	w.put(t, "acme", turns...)
	req := ask("umbrella")
	req.Payload.Query.Type = schemas.QueryKeyword
	res, err := w.engine.Context(context.Background(), as(t, "acme", schemas.Internal), req)
	must(t, err)
	p := &res.Payload
	known := map[string]bool{}
	for i := range p.Results {
		known[p.Results[i].ID] = true
	}
	for i := range p.Drop.Drops {
		known[p.Drop.Drops[i].ItemID] = true
	}
	if len(known) != p.TotalCount || p.TotalCount > 150 {
		t.Errorf("%d shown or left out of %d found", len(known), p.TotalCount)
	}
	for i := 5; i < len(turns); i += 10 {
		if !known[turns[i].ID] {
			t.Errorf("nothing says what became of %s", turns[i].ID)
		}
	}
}

// lifting is policy beside an exception that may let anything through.
type lifting struct{ policies.PDP }

func (lifting) Filter(context.Context, scope.Scope, string) (schemas.Filter, error) {
	return schemas.MatchAll(), nil
}

func (l lifting) Unexcepted(ctx context.Context, s scope.Scope, action string) (schemas.Filter, error) {
	return l.PDP.Filter(ctx, s, action)
}

// An exception for some items tells nothing of the others that the asker may not know of.
func TestExceptionsDoNotTellWhatIsHidden(t *testing.T) {
	t.Parallel()
	w := openWorld(t, func(cfg *op.Config) { cfg.PDP = lifting{cfg.PDP} })
	gone := memory("gone", "level:internal", "Ana", "The xylophone is in the hall.")
	gone.TTL = 60
	w.put(t, "acme", memory("deep", "level:restricted", "Ana", "The xylophone will be bought for a million."), gone, memory("plain", "level:internal", "Ben", "The umbrella is by the door."))
	s := as(t, "acme", schemas.Internal)
	for _, word := range []string{"million", "xylophone", "zeppelin"} {
		req := ask(word)
		req.Payload.Query.Type = schemas.QueryKeyword
		res, err := w.engine.Context(context.Background(), s, req)
		must(t, err)
		if denied := res.Payload.Explainability.Slicing.TotalDenied; denied > 0 || strings.Contains(res.Payload.Text, "clearance") {
			t.Errorf("%s: %d denied\n%s", word, denied, res.Payload.Text)
		}
	}
}

// What passes a filter and is hidden shows in no score and no rank of what may be seen.
func TestScoresDoNotTellWhatIsHidden(t *testing.T) {
	t.Parallel()
	w := openWorld(t, nil)
	gone := memory("gone", "level:internal", "Ana", "The umbrella of the director stands in the hall, and the umbrella stand is where the umbrella does stand.")
	gone.TTL = 60
	gone.Attributes = json.RawMessage(`{"salary":61234}`)
	masked := memory("masked", "level:internal", "Rumpelstiltskin", "The umbrella stand stands by the door.")
	masked.PIIFlags = []string{"$.speaker"}
	list := []schemas.MemoryItem{gone, masked}
	for i, text := range []string{"An umbrella is for the rain.", "Rain is expected in the hall.", "The door stands open."} {
		m := memory(fmt.Sprintf("mine%d", i), "level:internal", "Ben", text)
		m.Attributes = json.RawMessage(`{"salary":1}`)
		list = append(list, m)
	}
	w.put(t, "acme", list...)
	s := as(t, "acme", schemas.Internal)
	ids := regexp.MustCompile(`"[0-9a-f-]{36}(\.\d+)?"`)
	reply := func(filters map[string]any) string {
		t.Helper()
		req := ask("where does the umbrella stand?")
		req.Payload.Query.Filters = filters
		res, err := w.engine.Context(context.Background(), s, req)
		must(t, err)
		if len(res.Payload.Results) != 3 {
			t.Errorf("%v: %d results", filters, len(res.Payload.Results))
		}
		raw, err := json.Marshal([]any{res.Payload.Results, res.Payload.Pack.Sections})
		must(t, err)
		return ids.ReplaceAllString(string(raw), `""`)
	}
	for _, pair := range [][2]map[string]any{
		{{"salary": map[string]any{"lte": 61234.0}}, {"salary": map[string]any{"lte": 61233.0}}},
		{{"id": []any{"gone", "mine0", "mine1", "mine2"}}, {"id": []any{"none", "mine0", "mine1", "mine2"}}},
		{{"speaker": []any{"Ben", "[redacted]", "Rumpelstiltskin"}}, {"speaker": []any{"Ben", "[redacted]", "Other"}}},
		{{"speaker": map[string]any{"lte": "Ru"}}, {"speaker": map[string]any{"lte": "Rv"}}},
	} {
		if diff := cmp.Diff(reply(pair[1]), reply(pair[0])); diff != "" {
			t.Errorf("%v tells:\n%s", pair, diff)
		}
	}
}
