package opa_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
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

// contractors is the example of docs/how-to/rules.md.
const contractors = `package satchel.extra

attributes := {"labels"}

cacheable := true

deny contains [i, "contractor"] if {
	input.action in {"read", "open"}
	"contractors" in input.subject.groups
	some i, item in input.items
	not "audience:contractors" in item.labels
}
`

func extraFS(text string) fstest.MapFS {
	return fstest.MapFS{"mine.rego": &fstest.MapFile{Data: []byte(text)}}
}

func contractor(t *testing.T) scope.Scope {
	t.Helper()
	s, err := scope.New("acme", scope.Principal{Kind: "agent", ID: "c1", Level: 1, Groups: []string{"contractors"}}, "")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func reasons(d policies.Decision) []string {
	var out []string
	for _, v := range d.Verdicts {
		out = append(out, v.Reason)
	}
	return out
}

func TestExtraStandsBesideTheBuiltInRules(t *testing.T) {
	t.Parallel()
	p := open(t, opa.Config{Bundle: extraFS(contractors)})
	r := ask(4)
	r.Resources[1].Facets.Labels = []string{"level:public", "audience:contractors"}
	r.Resources[2].Facets.Level = 3
	r.Resources[3].Spared = []string{"contractor"}
	want := []string{"contractor", "allowed", "clearance", "allowed"}
	for range 2 { // the second time from the cache
		d, err := p.Decide(t.Context(), contractor(t), r)
		if diff := cmp.Diff(want, reasons(d)); err != nil || diff != "" {
			t.Errorf("%v %s", err, diff)
		}
	}
	if p.HitRate() == 0 {
		t.Error("verdicts are not kept")
	}
	if d, err := p.Decide(t.Context(), somebody(t), r); err != nil || d.Verdicts[0].Reason != "allowed" {
		t.Errorf("somebody else: %v, %v", reasons(d), err)
	}
	f, err := p.Filter(t.Context(), contractor(t), "read")
	plain, err2 := open(t, opa.Config{}).Filter(t.Context(), contractor(t), "read")
	if err != nil || err2 != nil || !cmp.Equal(f.Conds(), plain.Conds()) {
		t.Errorf("the filter is %+v, %v, %v", f.Conds(), err, err2)
	}
	if builtIn := open(t, opa.Config{}); p.Revision() == builtIn.Revision() || builtIn.Denies("contractor") || builtIn.Denies("clearance") {
		t.Error("the built-in bundle is taken for one's own")
	}
	if !p.Denies("contractor") || p.Denies("contractors") || p.Denies("clearance") {
		t.Error("the reasons of the bundle's own are others")
	}
	e, err := p.Explain(t.Context(), contractor(t), ask(1))
	if err != nil || e.Verdict.Reason != "contractor" || e.File != "mine.rego" || !strings.HasPrefix(e.Rule, "deny contains [i, \"contractor\"]") {
		t.Errorf("%+v, %v", e, err)
	}
}

// What satchel.extra looks at is shown to it, whatever the built-in rules need.
func TestExtraSeesWhatItNames(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"named":    "package satchel.extra\nattributes := {\"session\", \"kind\"}\ndeny contains [i, \"old\"] if some i, item in input.items; item.session == \"s1\"\n",
		"all":      "package satchel.extra\ndeny contains [i, \"old\"] if some i, item in input.items; item.session == \"s1\"; item.id == \"b\"\n",
		"not said": "package satchel.extra\nattributes := {\"kind\"}\ndeny contains [i, \"old\"] if some i, item in input.items; item.session == \"s1\"\n",
	} {
		p := open(t, opa.Config{Bundle: extraFS(strings.ReplaceAll(strings.ReplaceAll(text, " if ", " if {\n"), "\"s1\"\n", "\"s1\"\n}\n") + map[bool]string{true: "}\n"}[strings.Contains(text, `"b"`)])})
		r := ask(2)
		r.Resources[1].Facets.Session = "s1"
		r.Resources[0].ID, r.Resources[1].ID = "a", "b"
		d, err := p.Decide(t.Context(), somebody(t), r)
		want := []string{"allowed", map[bool]string{true: "old", false: "allowed"}[name != "not said"]}
		if diff := cmp.Diff(want, reasons(d)); err != nil || diff != "" {
			t.Errorf("%s: %v %s", name, err, diff)
		}
	}
}

// Policy may look at all that the writer said of an item beside its content.
func TestExtraSeesWhatTheWriterSaid(t *testing.T) {
	t.Parallel()
	low := .2
	for rule, item := range map[string]schemas.MemoryItem{
		`item.confidence < 0.5`:               {Confidence: &low},
		`"sealed" in item.policy_tags`:        {Provenance: schemas.Provenance{PolicyTags: []string{"open", "sealed"}}},
		`item.project == "apollo"`:            {Scope: schemas.MemoryScope{Project: "apollo"}},
		`startswith(item.source_uri, "ftp:")`: {Provenance: schemas.Provenance{SourceURI: "ftp://host/x"}},
		`item.speaker == "Eve"`:               {Speaker: "Eve"},
	} {
		p := open(t, opa.Config{Bundle: extraFS("package satchel.extra\ndeny contains [i, \"odd\"] if {\n\tsome i, item in input.items\n\t" + rule + "\n}\n")})
		r := ask(2)
		said := policies.ResourceOf(&schemas.Record{MemoryItem: item})
		said.ID, said.Facets = r.Resources[1].ID, r.Resources[1].Facets
		r.Resources[1] = said
		d, err := p.Decide(t.Context(), somebody(t), r)
		if diff := cmp.Diff([]string{"allowed", "odd"}, reasons(d)); err != nil || diff != "" {
			t.Errorf("%s: %v %s", rule, err, diff)
		}
	}
}

// A rule that looks at the clock is asked each time, unless it says that it may be kept.
func TestExtraIsAskedAgain(t *testing.T) {
	t.Parallel()
	p := open(t, opa.Config{Bundle: extraFS("package satchel.extra\ndeny contains [i, \"night\"] if {\n\tinput.now > 1000\n\tsome i, _ in input.items\n}\n")})
	for now, want := range map[int64]string{1: "allowed", 2000: "night", 5: "allowed"} {
		r := ask(1)
		r.Now = time.Unix(0, now)
		if d, err := p.Decide(t.Context(), somebody(t), r); err != nil || d.Verdicts[0].Reason != want {
			t.Errorf("at %d: %v, %v", now, reasons(d), err)
		}
	}
}

// What is wrong in satchel.extra denies everything, or is refused when it is compiled.
func TestExtraFailsClosed(t *testing.T) {
	t.Parallel()
	for name, rule := range map[string]string{
		"an id for a position": `deny contains [item.id, "x"] if some item in input.items`,
		"it says allowed":      `deny contains [i, "allowed"] if some i, _ in input.items`,
		"no pair":              `deny contains "x" if input.action == "read"`,
		"no set":               `deny := [[0, "x"]]`,
		"no value":             `deny := {[0, "x"]} if input.action == "open"`,
		"not snake_case":       `deny contains [i, "Not So"] if some i, _ in input.items`,
	} {
		p, err := opa.New(t.Context(), opa.Config{Bundle: extraFS("package satchel.extra\n" + rule + "\n")})
		if compiles := name != "no set" && name != "no pair"; (err == nil) != compiles {
			t.Errorf("%s: %v", name, err)
		}
		if err != nil {
			continue
		}
		d, err := p.Decide(t.Context(), somebody(t), ask(1))
		if err == nil || d.Verdicts[0].Allow || d.Verdicts[0].Reason != policies.ReasonError {
			t.Errorf("%s: %+v, %v", name, d.Verdicts, err)
		}
	}
	for name, text := range map[string]string{
		"no deny": "package satchel.extra\nattributes := {\"labels\"}\n", "nothing": "package satchel.extra\n", "another package": "package satchel.mine\ndeny := {[0, \"x\"]}\n",
	} {
		if _, err := opa.New(t.Context(), opa.Config{Bundle: extraFS(text)}); err == nil {
			t.Errorf("%s: it is taken", name)
		}
	}
}

// With rules that deny nothing the policy is the built-in one, and passes its suite.
func TestExtraThatDeniesNothing(t *testing.T) {
	t.Parallel()
	const nothing = "package satchel.extra\ndeny contains [0, \"never\"] if input.action == \"never\"\n"
	policytest.Run(t, func(t *testing.T) policies.PDP { return open(t, opa.Config{Bundle: extraFS(nothing)}) })
	policytest.Same(t, 6, open(t, opa.Config{}), open(t, opa.Config{Bundle: extraFS(nothing)}))
}

// Whatever the request, satchel.extra denies more, and changes no other verdict.
func TestExtraOnlyDenies(t *testing.T) {
	t.Parallel()
	plain, more := open(t, opa.Config{}), open(t, opa.Config{Bundle: extraFS("package satchel.extra\ndeny contains [i, \"odd\"] if {\n\tsome i, item in input.items\n\titem.kind == \"code\"\n}\n")})
	rapid.Check(t, func(rt *rapid.T) {
		s, r := policytest.Draw(rt, 6)
		a, err := plain.Decide(t.Context(), s, r)
		if err != nil {
			rt.Fatal(err)
		}
		b, err := more.Decide(t.Context(), s, r)
		if err != nil {
			rt.Fatal(err)
		}
		for i := range r.Resources {
			want := a.Verdicts[i]
			if want.Allow && r.Resources[i].Facets.Kind == "code" {
				want = policies.Verdict{Reason: "odd"}
			}
			if diff := cmp.Diff(want, b.Verdicts[i], cmpopts.EquateEmpty()); diff != "" {
				rt.Errorf("%s: %s", r.Action, diff)
			}
		}
	})
}

func TestTestsOfExtra(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, filepath.Join(dir, "mine.rego"), contractors)
	write(t, filepath.Join(dir, "mine_test.rego"), `package satchel.extra_test
import data.cmo.policy
import data.satchel.extra
test_denies if extra.deny == {[0, "contractor"]} with input as {"action": "read", "subject": {"groups": ["contractors"]}, "items": [{"labels": []}]}
test_bad if policy.cacheable == false
`)
	report, err := opa.Source{Path: dir}.Test(t.Context())
	if err != nil || report.Failed != 1 || len(report.Tests) != 2 || slices.ContainsFunc(report.Missed, func(m string) bool { return strings.HasPrefix(m, "built-in") }) {
		t.Errorf("%+v, error %v", report, err)
	}
}

// What satchel.extra says in conditions narrows the filter of those it is about.
func TestExtraNarrowsTheFilter(t *testing.T) {
	t.Parallel()
	const more = contractors + `
conditions contains {"field": "labels", "op": "in", "values": ["audience:contractors"]} if {
	"contractors" in input.subject.groups
}
`
	p, plain := open(t, opa.Config{Bundle: extraFS(more)}), open(t, opa.Config{})
	for _, tc := range []struct {
		s    scope.Scope
		want []schemas.Cond
	}{
		{contractor(t), []schemas.Cond{{Field: schemas.FieldLabels, Op: schemas.In, Values: []string{"audience:contractors"}}}},
		{somebody(t), nil},
	} {
		f, err := p.Filter(t.Context(), tc.s, "read")
		base, err2 := plain.Filter(t.Context(), tc.s, "read")
		if diff := cmp.Diff(append(base.Conds(), tc.want...), f.Conds()); err != nil || err2 != nil || diff != "" {
			t.Errorf("%v %v %s", err, err2, diff)
		}
	}
	bad := open(t, opa.Config{Bundle: extraFS(contractors + "\nconditions := [{\"field\": \"smell\", \"op\": \"in\", \"values\": []}]\n")})
	if f, err := bad.Filter(t.Context(), contractor(t), "read"); err == nil || !f.IsNone() {
		t.Errorf("a condition that says nothing lets through %+v, %v", f.Conds(), err)
	}
}
