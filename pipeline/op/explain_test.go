package op_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"satchel/pipeline"
	"satchel/pipeline/op"
	"satchel/pipeline/selection/rank"
	"satchel/schemas"
)

// notes fills a tenant with n notes about lanterns, of sizes that differ.
func notes(n int) []schemas.MemoryItem {
	out := make([]schemas.MemoryItem, n)
	for i := range out {
		out[i] = schemas.MemoryItem{
			ID: fmt.Sprintf("n%02d", i), Kind: schemas.KindKnowledge, Type: schemas.Semantic, CreatedAt: day.Add(-time.Duration(i) * 24 * time.Hour),
			SecurityLabel: []string{"level:public"}, Scope: schemas.MemoryScope{Tenant: "acme"},
			Content: schemas.TextContent(fmt.Sprintf("Note %d on the lantern: %s.", i, strings.Repeat("it hangs at gate "+strconv.Itoa(i*7)+" ", 1+i%4))),
		}
	}
	return out
}

func explained(change func(*schemas.RequestPayload)) schemas.ContextRequest {
	req := ask("where does the lantern hang?")
	req.Payload.IncludeScores, req.Payload.Now = true, day
	change(&req.Payload)
	return req
}

var (
	lowered  = regexp.MustCompile(`A min_score of ([0-9.]+) or less lets it take part`)
	promised = regexp.MustCompile(`would show|(token_budget|limit) of [0-9]+ (or more )?(would|shows|lets)`)
)

// What a drop says helps does help, every time: another min_score, and recover. It promises nothing of a larger limit
// or budget, which the weighing of other items decides.
func TestWhatADropSaysHelps(t *testing.T) {
	t.Parallel()
	w := openWorld(t, nil)
	w.put(t, "acme", append(variety(400, rand.New(rand.NewPCG(3, 4))), notes(30)...)...)
	ctx, s := context.Background(), as(t, "acme", schemas.Restricted)
	tried := map[string]int{}
	for _, question := range []string{"where does the lantern hang?", "why did the gateway certificate expire?", "flaky selector test failed", "Which customer got a refund of Jonas?"} {
		for name, first := range map[string]func(*schemas.RequestPayload){
			"budget":    func(p *schemas.RequestPayload) { p.TokenBudget = 300 },
			"tiny":      func(p *schemas.RequestPayload) { p.TokenBudget = 40 },
			"default":   func(*schemas.RequestPayload) {},
			"limit":     func(p *schemas.RequestPayload) { p.Limit = 5 },
			"min_score": func(p *schemas.RequestPayload) { p.MinScore = .3 },
			"seed":      func(p *schemas.RequestPayload) { p.Limit, p.Profile = 3, "seed" },
		} {
			ask := func(change func(*schemas.RequestPayload)) schemas.ContextResult {
				req := explained(func(p *schemas.RequestPayload) { first(p); change(p) })
				req.Payload.Query.Text = question
				res, err := w.engine.Context(ctx, s, req)
				must(t, err)
				return res
			}
			res := ask(func(*schemas.RequestPayload) {})
			best := 0.0
			for _, r := range res.Payload.Results {
				best = max(best, *r.Score)
				if r.Metadata.Reason != "kept" || len(r.Metadata.Signals) != 8 || r.Metadata.Change == "" ||
					!strings.Contains(r.Metadata.Explanation, fmt.Sprintf("Score %.3f", *r.Score)) {
					t.Errorf("%s: %s has %+v", name, r.ID, r.Metadata)
				}
			}
			if r := res.Payload.Pack.Ranking; r == nil || r.Profile == "" || r.Limit == 0 {
				t.Errorf("%s: ranking is %+v", name, r)
			}
			drops := res.Payload.Drop.Drops
			for i := 0; i < len(drops); i += max(1, len(drops)/7) {
				d := &drops[i]
				what := fmt.Sprintf("%s, %q: %s, %s", name, question, d.ItemID, d.Reason)
				if promised.MatchString(d.Change) || d.Explanation == "" || d.Change == "" {
					t.Errorf("%s: %q, %q", what, d.Explanation, d.Change)
				}
				if unread := d.Detail == "not read"; unread != strings.Contains(d.Explanation, "has no score") || unread && d.Score != 0 ||
					!unread && !strings.HasPrefix(d.Explanation, fmt.Sprintf("Score %.3f (top signals: ", d.Score)) {
					t.Errorf("%s: score %g, %q", what, d.Score, d.Explanation)
				}
				if m := lowered.FindStringSubmatch(d.Change); m != nil {
					tried["min_score"]++
					again := ask(func(p *schemas.RequestPayload) { p.MinScore, _ = strconv.ParseFloat(m[1], 64) })
					if slices.ContainsFunc(again.Payload.Drop.Drops, func(o schemas.Drop) bool { return o.ItemID == d.ItemID && o.Reason == schemas.DropScore }) {
						t.Errorf("%s: %q, and it is left out for its score", what, d.Change)
					}
				}
				if strings.Contains(d.Change, "Recover returns it") {
					tried["recover"]++
					back, err := w.engine.Recover(ctx, s, schemas.RecoverRequest{PackID: "p", ItemIDs: []string{d.ItemID}}, &res)
					must(t, err)
					if len(back.Results) != 1 || back.Results[0].ID != d.ItemID {
						t.Errorf("%s: %q, and recover returns %d, missing %v", what, d.Change, len(back.Results), back.Missing)
					}
				}
			}
		}
	}
	if tried["recover"] < 96 || tried["min_score"] < 8 {
		t.Errorf("tried %v", tried)
	}
	t.Log(tried)
}

func TestWeightsOfARequest(t *testing.T) {
	t.Parallel()
	w := openWorld(t, func(c *op.Config) {
		c.Profiles = []rank.Profile{{Name: "newest", Recency: 1, Lambda: .1}}
		c.Tenants = map[string]string{"acme": "newest"}
	})
	list := notes(30)
	slices.Reverse(list) // the newest is the last that was written
	w.put(t, "acme", list...)
	for i := range list {
		list[i].Scope.Tenant = "globex"
	}
	w.put(t, "globex", list...)
	first := func(tenant string, change func(*schemas.RequestPayload)) (string, *schemas.ResultPayload) {
		t.Helper()
		res, err := w.engine.Context(context.Background(), as(t, tenant, schemas.Public), explained(change))
		must(t, err)
		best := slices.MaxFunc(res.Payload.Results, func(a, b schemas.ResultItem) int {
			return int(1e6 * (*a.Score - *b.Score))
		})
		return best.ID, &res.Payload
	}
	none := func(*schemas.RequestPayload) {}
	if id, p := first("acme", none); id != "n00" || p.Pack.Ranking.Profile != "newest" {
		t.Errorf("the tenant's profile puts %s first, by %+v", id, p.Pack.Ranking)
	}
	if _, p := first("globex", none); p.Pack.Ranking.Profile != "default" || p.Pack.Ranking.Weights["relevance"] != 1 {
		t.Errorf("another tenant is ranked by %+v", p.Pack.Ranking)
	}
	if _, p := first("acme", func(p *schemas.RequestPayload) { p.Profile = "seed" }); p.Pack.Ranking.Profile != "seed" {
		t.Errorf("a request that names a profile is ranked by %+v", p.Pack.Ranking)
	}
	_, p := first("globex", func(p *schemas.RequestPayload) { p.Weights = map[string]float64{"recency": .9} })
	if r := p.Pack.Ranking; r.Weights["recency"] != .9 || r.Weights["relevance"] != .1 {
		t.Errorf("an override is ranked by %+v", r)
	}
	if all := strings.Join(p.Explainability.Warnings, "\n"); !strings.Contains(all, "rescaled") {
		t.Errorf("a rescaled profile is not told: %q", all)
	}
	flat := 0.0
	if _, p := first("acme", func(p *schemas.RequestPayload) { p.Lambda = &flat }); *p.Results[0].Score != 1 {
		t.Errorf("without decay the score is %v, want 1", *p.Results[0].Score)
	}
	for field, change := range map[string]func(*schemas.RequestPayload){
		"/payload/weights":              func(p *schemas.RequestPayload) { p.Weights = map[string]float64{"recency": .8, "trust": .8} },
		"/payload/weights/nonsense":     func(p *schemas.RequestPayload) { p.Weights = map[string]float64{"nonsense": .8} },
		"/payload/weights/trust":        func(p *schemas.RequestPayload) { p.Weights = map[string]float64{"trust": 8} },
		"/payload/profile":              func(p *schemas.RequestPayload) { p.Profile = "nonsense" },
		"/payload/recency_decay_lambda": func(p *schemas.RequestPayload) { l := -1.0; p.Lambda = &l },
	} {
		_, err := w.engine.Context(context.Background(), as(t, "acme", schemas.Public), explained(change))
		var e *schemas.Error
		if !errors.As(err, &e) || e.Code != schemas.CodeValidation || e.Field != field {
			t.Errorf("error is %v, want one of %s", err, field)
		}
	}
}

// The slice stops at whichever limit is reached first, and says so.
func TestTheSliceHasABudget(t *testing.T) {
	t.Parallel()
	const bytes, tokens, items = 300, 900, 9
	w := openWorld(t, func(c *op.Config) { c.Slice = pipeline.Budget{Bytes: bytes, Tokens: tokens, Items: items} })
	w.put(t, "acme", notes(30)...)
	s := as(t, "acme", schemas.Public)
	for name, tc := range map[string]struct {
		change  func(*schemas.RequestPayload)
		warning string
		bytes   int
	}{
		"defaults":  {func(*schemas.RequestPayload) {}, "2000 tokens are cut to 900", bytes},
		"too much":  {func(p *schemas.RequestPayload) { p.Limit, p.MaxBytes = 1000, 1<<20 }, "1048576 bytes are cut to 300", bytes},
		"too many":  {func(p *schemas.RequestPayload) { p.Limit = 10 }, "10 items are cut to 9", bytes},
		"few bytes": {func(p *schemas.RequestPayload) { p.MaxBytes = 120 }, "", 120},
	} {
		res, err := w.engine.Context(context.Background(), s, explained(tc.change))
		must(t, err)
		used := res.Payload.Explainability.Slicing.BudgetUsed
		if used.Bytes > tc.bytes || used.Bytes == 0 || used.EstimatedTokens > tokens || used.Items > items {
			t.Errorf("%s: used %+v", name, used)
		}
		all := strings.Join(res.Payload.Explainability.Warnings, "\n")
		if !strings.Contains(all, tc.warning) {
			t.Errorf("%s: warnings are %q, want one with %q", name, all, tc.warning)
		}
		if !slices.ContainsFunc(res.Payload.Drop.Drops, func(d schemas.Drop) bool { return strings.Contains(d.Detail, "bytes") }) {
			t.Errorf("%s: no drop names the bytes", name)
		}
	}
}

// As of a time or a position, what was recorded later is not seen.
func TestAsOf(t *testing.T) {
	t.Parallel()
	w := openWorld(t, nil)
	list := notes(10) // n00 was recorded last, a day apart
	slices.Reverse(list)
	w.put(t, "acme", list...)
	for name, change := range map[string]func(*schemas.RequestPayload){
		"position": func(p *schemas.RequestPayload) { p.AsOf, p.Fill = 4, true },
		"time":     func(p *schemas.RequestPayload) { p.AsOfTime, p.Fill = day.Add(-5*24*time.Hour-time.Hour), true },
	} {
		res, err := w.engine.Context(context.Background(), as(t, "acme", schemas.Public), explained(change))
		must(t, err)
		got := ids(&res)
		slices.Sort(got)
		if !slices.Equal(got, []string{"n06", "n07", "n08", "n09"}) {
			t.Errorf("as of a %s: %v", name, got)
		}
	}
}

// TestAsOfSaysWhatWasRecordedAgain counts the items of the past whose version of then is
// not in the indexes any more, and none that the asker may not see or that were not there.
func TestAsOfSaysWhatWasRecordedAgain(t *testing.T) {
	t.Parallel()
	w := openWorld(t, nil)
	list := notes(10)
	slices.Reverse(list) // n00 is recorded last, a day apart
	w.put(t, "acme", list...)
	again := list[:3:3]
	again[0].SecurityLabel = []string{"level:restricted"}
	for i := range again {
		again[i].Content = schemas.TextContent(again[i].Content.Text() + " It was said again.")
		again[i].CreatedAt = day.Add(time.Duration(i+1) * time.Hour)
	}
	late := list[9]
	late.Content = schemas.TextContent(late.Content.Text() + " It was said again.")
	late.CreatedAt = day.Add(4 * time.Hour)
	w.put(t, "acme", append(again, late)...)
	res, err := w.engine.Context(context.Background(), as(t, "acme", schemas.Public), explained(func(p *schemas.RequestPayload) { p.AsOf = 4 }))
	must(t, err)
	const want = "as_of: 2 items that were recorded again since are left out: only the last versions can be shown"
	if got, said := ids(&res), res.Payload.Explainability.Warnings; !slices.Equal(got, []string{"n06"}) || !slices.Contains(said, want) {
		t.Errorf("%v, warnings %q", got, said)
	}
}
