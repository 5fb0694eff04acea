package opa_test

import (
	"errors"
	"os"
	"testing"
	"testing/fstest"
	"time"

	"satchel/pipeline/scope"
	"satchel/policies"
	"satchel/policies/opa"
	"satchel/schemas"
	"satchel/test/conformance/policytest"
)

func TestConformance(t *testing.T) {
	t.Parallel()
	for name, entries := range map[string]int{"cached": 0, "uncached": -1, "small cache": 7} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			policytest.Run(t, func(t *testing.T) policies.PDP { return open(t, opa.Config{CacheEntries: entries}) })
		})
	}
}

func open(t *testing.T, c opa.Config) *opa.PDP {
	t.Helper()
	p, err := opa.New(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func bundle(source string) fstest.MapFS {
	return fstest.MapFS{"policy.rego": &fstest.MapFile{Data: []byte("package cmo.policy\n" + source)}}
}

func somebody(t *testing.T) scope.Scope {
	t.Helper()
	s, err := scope.New("acme", scope.Principal{ID: "planner", Level: 3}, "")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func ask(n int) policies.Request {
	r := policies.Request{Action: "read", Now: time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)}
	for i := range n {
		r.Resources = append(r.Resources, policies.Resource{ID: string(rune('a' + i)), Facets: schemas.Facets{Trust: 1}})
	}
	return r
}

func TestFailsClosed(t *testing.T) {
	t.Parallel()
	for name, verdicts := range map[string]string{
		"undefined":           `verdicts := [] if input.action == "other"`,
		"one short":           `verdicts := [["allowed", []] | some i, _ in input.items; i > 0]`,
		"one too many":        `verdicts := array.concat([["allowed", []]], [["allowed", []] | some _ in input.items])`,
		"not a list":          `verdicts := true`,
		"not pairs":           `verdicts := ["allowed" | some _ in input.items]`,
		"three":               `verdicts := [["allowed", [], []] | some _ in input.items]`,
		"reason of no type":   `verdicts := [[1, []] | some _ in input.items]`,
		"reason in prose":     `verdicts := [["It is fine", []] | some _ in input.items]`,
		"no reason":           `verdicts := [["", []] | some _ in input.items]`,
		"redaction of a type": `verdicts := [["allowed", [1]] | some _ in input.items]`,
		"redaction by name":   `verdicts := [["allowed", ["email"]] | some _ in input.items]`,
		"redaction is text":   `verdicts := [["allowed", "$.content"] | some _ in input.items]`,
		"builtin error":       `verdicts := [["allowed", []] | some item in input.items; startswith(item.trust, "x")]`,
		"conflict":            "verdicts := [] if input.action\nverdicts := [1] if input.action",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := open(t, opa.Config{Bundle: bundle("filter := {\"match\": \"all\"}\n" + verdicts)})
			d, err := p.Decide(t.Context(), somebody(t), ask(3))
			if !errors.Is(err, policies.ErrUnavailable) {
				t.Errorf("error %v", err)
			}
			for _, v := range d.Verdicts {
				if v.Allow || v.Reason != "policy_error" {
					t.Errorf("verdict %+v", v)
				}
			}
		})
	}
}

func TestFilterFailsClosed(t *testing.T) {
	t.Parallel()
	for name, filter := range map[string]string{
		"undefined":        `filter := {"match": "all"} if input.action == "other"`,
		"null":             `filter := null`,
		"empty":            `filter := {}`,
		"empty list":       `filter := []`,
		"empty where":      `filter := {"match": "where", "conditions": []}`,
		"where alone":      `filter := {"match": "where"}`,
		"all with a when":  `filter := {"match": "all", "conditions": [{"field": "level", "op": "at_most", "number": 1}]}`,
		"unknown member":   `filter := {"match": "all", "tenant": "acme"}`,
		"unknown field":    `filter := {"match": "where", "conditions": [{"field": "owner", "op": "in", "values": ["x"]}]}`,
		"unknown operator": `filter := {"match": "where", "conditions": [{"field": "level", "op": "eq", "number": 1}]}`,
		"no values":        `filter := {"match": "where", "conditions": [{"field": "kind", "op": "in"}]}`,
		"no number":        `filter := {"match": "where", "conditions": [{"field": "level", "op": "at_most"}]}`,
		"text number":      `filter := {"match": "where", "conditions": [{"field": "level", "op": "at_most", "number": "1"}]}`,
		"level in list":    `filter := {"match": "where", "conditions": [{"field": "level", "op": "in", "values": ["1"]}]}`,
		"kind at most":     `filter := {"match": "where", "conditions": [{"field": "kind", "op": "at_most", "number": 1}]}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := open(t, opa.Config{Bundle: bundle("verdicts := [[\"allowed\", []] | some _ in input.items]\n" + filter)})
			f, err := p.Filter(t.Context(), somebody(t), "read")
			if !errors.Is(err, policies.ErrUnavailable) || !f.IsNone() {
				t.Errorf("none %t, error %v", f.IsNone(), err)
			}
		})
	}
}

func TestNewRefuses(t *testing.T) {
	t.Parallel()
	for name, files := range map[string]fstest.MapFS{
		"nothing":     {},
		"tests alone": {"policy_test.rego": &fstest.MapFile{Data: []byte("package cmo.policy\nverdicts := []\nfilter := {}")}},
		"no filter":   bundle(`verdicts := []`),
		"no verdicts": bundle(`filter := {"match": "none"}`),
		"syntax":      bundle(`verdicts :=`),
		"network":     bundle("filter := {}\nverdicts := http.send({\"method\": \"get\", \"url\": \"http://localhost\"}).body"),
		"environment": bundle("filter := {}\nverdicts := opa.runtime().env"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if _, err := opa.New(t.Context(), opa.Config{Bundle: files}); err == nil {
				t.Error("accepted")
			}
		})
	}
}

// A folder is the bundle that is embedded, whatever else lies beside the policy.
func TestBundleFromAFolder(t *testing.T) {
	t.Parallel()
	embedded, folder := open(t, opa.Config{}), open(t, opa.Config{Bundle: os.DirFS("../rego")})
	if embedded.Revision() != folder.Revision() {
		t.Errorf("revision %q, the folder's is %q", embedded.Revision(), folder.Revision())
	}
}

func TestReloadDropsWhatWasCached(t *testing.T) {
	t.Parallel()
	const allow = "filter := {\"match\": \"all\"}\ncacheable := true\nverdicts := [[\"allowed\", []] | some _ in input.items]"
	const deny = "filter := {\"match\": \"none\"}\ncacheable := true\nverdicts := [[\"maintenance\", []] | some _ in input.items]"
	p, s := open(t, opa.Config{Bundle: bundle(allow)}), somebody(t)
	before := p.Revision()
	check := func(want bool) {
		t.Helper()
		d, err := p.Decide(t.Context(), s, ask(2))
		if err != nil || d.Verdicts[0].Allow != want || d.Revision != p.Revision() {
			t.Errorf("decision %+v, error %v", d, err)
		}
		f, err := p.Filter(t.Context(), s, "read")
		if err != nil || f.IsNone() == want {
			t.Errorf("filter is none: %t, error %v", f.IsNone(), err)
		}
	}
	check(true)
	if err := p.Reload(t.Context(), bundle(`verdicts :=`)); err == nil {
		t.Error("a broken bundle was taken")
	}
	check(true)
	if err := p.Reload(t.Context(), bundle(deny)); err != nil {
		t.Fatal(err)
	}
	check(false)
	if p.Revision() == before || len(p.Revision()) != 16 {
		t.Errorf("revision %q after %q", p.Revision(), before)
	}
}

// A bundle that is not cacheable is asked every time, and sees every attribute.
func TestBundleThatReadsTheClockAndTheID(t *testing.T) {
	t.Parallel()
	p := open(t, opa.Config{Bundle: fstest.MapFS{
		"policy.rego": &fstest.MapFile{Data: []byte(`package cmo.policy
filter := {"match": "all"}
verdicts := [[reason(item), []] | some item in input.items]
reason(item) := "allowed" if {
	item.id == data.site.open
	time.clock(input.now)[0] < 18
	time.now_ns() == input.now
} else := "closed"`)},
		"site/data.json": &fstest.MapFile{Data: []byte(`{"open": "b"}`)},
	}})
	r := ask(3)
	for _, hour := range []int{12, 20} {
		r.Now = time.Date(2026, 11, 21, hour, 0, 0, 0, time.UTC)
		d, err := p.Decide(t.Context(), somebody(t), r)
		if err != nil {
			t.Fatal(err)
		}
		for i, v := range d.Verdicts {
			if want := i == 1 && hour == 12; v.Allow != want {
				t.Errorf("at %d o'clock item %d: %+v", hour, i, v)
			}
		}
	}
}

// Verdicts that are asked for again are kept, and the rate says so.
func TestHitRate(t *testing.T) {
	t.Parallel()
	p, err := opa.New(t.Context(), opa.Config{})
	if err != nil {
		t.Fatal(err)
	}
	if rate := p.HitRate(); rate != 0 {
		t.Errorf("before the first decision the rate is %v", rate)
	}
	s, err := scope.New("acme", scope.Principal{Kind: "agent", ID: "planner", Level: 1}, "")
	if err != nil {
		t.Fatal(err)
	}
	r := candidates(100, 10)
	for i := range r.Resources { // no two items expire at the same time
		r.Resources[i].ExpiresAt = time.Time{}
	}
	for range 4 {
		if _, err := p.Decide(t.Context(), s, r); err != nil {
			t.Fatal(err)
		}
	}
	if rate := p.HitRate(); rate < .74 || rate > .76 {
		t.Errorf("after four equal decisions the rate is %v, want .75", rate)
	}
}
