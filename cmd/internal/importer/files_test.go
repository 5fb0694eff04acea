package importer

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
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
	did, _, err := c.read(t.Context(), a)
	if err != nil || did.Malformed > 0 || len(did.items) != 2 {
		t.Fatalf("%+v, %v", did, err)
	}
	items := did.items
	if !items[0].CreatedAt.Equal(written) {
		t.Errorf("created at %s, the file at %s", items[0].CreatedAt, written)
	}
	if items[1].Category != "markdown" || items[1].Content.Text() != "Kiln" {
		t.Errorf("a Markdown file became %+v", items[1])
	}
	c.Paths = []string{dir}
	folder, _, err := c.read(t.Context(), a)
	if err != nil || len(folder.items) != 2 || folder.items[0].ID != items[1].ID || folder.items[1].ID != items[0].ID {
		t.Errorf("the folder has %+v (%v), the file %+v", folder, err, items[1])
	}
	c.Paths, a.In = []string{"-"}, strings.NewReader(`{"content":"x"}`)
	if did, _, err := c.read(t.Context(), a); err != nil || time.Since(did.items[0].CreatedAt) > time.Hour {
		t.Errorf("from standard input: %+v, %v", did, err)
	}
}

// TestImportKeepsWhatALineSays: fields of an item's names are kept, with and without --map; what no item has is
// refused, or left out when that is wanted; a field that is not there is named.
func TestImportKeepsWhatALineSays(t *testing.T) {
	t.Parallel()
	a := &app.App{Settings: &config.Settings{Tenant: "main"}}
	created := map[string]string{"created_at": "ts"}
	for _, c := range []struct {
		line string
		maps map[string]string
		drop bool
		want string
	}{
		{`{"ts":"2026-01-01T10:00:00Z","content":"blue","id":"x","security_label":["level:restricted","group:board"],"trust":0.2,"ttl":60,"speaker":"Ann","session":"s1"}`, created, false, "x blue 2026-01-01T10:00:00Z [level:restricted group:board] 0.2 60 Ann s1 {}"},
		{`{"ts":"2026-01-02T10:00:00Z","text":"red","n":7}`, map[string]string{"created_at": "ts", "content": "text", "id": "n"}, false, "7 red 2026-01-02T10:00:00Z [level:internal] 0 0   {}"},
		{`{"ts":"2026-01-02T10:00:00Z","content":9,"text":"red","id":"x"}`, map[string]string{"created_at": "ts", "content": "text"}, false, "/content " + unknownField},
		{`{"ts":"2026-01-02T10:00:00Z","content":9,"text":"red","id":"x"}`, map[string]string{"created_at": "ts", "content": "text"}, true, "x red 2026-01-02T10:00:00Z [level:internal] 0 0   {}"},
		{`{"content":"blue"}`, map[string]string{"content": "text"}, true, `/content is required, and there is no field "text", which --map content=text names`},
		{`{"content":"blue","id":"x","ts":1,"user":"u7","attributes":{"a":1}}`, map[string]string{"created_at": "ts", "attributes.user_id": "user"}, false, `x blue 1970-01-01T00:00:01Z [level:internal] 0 0   {"a":1,"user_id":"u7"}`},
		{`{"content":"blue","id":"x","user":"u7"}`, nil, false, "/user " + unknownField},
		{`{"content":"blue","id":"x","user":"u7","ts":"2026-01-02T10:00:00Z"}`, created, true, "x blue 2026-01-02T10:00:00Z [level:internal] 0 0   {}"},
		{`{"content":"blue","id":"x","securityLabel":["level:restricted"]}`, nil, true, "/securityLabel is unknown: write security_label, or import with --map security_label=securityLabel"},
		{`{"content":"blue","id":"x","acl":"level:restricted, group:board","ts":0}`, map[string]string{"security_label": "acl", "created_at": "ts"}, false, "x blue 1970-01-01T00:00:00Z [level:restricted group:board] 0 0   {}"},
		{`{"content":"blue","id":"x","acl":"","ts":0}`, map[string]string{"security_label": "acl", "created_at": "ts"}, false, "/security_label must be an array"},
		{`{"content":"blue","id":"a/b c","ts":0}`, created, false, "a:b_c_.0399f005a1569decdc35 blue 1970-01-01T00:00:00Z [level:internal] 0 0   {}"},
		{`{"content":"blue","id":"a/b","ts":1767225600.25}`, created, false, "a:b_.705d573b76c77db1d3c1 blue 2026-01-01T00:00:00.25Z [level:internal] 0 0   {}"},
		{`{"content":"blue","id":"a:b","ts":1767225600250}`, created, false, "a:b blue 2026-01-01T00:00:00.25Z [level:internal] 0 0   {}"},
		{`{"content":"blue","id":"x","ts":"1767225600.000200"}`, created, false, "x blue 2026-01-01T00:00:00.0002Z [level:internal] 0 0   {}"},
		{`{"content":"blue","id":"x","ts":"2026-01-01"}`, created, false, "x blue 2026-01-01T00:00:00Z [level:internal] 0 0   {}"},
		{`{"content":"blue","id":"x","ts":"2026-01-01T09:00:00+0100"}`, created, false, "x blue 2026-01-01T08:00:00Z [level:internal] 0 0   {}"},
		{`{"content":"blue","id":"x","ts":"Monday"}`, created, false, "/created_at must be a time like 2026-01-31T12:00:00Z (RFC 3339)"},
	} {
		cmd := Files{fieldFlags: fieldFlags{Map: c.maps, DropUnknown: c.drop}, Kind: "memory"}
		read, err := cmd.lines(a, "-")
		if err != nil {
			t.Fatal(err)
		}
		one := read.decode([]byte(c.line))
		item := one.item
		trust := 0.0
		if item.Trust != nil {
			trust = *item.Trust
		}
		attributes := "{}"
		if item.Attributes != nil {
			attributes = string(item.Attributes)
		}
		got := fmt.Sprint(item.ID, " ", item.Content.Text(), " ", item.CreatedAt.Format(time.RFC3339Nano), " ", item.SecurityLabel, " ", trust, " ", item.TTL, " ", item.Speaker, " ", item.Session, " ", attributes)
		if len(one.issues) > 0 {
			got = one.issues[0].Pointer + " " + one.issues[0].Message
		}
		if got != c.want {
			t.Errorf("%s:\n got %s\nwant %s", c.line, got, c.want)
		}
	}
	var usage *config.UsageError
	if _, err := newMapping(fieldFlags{Map: map[string]string{"user_id": "user"}, DropUnknown: true}); !errors.As(err, &usage) || !strings.Contains(err.Error(), "--map attributes.user_id=user") {
		t.Errorf("a target that no item has: %v", err)
	}
}

// TestImportOfLabels: in a file where a line has labels, a line without any is refused, unless the user says what
// it gets; fields that no item has are named once with how many lines have them. Experiences are read alike.
func TestImportOfLabels(t *testing.T) {
	t.Parallel()
	const ghap = `"domain":"debugging","goal":"g","hypothesis":"h","action":"a","prediction":"p","outcome_status":"confirmed"`
	for _, c := range []struct {
		name, first, second string
	}{
		{"files", `"content":"one","user":"u"`, `"content":"two","user":"u","mood":"m"`},
		{"experiences", ghap + `,"user":"u"`, ghap + `,"id":"b","user":"u","mood":"m"`},
	} {
		text := "{" + c.first + `,"security_label":["level:restricted"],"trust":0.2}` + "\n{" + c.second + "}\n"
		read := func(drop bool, label ...string) ([]schemas.MemoryItem, string) {
			var said strings.Builder
			a := &app.App{Settings: &config.Settings{Tenant: "main"}, Err: &said, In: strings.NewReader(text)}
			var items []schemas.MemoryItem
			add := func(where string, item schemas.MemoryItem, issues []schemas.Issue) {
				if printIssues(a, where, issues); len(issues) == 0 {
					items = append(items, item)
				}
			}
			fields, flags := fieldFlags{DropUnknown: drop}, Flags{Label: label}
			var err error
			if c.name == "files" {
				err = (&Files{fieldFlags: fields, Flags: flags}).readFile(a, "-", add)
			} else {
				err = (&Experiences{fieldFlags: fields, Flags: flags}).read(a, "-", add)
			}
			if err != nil {
				t.Fatal(err)
			}
			return items, said.String()
		}
		if items, said := read(false); len(items) > 0 || said != "-: lines with fields that no item has are left out: user (2 lines), mood (1 line). Keep these fields with --map attributes.user=user --map attributes.mood=mood, or import without them with --drop-unknown\n" {
			t.Errorf("%s: %d items, %s", c.name, len(items), said)
		}
		items, said := read(true)
		if len(items) != 1 || !slices.Equal(items[0].SecurityLabel, []string{"level:restricted"}) || items[0].Trust == nil || *items[0].Trust != .2 {
			t.Errorf("%s: %+v", c.name, items)
		}
		if want := "-:2: /security_label: " + unlabelled + "\n-: left out of the items: user (2 lines), mood (1 line)\n"; said != want {
			t.Errorf("%s: %s", c.name, said)
		}
		if items, _ := read(true, "level:public"); len(items) != 2 || items[0].SecurityLabel[0] != "level:restricted" || items[1].SecurityLabel[0] != "level:public" {
			t.Errorf("%s, with --label: %+v", c.name, items)
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
	did, _, err := c.read(t.Context(), a)
	if err != nil || len(did.items) != 2 || did.Read != 4 || did.Malformed != 2 || did.items[1].Content.Text() != "two" {
		t.Errorf("%+v, %v", did, err)
	}
	const want = "-:3: (whole line): is longer than 8388608 bytes\n-:5: (whole line): is longer than 8388608 bytes\n"
	if said.String() != want {
		t.Errorf("said %.300q", said.String())
	}
	a.In = strings.NewReader(long)
	var issues []schemas.Issue
	if err := (&Experiences{}).read(a, "-", func(_ string, _ schemas.MemoryItem, long []schemas.Issue) { issues = append(issues, long...) }); err != nil || len(issues) != 1 {
		t.Errorf("experiences: %v, %v", issues, err)
	}
}

func TestImportKeepsMarkdownOfTwoFoldersApart(t *testing.T) {
	t.Parallel()
	base := folder(t, map[string]string{"kiln/docs/README.md": "# Kiln", "glaze/docs/README.md": "# Kiln\nof another"})
	kiln, glaze := filepath.Join(base, "kiln", "docs"), filepath.Join(base, "glaze", "docs")
	read := func(name string, paths ...string) ([]schemas.MemoryItem, error) {
		c := Files{Paths: paths, Kind: "memory", Flags: Flags{Label: []string{"level:internal"}}, Name: name}
		did, _, err := c.read(t.Context(), &app.App{Settings: &config.Settings{Tenant: "main"}, Err: os.Stderr})
		if err != nil {
			return nil, err
		}
		return did.items, nil
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
		"in/notes.txt": "x", "in/.git/HEAD": "x", "in/big.md": "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12\n"})
	var said strings.Builder
	a := &app.App{Settings: &config.Settings{Tenant: "main"}, Err: &said}
	c := Files{Paths: []string{filepath.Join(dir, "in")}, Kind: "memory", Flags: Flags{Label: []string{"level:internal"}}}
	did, md, err := c.read(t.Context(), a)
	if err != nil || len(did.items) != 2 || did.items[0].Content.Text() != "Kiln\nhot" || did.items[1].Content.Text() != "celadon is green" || did.Malformed != 2 {
		t.Fatalf("%+v, %v", did, err)
	}
	if len(did.LeftOut) != 2 || did.LeftOut["neither documentation nor .jsonl"] != 1 || did.LeftOut["in Git LFS and not fetched"] != 1 || len(md.left) != 3 {
		t.Errorf("left out %v, %v", did.LeftOut, md.left)
	}
	contains(t, "stderr", said.String(), "latin.md:3: (whole line): is not valid UTF-8", "m.jsonl:2: /scope/tenant: is \"other\"")
}

// TestAnItemHasAMostSize is about what the stream takes.
func TestAnItemHasAMostSize(t *testing.T) {
	t.Parallel()
	item := schemas.MemoryItem{ID: "n3", Content: schemas.TextContent(strings.Repeat("y", 800<<10))}
	if _, issues := encodeItem(&item); len(issues) != 1 || !strings.Contains(issues[0].Message, "at most") {
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
