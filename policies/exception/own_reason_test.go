package exception_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"satchel/policies"
	"satchel/policies/exception"
	"satchel/policies/opa"
	builtinrego "satchel/policies/rego"
	"satchel/schemas"
)

// TestOwnReasonsAreLifted: a reason of one's own is lifted as a built-in one is, whether it
// stands beside the built-in rules or in a copy of them, and no other is lifted with it.
func TestOwnReasonsAreLifted(t *testing.T) {
	t.Parallel()
	raw, err := builtinrego.Bundle().ReadFile("policy.rego")
	must(t, err)
	filter, err := builtinrego.Bundle().ReadFile("filter.rego")
	must(t, err)
	forked := strings.Replace(string(raw), `	["tenant", refused.tenant],
	["credentials", refused.credentials],`, `	["tenant", refused.tenant],
	["contractor", refused.contractor],
	["credentials", refused.credentials],`, 1) + "\nrefused[\"contractor\"] := {i | \"case:7\" in input.items[i].labels}\n"
	for name, files := range map[string]fstest.MapFS{
		"beside": {"mine.rego": {Data: []byte("package satchel.extra\n\ndeny contains [i, \"contractor\"] if {\n\tsome i, item in input.items\n\t\"case:7\" in item.labels\n}\n")}},
		"copied": {"policy.rego": {Data: []byte(forked)}, "filter.rego": {Data: filter}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			pdp, err := opa.New(t.Context(), opa.Config{Bundle: files})
			must(t, err)
			w := open(t)
			w.registry, err = exception.New(exception.Config{Log: w.log, PDP: pdp, Denies: pdp.Denies, Clock: w.clock})
			must(t, err)
			w.guard = exception.NewGuard(pdp, w.registry)
			planner := as(t, "acme", "planner")
			_, plain := resource("read:contractor")
			_, secret := resource("read:clearance")
			_, foreign := resource("read:contractor")
			foreign.Facets.Labels = append(foreign.Facets.Labels, "tenant:other")
			passes := func() []bool {
				var out []bool
				for _, item := range []policies.Resource{plain, secret, foreign} {
					out = append(out, w.passes(t, w.guard, planner, "read", item))
				}
				return out
			}
			if got := passes(); slices.Contains(got, true) {
				t.Fatalf("open without an exception: %v", got)
			}
			x, err := w.registry.Add(t.Context(), approver(t), draft("read:contractor"))
			must(t, err)
			if got := passes(); !slices.Equal(got, []bool{true, false, false}) {
				t.Errorf("with the exception: %v", got)
			}
			d, err := w.guard.Decide(t.Context(), planner, policies.Request{Action: "read", Now: w.clock(), Resources: []policies.Resource{plain}})
			if err != nil || d.Verdicts[0].Reason != exception.ReasonException || d.Verdicts[0].Exception != x.ID {
				t.Errorf("verdict %+v, %v", d.Verdicts, err)
			}
			_, err = w.registry.Revoke(t.Context(), approver(t), x.ID)
			must(t, err)
			if got := passes(); slices.Contains(got, true) {
				t.Errorf("open after its end: %v", got)
			}
			for _, path := range []string{"read:contractors", "read:tenant", "read:action", "read:policy_error", "read:source", "except:role", "steal:contractor", "read:", "read:Not So"} {
				_, err := w.registry.Add(t.Context(), approver(t), draft(path))
				var refused *schemas.Error
				if !errors.As(err, &refused) || refused.Code != schemas.CodeValidation || refused.Field != "/add/path" {
					t.Errorf("%s: %v", path, err)
				}
			}
		})
	}
}
