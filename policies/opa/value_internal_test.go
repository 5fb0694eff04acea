package opa

import (
	"bytes"
	"encoding/json"
	"testing"
	"time"

	"github.com/open-policy-agent/opa/v1/ast"

	"satchel/policies"
	"satchel/schemas"
)

// FuzzValues holds the reader of policy inputs to OPA's own, which reads any JSON.
func FuzzValues(f *testing.F) {
	r := policies.Resource{ID: "a", PIIFlags: []string{"$.content.email"}, ExpiresAt: time.Unix(9, 0), Facets: schemas.Facets{
		Kind: schemas.KindMemory, Labels: []string{"level:internal", "ünïcode:\"x\""}, Groups: []string{"ops"}, Trust: .29, PII: true}}
	f.Add(r.AppendInput(nil, policies.AllAttributes()))
	for _, text := range []string{`{}`, `[]`, `"a\u00e9\n"`, `{"a":[1,-2.5e3,true,null,{"b":"c"}]}`, `{"a":1,}`, `[1 ]`, `01`, `{"a":1}x`, "\"\xff\"", `"`, `{"a"`, `[[[[[[[[[[[[[[[[[[[[`} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		got, err := newValues().readWholeValue(raw)
		if err != nil {
			return
		}
		want, err := ast.ValueFromReader(bytes.NewReader(raw))
		if err != nil || !json.Valid(raw) {
			t.Fatalf("it reads %q, OPA does not: %v", raw, err)
		}
		if got.Value.Compare(want) != 0 {
			t.Fatalf("%q is %v, for OPA %v", raw, got, want)
		}
	})
}

// What package policies writes is read, and means what it means to OPA.
func TestValuesReadEveryInput(t *testing.T) {
	t.Parallel()
	r := policies.Resource{ID: "a", Facets: schemas.Facets{Kind: schemas.KindMemory, Labels: []string{"a", "ünï\"x\"\\\n<"}, Trust: .29}, ValidTo: time.Unix(1, 5)}
	for range 2 {
		raw := r.AppendInput(nil, policies.AllAttributes())
		got, err := newValues().readWholeValue(raw)
		if err != nil {
			t.Fatal(err)
		}
		want, err := ast.ValueFromReader(bytes.NewReader(raw))
		if err != nil {
			t.Fatal(err)
		}
		if got.Value.Compare(want) != 0 || got.Hash() != want.Hash() {
			t.Errorf("%s is %v, for OPA %v", raw, got, want)
		}
		r = policies.Resource{}
	}
}
