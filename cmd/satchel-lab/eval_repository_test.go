package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"satchel/cmd/internal/cli"
	"satchel/test/parts"
)

func TestEvalAsksAboutARepository(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		parts.Missing(t, "git", "no git command on this machine")
	}
	t.Parallel()
	dir := folder(t, map[string]string{
		"repos/kiln/kiln.go":   "package kiln\n\n// Fire heats the kiln until the glaze melts.\nfunc Fire(at int) error { return nil }\n",
		"repos/kiln/README.md": "# Kiln\n\nBeech wood is burnt in the kiln, at most 1,200 degrees.\n",
		"repos/kiln.questions.jsonl": `{"id":"k1","text":"which wood is burnt in the kiln?","source":"docs","answers":[["beech"]]}` + "\n" +
			`{"id":"k2","text":"who wrote of the chimney?","source":"history","answers":[["no such pattern"],["never","there"]]}` + "\n" +
			`{"id":"k3","text":"how is the ferry paid?","source":"none","answers":[]}` + "\n",
	})
	for _, args := range [][]string{{"init", "-q", "-b", "main"}, {"add", "."}, {"commit", "-q", "-m", "the chimney is swept in spring"}} {
		cmd := exec.CommandContext(t.Context(), "git", append([]string{"-c", "user.name=Ida", "-c", "user.email=ida@example.org", "-c", "commit.gpgsign=false"}, args...)...)
		cmd.Dir, cmd.Env = filepath.Join(dir, "repos", "kiln"), append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	raw := filepath.Join(dir, "raw.jsonl")
	r := lab(t, "eval", "--data", dir, "--set", "repos", "--budget", "400", "--out", raw)
	if r.code != 0 {
		t.Fatalf("exit code %d\n%s%s", r.code, r.out, r.err)
	}
	contains(t, "table", r.out, "repos: kiln", "ask", "assemble", "1 of 2", "1 of 1", "0 of 1")
	text, err := os.ReadFile(raw)
	if err != nil {
		t.Fatal(err)
	}
	contains(t, "raw run", string(text), `"id":"k3","way":"assemble","budget":400`, `"answered":true`)
	if r := lab(t, "eval", "--data", dir, "--set", "repos", "--repository", dir); r.code != cli.ExitUsage {
		t.Errorf("a folder without questions: exit code %d\n%s", r.code, r.err)
	}
}
