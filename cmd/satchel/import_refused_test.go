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
	const shown = 10 // reasons that are printed
	n := startNode(t, "--pii-on-write", "refuse")
	var many strings.Builder
	for i := range shown + 5 {
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
			r := satchel(t, "", args...)
			if r.code != exitFound || !strings.HasSuffix(r.out, c.out) || !strings.Contains(r.err, c.err) || strings.Count(r.err, ": refused: ") > shown {
				t.Errorf("%s: exit code %d\n%s%s", c.args, r.code, r.out, r.err)
			}
			if strings.Contains(r.err+r.out, "ida") {
				t.Errorf("%s: what was refused is printed\n%s", c.args, r.err)
			}
		}
	}
}
