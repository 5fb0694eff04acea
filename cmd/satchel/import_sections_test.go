package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestSections(t *testing.T) {
	t.Parallel()
	const handbook = "Intro.\n# Handbook\n## Travel ##\nBook early.\n```sh\n# no heading\n```\n### Meals\n30 EUR a day.\n## Leave\n#hashtag\n## Empty\n## Travel\nAgain.\n# Annex\n"
	type row struct{ Title, Text, URI string }
	var got []row
	ids := map[string]bool{}
	list := sections(handbook)
	for i := range list {
		s := &list[i]
		got = append(got, row{s.title(), s.text, s.uri("f.md")})
		ids[s.id("file", i == 0)] = true
	}
	want := []row{
		{"", "Intro.", "f.md"}, {"Handbook › Travel", "Book early.\n```sh\n# no heading\n```", "f.md#travel"},
		{"Handbook › Travel › Meals", "30 EUR a day.", "f.md#meals"}, {"Handbook › Leave", "#hashtag", "f.md#leave"}, {"Handbook › Empty", "", "f.md#empty"},
		{"Handbook › Travel", "Again.", "f.md#travel-1"}, {"Annex", "", "f.md#annex"},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if len(ids) != len(list) || !ids["file"] {
		t.Errorf("%d ids of %d sections: %v", len(ids), len(list), ids)
	}
	before, after := sections("# A\nx\n## B\ny"), sections("# A\nx\n## New\nz\n## B\ny\n")
	if before[1].id("f", false) != after[2].id("f", false) {
		t.Error("a section that moves down has another id")
	}
}

// FuzzSections holds that nothing of a text is lost but its headings' marks.
func FuzzSections(f *testing.F) {
	f.Add("# A\nx\n~~~\n# b\n~~~~\n###### c\n####### d\n")
	f.Fuzz(func(t *testing.T, text string) {
		var all strings.Builder
		for _, s := range sections(text) {
			all.WriteString(s.content() + "\n")
		}
		for _, word := range strings.Fields(text) {
			if word = strings.Trim(word, "#"); !strings.Contains(all.String(), word) {
				t.Fatalf("%q is lost", word)
			}
		}
	})
}

func TestImportOfAHandbook(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	dir := folder(t, map[string]string{"docs/handbook.md": "# Handbook\n## Travel\nBook trains two weeks early.\n## Kiln\nThe kiln is fired on Mondays.\n"})
	for _, want := range []string{"2 items read, 2 published: 2 new, 0 known already, 0 malformed", "2 items read, 2 published: 0 new, 2 known already, 0 malformed"} {
		if r := n.run(t, "import", dir+"/docs", "--kind", "knowledge"); r.code != 0 || !strings.Contains(r.out, want) {
			t.Errorf("exit code %d, want %q\n%s%s", r.code, want, r.out, r.err)
		}
	}
	r := n.run(t, "search", "when is the kiln fired?")
	if !strings.Contains(r.out, "file:docs/handbook.md#kiln\n    Handbook › Kiln The kiln is fired on Mondays.") {
		t.Errorf("search says\n%s%s", r.out, r.err)
	}
}
