package main

import (
	"os"
	"strings"
	"syscall"
	"testing"
)

// closed is a pipe whose reader has gone after the first write.
type closed struct{ writes int }

func (c *closed) Write(p []byte) (int, error) {
	if c.writes++; c.writes > 1 {
		return 0, &os.PathError{Op: "write", Path: "|1", Err: syscall.EPIPE}
	}
	return len(p), nil
}

func TestAClosedPipeStopsTheDemoAndLeavesNothing(t *testing.T) { // not parallel: it sets the environment
	tmp := t.TempDir()
	t.Setenv("TMPDIR", tmp)
	var errOut strings.Builder
	code := run(t.Context(), []string{"demo"}, strings.NewReader(""), &closed{}, &errOut)
	left, err := os.ReadDir(tmp)
	if err != nil || len(left) > 0 || code != exitFailed || errOut.String() != "" {
		t.Errorf("exit code %d, left behind %v (%v)\n%s", code, left, err, errOut.String())
	}
}

func TestHelpAndVersionAsElsewhere(t *testing.T) {
	t.Parallel()
	for said, args := range map[string][]string{"Usage: satchel <command>": {"help"}, "Usage: satchel ask": {"help", "ask"}, "satchel ": {"--version"}} {
		if r := satchel(t, "", args...); r.code != 0 || !strings.Contains(r.out, said) {
			t.Errorf("satchel %v: exit code %d\n%s%s", args, r.code, r.out, r.err)
		}
	}
}
