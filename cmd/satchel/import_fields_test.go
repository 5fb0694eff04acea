package main

import (
	"path/filepath"
	"strings"
	"testing"
)

// TestImportKeepsFields: what a line says of an item holds with --map, too; a field that no item has is named once
// with the number of its lines, which are refused, or kept as an attribute.
func TestImportKeepsFields(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	dir := folder(t, map[string]string{"m.jsonl": `{"id":"sev","text":"Ulverdale severance list: forty posts go in March.","ts":"2026-03-01","user":"u7","security_label":["level:restricted","group:board"]}
{"id":"tea/2","text":"Ulverdale has tea at four.","ts":1767225600,"user":"u8","security_label":["level:internal"]}
{"id":"old","text":"Ulverdale had tea at five.","ts":1767225600,"user":"u8","security_label":["level:internal"],"valid_to":"2026-02-01T00:00:00Z"}
{"id":"open","text":"Ulverdale has coffee at six.","ts":1767225600,"user":"u8"}
`})
	file := filepath.Join(dir, "m.jsonl")
	args := []string{"import", file, "--map", "content=text", "--map", "created_at=ts"}
	r := n.run(t, args...)
	if r.code != exitFound || !strings.Contains(r.out, "4 items read, 0 published") || strings.Count(r.err, "user (") != 1 ||
		!strings.Contains(r.err, "user (4 lines). Keep these fields with --map attributes.user=user, or import without them with --drop-unknown") {
		t.Errorf("a field that no item has: exit code %d\n%s%s", r.code, r.out, r.err)
	}
	r = n.run(t, append(args, "--map", "attributes.user_id=user")...)
	if r.code != exitFound || !strings.Contains(r.out, "4 items read, 3 published: 3 new, 0 known already, 1 malformed") || !strings.Contains(r.err, "m.jsonl:4: /security_label: is missing") || !strings.Contains(r.err, "--label level:internal") {
		t.Errorf("with an attribute: exit code %d\n%s%s", r.code, r.out, r.err)
	}
	said := n.must(t, "ask", "what is there in Ulverdale?")
	if strings.Contains(said, "severance") || strings.Contains(said, "five") || !strings.Contains(said, "tea at four") {
		t.Errorf("an internal reader is shown\n%s", said)
	}
	if said := n.must(t, "ask", "--level", "restricted", "--group", "board", "--filter", "user_id=u7", "what is there in Ulverdale?"); !strings.Contains(said, "severance") {
		t.Errorf("the board is shown\n%s", said)
	}
	if r := n.run(t, "import", file, "--map", "user=text"); r.code != exitUsage || !strings.Contains(r.err, "--map attributes.user=text") {
		t.Errorf("a target that no item has: exit code %d\n%s", r.code, r.err)
	}
}

// TestImportOfABareRepository says what can be read of it, before anything is published.
func TestImportOfABareRepository(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	dir := folder(t, map[string]string{"r/a.md": "# Kiln\nhot\n"})
	git := gitIn(t, filepath.Join(dir, "r"))
	git("init", "-q")
	git("add", ".")
	git("commit", "-q", "-m", "the kiln")
	git("clone", "-q", "--bare", ".", "../bare")
	r := n.run(t, "import", "repo", filepath.Join(dir, "bare"))
	if r.code != exitUsage || !strings.Contains(r.err, "is a bare repository") || !strings.Contains(r.err, "satchel import git") || strings.Contains(r.out, "commit") {
		t.Errorf("exit code %d\n%s%s", r.code, r.out, r.err)
	}
}
