package fallback_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/cover"
	"github.com/open-policy-agent/opa/v1/tester"
	"pgregory.net/rapid"

	"satchel/pipeline/scope"
	"satchel/policies"
	"satchel/policies/fallback"
	"satchel/policies/opaembed"
	"satchel/policies/policytest"
	"satchel/schemas"
)

func TestRegoTestsPassAndCover(t *testing.T) {
	t.Parallel()
	modules, store, err := tester.Load([]string{"."}, nil)
	if err != nil {
		t.Fatal(err)
	}
	coverage := cover.New()
	txn, err := store.NewTransaction(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer store.Abort(t.Context(), txn)
	results, err := tester.NewRunner().SetStore(store).SetModules(modules).
		SetCompiler(ast.NewCompiler().WithStrict(true)).SetCoverageQueryTracer(coverage).RunTests(t.Context(), txn)
	if err != nil {
		t.Fatal(err)
	}
	for r := range results {
		if !r.Pass() {
			t.Errorf("%s.%s: %s", r.Package, r.Name, r)
		}
	}
	if f := coverage.Report(modules).Files["five.rego"]; f == nil || f.Coverage < 100 {
		t.Errorf("five.rego is not covered: %+v", f)
	}
}

func open(t *testing.T, c opaembed.Config) policies.PDP {
	t.Helper()
	p, err := opaembed.New(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func five(t *testing.T) policies.PDP { return open(t, opaembed.Config{Bundle: fallback.Rules()}) }

// While the server answers, nothing is different.
func TestConformance(t *testing.T) {
	t.Parallel()
	policytest.Run(t, func(t *testing.T) policies.PDP { return fallback.New(open(t, opaembed.Config{}), five(t)) })
}

// away answers as a server that cannot be reached, or with half an answer.
type away struct {
	policies.PDP
	half bool
}

func (a away) Decide(ctx context.Context, s scope.Scope, r policies.Request) (policies.Decision, error) {
	d, err := a.PDP.Decide(ctx, s, r)
	if a.half && err == nil && len(d.Verdicts) > 0 {
		d.Verdicts = d.Verdicts[1:]
		return d, nil
	}
	d.Deny()
	return d, policies.ErrUnavailable
}

func (a away) Filter(context.Context, scope.Scope, string) (schemas.Filter, error) {
	return schemas.MatchNone(), policies.ErrUnavailable
}

// want is the five rules in Go.
func want(p scope.Principal, r *policies.Resource) (allow bool, redact []string) {
	shares := slices.ContainsFunc(r.Facets.Groups, func(g string) bool { return slices.Contains(p.Groups, g) })
	switch {
	case r.Facets.Sensitivity > 0.7 && p.Level < 2, r.Facets.Credentials, r.Facets.Trust < 0.3,
		len(r.Facets.Groups) > 0 && !shares:
		return false, nil
	case !r.Facets.PII:
		return true, nil
	case len(r.PIIFlags) == 0 || slices.Contains(r.PIIFlags, "phone"):
		return true, []string{"$.content"}
	}
	return true, r.PIIFlags
}

func TestFiveRulesWhileTheServerIsAway(t *testing.T) {
	t.Parallel()
	for _, half := range []bool{false, true} {
		p := fallback.New(away{open(t, opaembed.Config{}), half}, five(t))
		rapid.Check(t, func(t *rapid.T) {
			s, r := policytest.Draw(t, 100)
			for i := range r.Resources {
				r.Resources[i].Facets.Sensitivity = rapid.SampledFrom([]float64{0, 0.7, 0.71, 1}).Draw(t, "sensitivity")
			}
			f, err := p.Filter(context.Background(), s, r.Action)
			reading := r.Action == "read" || r.Action == "open"
			if (err == nil) != reading || !reading && !f.IsNone() {
				t.Errorf("%s: filter is none: %t, error %v", r.Action, f.IsNone(), err)
			}
			d, err := p.Decide(context.Background(), s, r)
			if (err == nil) != reading || err != nil && !errors.Is(err, policies.ErrUnavailable) {
				t.Errorf("%s: error %v", r.Action, err)
			}
			if reading && !slices.Equal(d.Warnings, []string{fallback.Warning}) {
				t.Errorf("warnings %q", d.Warnings)
			}
			for i, v := range d.Verdicts {
				allow, redact := want(s.Principal(), &r.Resources[i])
				if allow = allow && reading; v.Allow != allow || allow && !slices.Equal(v.Redact, redact) {
					t.Errorf("%s: verdict %+v, want allow %t, redact %q", r.Action, v, allow, redact)
				}
				if v.Allow && !f.Match(&r.Resources[i].Facets) {
					t.Errorf("the filter %+v hides what is allowed", f.Conds())
				}
			}
		})
	}
}

// When the rules fail as well, or the caller is gone, nothing is allowed.
func TestNothingIsLeft(t *testing.T) {
	t.Parallel()
	s, err := scope.New("acme", scope.Principal{ID: "planner", Level: 3}, "")
	if err != nil {
		t.Fatal(err)
	}
	r := policies.Request{Action: "read", Now: time.Unix(1, 0), Resources: []policies.Resource{{ID: "a", Facets: schemas.Facets{Trust: 1}}}}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	dead := away{open(t, opaembed.Config{}), false}
	for name, c := range map[string]struct {
		p   policies.PDP
		ctx context.Context
	}{
		"both away":          {fallback.New(dead, dead), t.Context()},
		"local half":         {fallback.New(dead, away{five(t), true}), t.Context()},
		"the caller is gone": {fallback.New(dead, five(t)), gone},
	} {
		d, err := c.p.Decide(c.ctx, s, r)
		if !errors.Is(err, policies.ErrUnavailable) || len(d.Verdicts) != 1 || d.Verdicts[0].Allow {
			t.Errorf("%s: %+v, error %v", name, d, err)
		}
	}
}
