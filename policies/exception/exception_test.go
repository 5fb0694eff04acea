package exception_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"satchel/pipeline/scope"
	"satchel/pipeline/store/eventlog"
	"satchel/pipeline/store/sqlite"
	"satchel/policies"
	"satchel/policies/exception"
	"satchel/policies/opa"
	"satchel/schemas"
)

// world is a registry and its guard over a real log and the built-in policy.
type world struct {
	log      *eventlog.Log
	registry *exception.Registry
	guard    *exception.Guard
	now      atomic.Int64 // unix nanoseconds
}

func noon() time.Time { return time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC) }

func (w *world) clock() time.Time { return time.Unix(0, w.now.Load()).UTC() }

func (w *world) pass(d time.Duration) { w.now.Add(int64(d)) }

func open(t *testing.T) *world {
	t.Helper()
	w := &world{}
	w.now.Store(noon().UnixNano())
	db, err := sqlite.OpenLog(t.Context(), sqlite.LogConfig{Path: filepath.Join(t.TempDir(), "log.db")})
	must(t, err)
	w.log, err = eventlog.New(eventlog.Config{Driver: db, Clock: w.clock})
	must(t, err)
	t.Cleanup(func() { must(t, w.log.Close()) })
	w.registry, w.guard = w.wire(t, builtin(t))
	return w
}

// compiled is the built-in policy, compiled once for all tests.
var compiled = sync.OnceValues(func() (*opa.PDP, error) {
	return opa.New(context.Background(), opa.Config{})
})

func builtin(t *testing.T) policies.PDP {
	t.Helper()
	pdp, err := compiled()
	must(t, err)
	return pdp
}

func (w *world) wire(t *testing.T, pdp policies.PDP) (*exception.Registry, *exception.Guard) {
	t.Helper()
	r, err := exception.New(exception.Config{Log: w.log, PDP: pdp, Clock: w.clock})
	must(t, err)
	return r, exception.NewGuard(pdp, r)
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func as(t testing.TB, tenant, id string, roles ...string) scope.Scope {
	t.Helper()
	s, err := scope.New(tenant, scope.Principal{Kind: "agent", ID: id, Level: int(schemas.Internal), Roles: roles}, "export")
	must(t, err)
	return s
}

func approver(t testing.TB) scope.Scope { return as(t, "acme", "officer", "exception_approver") }

func draft(path string) schemas.NewException {
	return schemas.NewException{Owner: "mara", Path: path, Principals: []string{"planner"}, Reason: "audit week",
		ExpiresAt: noon().Add(time.Hour), RollbackTrigger: "uses>=100"}
}

// resource is an item that policy denies for the reason of path.
func resource(path string) (action string, r policies.Resource) {
	action, reason, _ := strings.Cut(path, ":")
	r = policies.Resource{ID: "item", CreatedAt: noon(), Facets: schemas.Facets{
		Kind: schemas.KindMemory, Session: "s1", Level: schemas.Internal, Labels: []string{"level:internal", "case:7"}, Trust: 0.5, Signer: "unsigned",
	}}
	switch reason {
	case "credentials":
		r.Facets.Credentials = true
	case "clearance":
		r.Facets.Level = schemas.Restricted
	case "sensitivity":
		r.Facets.Sensitivity = 0.9
	case "groups":
		r.Facets.Groups = []string{"risk"}
	case "purpose":
		r.Facets.Purposes = []string{"billing"}
	case "export":
		r.Facets.Labels = append(r.Facets.Labels, "export:restricted")
	case "trust":
		r.Facets.Trust = 0.1
	case "expired":
		r.ExpiresAt = noon().Add(-time.Minute)
	case "no_longer_valid":
		r.ValidTo = noon().Add(-time.Minute)
	case "pii":
		r.Facets.PII, r.PIIFlags = true, []string{"$.content.iban"}
	case "safety":
		r.Facets.Labels = append(r.Facets.Labels, "safety:moves_money")
	}
	return action, r
}

// passes reports whether the guard lets the item through, whole.
func (w *world) passes(t *testing.T, g *exception.Guard, s scope.Scope, action string, items ...policies.Resource) bool {
	t.Helper()
	d, err := g.Decide(t.Context(), s, policies.Request{Action: action, Now: w.clock(), Resources: items, RequestID: "req-1", DecisionID: "dec-1"})
	must(t, err)
	if len(d.Verdicts) != len(items) {
		t.Fatalf("%d verdicts for %d items", len(d.Verdicts), len(items))
	}
	return !slices.ContainsFunc(d.Verdicts, func(v policies.Verdict) bool { return !v.Allow || len(v.Redact) > 0 })
}

func (w *world) count(t *testing.T, eventType string) int {
	t.Helper()
	s, err := scope.System("acme")
	must(t, err)
	entries, err := w.log.Read(t.Context(), s, 0, 10_000)
	must(t, err)
	n := 0
	for _, e := range entries {
		if e.Type == eventType {
			n++
		}
	}
	return n
}

// TestEveryBypassNeedsALiveException walks every path around policy there is: each is
// shut without an exception, open with a live one, and shut again for everybody else and
// when it has ended, however it ends.
func TestEveryBypassNeedsALiveException(t *testing.T) {
	t.Parallel()
	ends := map[string]func(t *testing.T, w *world, id string){
		"expiry": func(_ *testing.T, w *world, _ string) { w.pass(time.Hour) },
		"revocation": func(t *testing.T, w *world, id string) {
			_, err := w.registry.Revoke(t.Context(), approver(t), id)
			must(t, err)
		},
		"trigger": func(t *testing.T, w *world, _ string) {
			must(t, w.append(t, schemas.TypeRequestRefused, schemas.Refusal{RequestID: "x", Principal: "y", Code: schemas.CodePolicyDenied}))
		},
	}
	for _, path := range schemas.ExceptionPaths() {
		for how, end := range ends {
			t.Run(path+" until "+how, func(t *testing.T) {
				t.Parallel()
				w := open(t)
				action, item := resource(path)
				planner := as(t, "acme", "planner")
				if w.passes(t, w.guard, planner, action, item) {
					t.Fatal("it is open without an exception")
				}
				n := draft(path)
				n.RollbackTrigger = "request.refused>=1"
				x, err := w.registry.Add(t.Context(), approver(t), n)
				must(t, err)
				if !w.passes(t, w.guard, planner, action, item) {
					t.Fatal("a live exception does not open it")
				}
				if n := w.count(t, schemas.TypeExceptionUsed); n != 1 {
					t.Errorf("%d uses in the log, want 1", n)
				}
				for _, other := range []scope.Scope{as(t, "acme", "critic"), as(t, "globex", "planner")} {
					if w.passes(t, w.guard, other, action, item) {
						t.Errorf("it is open for %s of %s", other.Principal().ID, other.Tenant())
					}
				}
				end(t, w, x.ID)
				if w.passes(t, w.guard, planner, action, item) {
					t.Error("it is open after its end")
				}
				must(t, w.registry.Sweep(t.Context(), planner))
				if n := w.count(t, schemas.TypeExceptionEnded); n != 1 {
					t.Errorf("%d ends in the log, want 1", n)
				}
			})
		}
	}
}

func (w *world) append(t *testing.T, eventType string, data any) error {
	t.Helper()
	raw, err := json.Marshal(data)
	must(t, err)
	_, err = w.log.Append(t.Context(), eventlog.Batch{Drafts: []eventlog.Draft{{Tenant: "acme", Agent: "satchel", Type: eventType, Source: "test",
		ID: fmt.Sprint("e", w.now.Add(1)), Time: w.clock(), Data: raw}}})
	return err
}

// TestNothingLiftsTheRest: an exception for one reason leaves every other rule in force.
func TestNothingLiftsTheRest(t *testing.T) {
	t.Parallel()
	w := open(t)
	planner := as(t, "acme", "planner")
	_, err := w.registry.Add(t.Context(), approver(t), draft("read:clearance"))
	must(t, err)
	for _, second := range []string{"read:credentials", "read:groups", "read:purpose", "read:export", "read:trust", "read:expired", "read:no_longer_valid", "read:pii"} {
		_, item := resource(second)
		item.Facets.Level = schemas.Restricted
		if w.passes(t, w.guard, planner, "read", item) {
			t.Errorf("the exception for read:clearance lifts %s too", second)
		}
	}
	_, foreign := resource("read:clearance")
	foreign.Facets.Labels = append(foreign.Facets.Labels, "tenant:globex")
	if w.passes(t, w.guard, planner, "read", foreign) {
		t.Error("the exception lifts the tenant")
	}
	_, item := resource("read:clearance")
	if w.passes(t, w.guard, planner, "open", item) || w.passes(t, w.guard, planner, "steal", item) {
		t.Error("the exception lifts another action")
	}
	// Two exceptions together lift two reasons; what is personal stays redacted.
	_, err = w.registry.Add(t.Context(), approver(t), draft("read:groups"))
	must(t, err)
	_, both := resource("read:groups")
	both.Facets.Level = schemas.Restricted
	if !w.passes(t, w.guard, planner, "read", both) {
		t.Error("two exceptions do not lift two reasons")
	}
	both.Facets.PII, both.PIIFlags = true, []string{"$.content.iban"}
	d, err := w.guard.Decide(t.Context(), planner, policies.Request{Action: "read", Now: w.clock(), Resources: []policies.Resource{both}})
	must(t, err)
	if v := d.Verdicts[0]; !v.Allow || !slices.Equal(v.Redact, both.PIIFlags) || v.Reason != exception.ReasonException {
		t.Errorf("verdict %+v, want allowed by exception with the iban redacted", v)
	}
}

func TestScopeOfAnException(t *testing.T) {
	t.Parallel()
	w := open(t)
	planner := as(t, "acme", "planner")
	n := draft("read:clearance")
	n.Session, n.Labels, n.Purpose = "s1", []string{"case:7"}, "export"
	_, err := w.registry.Add(t.Context(), approver(t), n)
	must(t, err)
	_, item := resource("read:clearance")
	if !w.passes(t, w.guard, planner, "read", item) {
		t.Fatal("it does not open what it is for")
	}
	elsewhere, unlabelled := item, item
	elsewhere.Facets.Session = "s2"
	unlabelled.Facets.Labels = []string{"level:restricted"}
	if w.passes(t, w.guard, planner, "read", elsewhere) || w.passes(t, w.guard, planner, "read", unlabelled) {
		t.Error("it opens another session or another label")
	}
	other, err := scope.New("acme", planner.Principal(), "support")
	must(t, err)
	if w.passes(t, w.guard, other, "read", item) {
		t.Error("it opens another purpose")
	}
	f, err := w.guard.Filter(t.Context(), planner, "read")
	must(t, err)
	if !f.Match(&item.Facets) {
		t.Error("the filter hides what the exception allows")
	}
	if f, err = w.guard.Filter(t.Context(), other, "read"); err != nil || f.Match(&item.Facets) {
		t.Errorf("the filter lets through what no exception covers (%v)", err)
	}
}

func TestWhatIsRefused(t *testing.T) {
	t.Parallel()
	w := open(t)
	for name, change := range map[string]func(*schemas.NewException){
		"/add/owner":            func(n *schemas.NewException) { n.Owner = "" },
		"/add/expires_at":       func(n *schemas.NewException) { n.ExpiresAt = time.Time{} },
		"/add/reason":           func(n *schemas.NewException) { n.Reason = " " },
		"/add/principals":       func(n *schemas.NewException) { n.Principals = nil },
		"/add/path":             func(n *schemas.NewException) { n.Path = "read:tenant" },
		"/add/rollback_trigger": func(n *schemas.NewException) { n.RollbackTrigger = "when it hurts" },
		"/add/audit_hook":       func(n *schemas.NewException) { n.AuditHook = "a.b" },
	} {
		n := draft("read:clearance")
		change(&n)
		_, err := w.registry.Add(t.Context(), approver(t), n)
		var typed *schemas.Error
		if !errors.As(err, &typed) || typed.Code != schemas.CodeValidation || typed.Field != name {
			t.Errorf("%s: error %v", name, err)
		}
	}
	for name, expires := range map[string]time.Time{"past": noon(), "too far": noon().Add(exception.MaxLife + time.Second)} {
		n := draft("read:clearance")
		n.ExpiresAt = expires
		if _, err := w.registry.Add(t.Context(), approver(t), n); err == nil {
			t.Errorf("an expiry in the %s is taken", name)
		}
	}
	if n := w.count(t, schemas.TypeExceptionRegistered); n != 0 {
		t.Errorf("%d registrations in the log, want none", n)
	}
}

// TestWhoGoverns: policy decides who registers and revokes; without an answer nobody.
func TestWhoGoverns(t *testing.T) {
	t.Parallel()
	w := open(t)
	denied := func(name string, err error) {
		t.Helper()
		var typed *schemas.Error
		if !errors.As(err, &typed) || typed.Code != schemas.CodePolicyDenied {
			t.Errorf("%s: error %v, want policy_denied", name, err)
		}
	}
	_, err := w.registry.Add(t.Context(), as(t, "acme", "pia"), draft("read:clearance"))
	denied("without a log", err)
	if n := w.count(t, schemas.TypeRequestRefused); n != 0 {
		t.Errorf("%d refusals in the log of a tenant that has none", n)
	}
	must(t, w.append(t, schemas.TypeMemoryRecorded, struct{}{}))
	_, err = w.registry.Add(t.Context(), as(t, "acme", "pia"), draft("read:clearance"))
	denied("without the role", err)
	_, err = w.registry.Add(t.Context(), as(t, "acme", "mara", "exception_approver"), draft("read:clearance"))
	denied("the owner", err)
	if n := w.count(t, schemas.TypeRequestRefused); n != 2 {
		t.Errorf("%d refusals in the log, want 2", n)
	}
	x, err := w.registry.Add(t.Context(), approver(t), draft("read:clearance"))
	must(t, err)
	if len(x.Decisions) != 1 || w.count(t, schemas.TypePolicyDecided) != 1 {
		t.Errorf("decisions %v, want the one in the log", x.Decisions)
	}
	_, err = w.registry.Revoke(t.Context(), as(t, "acme", "planner"), x.ID)
	denied("revoked by its user", err)
	if st, err := w.registry.Revoke(t.Context(), as(t, "acme", "mara"), x.ID); err != nil || st.Live || st.Cause != exception.CauseRevoked {
		t.Errorf("revoked by its owner: %+v, %v", st, err)
	}
	r, _ := w.wire(t, silent{builtin(t)})
	_, err = r.Add(t.Context(), approver(t), draft("read:clearance"))
	denied("no verdict", err)
}

// Who may not revoke an exception does not hear whether there is one, nor does anybody
// without a verdict of policy.
func TestRevokingTellsNothing(t *testing.T) {
	t.Parallel()
	w := open(t)
	live, err := w.registry.Add(t.Context(), approver(t), draft("read:clearance"))
	must(t, err)
	ended, err := w.registry.Add(t.Context(), approver(t), draft("read:expired"))
	must(t, err)
	_, err = w.registry.Revoke(t.Context(), approver(t), ended.ID)
	must(t, err)
	mute, _ := w.wire(t, silent{builtin(t)})
	for name, revoke := range map[string]func(id string) (schemas.ExceptionState, error){
		"denied": func(id string) (schemas.ExceptionState, error) {
			return w.registry.Revoke(t.Context(), as(t, "acme", "pia"), id)
		},
		"no verdict": func(id string) (schemas.ExceptionState, error) { return mute.Revoke(t.Context(), approver(t), id) },
	} {
		_, want := revoke(live.ID)
		var typed *schemas.Error
		if !errors.As(want, &typed) || typed.Code != schemas.CodePolicyDenied {
			t.Errorf("%s: error %v, want policy_denied", name, want)
		}
		for _, id := range []string{ended.ID, "nowhere"} {
			if st, err := revoke(id); err == nil || err.Error() != want.Error() {
				t.Errorf("%s: %s gives %+v, %v, one that is live %v", name, id, st, err, want)
			}
		}
	}
	var typed *schemas.Error
	if _, err := w.registry.Revoke(t.Context(), approver(t), "nowhere"); !errors.As(err, &typed) || typed.Code != schemas.CodeNotFound {
		t.Errorf("to who may revoke: %v", err)
	}
}

// silent is a decision point that does not answer.
type silent struct{ policies.PDP }

func (silent) Decide(_ context.Context, _ scope.Scope, r policies.Request) (policies.Decision, error) {
	d := policies.Decision{Verdicts: make([]policies.Verdict, len(r.Resources))}
	d.Deny()
	return d, policies.ErrUnavailable
}

func (silent) Filter(context.Context, scope.Scope, string) (schemas.Filter, error) {
	return schemas.MatchNone(), policies.ErrUnavailable
}

// In an outage the local rules decide, and a live exception lifts what they deny.
func TestExceptionsLiftWhatTheLocalRulesDeny(t *testing.T) {
	t.Parallel()
	w := open(t)
	_, item := resource("read:clearance")
	planner := as(t, "acme", "planner")
	_, guard := w.wire(t, policies.NewLocalRules(silent{builtin(t)}, builtin(t)))
	if w.passes(t, guard, planner, "read", item) {
		t.Fatal("the local rules know no clearance")
	}
	_, err := w.registry.Add(t.Context(), approver(t), draft("read:clearance"))
	must(t, err)
	w.pass(2 * time.Second) // another registry reads the list again
	if !w.passes(t, guard, planner, "read", item) {
		t.Error("a live exception lifts nothing in an outage")
	}
	if n := w.count(t, schemas.TypeExceptionUsed); n != 1 {
		t.Errorf("%d uses in the log, want 1", n)
	}
}

// brokenLog refuses to append a type of entry.
type brokenLog struct {
	*eventlog.Log
	refused string
}

func (b brokenLog) Append(ctx context.Context, batch eventlog.Batch) ([]eventlog.Outcome, error) {
	if slices.ContainsFunc(batch.Drafts, func(d eventlog.Draft) bool { return d.Type == b.refused }) {
		return nil, eventlog.ErrFull
	}
	return b.Log.Append(ctx, batch)
}

func TestNoUseWithoutAnEntry(t *testing.T) {
	t.Parallel()
	w := open(t)
	_, err := w.registry.Add(t.Context(), approver(t), draft("read:clearance"))
	must(t, err)
	pdp := builtin(t)
	r, err := exception.New(exception.Config{Log: brokenLog{w.log, schemas.TypeExceptionUsed}, PDP: pdp, Clock: w.clock})
	must(t, err)
	_, item := resource("read:clearance")
	if w.passes(t, exception.NewGuard(pdp, r), as(t, "acme", "planner"), "read", item) {
		t.Error("an exception counts although its use could not be logged")
	}
}

// TestUsesAreCounted: under concurrency the trigger lets through as many uses as it says,
// and a registry made anew over the same log goes on counting.
func TestUsesAreCounted(t *testing.T) {
	t.Parallel()
	w := open(t)
	n := draft("read:clearance")
	n.RollbackTrigger = "uses>=10"
	x, err := w.registry.Add(t.Context(), approver(t), n)
	must(t, err)
	planner := as(t, "acme", "planner")
	_, item := resource("read:clearance")
	for range 4 {
		if !w.passes(t, w.guard, planner, "read", item) {
			t.Fatal("a use is refused")
		}
	}
	registry, guard := w.wire(t, builtin(t))
	var passed atomic.Int64
	var group sync.WaitGroup
	for range 32 {
		group.Go(func() {
			if w.passes(t, guard, planner, "read", item) {
				passed.Add(1)
			}
		})
	}
	group.Wait()
	if passed.Load() != 6 {
		t.Errorf("%d uses after the first 4, want 6", passed.Load())
	}
	list, err := registry.List(t.Context(), planner, true)
	must(t, err)
	if len(list) != 1 || list[0].Live || list[0].Uses != 10 || list[0].Cause != exception.CauseTriggered || list[0].ID != x.ID {
		t.Errorf("list %+v", list)
	}
	if w.passes(t, w.guard, planner, "read", item) {
		t.Error("the first registry does not see the end that the other one wrote")
	}
}

func TestWindowOfATrigger(t *testing.T) {
	t.Parallel()
	w := open(t)
	n := draft("read:clearance")
	n.RollbackTrigger = "denials>=3/10m"
	_, err := w.registry.Add(t.Context(), approver(t), n)
	must(t, err)
	_, item := resource("read:clearance")
	planner := as(t, "acme", "planner")
	denials := func(n int) {
		d := schemas.PolicyDecision{ID: "d", Verdicts: make([]schemas.Verdict, n)}
		must(t, w.append(t, schemas.TypePolicyDecided, d))
	}
	denials(2)
	w.pass(11 * time.Minute)
	denials(2)
	if !w.passes(t, w.guard, planner, "read", item) {
		t.Fatal("denials outside the window end it")
	}
	denials(1)
	if w.passes(t, w.guard, planner, "read", item) {
		t.Error("three denials within ten minutes do not end it")
	}
}

func FuzzParseTrigger(f *testing.F) {
	for _, s := range []string{"uses>=1", "anomaly.budget_creep>=2/10m", "request.refused>=3/1h30m", "x>=y/z", ">=/", "uses>=99999999999999999999"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		trigger, err := exception.ParseTrigger(s)
		if err != nil {
			if !errors.Is(err, exception.ErrTrigger) {
				t.Fatalf("error %v", err)
			}
			return
		}
		again, err := exception.ParseTrigger(trigger.String())
		if err != nil || again != trigger {
			t.Fatalf("%q reads as %+v, written %q reads as %+v (%v)", s, trigger, trigger.String(), again, err)
		}
	})
}

func TestNobodyExceptsThemselves(t *testing.T) {
	t.Parallel()
	w := open(t)
	s := approver(t)
	n := draft("read:clearance")
	for _, id := range []string{n.Owner, strings.ToUpper(n.Owner), s.Principal().ID, strings.ToUpper(s.Principal().ID)} {
		own := n
		own.Principals = []string{"somebody", id}
		var e *schemas.Error
		if _, err := w.registry.Add(t.Context(), s, own); !errors.As(err, &e) || e.Field != "/add/principals/1" {
			t.Errorf("%s: %v", id, err)
		}
	}
}
