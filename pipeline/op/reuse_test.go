package op_test

import (
	"encoding/json"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"satchel/pipeline/op"
	"satchel/schemas"
)

// What an engine answers, after other requests and beside them, is what a new one answers:
// nothing of one request is left in another.
func TestNothingOfOneRequestIsLeftInAnother(t *testing.T) {
	t.Parallel()
	var cfg op.Config
	w := openWorld(t, func(c *op.Config) { cfg = *c })
	w.put(t, "acme", corpus(120, 1)...)
	w.put(t, "globex", corpus(60, 2)...)
	answer := func(e *op.Operations, n int) string {
		tenant := []string{"acme", "globex"}[n%2]
		level := []schemas.Level{schemas.Public, schemas.Internal, schemas.Restricted}[n%3]
		question := []string{"What did Ana plan for the garden?", "latency of the cluster", "Who lost the umbrella at the market?", "invoice"}[n%4]
		res, err := e.Context(t.Context(), as(t, tenant, level), schemas.ContextRequest{Payload: schemas.RequestPayload{
			Query: schemas.Query{Text: question}, Now: day, IncludeScores: true, Limit: 5 + n,
		}})
		if err != nil {
			t.Error(err)
		}
		said, err := json.MarshalIndent([]any{res.Payload.Results, res.Payload.Drop.Drops, res.Payload.Text}, "", " ")
		if err != nil {
			t.Error(err)
		}
		return string(said)
	}
	var wait sync.WaitGroup
	for n := range 24 {
		fresh, err := op.New(cfg)
		must(t, err)
		want := answer(fresh, n)
		wait.Go(func() {
			if diff := cmp.Diff(want, answer(w.engine, n)); diff != "" {
				t.Errorf("request %d (-new engine +used one):\n%s", n, diff)
			}
		})
	}
	wait.Wait()
}

// Signals and explanations are the requester's; the drop report in the log has none.
func TestTheLoggedDropReportIsNotExplained(t *testing.T) {
	t.Parallel()
	w := openWorld(t, nil)
	w.put(t, "acme", notes(30)...)
	s := as(t, "acme", schemas.Public)
	req := explained(func(p *schemas.RequestPayload) { p.TokenBudget = 200 })
	res, err := w.engine.Context(t.Context(), s, req)
	must(t, err)
	entries, err := w.log.Read(t.Context(), s, res.Payload.Positions.Drop-1, 1)
	must(t, err)
	var logged schemas.DropReport
	must(t, json.Unmarshal(entries[0].Data, &logged))
	if len(logged.Drops) < 3 || len(logged.Drops) != len(res.Payload.Drop.Drops) {
		t.Fatalf("%d drops are logged, %d told", len(logged.Drops), len(res.Payload.Drop.Drops))
	}
	for i, told := range res.Payload.Drop.Drops {
		if told.Explanation == "" || told.Signals == nil {
			t.Errorf("%s is not explained to the requester", told.ItemID)
		}
		if d := logged.Drops[i]; d.Explanation != "" || d.Change != "" || d.Signals != nil {
			t.Errorf("the logged drop of %s is explained: %+v", d.ItemID, d)
		}
	}
}
