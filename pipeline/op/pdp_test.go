package op_test

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"satchel/pipeline/op"
	"satchel/pipeline/scope"
	"satchel/policies"
	"satchel/schemas"
)

// warns decides as a fallback does.
type warns struct{ policies.PDP }

func (w warns) Decide(ctx context.Context, s scope.Scope, r policies.Request) (policies.Decision, error) {
	d, err := w.PDP.Decide(ctx, s, r)
	d.Warnings = []string{"policy: a fallback decided"}
	return d, err
}

// asked notes what policy is asked.
type asked struct {
	policies.PDP
	last *policies.Request
	of   map[string]policies.Resource // by id
}

func (a asked) Decide(ctx context.Context, s scope.Scope, r policies.Request) (policies.Decision, error) {
	*a.last = r
	for _, resource := range r.Resources {
		a.of[resource.ID] = resource
	}
	return a.PDP.Decide(ctx, s, r)
}

// TestInputHashOfADecisionIsLogged holds the hash that is logged to that of what policy was
// asked, in the order of the verdicts, by every operation that decides.
func TestInputHashOfADecisionIsLogged(t *testing.T) {
	t.Parallel()
	var last policies.Request
	of := map[string]policies.Resource{}
	w := openWorld(t, func(c *op.Config) { c.PDP = asked{c.PDP, &last, of} })
	fill(t, w)
	s := as(t, "acme", schemas.Restricted)
	check := func(operation string, position int64) {
		entries, err := w.log.Read(context.Background(), s, position-1, 1)
		must(t, err)
		var logged schemas.PolicyDecision
		must(t, json.Unmarshal(entries[0].Data, &logged))
		all := last
		all.Resources = nil
		for _, v := range logged.Verdicts {
			all.Resources = append(all.Resources, of[v.ItemID])
		}
		if want := policies.InputHash(s, &all); len(all.Resources) == 0 || logged.InputHash != want {
			t.Errorf("%s: input hash %q, want %q", operation, logged.InputHash, want)
		}
	}
	for range 3 {
		res, err := w.engine.Context(context.Background(), s, ask("Lantern release"))
		must(t, err)
		check("context", res.Payload.Positions.Decision)
	}
	out, err := w.engine.Assemble(context.Background(), s, schemas.AssembleRequest{Query: "Lantern release"})
	must(t, err)
	check("assemble", out.Positions.Decision)
	nobody := as(t, "nobody", schemas.Restricted)
	res, err := w.engine.Context(context.Background(), nobody, ask("Lantern release"))
	must(t, err)
	entries, err := w.log.Read(context.Background(), nobody, res.Payload.Positions.Decision-1, 1)
	must(t, err)
	if !strings.Contains(string(entries[0].Data), `"input_hash":""`) {
		t.Errorf("nothing was decided: %s", entries[0].Data)
	}
}

func TestWarningsOfADecisionReachTheRequester(t *testing.T) {
	t.Parallel()
	w := openWorld(t, func(c *op.Config) { c.PDP = warns{c.PDP} })
	fill(t, w)
	res, err := w.engine.Context(context.Background(), as(t, "acme", schemas.Restricted), ask("Lantern release"))
	must(t, err)
	if got := res.Payload.Explainability.Warnings; !slices.Contains(got, "policy: a fallback decided") {
		t.Errorf("warnings %q", got)
	}
}

// A denial has the search done again; the warnings of the first decision stay.
func TestWarningsStayWhenTheSearchIsDoneAgain(t *testing.T) {
	t.Parallel()
	w := openWorld(t, func(c *op.Config) { c.PDP = warns{deniesFirst{c.PDP, &atomic.Bool{}}} })
	fill(t, w)
	res, err := w.engine.Context(context.Background(), as(t, "acme", schemas.Restricted), ask("Lantern release"))
	must(t, err)
	if got := res.Payload.Explainability.Warnings; !slices.Equal(got, []string{"policy: a fallback decided"}) {
		t.Errorf("warnings %q", got)
	}
}

// deniesFirst denies the first item that it is asked about.
type deniesFirst struct {
	policies.PDP
	done *atomic.Bool
}

func (p deniesFirst) Decide(ctx context.Context, s scope.Scope, r policies.Request) (policies.Decision, error) {
	d, err := p.PDP.Decide(ctx, s, r)
	if len(d.Verdicts) > 0 && p.done.CompareAndSwap(false, true) {
		d.Verdicts[0] = policies.Verdict{Reason: "clearance"}
	}
	return d, err
}
