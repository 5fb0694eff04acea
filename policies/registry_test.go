package policies_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"satchel/pipeline/scope"
	"satchel/policies"
	"satchel/schemas"
)

const registryYAML = `
tenants:
  acme:
    principals:
      - id: planner
        level: confidential
        groups: [ops, dev]
        roles: [auditor, eraser]
      - id: plain
  other:
    principals:
      - {id: planner, level: restricted}
`

func registry(t *testing.T, text string) *policies.Registry {
	t.Helper()
	r, err := policies.ReadRegistry(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestResolve(t *testing.T) {
	t.Parallel()
	known, nobody := registry(t, registryYAML), registry(t, "")
	claim := schemas.Agent{
		Type: "agent", ID: "planner", SecurityLevel: "restricted", Groups: []string{"qa", "dev"}, Roles: []string{"auditor", "pii_reader"},
	}
	modest := schemas.Agent{ID: "planner", SecurityLevel: "internal", Groups: []string{"ops"}}
	bare := schemas.Agent{ID: "planner"}
	stranger := claim
	stranger.ID = "stranger"
	whole := []string{"dev", "ops"}
	for name, c := range map[string]struct {
		registry *policies.Registry
		tenant   string
		claim    schemas.Agent
		loopback bool
		want     scope.Principal
	}{
		"a high claim is capped": {known, "acme", claim, true, scope.Principal{
			Kind: "agent", ID: "planner", Level: 2, Groups: []string{"dev"}, Roles: []string{"auditor"}}},
		"a modest claim stays modest": {known, "acme", modest, false, scope.Principal{
			ID: "planner", Level: 1, Groups: []string{"ops"}, Roles: []string{"auditor", "eraser"}}},
		"a bare claim is the registry's": {known, "acme", bare, false, scope.Principal{
			ID: "planner", Level: 2, Groups: whole, Roles: []string{"auditor", "eraser"}}},
		"a name of another tenant": {known, "other", claim, false, scope.Principal{Kind: "agent", ID: "planner", Level: 3}},
		"a stranger":               {known, "acme", stranger, true, scope.Principal{Kind: "agent", ID: "stranger", Unregistered: true}},
		"an unknown tenant":        {known, "nowhere", claim, true, scope.Principal{Kind: "agent", ID: "planner", Unregistered: true}},
		"an empty registry":        {nobody, "acme", claim, true, scope.Principal{Kind: "agent", ID: "planner", Unregistered: true}},
		"no registry, loopback": {nil, "acme", claim, true, scope.Principal{
			Kind: "agent", ID: "planner", Level: 3, Groups: []string{"dev", "qa"}, Roles: []string{"auditor", "pii_reader"}}},
		"no registry, loopback, bare": {nil, "acme", bare, true, scope.Principal{ID: "planner"}},
		"no registry, elsewhere":      {nil, "acme", claim, false, scope.Principal{Kind: "agent", ID: "planner"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := c.registry.Resolve(c.tenant, c.claim, c.loopback)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, got, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestResolveRefusesMalformedClaims(t *testing.T) {
	t.Parallel()
	for field, claim := range map[string]schemas.Agent{
		"/meta/from/id":            {ID: "no spaces"},
		"/meta/from/securityLevel": {ID: "planner", SecurityLevel: "cosmic"},
	} {
		for _, r := range []*policies.Registry{nil, registry(t, registryYAML)} {
			_, err := r.Resolve("acme", claim, true)
			var typed *schemas.Error
			if !errors.As(err, &typed) || typed.Code != schemas.CodeValidation || typed.Field != field {
				t.Errorf("%s: error %v", field, err)
			}
		}
	}
}

func TestResolveNeverGivesMoreThanTheRegistry(t *testing.T) {
	t.Parallel()
	known := registry(t, registryYAML)
	names := rapid.SliceOf(rapid.SampledFrom([]string{"dev", "ops", "qa", "auditor", "eraser", "pii_reader", ""}))
	rapid.Check(t, func(t *rapid.T) {
		p, err := known.Resolve("acme", schemas.Agent{
			ID:            rapid.SampledFrom([]string{"planner", "plain", "stranger"}).Draw(t, "id"),
			SecurityLevel: rapid.SampledFrom([]string{"", "public", "internal", "confidential", "restricted"}).Draw(t, "level"),
			Groups:        names.Draw(t, "groups"), Roles: names.Draw(t, "roles"),
		}, rapid.Bool().Draw(t, "loopback"))
		if err != nil {
			t.Fatal(err)
		}
		cap := scope.Principal{}
		if p.ID == "planner" {
			cap = scope.Principal{Level: 2, Groups: []string{"dev", "ops"}, Roles: []string{"auditor", "eraser"}}
		}
		within := func(list, of []string) bool {
			return slices.IsSorted(list) && !slices.ContainsFunc(list, func(x string) bool { return !slices.Contains(of, x) })
		}
		if p.Level > cap.Level || !within(p.Groups, cap.Groups) || !within(p.Roles, cap.Roles) {
			t.Errorf("resolved %+v", p)
		}
	})
}

func TestReadRegistry(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"unknown key":     "tenants: {acme: {principals: [{id: a, clearance: public}]}}",
		"unknown top key": "tenant: {}",
		"unknown level":   "tenants: {acme: {principals: [{id: a, level: cosmic}]}}",
		"bad id":          "tenants: {acme: {principals: [{id: 'a b'}]}}",
		"no id":           "tenants: {acme: {principals: [{level: public}]}}",
		"twice":           "tenants: {acme: {principals: [{id: a}, {id: a, level: restricted}]}}",
		"bad tenant":      "tenants: {'a.b': {principals: []}}",
		"not yaml":        "\tx: [",
		"a list":          "- a",
	} {
		if r, err := policies.ReadRegistry(strings.NewReader(text)); err == nil {
			t.Errorf("%s: accepted as %+v", name, r)
		}
	}
	name := filepath.Join(t.TempDir(), "principals.json")
	if err := os.WriteFile(name, []byte(`{"tenants": {"acme": {"principals": [{"id": "planner", "level": "internal"}]}}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	r, err := policies.OpenRegistry(name)
	if err != nil {
		t.Fatal(err)
	}
	if p, err := r.Resolve("acme", schemas.Agent{ID: "planner"}, false); err != nil || p.Level != 1 {
		t.Errorf("resolved %+v, error %v", p, err)
	}
	if _, err := policies.OpenRegistry(name + ".absent"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("error %v", err)
	}
}

func FuzzReadRegistry(f *testing.F) {
	f.Add(registryYAML)
	f.Add(`{"tenants": {}}`)
	f.Add("tenants: &a {acme: *a}")
	f.Add("tenants: {acme: {principals: [{id: a, roles: !00 00}]}}")
	f.Fuzz(func(t *testing.T, text string) {
		r, err := policies.ReadRegistry(strings.NewReader(text))
		if (r == nil) != (err != nil) {
			t.Errorf("registry %v, error %v", r, err)
		}
	})
}

// Trust is what the registry grants; nobody has more than the default without it.
func TestTrust(t *testing.T) {
	t.Parallel()
	r, err := policies.ReadRegistry(strings.NewReader("tenants:\n  main:\n    principals:\n      - {id: a}\n      - {id: b, trust: .9}\n      - {id: c, trust: .5}\n  \"*\":\n    principals:\n      - {id: d, trust: 1}\n"))
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		r          *policies.Registry
		tenant, id string
		want       float64
	}{{r, "main", "a", .7}, {r, "main", "b", .9}, {r, "main", "c", .5}, {r, "main", "d", .5}, {r, "other", "d", 1}, {r, "other", "a", .5}, {nil, "main", "b", .5}} {
		if got := tc.r.Trust(tc.tenant, tc.id); got != tc.want {
			t.Errorf("%s of %s is granted %g, want %g", tc.id, tc.tenant, got, tc.want)
		}
		claimed, low := 1.0, .2
		high, less := schemas.MemoryItem{Trust: &claimed}, schemas.MemoryItem{Trust: &low}
		if lowered := tc.r.Grant(tc.tenant, tc.id, &high); *high.Trust != tc.want || claimed != 1 || lowered != (tc.want < 1) {
			t.Errorf("%s of %s: trust 1 counts as %g", tc.id, tc.tenant, *high.Trust)
		}
		if tc.r.Grant(tc.tenant, tc.id, &less) || *less.Trust != .2 || tc.r.Grant(tc.tenant, tc.id, &schemas.MemoryItem{}) {
			t.Errorf("%s of %s: a trust that is granted is lowered", tc.id, tc.tenant)
		}
	}
	for _, trust := range []string{"0", ".4", "1.1", "-1", ".nan", "high"} {
		if _, err := policies.ReadRegistry(strings.NewReader("tenants: {main: {principals: [{id: a, trust: " + trust + "}]}}")); err == nil {
			t.Errorf("trust %s is taken", trust)
		}
	}
}
