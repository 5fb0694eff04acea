package main

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"satchel/schemas"
)

func TestImportFillsInTheTimeOfTheFile(t *testing.T) {
	t.Parallel()
	dir := folder(t, map[string]string{"m.jsonl": `{"content":"the kiln is fired on Mondays"}` + "\n", "kiln.md": "# Kiln"})
	name := filepath.Join(dir, "m.jsonl")
	written := time.Date(2025, 4, 5, 6, 7, 8, 0, time.UTC)
	if err := os.Chtimes(name, written, written); err != nil {
		t.Fatal(err)
	}
	c := importFilesCmd{Paths: []string{name, filepath.Join(dir, "kiln.md")}, Kind: "memory", Label: []string{"level:internal"}}
	a := &app{Settings: &Settings{Tenant: "main"}, err: os.Stderr}
	items, _, count, err := c.read(t.Context(), a)
	if err != nil || count.Malformed > 0 || len(items) != 2 {
		t.Fatalf("%d items, %+v, %v", len(items), count, err)
	}
	if !items[0].CreatedAt.Equal(written) {
		t.Errorf("created at %s, the file at %s", items[0].CreatedAt, written)
	}
	if items[1].Category != "markdown" || items[1].Content.Text() != "Kiln" {
		t.Errorf("a Markdown file became %+v", items[1])
	}
	c.Paths = []string{dir}
	folder, _, _, err := c.read(t.Context(), a)
	if err != nil || len(folder) != 2 || folder[0].ID != items[1].ID || folder[1].ID != items[0].ID {
		t.Errorf("the folder has %+v (%v), the file %+v", folder, err, items[1])
	}
	c.Paths, a.in = []string{"-"}, strings.NewReader(`{"content":"x"}`)
	if items, _, _, err := c.read(t.Context(), a); err != nil || time.Since(items[0].CreatedAt) > time.Hour {
		t.Errorf("from standard input: %+v, %v", items, err)
	}
}

// What --map does not name is left out, but for id and content; a field that is not there is named.
func TestImportMaps(t *testing.T) {
	t.Parallel()
	a := &app{Settings: &Settings{Tenant: "main"}}
	for want, c := range map[string]struct {
		line string
		maps map[string]string
	}{
		"x the glaze is blue 2026-01-01": {`{"ts":"2026-01-01T10:00:00Z","content":"the glaze is blue","id":"x","type":7}`, map[string]string{"created_at": "ts"}},
		"7 the glaze is red 2026-01-02":  {`{"ts":"2026-01-02T10:00:00Z","content":9,"text":"the glaze is red","n":"7"}`, map[string]string{"created_at": "ts", "content": "text", "id": "n"}},
		`/content is required, and there is no field "text", which --map content=text names`: {`{"content":"the glaze is blue"}`, map[string]string{"content": "text"}},
	} {
		cmd := importFilesCmd{Map: c.maps, Kind: "memory", Label: []string{"level:internal"}}
		item, issues := cmd.decode(a, []byte(c.line), time.Now())
		got := item.ID + " " + item.Content.Text() + " " + item.CreatedAt.Format(time.DateOnly)
		if len(issues) > 0 {
			got = issues[0].Pointer + " " + issues[0].Message
		}
		if got != want {
			t.Errorf("%s: %q, not %q", c.line, got, want)
		}
	}
}

func TestImportLeavesOutWhatIsTooLarge(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	fields := make(map[string]string, 32)
	for i := range 32 {
		fields[string(rune('a'+i%26))+strings.Repeat("x", i)] = strings.Repeat("y", 25<<10)
	}
	large, err := json.Marshal(map[string]any{"content": fields})
	if err != nil {
		t.Fatal(err)
	}
	dir := folder(t, map[string]string{"m.jsonl": `{"id":"n1","content":"the kiln is fired on Mondays"}` + "\n" + string(large) + "\n" + `{"id":"n2","content":"celadon is green"}`})
	r := n.run(t, "import", filepath.Join(dir, "m.jsonl"))
	if r.code != exitFound || !strings.Contains(r.err, "m.jsonl:2: ") || !strings.Contains(r.out, "3 items read, 2 published") || !strings.Contains(r.err, "1 item is malformed") {
		t.Errorf("exit code %d\n%s%.300s", r.code, r.out, r.err)
	}
	item := schemas.MemoryItem{ID: "n3", Content: schemas.TextContent(strings.Repeat("y", 800<<10))}
	if issues := oversized(&item); len(issues) != 1 || !strings.Contains(issues[0].Message, "at most") {
		t.Errorf("an item of 800 KiB: %v", issues)
	}
}

// TestImportBoundsLines: of a line without an end nothing is kept, and the lines after it
// are read.
func TestImportBoundsLines(t *testing.T) {
	t.Parallel()
	long := `{"content":"` + strings.Repeat("y", schemas.MaxLine) + `"}`
	var said strings.Builder
	a := &app{Settings: &Settings{Tenant: "main"}, err: &said, in: strings.NewReader("\xef\xbb\xbf" + `{"content":"one"}` + "\n\n" + long + "\n" + `{"content":"two"}` + "\n" + long)}
	c := importFilesCmd{Paths: []string{"-"}, Kind: "memory", Label: []string{"level:internal"}}
	items, _, count, err := c.read(t.Context(), a)
	if err != nil || len(items) != 2 || count.Read != 4 || count.Malformed != 2 || items[1].Content.Text() != "two" {
		t.Errorf("%d items, %+v, %v", len(items), count, err)
	}
	const want = "-:3: (whole line): is longer than 8388608 bytes\n-:5: (whole line): is longer than 8388608 bytes\n"
	if said.String() != want {
		t.Errorf("said %.300q", said.String())
	}
	a.in = strings.NewReader(long)
	var issues []schemas.Issue
	if err := (&importExperiencesCmd{}).read(a, "-", func(_ int, raw []byte, long []schemas.Issue) { issues = append(issues, long...) }); err != nil || len(issues) != 1 {
		t.Errorf("experiences: %v, %v", issues, err)
	}
}

func TestImportKeepsMarkdownOfTwoFoldersApart(t *testing.T) {
	t.Parallel()
	base := folder(t, map[string]string{"kiln/docs/README.md": "# Kiln", "glaze/docs/README.md": "# Glaze"})
	kiln, glaze := filepath.Join(base, "kiln", "docs"), filepath.Join(base, "glaze", "docs")
	read := func(name string, paths ...string) ([]schemas.MemoryItem, error) {
		c := importFilesCmd{Paths: paths, Kind: "memory", Label: []string{"level:internal"}, Name: name}
		items, _, _, err := c.read(t.Context(), &app{Settings: &Settings{Tenant: "main"}, err: os.Stderr})
		return items, err
	}
	both, err := read("", kiln, glaze, filepath.Join(kiln, "README.md"))
	if err != nil || len(both) != 2 || both[0].ID == both[1].ID || both[0].Provenance.SourceURI != "file:docs/README.md" {
		t.Fatalf("two folders: %+v, %v", both, err)
	}
	for _, p := range []string{kiln, filepath.Join(kiln, "README.md"), filepath.Join(base, "kiln")} {
		if items, err := read("", p); err != nil || len(items) != 1 || items[0].ID != both[0].ID {
			t.Errorf("%s again: %+v, %v", p, items, err)
		}
	}
	named, err := read("pottery", kiln)
	moved, err2 := read("pottery", glaze)
	if err != nil || err2 != nil || named[0].ID != moved[0].ID || named[0].ID == both[0].ID || named[0].Provenance.SourceURI != "file:pottery/README.md" {
		t.Errorf("named: %+v, %+v, %v, %v", named, moved, err, err2)
	}
	var usage *usageError
	if _, err := read("pottery", kiln, glaze); !errors.As(err, &usage) || !strings.Contains(err.Error(), "would be one item") {
		t.Errorf("two folders of one name: %v", err)
	}
}
