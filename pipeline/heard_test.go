package pipeline_test

import (
	"context"
	"slices"
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
