// Package policytest is the conformance suite of every policies.PDP that claims the
// built-in policy, with its decisions as data in cases.
package policytest

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"satchel/pipeline/scope"
	"satchel/policies"
	"satchel/schemas"
	"satchel/test/must"
)

// Run holds the PDP that open returns to the contract of policies.PDP and to the
// built-in policy. The PDP must be safe for concurrent use and must answer the same
// question the same way every time.
func Run(t *testing.T, open func(t *testing.T) policies.PDP) {
	t.Run("cases", func(t *testing.T) { runCases(t, open(t)) })
	t.Run("a broken request is denied", func(t *testing.T) { refuses(t, open(t)) })
	t.Run("a decision says what it was", func(t *testing.T) { names(t, open(t)) })
	t.Run("no resources", func(t *testing.T) { empty(t, open(t)) })
	t.Run("a batch is its items one by one", func(t *testing.T) { batch(t, open(t)) })
	t.Run("the filter hides nothing that is allowed", func(t *testing.T) { pushdown(t, open(t)) })
	t.Run("the filter hides what it can", func(t *testing.T) { hides(t, open(t)) })
	t.Run("a spelling opens nothing", func(t *testing.T) { spelling(t, open(t)) })
	t.Run("callers cannot change each other's verdicts", func(t *testing.T) { aliasing(t, open(t)) })
	t.Run("concurrent", func(t *testing.T) { concurrent(t, open(t)) })
}

// ignoreEmpty makes no difference between no list and an empty one.
func ignoreEmpty() cmp.Option { return cmpopts.EquateEmpty() }

func plainScope(t interface {
	Helper()
	Fatal(...any)
}, p scope.Principal, purpose string) scope.Scope {
	t.Helper()
	return must.Get(scope.New("acme", p, purpose))(t)
}

func noon() time.Time { return time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC) }

func plainItems(n int) []policies.Resource {
	items := make([]policies.Resource, n)
	for i := range items {
		items[i] = policies.Resource{ID: string(rune('a' + i)), Facets: schemas.Facets{
			Kind: schemas.KindMemory, Labels: []string{"level:public"}, Trust: 0.5, Signer: schemas.Unsigned,
		}}
	}
	return items
}

// denied reports a decision that is not a denial of n resources with an error.
func denied(t *testing.T, d policies.Decision, err error, n int) {
	t.Helper()
	if !errors.Is(err, policies.ErrUnavailable) {
		t.Errorf("error %v, want policies.ErrUnavailable", err)
	}
	if len(d.Verdicts) != n {
		t.Errorf("%d verdicts, want %d", len(d.Verdicts), n)
	}
	for _, v := range d.Verdicts {
		if v.Allow || v.Reason != "policy_error" {
			t.Errorf("verdict %+v, want a denial for policy_error", v)
		}
	}
}

func refuses(t *testing.T, p policies.PDP) {
	s := plainScope(t, scope.Principal{ID: "planner", Level: 3}, "")
	r := policies.Request{Action: "read", Now: noon(), Resources: plainItems(3)}
	d, err := p.Decide(t.Context(), scope.Scope{}, r)
	denied(t, d, err, 3)
	timeless := r
	timeless.Now = time.Time{}
	d, err = p.Decide(t.Context(), s, timeless)
	denied(t, d, err, 3)
	over, cancel := context.WithCancel(t.Context())
	cancel()
	d, err = p.Decide(over, s, r)
	denied(t, d, err, 3)
	f, err := p.Filter(t.Context(), scope.Scope{}, "read")
	if err == nil || !f.IsNone() {
		t.Errorf("filter for no scope: none %t, error %v", f.IsNone(), err)
	}
	if f, err = p.Filter(t.Context(), s, "steal"); err != nil || !f.IsNone() {
		t.Errorf("filter for an unknown action: none %t, error %v", f.IsNone(), err)
	}
}

func names(t *testing.T, p policies.PDP) {
	s := plainScope(t, scope.Principal{ID: "planner", Level: 3}, "support")
	r := policies.Request{Action: "read", Now: noon(), Resources: plainItems(3)}
	d, err := p.Decide(t.Context(), s, r)
	if err != nil {
		t.Fatal(err)
	}
	if d.Revision == "" || d.Revision != p.Revision() {
		t.Errorf("revision %q, the PDP's is %q", d.Revision, p.Revision())
	}
	if want := policies.InputHash(s, &r); d.InputHash != want {
		t.Errorf("input hash %q, want %q", d.InputHash, want)
	}
	hashed := d
	r.Unhashed = true
	if d, err = p.Decide(t.Context(), s, r); err != nil {
		t.Fatal(err)
	}
	if hashed.InputHash = d.InputHash; d.InputHash != "" && d.InputHash != policies.InputHash(s, &r) || !cmp.Equal(d, hashed) {
		t.Errorf("unhashed: %s", cmp.Diff(hashed, d))
	}
}

func empty(t *testing.T, p policies.PDP) {
	s := plainScope(t, scope.Principal{ID: "planner"}, "")
	d, err := p.Decide(t.Context(), s, policies.Request{Action: "read", Now: noon()})
	if err != nil || len(d.Verdicts) != 0 {
		t.Errorf("%d verdicts, error %v", len(d.Verdicts), err)
	}
}

func batch(t *testing.T, p policies.PDP) {
	rapid.Check(t, func(t *rapid.T) {
		s := plainScope(t, drawPrincipal(t), drawPurpose(t))
		r := policies.Request{
			Action: drawAction(t), Now: noon(),
			Resources: rapid.SliceOfN(rapid.Custom(drawResource), 0, 8).Draw(t, "resources"),
		}
		whole := must.Get(p.Decide(t.Context(), s, r))(t)
		for i := range r.Resources {
			one := r
			one.Resources = r.Resources[i : i+1]
			single := must.Get(p.Decide(t.Context(), s, one))(t)
			if diff := cmp.Diff(single.Verdicts[0], whole.Verdicts[i], ignoreEmpty()); diff != "" {
				t.Errorf("verdict %d alone and in the batch differ: %s", i, diff)
			}
		}
	})
}

func pushdown(t *testing.T, p policies.PDP) {
	rapid.Check(t, func(t *rapid.T) {
		s, action := plainScope(t, drawPrincipal(t), drawPurpose(t)), drawAction(t)
		f := must.Get(p.Filter(t.Context(), s, action))(t)
		r := policies.Request{Action: action, Now: noon(), Resources: make([]policies.Resource, 8)}
		for i := range r.Resources {
			r.Resources[i] = drawResource(t)
		}
		d := must.Get(p.Decide(t.Context(), s, r))(t)
		for i, v := range d.Verdicts {
			if v.Allow && !f.Match(&r.Resources[i].Facets) {
				t.Errorf("%s: the filter %+v hides what is allowed: %+v", action, f.Conds(), r.Resources[i].Facets)
			}
		}
	})
}

// hides is what makes the filter worth its name: denials a store can see are hidden.
func hides(t *testing.T, p policies.PDP) {
	s := plainScope(t, scope.Principal{ID: "planner", Level: 1, Groups: []string{"dev"}}, "support")
	f := must.Get(p.Filter(t.Context(), s, "read"))(t)
	plain := plainItems(1)[0].Facets
	if !f.Match(&plain) {
		t.Errorf("a plain item is hidden by %+v", f.Conds())
	}
	for name, change := range map[string]func(*schemas.Facets){
		"level":       func(x *schemas.Facets) { x.Level = schemas.Confidential },
		"groups":      func(x *schemas.Facets) { x.Groups = []string{"ops"} },
		"purposes":    func(x *schemas.Facets) { x.Purposes = []string{"billing"} },
		"credentials": func(x *schemas.Facets) { x.Credentials = true },
		"sensitivity": func(x *schemas.Facets) { x.Sensitivity = 0.71 },
		"trust":       func(x *schemas.Facets) { x.Trust = 0.2 },
	} {
		x := plain
		if change(&x); f.Match(&x) {
			t.Errorf("the filter %+v lets through what is denied for %s", f.Conds(), name)
		}
	}
}

func aliasing(t *testing.T, p policies.PDP) {
	s := plainScope(t, scope.Principal{ID: "planner"}, "")
	r := policies.Request{Action: "read", Now: noon(), Resources: plainItems(2)}
	for i := range r.Resources {
		r.Resources[i].Facets.PII, r.Resources[i].PIIFlags = true, []string{"$.content.email"}
		r.Resources[i].Facets.Labels = []string{"level:public", "detected:email"}
	}
	for range 2 {
		d := must.Get(p.Decide(t.Context(), s, r))(t)
		for _, v := range d.Verdicts {
			if diff := cmp.Diff([]string{"$.content.email"}, v.Redact); diff != "" {
				t.Fatal(diff)
			}
			v.Redact[0] = "changed"
			if diff := cmp.Diff([]string{"email"}, v.Obligations.Types); diff != "" {
				t.Fatal(diff)
			}
			v.Obligations.Types[0] = "changed"
		}
	}
}

func concurrent(t *testing.T, p policies.PDP) {
	r := policies.Request{Action: "read", Now: noon(), Resources: plainItems(8)}
	for i := range r.Resources {
		r.Resources[i].Facets.Level = schemas.Level(i % 4)
	}
	var group sync.WaitGroup
	for level := range 4 {
		s := plainScope(t, scope.Principal{ID: "planner", Level: level}, "")
		for range 3 {
			group.Go(func() {
				d, err := p.Decide(t.Context(), s, r)
				if err != nil {
					t.Error(err)
				}
				for i, v := range d.Verdicts {
					if v.Allow != (i%4 <= level) {
						t.Errorf("level %d: verdict %d is %+v", level, i, v)
					}
				}
				if _, err := p.Filter(t.Context(), s, "read"); err != nil {
					t.Error(err)
				}
			})
		}
	}
	group.Wait()
}

// Same holds two PDPs to the same verdicts and filters on generated requests of n
// resources each.
func Same(t *testing.T, n int, one, other policies.PDP) {
	rapid.Check(t, func(t *rapid.T) {
		s, r := Draw(t, n)
		a := must.Get(one.Decide(t.Context(), s, r))(t)
		b := must.Get(other.Decide(t.Context(), s, r))(t)
		if a.InputHash != b.InputHash {
			t.Errorf("input hashes %q and %q", a.InputHash, b.InputHash)
		}
		for i := range r.Resources {
			if diff := cmp.Diff(a.Verdicts[i], b.Verdicts[i], ignoreEmpty()); diff != "" {
				t.Errorf("%s by %+v of %+v: verdicts differ (-one +other):\n%s", r.Action, s.Principal(), r.Resources[i], diff)
			}
		}
		f := must.Get(one.Filter(t.Context(), s, r.Action))(t)
		g := must.Get(other.Filter(t.Context(), s, r.Action))(t)
		if f.IsNone() != g.IsNone() || !cmp.Equal(f.Conds(), g.Conds(), ignoreEmpty()) {
			t.Errorf("filters %+v and %+v", f.Conds(), g.Conds())
		}
	})
}
