package isolation_test

import (
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"satchel/pipeline/isolation"
	"satchel/pipeline/isolation/roles"
	"satchel/schemas"
)

// whole is a run of which everything has a value that can be told apart.
func whole() *isolation.Run {
	pack := &schemas.ContextResult{}
	pack.Payload.PackID, pack.Payload.Text, pack.Payload.Pack.RequestID = "pack-1", "TEXT", "REQUEST"
	pack.Payload.Results = []schemas.ResultItem{{ID: "a", Content: schemas.TextContent("the kiln is hot")}, {ID: "b", Content: schemas.TextContent("WITHHELD")}}
	pack.Payload.Pack.Sections = []schemas.ContextSection{{Items: []schemas.ContextItem{{ID: "a", SecurityLabel: "level:internal"}}}}
	return &isolation.Run{Task: "task", TokenBudget: 7, Plan: &schemas.RolePlan{Steps: []schemas.PlanStep{{ID: "1", Question: "why?"}}}, Pack: pack,
		Withheld: []string{"b"}, Tools: []string{"refund"}, Answer: &schemas.RoleAnswer{Text: "answer", PackID: "OTHER"},
		Metrics: schemas.TokenCostEnvelope{TokenBudget: 9}, Findings: []schemas.Finding{{Anomaly: "injection"}}}
}

// TestAViewHasTheFieldsThatAreNamed: each name shows one field, and no role's names show
// another's.
func TestAViewHasTheFieldsThatAreNamed(t *testing.T) {
	t.Parallel()
	var names []string
	for _, role := range roles.Names() {
		names = append(names, roles.Whitelist(role)...)
		v, err := isolation.Show(whole(), roles.Whitelist(role))
		if err != nil {
			t.Fatal(err)
		}
		raw, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		var shown map[string]json.RawMessage
		if err := json.Unmarshal(raw, &shown); err != nil {
			t.Fatal(err)
		}
		var got []string
		for name := range shown {
			got = append(got, name)
		}
		slices.Sort(got)
		if want := slices.Sorted(slices.Values(roles.Whitelist(role))); !slices.Equal(got, want) {
			t.Errorf("the %s is shown %v, want %v", role, got, want)
		}
		for _, hidden := range []string{"WITHHELD", "TEXT", "REQUEST", "OTHER"} {
			if strings.Contains(string(raw), hidden) {
				t.Errorf("the %s is shown %s: %s", role, hidden, raw)
			}
		}
	}
	if _, err := isolation.Show(whole(), []string{"task", "results"}); !errors.Is(err, isolation.ErrClosed) {
		t.Errorf("a field that nobody has: %v", err)
	}
	var fields []string
	for i := range reflect.TypeFor[schemas.ExposedFields]().NumField() {
		name, _, _ := strings.Cut(reflect.TypeFor[schemas.ExposedFields]().Field(i).Tag.Get("json"), ",")
		fields = append(fields, name)
	}
	slices.Sort(fields)
	slices.Sort(names)
	if diff := cmp.Diff(slices.Compact(names), fields); diff != "" {
		t.Errorf("fields that no role has, or that do not exist (-roles +fields):\n%s", diff)
	}
}

// TestAViewCanHoldNothingElse walks the type: texts, figures, and lists and structs of
// those; nothing into which anything could be put.
func TestAViewCanHoldNothingElse(t *testing.T) {
	t.Parallel()
	var walk func(at string, of reflect.Type)
	walk = func(at string, of reflect.Type) {
		switch of.Kind() {
		case reflect.String, reflect.Int, reflect.Int64, reflect.Float64, reflect.Bool:
		case reflect.Slice, reflect.Pointer:
			walk(at, of.Elem())
		case reflect.Map:
			if of.Key().Kind() != reflect.String || of.Elem().Kind() != reflect.String {
				t.Errorf("%s is %s", at, of)
			}
		case reflect.Struct:
			for i := range of.NumField() {
				walk(at+"."+of.Field(i).Name, of.Field(i).Type)
			}
		default:
			t.Errorf("%s is %s: anything could be in it", at, of)
		}
	}
	walk("View", reflect.TypeFor[isolation.View]())
	for i := range reflect.TypeFor[isolation.View]().NumField() {
		if f := reflect.TypeFor[isolation.View]().Field(i); f.IsExported() {
			t.Errorf("%s can be set by anybody", f.Name)
		}
	}
}
