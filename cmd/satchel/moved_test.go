package main

import (
	"strings"
	"testing"
)

// TestMovedCommandsSayWhereTheyAre calls them as scripts did.
func TestMovedCommandsSayWhereTheyAre(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"eval", "--data", "x", "--all"}, {"rot", "--out", "x"}, {"bench"}, {"bench", "--help"}, {"--json", "bench", "--items", "10"}} {
		name := "bench"
		if args[0] != "--json" {
			name = args[0]
		}
		r := satchel(t, "", args...)
		if want := "satchel: satchel " + name + " has moved: run satchel-lab " + name; r.code != exitUsage || r.out != "" || !strings.HasPrefix(r.err, want) {
			t.Errorf("%v: exit code %d\n%s%s", args, r.code, r.out, r.err)
		}
	}
	if r := satchel(t, "", "--help"); strings.Contains(r.out, "bench") {
		t.Errorf("help has a command that moved:\n%s", r.out)
	}
}
