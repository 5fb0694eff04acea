package source

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"satchel/schemas"
)

func TestSections(t *testing.T) {
	t.Parallel()
	const handbook = "Intro.\n# Handbook\n## Travel ##\nBook early.\n```sh\n# no heading\n```\n### Meals\n30 EUR a day.\n## Leave\n#hashtag\n## Empty\n## Travel\nAgain.\n# Annex\n"
	type row struct {
		Title, Text string
		Line, End   int
	}
	var got []row
	ids := map[string]bool{}
	list := Sections("f.md", handbook)
	for i := range list {
		s := &list[i]
		got = append(got, row{s.Title(), s.Text, s.Line, s.EndLine})
		ids[s.id("md:f.md")] = true
	}
	want := []row{
		{"", "Intro.", 1, 1}, {"Handbook › Travel", "Book early.\n```sh\n# no heading\n```", 3, 7},
		{"Handbook › Travel › Meals", "30 EUR a day.", 8, 9}, {"Handbook › Leave", "#hashtag", 10, 11}, {"Handbook › Empty", "", 12, 12},
		{"Handbook › Travel", "Again.", 13, 14}, {"Annex", "", 15, 15},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if len(ids) != len(list) || !ids["md:f.md"] || !ids["md:f.md:handbook.travel.1"] {
		t.Errorf("%d ids of %d sections: %v", len(ids), len(list), ids)
	}
	before, after := Sections("f.md", "# A\nx\n## B\ny"), Sections("f.md", "# A\nx\n## New\nz\n## B\ny\n")
	if before[1].id("f") != after[2].id("f") {
		t.Error("a section that moves down has another id")
	}
}

// TestLines holds that each line of a section's content is a line of its file.
func TestLines(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"a.md":  "\n\nIntro.\n\n# A\n\n\nx\n\nB\n---\ny\n\n",
		"b.md":  "---\ntitle: \"Kilns\"\nweight: 3\ndescription: All of them.\n---\nhot\n## B\nz\n",
		"c.rst": "=====\nKilns\n=====\n\nhot\n\nGlaze\n-----\n\nshines\n\n===  ===\n1    2\n===  ===\n",
		"d.md":  "# A\r\nx\r\ny\r\n",
	} {
		lines := strings.Split(text, "\n")
		for _, s := range Sections(name, text) {
			for i, line := range strings.Split(s.Content(), "\n") {
				if i == 0 && len(s.Path) > 0 {
					line = s.Path[len(s.Path)-1]
				}
				if n := s.Line + i; n > s.EndLine || !strings.Contains(lines[n-1], line) {
					t.Errorf("%s: line %d is %q, and not %q", name, n, lines[n-1], line)
				}
			}
		}
	}
}

func TestHeadings(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, text, want string }{
		{"a.md", "Kiln\n====\nhot\n\nGlaze\n-----\nshines\n\ntwo\nlines\n---\n- a\n---\n| a |\n|---|\n", "Kiln|Kiln › Glaze"},
		{"b.md", "# [Kiln](https://example.org) <a name=\"k\"></a>\nhot\n## ![x](y.png)\nz\n## `v1.2` {#v12}\nz", "Kiln|Kiln › x|Kiln › `v1.2`"},
		{"c.md", "---\ntitle: Kilns\n---\n# Kilns of clay\nhot", "Kilns of clay"},
		{"c2.md", "---\ntitle: Kilns\n---\nKilns of clay\n=============\nhot", "Kilns of clay"},
		{"d.md", "---\nno end", ""},
		{"pre.md", "# Kiln\n<pre>\n# x\n\n## y\n</pre>\n<!-- \n# old\n-->\n## Glaze\n<pre># z</pre>\n## Clay\nhot", "Kiln|Kiln › Glaze|Kiln › Clay"},
		{"e.rst", "#####\nKilns\n#####\n\nhot\n\nGlaze\n=====\n\nx\n\nBlue\n~~~~\n\nx\n\nClay\n====\n\nx\nno title\n--------\n\nFar too long\n---\n", "Kilns|Kilns › Glaze|Kilns › Glaze › Blue|Kilns › Clay"},
	} {
		var got []string
		for _, s := range Sections(c.name, c.text) {
			got = append(got, s.Title())
		}
		if strings.Join(got, "|") != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

func TestItemsOfADocument(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 7, 22, 6, 7, 8, 9, time.UTC)
	d := Document{ID: FileID("kiln", "docs/a b.md"), Name: "kiln", Path: "docs/a b.md", Changed: at, Committed: true}
	items := d.Items([]byte("# Kiln\n## Öfen: "+strings.Repeat("heiß ", 300)+"\n\x00hot\n"), schemas.KindKnowledge, "acme", []string{"level:internal"})
	if len(items) != 1 {
		t.Fatal(items)
	}
	if issues := items[0].Validate(); len(issues) > 0 {
		t.Error(issues)
	}
	if id, name, rel := FileOf(&items[0]); id != d.ID || name != "kiln" || rel != d.Path {
		t.Errorf("is of %q, %q, %q", id, name, rel)
	}
	if !strings.Contains(string(items[0].Attributes), `"line":2,"end_line":3,`) || !strings.Contains(string(items[0].Attributes), `"date":"2026-07-22"`) {
		t.Errorf("attributes %s", items[0].Attributes)
	}
	other := Document{ID: DocumentPrefix + "0123", Name: "kiln", Path: "docs/a b.md", Changed: at}
	items = other.Items([]byte("# A\nx"), schemas.KindMemory, "acme", nil)
	if len(items) != 1 {
		t.Fatal(items)
	}
	if id, _, _ := FileOf(&items[0]); id != other.ID || strings.Contains(string(items[0].Attributes), "date") {
		t.Errorf("%q, %s", id, items[0].Attributes)
	}
}

// FuzzSections holds that nothing of a text is lost but what belongs to headings, and that
// every section is a valid item.
func FuzzSections(f *testing.F) {
	f.Add("# A\nx\n~~~\n# b\n~~~~\n###### c\n####### d\n", false)
	f.Add("A\n===\nx\nB\n---\ny\n", true)
	f.Add("---\ntitle: a\n---\nx", false)
	f.Fuzz(func(t *testing.T, text string, rst bool) {
		name := map[bool]string{false: "a.md", true: "a.rst"}[rst]
		var all strings.Builder
		for _, s := range Sections(name, text) {
			all.WriteString(s.Text + "\n")
		}
		file := Document{ID: FileID("kiln", name), Name: "kiln", Path: name, Changed: time.Unix(1, 0)}
		items := file.Items([]byte(text), schemas.KindKnowledge, "acme", []string{"level:internal"})
		for i := range items {
			if issues := items[i].Validate(); len(issues) > 0 && len(text) < 1<<10 {
				t.Fatal(issues)
			}
		}
		lines := strings.Split(strings.ReplaceAll(text, "\r\n", "\n"), "\n")
		heads := markdownHeadings(lines)
		if rst {
			heads = rstHeadings(lines)
		}
		for i, line := range lines {
			for j := i; j > i-3; j-- {
				if h, ok := heads[j]; ok && i < j+h.lines {
					line = ""
				}
			}
			if line = strings.TrimSpace(line); !strings.Contains(all.String(), line) {
				t.Fatalf("%q is lost", line)
			}
		}
	})
}
