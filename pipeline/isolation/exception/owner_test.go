package exception_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"satchel/pipeline/isolation/exception"
	"satchel/policies"
	"satchel/schemas"
)

// TestAnOwnerIsAPrincipal: somebody whom the registry does not know in this tenant answers
// for nothing.
func TestAnOwnerIsAPrincipal(t *testing.T) {
	t.Parallel()
	w := open(t)
	known, err := policies.ReadRegistry(strings.NewReader("tenants:\n  acme: {principals: [{id: mara}]}\n  other: {principals: [{id: jonas}]}\n"))
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
