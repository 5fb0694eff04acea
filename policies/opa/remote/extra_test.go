package remote_test

import (
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"satchel/policies/opa"
	"satchel/policies/opa/remote"
	"satchel/test/conformance/policytest"
)

// everything denies by all that a rule may look at of an item.
const everything = `package satchel.extra

deny contains [i, "odd"] if {
	some i, item in input.items
	odd(item)
}

odd(item) if item.session == "s1"
odd(item) if item.kind == "code"
odd(item) if item.id == "b"
odd(item) if item.signer == "critic"
odd(item) if item.created_at > 5
odd(item) if item.sensitivity > 0.5
odd(item) if item.confidence < 0.5
odd(item) if "sealed" in item.policy_tags
odd(item) if item.project == "apollo"
odd(item) if startswith(item.source_uri, "ftp:")
odd(item) if item.speaker == "Eve"
`

// TestExtraOnAServer: rules of one's own beside the built-in ones decide on a server as
// they do in the process, on each item alone and on many, and exceptions lift them alike.
func TestExtraOnAServer(t *testing.T) {
	t.Parallel()
	local, err := opa.New(t.Context(), opa.Config{Bundle: fstest.MapFS{"mine.rego": &fstest.MapFile{Data: []byte(everything)}}})
	if err != nil {
		t.Fatal(err)
	}
	for name, without := range map[string]string{"batch": "", "one by one": "batch"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := serve(t, without)
			if d.documents, err = prepared(everything); err != nil {
				t.Fatal(err)
			}
			remote := open(t, remote.Config{URL: d.URL, Timeout: time.Minute, CacheTTL: time.Minute})
			rapid.Check(t, func(rt *rapid.T) {
				s, r := policytest.Draw(rt, 4)
				for i := range r.Resources {
					r.Resources[i].Spared = rapid.SliceOfN(rapid.SampledFrom([]string{"odd", "clearance", "tenant"}), 0, 2).Draw(rt, "spared")
					r.Resources[i].Confidence = rapid.SampledFrom([]*float64{nil, new(float64)}).Draw(rt, "confidence")
					r.Resources[i].PolicyTags = rapid.SampledFrom([][]string{nil, {"open", "sealed"}}).Draw(rt, "tags")
					r.Resources[i].Project = rapid.SampledFrom([]string{"", "apollo"}).Draw(rt, "project")
					r.Resources[i].SourceURI = rapid.SampledFrom([]string{"", "ftp://x", "https://x"}).Draw(rt, "source")
					r.Resources[i].Speaker = rapid.SampledFrom([]string{"", "Eve"}).Draw(rt, "speaker")
					r.Resources[i].Facets.Sensitivity = rapid.SampledFrom([]float64{0, .9}).Draw(rt, "sensitivity")
				}
				want, err := local.Decide(t.Context(), s, r)
				if err != nil {
					rt.Fatal(err)
				}
				got, err := remote.Decide(t.Context(), s, r)
				if err != nil {
					rt.Fatal(err)
				}
				if diff := cmp.Diff(want.Verdicts, got.Verdicts, cmpopts.EquateEmpty()); diff != "" {
					rt.Errorf("%s: (-in the process +on a server)\n%s", r.Action, diff)
				}
			})
		})
	}
}
