package arch

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// maxBlockWords is how many words a paragraph, an item of a list or a row of a table may have.
const maxBlockWords = 80

var (
	fenced   = regexp.MustCompile("(?ms)^ *```.*?^ *```$")
	written  = regexp.MustCompile(`(?s)<!-- [^\n]*written by .*?<!-- end of [^\n]*-->|<!-- written by make conformance -->.*`)
	links    = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	headings = regexp.MustCompile(`(?m)^#+ (.+)$`)
	mentions = regexp.MustCompile(`\bdocs/[a-z/0-9-]+\.md(#[a-z0-9-]+)?`)
	begins   = regexp.MustCompile(`^( *[-*] | *\d+\. |#|\|)`)
)

// pages returns the Markdown of the repository by its path.
func pages(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "node_modules" || d.Name() == "bin" || d.Name() == "testdata" || name != root && strings.HasPrefix(d.Name(), ".")):
			return filepath.SkipDir
		case d.IsDir() || filepath.Ext(name) != ".md":
			return nil
		}
		raw, err := os.ReadFile(name)
		all[name] = string(raw)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// leads reports whether a link of a page leads to a file and, within Markdown, to a heading.
func leads(page, link string, all map[string]string) bool {
	name, anchor, _ := strings.Cut(link, "#")
	target := page
	if name != "" {
		target = filepath.Join(filepath.Dir(page), name)
	}
	if _, err := os.Stat(target); err != nil {
		return false
	}
	if anchor == "" {
		return true
	}
	for _, m := range headings.FindAllStringSubmatch(fenced.ReplaceAllString(all[target], ""), -1) {
		slug := regexp.MustCompile(`[^\p{L}\p{N} _-]`).ReplaceAllString(strings.ToLower(m[1]), "")
		if strings.ReplaceAll(slug, " ", "-") == anchor {
			return true
		}
	}
	return false
}

func TestLinksOfTheDocuments(t *testing.T) {
	t.Parallel()
	all := pages(t)
	for name, text := range all {
		for _, m := range links.FindAllStringSubmatch(fenced.ReplaceAllString(text, ""), -1) {
			if !strings.Contains(m[1], ":") && !leads(name, m[1], all) {
				t.Errorf("%s: the link %s leads nowhere", name, m[1])
			}
		}
	}
}

// TestPagesThatCodeNames looks at programs, settings and rules: what they say about a page has to be there.
func TestPagesThatCodeNames(t *testing.T) {
	t.Parallel()
	all := pages(t)
	for _, folder := range []string{"cmd", "pipeline", "worker", "jetstream", "policies", "emitters", "schemas", "deploy", ".env.example", "Makefile"} {
		err := filepath.WalkDir(filepath.Join(root, folder), func(name string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || strings.HasSuffix(name, "_test.go") || strings.Contains(name, "node_modules") {
				return err
			}
			raw, err := os.ReadFile(name)
			for _, link := range mentions.FindAllString(string(raw), -1) {
				if !leads(filepath.Join(root, "x"), link, all) {
					t.Errorf("%s names %s, which is not there", name, link)
				}
			}
			return err
		})
		if err != nil {
			t.Error(err)
		}
	}
}

// TestBlocksOfTheDocuments counts words, but not those of code and of tables that are made from code.
func TestBlocksOfTheDocuments(t *testing.T) {
	t.Parallel()
	for name, text := range pages(t) {
		if !strings.HasPrefix(name, filepath.Join(root, "docs")) || filepath.Base(name) == "measurements.md" {
			continue
		}
		words, first := 0, ""
		for line := range strings.Lines(fenced.ReplaceAllString(written.ReplaceAllString(text, "\n"), "\n")) {
			if strings.TrimSpace(line) == "" || begins.MatchString(line) {
				words, first = 0, ""
			}
			if first == "" {
				first = strings.TrimSpace(line)
			}
			if words += len(strings.Fields(line)); words > maxBlockWords {
				t.Errorf("%s: the block that begins %.60q has more than %d words", name, first, maxBlockWords)
				words = 0
			}
		}
	}
}
