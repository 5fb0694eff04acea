package worker_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/cloudevents/sdk-go/v2/event"
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
		forgetting(t, "held", "a", "b"), forgetting(t, "mixed", "a", "nowhere"))
	if diff := cmp.Diff([]string{"held policy_denied", "mixed unknown_item /data/items/1"}, w.letters(t, 2)); diff != "" {
		t.Error(diff)
	}
	w.publish(t, "acme", forgetting(t, "free", "a")) // which takes the letters away: they name the item
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
	want := []facets{{"a", schemas.Restricted, []string{"risk"}}, {"b", schemas.Public, nil}, {"a", schemas.Restricted, []string{"risk"}}, {"nowhere", 0, nil}, {"a", schemas.Restricted, []string{"risk"}}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("policy saw (-want +got):\n%s", diff)
	}
}

// awayPDP gives no verdict on an erasure.
type awayPDP struct{ policies.PDP }

func (p awayPDP) Decide(ctx context.Context, s scope.Scope, r policies.Request) (policies.Decision, error) {
	if r.Action == "erase" {
		return policies.Decision{}, fmt.Errorf("decide action %q: %w", r.Action, policies.ErrUnavailable)
	}
	return p.PDP.Decide(ctx, s, r)
}

// An erasure that policy gave no verdict on is refused as at the other doors.
func TestErasureWithoutPolicy(t *testing.T) {
	t.Parallel()
	w := prepare(t)
	w.change = func(c *worker.Config) { c.PDP = awayPDP{c.PDP} }
	w.start(t)
	w.put(t, recorded(t, "a", "one"), "indexed")
	for _, items := range [][]string{{"a"}, {"nowhere"}, {"a", "nowhere"}} {
		_, err := waited(within(t))(w.worker.Service.Put(within(t), "acme", encode(t, schemas.PutRequest{Agent: "planner", Event: structured(t, forgetting(t, "gone", items...)), Wait: "logged"})))
		if e := typed(t, err); e.Code != schemas.CodePolicyDenied || e.Message != "policy gave no verdict, so nothing is erased" || e.Field != "" {
			t.Errorf("%v: error = %v", items, err)
		}
	}
}

// fewPDP leaves out the last verdict on an erasure.
type fewPDP struct{ policies.PDP }

func (p fewPDP) Decide(ctx context.Context, s scope.Scope, r policies.Request) (policies.Decision, error) {
	d, err := p.PDP.Decide(ctx, s, r)
	if r.Action == "erase" {
		d.Verdicts = d.Verdicts[:len(d.Verdicts)-1]
	}
	return d, err
}

// An erasure of which policy decided on a part only is one without a verdict.
func TestErasureWithHalfADecision(t *testing.T) {
	t.Parallel()
	w := prepare(t)
	w.change = func(c *worker.Config) { c.PDP = fewPDP{c.PDP} }
	w.start(t)
	w.put(t, recorded(t, "a", "one"), "indexed")
	_, err := waited(within(t))(w.worker.Service.Put(within(t), "acme", encode(t, schemas.PutRequest{Agent: "planner", Event: structured(t, forgetting(t, "gone", "a")), Wait: "logged"})))
	if err == nil || typed(t, err).Code != schemas.CodePolicyDenied {
		t.Errorf("error = %v", err)
	}
}

// Without a registry an erasure has to claim the role eraser, on the stream as on put; with
// one a claim takes away what it does not name, and adds nothing.
func TestErasureNeedsTheRole(t *testing.T) {
	t.Parallel()
	claiming := func(id, roles string) event.Event {
		ev := forgetting(t, id, "a")
		ev.SetExtension(schemas.ExtensionRoles, nil)
		if roles != "" {
			ev.SetExtension(schemas.ExtensionRoles, roles)
		}
		return ev
	}
	put := func(w *world, ev event.Event) error {
		_, err := waited(within(t))(w.worker.Service.Put(within(t), "acme", encode(t, schemas.PutRequest{Agent: "planner", Event: structured(t, ev), Wait: "logged"})))
		return err
	}
	for name, c := range map[string]struct {
		registry                string
		silent, auditor, eraser bool // whether an erasure that claims it is allowed
	}{
		"no registry":           {"", false, false, true},
		"the registry knows":    {"tenants: {acme: {principals: [{id: planner, roles: [eraser]}]}}", true, false, true},
		"the registry does not": {"tenants: {acme: {principals: [{id: planner}]}}", false, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := prepare(t)
			w.change = func(cfg *worker.Config) {
				if c.registry == "" {
					return
				}
				var err error
				cfg.Registry, err = policies.ReadRegistry(strings.NewReader(c.registry))
				must(t, err)
			}
			w.start(t)
			w.put(t, recorded(t, "a", "one"), "indexed")
			var refused []string
			for _, try := range []struct {
				roles   string
				allowed bool
			}{{"auditor", c.auditor}, {"", c.silent}, {"auditor,eraser", c.eraser}} {
				id := "stream-" + strings.ReplaceAll(try.roles, ",", "-")
				if !try.allowed {
					var e *schemas.Error
					if err := put(w, claiming("put", try.roles)); !errors.As(err, &e) || e.Code != schemas.CodePolicyDenied {
						t.Errorf("put claiming %q: %v", try.roles, err)
					}
					refused = append(refused, id+" policy_denied")
				}
				w.publish(t, "acme", claiming(id, try.roles))
				if try.allowed {
					w.receipt(t, "acme", id)
					return // the item is gone
				}
				if diff := cmp.Diff(refused, w.letters(t, len(refused))); diff != "" {
					t.Error(diff)
				}
			}
		})
	}
}
