package policies_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"satchel/pipeline/scope"
	"satchel/policies"
	"satchel/policies/opa"
	"satchel/schemas"
	"satchel/test/conformance/policytest"
)

func builtin(t *testing.T) policies.PDP {
	t.Helper()
	p, err := opa.New(t.Context(), opa.Config{})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// While the server answers, nothing is different.
func TestConformance(t *testing.T) {
	t.Parallel()
	policytest.Run(t, func(t *testing.T) policies.PDP { return policies.NewLocalRules(builtin(t), away{builtin(t), false}) })
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

// fiveRules is the fallback of the slicer's specification: what it denies is denied.
func fiveRules(p scope.Principal, r *policies.Resource) bool {
	shares := slices.ContainsFunc(r.Facets.Groups, func(g string) bool { return slices.Contains(p.Groups, g) })
	return (r.Facets.Sensitivity <= 0.7 || p.Level >= 2) && !r.Facets.Credentials && r.Facets.Trust >= 0.3 &&
		(len(r.Facets.Groups) == 0 || shares)
}

// hidden reports whether the verdict hides what is personal in r.
func hidden(v policies.Verdict, r *policies.Resource) bool {
	found := slices.ContainsFunc(r.Facets.Labels, func(l string) bool { return strings.HasPrefix(l, "detected:") })
	return !r.Facets.PII || len(v.Redact) > 0 || found && v.Obligations.PII == schemas.PIIRedact
}

func TestLocalRulesWhileTheServerIsAway(t *testing.T) {
	t.Parallel()
	rules := builtin(t)
	for _, half := range []bool{false, true} {
		p := policies.NewLocalRules(away{rules, half}, rules)
		rapid.Check(t, func(t *rapid.T) {
			s, r := policytest.Draw(t, 100)
			decided := !slices.Contains([]string{"erase", "except", "revoke", "hold", "release"}, r.Action)
			reading := r.Action == "read" || r.Action == "open"
			f, err := p.Filter(context.Background(), s, r.Action)
			if (err == nil) != decided || !decided && !f.IsNone() {
				t.Errorf("%s: filter is none: %t, error %v", r.Action, f.IsNone(), err)
			}
			d, err := p.Decide(context.Background(), s, r)
			if (err == nil) != decided || err != nil && !errors.Is(err, policies.ErrUnavailable) {
				t.Errorf("%s: error %v", r.Action, err)
			}
			if decided && (!slices.Equal(d.Warnings, []string{policies.LocalRulesWarning}) || d.InputHash != policies.InputHash(s, &r) || d.Revision != "local="+rules.Revision()) {
				t.Errorf("revision %q, warnings %q, input hash %q", d.Revision, d.Warnings, d.InputHash)
			}
			known, err := rules.Decide(context.Background(), s, r)
			if err != nil {
				t.Fatal(err)
			}
			for i, v := range d.Verdicts {
				item := &r.Resources[i]
				switch {
				case v.Allow && !decided, v.Allow && !known.Verdicts[i].Allow:
					t.Errorf("%s: allowed, the built-in policy: %+v", r.Action, known.Verdicts[i])
				case v.Allow && reading && (!fiveRules(s.Principal(), item) || !hidden(v, item)):
					t.Errorf("%s: %+v of %+v", r.Action, v, item)
				case v.Allow && !f.Match(&item.Facets):
					t.Errorf("the filter %+v hides what is allowed", f.Conds())
				case decided && !reading && !cmp.Equal(v, known.Verdicts[i], cmpopts.EquateEmpty()):
					t.Errorf("%s: %+v, the built-in policy: %+v", r.Action, v, known.Verdicts[i])
				case !v.Allow && reading && known.Verdicts[i].Allow && !item.Facets.Credentials:
					t.Errorf("%s: denied for %s, which no role lifts", r.Action, v.Reason)
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
	rules := builtin(t)
	dead := away{rules, false}
	for name, c := range map[string]struct {
		p   policies.PDP
		ctx context.Context
	}{
		"both away":          {policies.NewLocalRules(dead, dead), t.Context()},
		"local half":         {policies.NewLocalRules(dead, away{rules, true}), t.Context()},
		"the caller is gone": {policies.NewLocalRules(dead, rules), gone},
	} {
		d, err := c.p.Decide(c.ctx, s, r)
		if !errors.Is(err, policies.ErrUnavailable) || len(d.Verdicts) != 1 || d.Verdicts[0].Allow {
			t.Errorf("%s: %+v, error %v", name, d, err)
		}
	}
}
