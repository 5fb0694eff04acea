package worker_test

import (
	"context"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"satchel/schemas"
	"satchel/worker"
)

// holding asks the service as who holds a role and returns the holds of its reply.
func (w *world) holding(ctx context.Context, t *testing.T, role string, req schemas.HoldRequest) []schemas.HoldState {
	t.Helper()
	req.From = &schemas.Agent{ID: "lea", SecurityLevel: "internal", Roles: []string{role}}
	out, err := w.worker.Service.Hold(ctx, "acme", encode(t, req))
	must(t, err)
	return out.(schemas.HoldReply).Holds
}

// deadErasures returns the causes of the refused erasures.
func (w *world) deadErasures(t *testing.T, n int) []string {
	t.Helper()
	w.letters(t, n)
	list, err := w.dead.List(within(t), "", 0, 1000)
	must(t, err)
	var causes []string
	for _, l := range list {
		causes = append(causes, l.Reason+": "+l.Cause)
	}
	return causes
}

// An erasure that comes over the stream meets the same holds as one over the service; a summary that
// would go with its source is kept by a hold of its own.
func TestAHoldKeepsWhatTheStreamWantsErased(t *testing.T) {
	t.Parallel()
	w := setup(t)
	w.publish(t, "acme", recorded(t, "source", "the crane failed"), recorded(t, "sum", "in short: the crane", func(d map[string]any) {
		d["kind"], d["links"] = "summary", []map[string]any{{"rel": "derived_from", "to": "source"}}
	}))
	w.entries(t, "acme", 2)
	held := w.holding(within(t), t, "counsel", schemas.HoldRequest{Place: &schemas.NewHold{Items: []string{"sum"}, Reason: "asked for by the court"}})[0]
	w.publish(t, "acme", forgetting(t, "f", "source"))
	causes := w.deadErasures(t, 1)
	if len(causes) != 1 || !strings.HasPrefix(causes[0], "policy_denied: legal_hold: ") || !strings.Contains(causes[0], held.ID) || strings.Contains(causes[0], "court") {
		t.Errorf("dead letters: %v", causes)
	}
	_, err := w.worker.Service.Plan(within(t), "acme", encode(t, schemas.PlanRequest{Items: []string{"source"}, From: &schemas.Agent{ID: "planner", SecurityLevel: "internal", Roles: []string{"eraser"}}}))
	if e := typed(t, err); e.Code != schemas.CodePolicyDenied || !slices.Equal(e.Holds, []string{held.ID}) {
		t.Errorf("the plan is refused with %+v", e)
	}
	// Who may not erase hears of no hold.
	_, err = w.worker.Service.Plan(within(t), "acme", encode(t, schemas.PlanRequest{Items: []string{"source"}, From: &schemas.Agent{ID: "stranger", SecurityLevel: "internal"}}))
	if e := typed(t, err); e.Code != schemas.CodePolicyDenied || e.Holds != nil || strings.Contains(e.Message, held.ID) {
		t.Errorf("a stranger's plan is refused with %+v", e)
	}
	if again := w.holding(within(t), t, "hold_releaser", schemas.HoldRequest{Release: held.ID}); again[0].Live {
		t.Errorf("released: %+v", again)
	}
	w.publish(t, "acme", forgetting(t, "g", "source"))
	if receipt := w.receipt(t, "acme", "g"); !slices.Equal(receipt.Holds, []string{held.ID}) {
		t.Errorf("the receipt names the holds %v", receipt.Holds)
	}
}

// A hold that is placed between the decision on an erasure and its entry counts.
func TestAHoldOvertakesAnErasureUnderWay(t *testing.T) {
	t.Parallel()
	w := prepare(t)
	var place atomic.Pointer[func()]
	w.change = func(c *worker.Config) {
		c.Failpoint = func(point string) {
			if f := place.Load(); f != nil && point == "erase.before_commit" && place.CompareAndSwap(f, nil) {
				(*f)()
			}
		}
	}
	w.start(t)
	w.publish(t, "acme", recorded(t, "kept", "the crane failed"), recorded(t, "other", "the crane works"))
	w.entries(t, "acme", 2)
	ctx := within(t)
	hold := func(item string) func() {
		return func() {
			w.holding(ctx, t, "counsel", schemas.HoldRequest{Place: &schemas.NewHold{Items: []string{item}, Absent: true, Reason: "asked for"}})
		}
	}
	first, second := hold("kept"), hold("elsewhere")
	place.Store(&first)
	w.publish(t, "acme", forgetting(t, "f", "kept"))
	if causes := w.deadErasures(t, 1); !strings.HasPrefix(causes[0], "policy_denied: legal_hold: ") {
		t.Errorf("dead letters: %v", causes)
	}
	place.Store(&second)
	w.publish(t, "acme", forgetting(t, "g", "other"))
	if receipt := w.receipt(t, "acme", "g"); len(receipt.Positions) != 1 || place.Load() != nil {
		t.Errorf("a hold of other items changes the erasure: %+v", receipt)
	}
}
