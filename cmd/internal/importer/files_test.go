package importer

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"satchel/cmd/internal/app"
	"satchel/cmd/internal/config"
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
	c := Files{Paths: []string{name, filepath.Join(dir, "kiln.md")}, Kind: "memory", Flags: Flags{Label: []string{"level:internal"}}}
	a := &app.App{Settings: &config.Settings{Tenant: "main"}, Err: os.Stderr}
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
	c.Paths, a.In = []string{"-"}, strings.NewReader(`{"content":"x"}`)
	if items, _, _, err := c.read(t.Context(), a); err != nil || time.Since(items[0].CreatedAt) > time.Hour {
		t.Errorf("from standard input: %+v, %v", items, err)
	}
}

// What --map does not name is left out, but for id and content; a field that is not there is named.
func TestImportMaps(t *testing.T) {
	t.Parallel()
	a := &app.App{Settings: &config.Settings{Tenant: "main"}}
	for want, c := range map[string]struct {
		line string
		maps map[string]string
	}{
		"x the glaze is blue 2026-01-01": {`{"ts":"2026-01-01T10:00:00Z","content":"the glaze is blue","id":"x","type":7}`, map[string]string{"created_at": "ts"}},
		"7 the glaze is red 2026-01-02":  {`{"ts":"2026-01-02T10:00:00Z","content":9,"text":"the glaze is red","n":"7"}`, map[string]string{"created_at": "ts", "content": "text", "id": "n"}},
		`/content is required, and there is no field "text", which --map content=text names`: {`{"content":"the glaze is blue"}`, map[string]string{"content": "text"}},
	} {
		cmd := Files{Map: c.maps, Kind: "memory", Flags: Flags{Label: []string{"level:internal"}}}
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

// TestImportBoundsLines: of a line without an end nothing is kept, and the lines after it
// are read.
func TestImportBoundsLines(t *testing.T) {
	t.Parallel()
	long := `{"content":"` + strings.Repeat("y", schemas.MaxLine) + `"}`
	var said strings.Builder
	a := &app.App{Settings: &config.Settings{Tenant: "main"}, Err: &said, In: strings.NewReader("\xef\xbb\xbf" + `{"content":"one"}` + "\n\n" + long + "\n" + `{"content":"two"}` + "\n" + long)}
	c := Files{Paths: []string{"-"}, Kind: "memory", Flags: Flags{Label: []string{"level:internal"}}}
	items, _, count, err := c.read(t.Context(), a)
	if err != nil || len(items) != 2 || count.Read != 4 || count.Malformed != 2 || items[1].Content.Text() != "two" {
		t.Errorf("%d items, %+v, %v", len(items), count, err)
	}
	const want = "-:3: (whole line): is longer than 8388608 bytes\n-:5: (whole line): is longer than 8388608 bytes\n"
	if said.String() != want {
		t.Errorf("said %.300q", said.String())
	}
	a.In = strings.NewReader(long)
	var issues []schemas.Issue
	if err := (&Experiences{}).read(a, "-", func(_ int, raw []byte, long []schemas.Issue) { issues = append(issues, long...) }); err != nil || len(issues) != 1 {
		t.Errorf("experiences: %v, %v", issues, err)
	}
}

func TestImportKeepsMarkdownOfTwoFoldersApart(t *testing.T) {
	t.Parallel()
	base := folder(t, map[string]string{"kiln/docs/README.md": "# Kiln", "glaze/docs/README.md": "# Kiln\nof another"})
	kiln, glaze := filepath.Join(base, "kiln", "docs"), filepath.Join(base, "glaze", "docs")
	read := func(name string, paths ...string) ([]schemas.MemoryItem, error) {
		c := Files{Paths: paths, Kind: "memory", Flags: Flags{Label: []string{"level:internal"}}, Name: name}
		items, _, _, err := c.read(t.Context(), &app.App{Settings: &config.Settings{Tenant: "main"}, Err: os.Stderr})
		return items, err
	}
	both, err := read("", kiln, glaze, filepath.Join(kiln, "README.md"))
	if err != nil || len(both) != 2 || both[0].ID == both[1].ID || both[0].Provenance.SourceURI != "file:docs/README.md:1" {
		t.Fatalf("two folders: %+v, %v", both, err)
	}
	for _, p := range []string{kiln, filepath.Join(kiln, "README.md"), filepath.Join(base, "kiln")} {
		if items, err := read("", p); err != nil || len(items) != 1 || items[0].ID != both[0].ID {
			t.Errorf("%s again: %+v, %v", p, items, err)
		}
	}
	named, err := read("pottery", kiln)
	moved, err2 := read("pottery", glaze)
	if err != nil || err2 != nil || named[0].ID != moved[0].ID || named[0].ID == both[0].ID || named[0].Provenance.SourceURI != "file:pottery/README.md:1" || named[0].ID != "md:pottery:README.md:kiln" {
		t.Errorf("named: %+v, %+v, %v, %v", named, moved, err, err2)
	}
	var usage *config.UsageError
	if _, err := read("pottery", kiln, glaze); !errors.As(err, &usage) || !strings.Contains(err.Error(), "would be one item") {
		t.Errorf("two folders of one name: %v", err)
	}
}

// TestImportOfAFolder takes what of it can be read, and names the rest.
func TestImportOfAFolder(t *testing.T) {
	t.Parallel()
	dir := folder(t, map[string]string{"in/a.md": "# Kiln\nhot\n", "in/latin.md": "# Kiln\n\nGl\xfcht\n", "in/deep/m.jsonl": `{"content":"celadon is green","scope":{"session":"s1"}}` + "\n" + `{"content":"x","scope":{"tenant":"other"}}` + "\n",
		"in/notes.txt": "x", "in/.git/HEAD": "x"})
	var said strings.Builder
	a := &app.App{Settings: &config.Settings{Tenant: "main"}, Err: &said}
	c := Files{Paths: []string{filepath.Join(dir, "in")}, Kind: "memory", Flags: Flags{Label: []string{"level:internal"}}}
	items, md, count, err := c.read(t.Context(), a)
	if err != nil || len(items) != 2 || items[0].Content.Text() != "Kiln\nhot" || items[1].Content.Text() != "celadon is green" || count.Malformed != 2 {
		t.Fatalf("%+v, %+v, %v", items, count, err)
	}
	if len(count.LeftOut) != 1 || count.LeftOut["neither documentation nor .jsonl"] != 1 || len(md.left) != 2 {
		t.Errorf("left out %v, %v", count.LeftOut, md.left)
	}
	contains(t, "stderr", said.String(), "latin.md:3: (whole line): is not valid UTF-8", "m.jsonl:2: /scope/tenant: is \"other\"")
}

// TestAnItemHasAMostSize is about what the stream takes.
func TestAnItemHasAMostSize(t *testing.T) {
	t.Parallel()
	item := schemas.MemoryItem{ID: "n3", Content: schemas.TextContent(strings.Repeat("y", 800<<10))}
	if issues := oversized(&item); len(issues) != 1 || !strings.Contains(issues[0].Message, "at most") {
		t.Errorf("an item of 800 KiB: %v", issues)
	}
}

// folder makes files below a new folder and returns it.
func folder(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		p := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func contains(t *testing.T, what, text string, parts ...string) {
	t.Helper()
	for _, p := range parts {
		if !strings.Contains(text, p) {
			t.Errorf("%s does not say %q:\n%s", what, p, text)
		}
	}
}
