package policytest

import (
	"strings"
	"testing"

	"satchel/pipeline/scope"
	"satchel/policies"
	"satchel/schemas"
	"satchel/test/must"
)

// spelling holds that a restriction restricts however its label or the purpose is
// spelt, in the verdicts and in the filter alike.
func spelling(t *testing.T, p policies.PDP) {
	for purpose, leaves := range map[string]bool{
		"export": true, "Export": true, "EXPORT": true, "Share": true, "TRAINING": true,
		"support": false, "Support": false, "SUPPORT": false,
	} {
		s := plainScope(t, scope.Principal{ID: "planner"}, purpose)
		reasons := map[bool]string{true: "export", false: "allowed"}
		r := policies.Request{Action: "read", Now: noon()}
		var want []string
		for label, reason := range map[string]string{
			"export:restricted": reasons[leaves], "export:Restricted": reasons[leaves], "export:no": reasons[leaves], "export:allowed": "allowed",
			"credentials:true": "credentials", "credentials:True": "credentials", "credentials:1": "credentials", "credentials:yes": "credentials",
			"credentials:false":                   "allowed",
			"purpose:" + strings.ToLower(purpose): "allowed", "purpose:" + strings.ToUpper(purpose): "allowed", "purpose:Billing": "purpose",
		} {
			m := schemas.MemoryItem{ID: label, SecurityLabel: []string{"level:public", label}}
			r.Resources, want = append(r.Resources, policies.Resource{ID: label, Facets: m.Facets()}), append(want, reason)
		}
		d := must.Get(p.Decide(t.Context(), s, r))(t)
		f := must.Get(p.Filter(t.Context(), s, "read"))(t)
		for i, v := range d.Verdicts {
			if v.Reason != want[i] {
				t.Errorf("%s for %q: %s, want %s", r.Resources[i].ID, purpose, v.Reason, want[i])
			}
			passes := f.Match(&r.Resources[i].Facets)
			if v.Allow && !passes {
				t.Errorf("%s for %q: the filter hides what is allowed", r.Resources[i].ID, purpose)
			}
			if exact := want[i] != "export" || r.Resources[i].ID == "export:restricted"; exact && !v.Allow && passes {
				t.Errorf("%s for %q: the filter lets through what is denied for %s", r.Resources[i].ID, purpose, want[i])
			}
		}
	}
}
