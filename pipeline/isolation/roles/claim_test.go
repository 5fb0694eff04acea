package roles_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"satchel/pipeline/isolation/roles"
	"satchel/pipeline/scope"
	"satchel/policies"
	"satchel/schemas"
)

// TestARunIsOfWhoBeganIt: nobody else goes on with a run or begins it again; another
// tenant's run of that name is another run.
func TestARunIsOfWhoBeganIt(t *testing.T) {
	t.Parallel()
	w := open(t, nil)
	w.remember(t, outage()...)
	mine, other := as(t, "mine", schemas.Internal), as(t, "other", schemas.Restricted)
	got, err := w.runner.Run(t.Context(), mine, schemas.RunRequest{RequestID: "run-1", Task: question})
	must(t, err)
	before := len(w.entries(t, "run-1"))
	for _, role := range roles.Names() {
		reply, err := w.runner.Execute(t.Context(), other, role, schemas.RoleRequest{RequestID: "run-1", Task: question})
		if code(err) != "policy_denied /request_id" || reply.State != nil || reply.Plan != nil || reply.Answer != nil {
			t.Errorf("%s of another principal: %+v, %v", role, reply, err)
		}
	}
	if reply, err := w.runner.Run(t.Context(), other, schemas.RunRequest{RequestID: "run-1", Task: question}); code(err) != "policy_denied /request_id" || reply.Answer != nil {
		t.Errorf("the run of another principal: %+v, %v", reply, err)
	}
	if n := len(w.entries(t, "run-1")); n != before {
		t.Errorf("the run has %d entries, had %d", n, before)
	}
	abroad, err := scope.New("elsewhere", scope.Principal{Kind: "agent", ID: "other", Level: int(schemas.Internal)}, "")
	must(t, err)
	if _, err := w.runner.Execute(t.Context(), abroad, roles.Verifier, schemas.RoleRequest{RequestID: "run-1", Task: question, PackID: got.PackID}); err == nil {
		t.Error("another tenant verifies the context")
	}
	_, err = w.runner.Execute(t.Context(), abroad, roles.Planner, schemas.RoleRequest{RequestID: "run-1", Task: question})
	must(t, err)
	if n := len(w.entries(t, "run-1")); n != before {
		t.Errorf("another tenant's run is in this one's log: %d entries, had %d", n, before)
	}
	_, err = w.runner.Execute(t.Context(), mine, roles.Planner, schemas.RoleRequest{RequestID: "run-1", Task: question})
	must(t, err)
}

// noRoles lets nobody play a role, once it is told to.
type noRoles struct {
	policies.PDP
	closed atomic.Bool
}

func (p *noRoles) Decide(ctx context.Context, s scope.Scope, r policies.Request) (policies.Decision, error) {
	d, err := p.PDP.Decide(ctx, s, r)
	if r.Action == "act" && p.closed.Load() {
		for i := range d.Verdicts {
			d.Verdicts[i] = policies.Verdict{Reason: "role"}
		}
	}
	return d, err
}

// TestWhoMayHaveNoRoleLearnsOfNoRun: the answer is the same whether a run of that name is
// there, is another's, or is none.
func TestWhoMayHaveNoRoleLearnsOfNoRun(t *testing.T) {
	t.Parallel()
	pdp := &noRoles{PDP: builtin(t)}
	w := open(t, func(c *roles.Config) { c.PDP = pdp })
	_, err := w.runner.Execute(t.Context(), as(t, "mine", schemas.Internal), roles.Planner, schemas.RoleRequest{RequestID: "run-1", Task: question})
	must(t, err)
	pdp.closed.Store(true)
	for _, run := range []string{"run-1", "run-2"} {
		_, err := w.runner.Execute(t.Context(), as(t, "other", schemas.Internal), roles.Planner, schemas.RoleRequest{RequestID: run, Task: question})
		if code(err) != "policy_denied " || !strings.Contains(err.Error(), "does not let this principal have the role") {
			t.Errorf("%s: %v", run, err)
		}
		if n := len(w.entries(t, run)); run == "run-2" && n != 0 {
			t.Errorf("%d entries of a run that was denied", n)
		}
	}
}

// noPolicy gives no verdict.
type noPolicy struct{ policies.PDP }

func (noPolicy) Decide(context.Context, scope.Scope, policies.Request) (policies.Decision, error) {
	return policies.Decision{}, policies.ErrUnavailable
}

// TestWithoutPolicyNobodyHasARole: policy that is away has denied nothing, and is said to
// be away.
func TestWithoutPolicyNobodyHasARole(t *testing.T) {
	t.Parallel()
	w := open(t, func(c *roles.Config) { c.PDP = noPolicy{c.PDP} })
	_, err := w.runner.Execute(t.Context(), as(t, "mine", schemas.Internal), roles.Planner, schemas.RoleRequest{RequestID: "run-1", Task: question})
	if code(err) != "policy_denied " || !strings.Contains(err.Error(), "policy gave no verdict, so nobody may have the role planner") {
		t.Errorf("error = %v", err)
	}
}

// TestOneOfManyBeginsARun: of all who begin a run of the same name at once one has it.
func TestOneOfManyBeginsARun(t *testing.T) {
	t.Parallel()
	w := open(t, nil)
	var group sync.WaitGroup
	for i := range 24 {
		group.Go(func() {
			_, err := w.runner.Execute(t.Context(), as(t, fmt.Sprintf("p%d", i), schemas.Internal), roles.Planner, schemas.RoleRequest{RequestID: "run-1", Task: question})
			if err != nil && code(err) != "policy_denied /request_id" {
				t.Error(err)
			}
		})
	}
	group.Wait()
	entries := w.entries(t, "run-1")
	if len(entries) != 1 {
		t.Fatalf("%d hand-overs", len(entries))
	}
	var h schemas.Handover
	must(t, json.Unmarshal(entries[0].Data, &h))
	if h.Principal == "" {
		t.Error("the run has no principal")
	}
}

// TestOnesOwnRunIsNobodyElses: who begins a run twice at once has it, and both hand-overs
// are in it.
func TestOnesOwnRunIsNobodyElses(t *testing.T) {
	t.Parallel()
	w := open(t, nil)
	var group sync.WaitGroup
	for range 24 {
		group.Go(func() {
			if _, err := w.runner.Execute(t.Context(), as(t, "mine", schemas.Internal), roles.Planner, schemas.RoleRequest{RequestID: "run-1", Task: question}); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	if n := len(w.entries(t, "run-1")); n != 24 {
		t.Errorf("%d hand-overs", n)
	}
}
