package exception_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"satchel/policies"
	"satchel/policies/exception"
	"satchel/schemas"
)

// TestAnOwnerIsAPrincipal: somebody whom the registry does not know in this tenant answers
// for nothing.
func TestAnOwnerIsAPrincipal(t *testing.T) {
	t.Parallel()
	w := open(t)
	known, err := policies.ReadRegistry(strings.NewReader("tenants:\n  acme: {principals: [{id: mara}, {id: planner}]}\n  other: {principals: [{id: jonas}]}\n"))
	must(t, err)
	r, err := exception.New(exception.Config{Log: w.log, PDP: builtin(t), Principals: known, Clock: w.clock})
	must(t, err)
	for owner, ok := range map[string]bool{"mara": true, "nobody": false, "jonas": false, "Mara": false} {
		n := draft("read:clearance")
		n.Owner = owner
		x, err := r.Add(t.Context(), approver(t), n)
		var refusal *schemas.Error
		switch {
		case ok && (err != nil || !x.Live):
			t.Errorf("owner %s: %v", owner, err)
		case !ok && (!errors.As(err, &refusal) || refusal.Code != schemas.CodeValidation || refusal.Field != "/add/owner"):
			t.Errorf("owner %s: error %v", owner, err)
		}
	}
	n := draft("read:clearance")
	n.Principals = []string{"planner", "ghost"}
	var refusal *schemas.Error
	if _, err := r.Add(t.Context(), approver(t), n); !errors.As(err, &refusal) || refusal.Field != "/add/principals/1" {
		t.Errorf("an unknown principal: error %v", err)
	}
	list, err := r.List(t.Context(), approver(t), true)
	must(t, err)
	var owners []string
	for _, x := range list {
		owners = append(owners, x.Owner)
	}
	if diff := cmp.Diff([]string{"mara"}, owners); diff != "" {
		t.Errorf("owners (-want +got):\n%s", diff)
	}
}

// TestTriggersThatNeverFire: what cannot end an exception is no trigger.
func TestTriggersThatNeverFire(t *testing.T) {
	t.Parallel()
	w := open(t)
	for trigger, ok := range map[string]bool{
		"anomaly.x>=1/1ns": false, "anomaly.x>=1": false, "denials>=1/1ns": false, "denials>=1/59s": false,
		"anomaly.budget_creep>=1/1m": true, "anomalies>=1": true, "denials>=1/1m": true,
	} {
		n := draft("read:clearance")
		n.RollbackTrigger = trigger
		_, err := w.registry.Add(t.Context(), approver(t), n)
		var refusal *schemas.Error
		if ok && err != nil || !ok && (!errors.As(err, &refusal) || refusal.Field != "/add/rollback_trigger") {
			t.Errorf("%s: error %v", trigger, err)
		}
	}
}

// TestUsesOutliveARestart counts the uses of an exception that ended by them, and of one
// that was revoked, in a registry that was opened later.
func TestUsesOutliveARestart(t *testing.T) {
	t.Parallel()
	w := open(t)
	want := map[string]int{}
	for _, trigger := range []string{"uses>=2", "uses>=9"} {
		n := draft("read:clearance")
		n.RollbackTrigger = trigger
		x, err := w.registry.Add(t.Context(), approver(t), n)
		must(t, err)
		_, item := resource("read:clearance")
		for range 2 {
			if !w.passes(t, w.guard, as(t, "acme", "planner"), "read", item) {
				t.Fatal("the exception does not hold")
			}
		}
		_, err = w.registry.Revoke(t.Context(), approver(t), x.ID)
		must(t, err)
		want[x.ID] = 2
	}
	later, _ := w.wire(t, builtin(t))
	for range 2 {
		list, err := later.List(t.Context(), approver(t), true)
		must(t, err)
		got := map[string]int{}
		for _, x := range list {
			got[x.ID] = x.Uses
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("uses after a restart (-want +got):\n%s", diff)
		}
	}
}

// TestUsesOfTheExpired counts the uses of an exception that expired, and whose end nobody
// has written yet, in a registry that was opened later.
func TestUsesOfTheExpired(t *testing.T) {
	t.Parallel()
	w := open(t)
	_, err := w.registry.Add(t.Context(), approver(t), draft("read:clearance"))
	must(t, err)
	_, item := resource("read:clearance")
	if !w.passes(t, w.guard, as(t, "acme", "planner"), "read", item) {
		t.Fatal("the exception does not hold")
	}
	w.pass(2 * time.Hour)
	later, _ := w.wire(t, builtin(t))
	for range 2 {
		list, err := later.List(t.Context(), approver(t), true)
		must(t, err)
		if len(list) != 1 || list[0].Uses != 1 || list[0].Live {
			t.Errorf("expired: %+v", list)
		}
		must(t, later.Sweep(t.Context(), approver(t)))
	}
}

// TestWhatWasLifted says it in words.
func TestWhatWasLifted(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]string{"read:clearance": "policy: governed exceptions lifted 1 denial", "read:pii": "policy: governed exceptions lifted 1 redaction"} {
		w := open(t)
		_, err := w.registry.Add(t.Context(), approver(t), draft(path))
		must(t, err)
		_, item := resource(path)
		d, err := w.guard.Decide(t.Context(), as(t, "acme", "planner"), policies.Request{Action: "read", Now: w.clock(), Resources: []policies.Resource{item}, RequestID: "r", DecisionID: "d"})
		must(t, err)
		if !slices.Contains(d.Warnings, want) {
			t.Errorf("%s: warnings are %q", path, d.Warnings)
		}
	}
}
