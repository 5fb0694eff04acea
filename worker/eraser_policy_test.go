package worker_test

import (
	"context"
	"slices"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"satchel/pipeline/scope"
	"satchel/policies"
	"satchel/schemas"
	"satchel/worker"
)

// seenPDP remembers what is to be erased, and denies what a label protects.
type seenPDP struct {
	policies.PDP
	mu   sync.Mutex
	seen []policies.Resource
}

func (p *seenPDP) Decide(ctx context.Context, s scope.Scope, r policies.Request) (policies.Decision, error) {
	d, err := p.PDP.Decide(ctx, s, r)
	if r.Action != "erase" {
		return d, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.seen = append(p.seen, r.Resources...)
	for i := range r.Resources {
		if slices.Contains(r.Resources[i].Facets.Labels, "hold:legal") {
			d.Verdicts[i] = policies.Verdict{Reason: "legal_hold"}
		}
	}
	return d, err
}

// Policy decides on an erasure by what is stored of the items, whatever is not.
func TestPolicySeesWhatIsToBeErased(t *testing.T) {
	t.Parallel()
	w := prepare(t)
	pdp := &seenPDP{}
	w.change = func(c *worker.Config) { pdp.PDP, c.PDP = c.PDP, pdp }
	w.start(t)
	labels := func(list ...string) func(map[string]any) {
		return func(m map[string]any) { m["security_label"] = list }
	}
	w.publish(t, "acme", recorded(t, "a", "free", labels("level:restricted", "group:risk")), recorded(t, "b", "held", labels("level:public", "hold:legal")),
		forgetting(t, "held", "a", "b"), forgetting(t, "free", "a", "nowhere"))
	if diff := cmp.Diff([]string{"held policy_denied"}, w.letters(t, 1)); diff != "" {
		t.Error(diff)
	}
	w.receipt(t, "acme", "free")
	pdp.mu.Lock()
	defer pdp.mu.Unlock()
	type facets struct {
		ID     string
		Level  schemas.Level
		Groups []string
	}
	var got []facets
	for _, r := range pdp.seen {
		got = append(got, facets{r.ID, r.Facets.Level, r.Facets.Groups})
	}
	want := []facets{{"a", schemas.Restricted, []string{"risk"}}, {"b", schemas.Public, nil}, {"a", schemas.Restricted, []string{"risk"}}, {"nowhere", 0, nil}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("policy saw (-want +got):\n%s", diff)
	}
}
