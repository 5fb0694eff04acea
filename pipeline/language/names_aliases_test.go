package language_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"satchel/pipeline/language"
)

func TestAliases(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text, attributes string
		want             []string
	}{
		{"We moved everything to Kubernetes (K8s) last year.", "", []string{"kubernetes = k8s"}},
		{"All of it runs on K8s (Kubernetes).", "", []string{"k8s = kubernetes"}},
		{"our service level agreement (SLA) says 99.9 %", "", []string{"service level agreement = sla"}},
		{"She works at NASA (National Aeronautics and Space Administration).", "", []string{"national aeronautics and space administration = nasa"}},
		{"Bob is short for Robert.", "", []string{"bob = robert"}},
		{"Robert (aka Bob) called.", "", []string{"robert = bob"}},
		{"The Acme Group, also known as Acme, paid.", "", []string{"acme group = acme"}},
		{"a note", `{"entity": "Robert Smith", "aliases": ["Bob", "Rob S."]}`, []string{"robert smith = bob = rob s"}},
		{"a note", `{"aliases": ["Bob"]}`, nil},
		{"a note", `{"entity": 3}`, nil},
		{"I met the Natural Language Processing team.", "", []string{"natural language processing ~ nlp"}},
		{"Paris (France) is nice (I think), see Figure (A) and list (1).", "", nil},
		{"It was great (AMAZING), we laughed (LOL)!", "", nil},
		{"she is short for her age; a shaka (aka) x", "", nil},
		{"write to bob@example.com (B@E)", "", nil},
		{"(", "", nil}, {"()", "", nil}, {"x (", "", nil}, {"", "", nil},
	} {
		var got []string
		for _, a := range language.Aliases(c.text, json.RawMessage(c.attributes), language.Entities(c.text, "")) {
			between := " = "
			if a.Initials {
				between = " ~ "
			}
			got = append(got, strings.Join(a.Names, between))
		}
		slices.Sort(got)
		if diff := cmp.Diff(c.want, got, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%q (-want +got):\n%s", c.text, diff)
		}
	}
}

func TestOtherNames(t *testing.T) {
	t.Parallel()
	kube := language.Alias{Names: []string{"kubernetes", "k8s"}}
	nlp := language.Alias{Names: []string{"central asian tour", "cat"}, Initials: true}
	for _, c := range []struct {
		alias language.Alias
		query string
		want  []string
	}{
		{kube, "Who runs k8s?", []string{"kubernetes"}},
		{kube, "what of Kubernetes' and K8s's nodes", nil},
		{kube, "KUBERNETES outage", []string{"k8s"}},
		{kube, "docker", nil},
		{nlp, "who has a cat?", nil},
		{nlp, "when did the CAT begin?", []string{"central asian tour"}},
		{nlp, "the central Asian tour", []string{"cat"}},
	} {
		if diff := cmp.Diff(c.want, c.alias.OtherNames(c.query), cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%q: %s", c.query, diff)
		}
	}
}

// What an item says about a name is found by a query that has the name.
func TestAliasKeysMeetMentions(t *testing.T) {
	t.Parallel()
	mentions := language.Mentions("All of it runs on Kubernetes (K8s).", "Ann", nil)
	if diff := cmp.Diff([]string{"ann", "kubernetes"}, mentions[:2]); diff != "" {
		t.Error(diff)
	}
	for _, query := range []string{"why did K8s fail?", "is “kubernetes” slow", "Kubernetes's nodes"} {
		if !slices.ContainsFunc(language.AliasKeys(query), func(k string) bool { return slices.Contains(mentions, k) }) {
			t.Errorf("%q does not find %q", query, mentions)
		}
	}
	if keys := language.AliasKeys("is it the one that was there"); slices.Contains(keys, "≡it") || slices.Contains(keys, "≡the") {
		t.Errorf("keys %q", keys)
	}
}

func FuzzAliases(f *testing.F) {
	f.Add("We moved to Kubernetes (K8s), also known as kube.", `{"entity":"A B","aliases":["c"]}`)
	f.Add("x (aka ) y aka  z is short for ", "{")
	f.Fuzz(func(t *testing.T, text, attributes string) {
		for _, a := range language.Aliases(text, json.RawMessage(attributes), language.Entities(text, "")) {
			if len(a.Names) < 2 {
				t.Errorf("%q", a.Names)
			}
			for _, name := range a.Names {
				if utf8.ValidString(text) && utf8.ValidString(attributes) && !utf8.ValidString(name) || len(name) < 2 {
					t.Errorf("name %q", name)
				}
			}
			a.OtherNames(text)
		}
		language.AliasKeys(text)
	})
}
