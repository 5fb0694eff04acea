package main

import (
	"encoding/json"
	"strings"
	"testing"
)

// TestFailEmpty asks as a principal who may see nothing and as one who may, with the flag and without it.
func TestFailEmpty(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	n.must(t, "emit", "--text", "Jonas renewed the gateway certificate.", "--label", "level:internal")
	for _, verb := range []string{"ask", "search", "assemble", "answer"} {
		for _, c := range []struct {
			args []string
			code int
		}{
			{[]string{"--fail-empty"}, 0},
			{[]string{"--fail-empty", "--level", "public"}, exitEmpty},
			{[]string{"--fail-empty", "--level", "public", "--json"}, exitEmpty},
			{[]string{"--level", "public"}, 0},
		} {
			r := n.run(t, append([]string{verb, "who renewed the gateway certificate?"}, c.args...)...)
			if r.code != c.code || c.code == exitEmpty && !strings.HasSuffix(r.err, "satchel: nothing was found\n") || strings.Contains(r.out, "Jonas") != (c.code == 0 && len(c.args) == 1) {
				t.Errorf("%s %v: exit code %d, want %d\n%s%s", verb, c.args, r.code, c.code, r.out, r.err)
			}
			if c.args[len(c.args)-1] == "--json" && !json.Valid([]byte(r.out)) {
				t.Errorf("%s --json --fail-empty prints\n%s", verb, r.out)
			}
		}
	}
}
