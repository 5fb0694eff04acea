package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestTheFolderRunsNoProgram: the commits of a folder are read, and a program that its configuration names, to check
// their signatures, is not run.
func TestTheFolderRunsNoProgram(t *testing.T) {
	t.Parallel()
	dir, ran := t.TempDir(), filepath.Join(t.TempDir(), "ran")
	git := func(input string, args ...string) string {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), "git", append([]string{"-C", dir}, args...)...)
		cmd.Stdin = strings.NewReader(input)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("git %s: %v\n%s", args, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	evil := filepath.Join(dir, "evil.sh")
	if err := os.WriteFile(evil, []byte("#!/bin/sh\necho \"$*\" >> '"+ran+"'\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	git("", "init", "-q", "-b", "main")
	tree := git("", "write-tree")
	commit := git("tree "+tree+"\nauthor n <a@b> 1700000000 +0000\ncommitter n <a@b> 1700000000 +0000\n"+
		"gpgsig -----BEGIN PGP SIGNATURE-----\n \n iQ\n -----END PGP SIGNATURE-----\n\nGlaze the pots\n", "hash-object", "-t", "commit", "-w", "--stdin")
	git("", "update-ref", "HEAD", commit)
	git("", "config", "log.showSignature", "true")
	git("", "config", "gpg.program", evil)
	if got := (&moment{Folder: dir}).work(t.Context()); !strings.Contains(got, "Glaze the pots") {
		t.Errorf("the work is %q", got)
	}
	if said, err := os.ReadFile(ran); err == nil {
		t.Errorf("it ran a program of the folder: %s", said)
	}
	git("", "log", "-1") // which shows that the folder is as hostile as it is meant to be
	if _, err := os.ReadFile(ran); err != nil {
		t.Errorf("git itself does not run it: %v", err)
	}
}
