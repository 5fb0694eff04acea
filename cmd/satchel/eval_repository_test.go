package main

import (
	"os"
	"path/filepath"
	"testing"
)

func TestEvalAsksAboutARepository(t *testing.T) {
	t.Parallel()
	dir := folder(t, map[string]string{
		"repos/kiln/kiln.go":   kilnGo,
		"repos/kiln/README.md": "# Kiln\n\nBeech wood is burnt in the kiln, at most 1,200 degrees.\n",
		"repos/kiln.questions.jsonl": `{"id":"k1","text":"which wood is burnt in the kiln?","source":"docs","answers":[["beech"]]}` + "\n" +
			`{"id":"k2","text":"who wrote of the chimney?","source":"history","answers":[["no such pattern"],["never","there"]]}` + "\n" +
			`{"id":"k3","text":"how is the ferry paid?","source":"none","answers":[]}` + "\n",
	})
	git := gitIn(t, filepath.Join(dir, "repos", "kiln"))
	git("add", ".")
	git("commit", "-q", "-m", "the chimney is swept in spring")
	raw := filepath.Join(dir, "raw.jsonl")
	r := satchel(t, "", "eval", "--data", dir, "--set", "repos", "--budget", "400", "--out", raw)
	if r.code != 0 {
		t.Fatalf("exit code %d\n%s%s", r.code, r.out, r.err)
	}
	contains(t, "table", r.out, "repos: kiln", "ask", "assemble", "1 of 2", "1 of 1", "0 of 1")
	text, err := os.ReadFile(raw)
	if err != nil {
		t.Fatal(err)
	}
	contains(t, "raw run", string(text), `"id":"k3","way":"assemble","budget":400`, `"answered":true`)
	if r := satchel(t, "", "eval", "--data", dir, "--set", "repos", "--repository", dir); r.code != exitUsage {
		t.Errorf("a folder without questions: exit code %d\n%s", r.code, r.err)
	}
}
