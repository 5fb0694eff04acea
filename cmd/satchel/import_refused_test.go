package main

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
)

// TestImportCountsWhatIsRefused: what the worker refuses is counted, the first reasons are
// printed, with and without the rights to read dead letters, and the exit code is 3.
func TestImportCountsWhatIsRefused(t *testing.T) {
	t.Parallel()
	n := startNode(t, "--pii-on-write", "refuse")
	var many strings.Builder
	for i := range refusedShown + 5 {
		fmt.Fprintf(&many, `{"content":"write to ida%d@example.com"}`+"\n", i)
	}
	dir := folder(t, map[string]string{"m.jsonl": `{"content":"the kiln is hot"}` + "\n" + `{"content":"write to ida@example.com"}` + "\n", "many.jsonl": many.String(),
		"ghap.jsonl": `{"domain":"debugging","goal":"mail ida@example.com","hypothesis":"h","action":"a","prediction":"p","outcome_status":"confirmed"}` + "\n"})
	for _, beside := range []string{n.dir, t.TempDir()} { // the second is not the server's: it cannot read dead letters
		for _, c := range []struct{ args, out, err string }{
			{"m.jsonl", "2 items read, 2 published: 1 new, 0 known already, 0 malformed, 1 refused\n", "m.jsonl:2: refused: personal_data: "},
			{"many.jsonl", "0 new, 0 known already, 0 malformed, 15 refused\n", "many.jsonl:10: refused: personal_data: "},
			{"experiences ghap.jsonl", "1 experience read: 0 new, 0 known already, 0 malformed, 1 refused\n", "ghap.jsonl:1: refused: personal_data: "},
		} {
			args := append([]string{"import"}, strings.Fields(c.args)...)
			args[len(args)-1] = filepath.Join(dir, args[len(args)-1])
			args = append(args, "--dir", beside)
			if beside != n.dir {
				args = append(args, "--nats-port", n.url[strings.LastIndexByte(n.url, ':')+1:])
				c.out = strings.Replace(c.out, "1 new, 0 known", "0 new, 1 known", 1)
			}
			r := command(t, "", args...)
			if r.code != exitFound || !strings.HasSuffix(r.out, c.out) || !strings.Contains(r.err, c.err) || strings.Count(r.err, ": refused: ") > refusedShown {
				t.Errorf("%s: exit code %d\n%s%s", c.args, r.code, r.out, r.err)
			}
			if strings.Contains(r.err+r.out, "ida") {
				t.Errorf("%s: what was refused is printed\n%s", c.args, r.err)
			}
		}
	}
}

// TestImportOfAFolder takes what of it can be read, and names the rest.
func TestImportOfAFolder(t *testing.T) {
	t.Parallel()
	dir := folder(t, map[string]string{"in/a.md": "# Kiln\nhot\n", "in/latin.md": "# Kiln\n\nGl\xfcht\n", "in/deep/m.jsonl": `{"content":"celadon is green"}` + "\n" + `{"content":"x","scope":{"tenant":"other"}}` + "\n",
		"in/notes.txt": "x", "in/.git/HEAD": "x"})
	var said strings.Builder
	a := &app{Settings: &Settings{Tenant: "main"}, err: &said}
	c := importFilesCmd{Paths: []string{filepath.Join(dir, "in")}, Kind: "memory", Label: []string{"level:internal"}}
	items, md, count, err := c.read(t.Context(), a)
	if err != nil || len(items) != 2 || items[0].Content.Text() != "Kiln\nhot" || items[1].Content.Text() != "celadon is green" || count.Malformed != 2 {
		t.Fatalf("%+v, %+v, %v", items, count, err)
	}
	if len(count.LeftOut) != 1 || count.LeftOut["neither .md nor .jsonl"] != 1 || len(md.left) != 2 {
		t.Errorf("left out %v, %v", count.LeftOut, md.left)
	}
	contains(t, "stderr", said.String(), "latin.md:3: (whole line): is not valid UTF-8", "m.jsonl:2: /scope/tenant: is \"other\"", "notes.txt: left out: is neither .md nor .jsonl")
}
