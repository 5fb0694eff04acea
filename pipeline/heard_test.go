package pipeline_test

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"satchel/pipeline"
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

// hashes notes the input hash of every decision.
type hashes struct {
	policies.PDP
	last *string
}

func (h hashes) Decide(ctx context.Context, s scope.Scope, r policies.Request) (policies.Decision, error) {
	*h.last = policies.InputHash(s, &r)
	return h.PDP.Decide(ctx, s, r)
}

// TestInputHashOfADecisionIsLogged holds the hash that is made beside the request to the one
// made at once, by every door that decides.
func TestInputHashOfADecisionIsLogged(t *testing.T) {
	t.Parallel()
	var want string
	w := openWorld(t, func(c *pipeline.Config) { c.PDP = hashes{c.PDP, &want} })
	fill(t, w)
	s := as(t, "acme", schemas.Restricted)
	check := func(door string, position int64) {
		entries, err := w.log.Read(context.Background(), s, position-1, 1)
		must(t, err)
		var logged schemas.PolicyDecision
		must(t, json.Unmarshal(entries[0].Data, &logged))
		if logged.InputHash == "" || logged.InputHash != want {
			t.Errorf("%s: input hash %q, want %q", door, logged.InputHash, want)
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
	w := openWorld(t, func(c *pipeline.Config) { c.PDP = warns{c.PDP} })
	fill(t, w)
	res, err := w.engine.Context(context.Background(), as(t, "acme", schemas.Restricted), ask("Lantern release"))
	must(t, err)
	if got := res.Payload.Explainability.Warnings; !slices.Contains(got, "policy: a fallback decided") {
		t.Errorf("warnings %q", got)
	}
}
