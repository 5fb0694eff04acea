package main

import (
	"strings"
	"testing"
)

// TestHelpFitsAScreen counts lines: what does not fit is behind --help-all.
func TestHelpFitsAScreen(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"--help"}, {"up", "--help"}, {"worker", "--help"}, {"config", "--help"}} {
		short := satchel(t, "", args...)
		if lines := strings.Count(short.out, "\n"); short.code != 0 || lines > 40 || lines < 10 {
			t.Errorf("satchel %v prints %d lines (exit code %d):\n%s", args, lines, short.code, short.out)
		}
		contains(t, "help", short.out, "--help-all")
		args[len(args)-1] = "--help-all"
		all := satchel(t, "", args...)
		contains(t, "the whole help", all.out, "--rank-weight-recency", "SATCHEL_RANK_WEIGHT_RECENCY", "--qdrant-url")
		if all.code != 0 {
			t.Errorf("satchel %v: exit code %d", args, all.code)
		}
	}
}

// TestCommandsOfTwoNames calls them by the second one.
func TestCommandsOfTwoNames(t *testing.T) {
	t.Parallel()
	for other, name := range map[string]string{"recover": "dropped", "erase": "forget"} {
		if r := satchel(t, "", other, "--help"); r.code != 0 || !strings.HasPrefix(r.out, "Usage: satchel "+name+" ("+other+")") {
			t.Errorf("satchel %s --help: exit code %d\n%s%s", other, r.code, r.out, r.err)
		}
	}
}
