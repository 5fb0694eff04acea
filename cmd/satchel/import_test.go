package main

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
)

func TestImportLeavesOutWhatIsTooLarge(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	fields := make(map[string]string, 32)
	for i := range 32 {
		fields[string(rune('a'+i%26))+strings.Repeat("x", i)] = strings.Repeat("y", 25<<10)
	}
	large, err := json.Marshal(map[string]any{"content": fields})
	if err != nil {
		t.Fatal(err)
	}
	dir := folder(t, map[string]string{"m.jsonl": `{"id":"n1","content":"the kiln is fired on Mondays"}` + "\n" + string(large) + "\n" + `{"id":"n2","content":"celadon is green"}`})
	r := n.run(t, "import", filepath.Join(dir, "m.jsonl"))
	if r.code != exitFound || !strings.Contains(r.err, "m.jsonl:2: ") || !strings.Contains(r.out, "3 items read, 2 published") || !strings.Contains(r.err, "1 item is malformed") {
		t.Errorf("exit code %d\n%s%.300s", r.code, r.out, r.err)
	}
}

func TestImportOfAHandbook(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	dir := folder(t, map[string]string{"docs/handbook.md": "# Handbook\n## Travel\nBook trains two weeks early.\n## Kiln\nThe kiln is fired on Mondays.\n"})
	for _, want := range []string{"2 items read, 2 published: 2 new, 0 known already, 0 malformed", "2 items read, 2 published: 0 new, 2 known already, 0 malformed"} {
		if r := n.run(t, "import", dir+"/docs"); r.code != 0 || !strings.Contains(r.out, want) {
			t.Errorf("exit code %d, want %q\n%s%s", r.code, want, r.out, r.err)
		}
	}
	r := n.run(t, "search", "when is the kiln fired?")
	if !strings.Contains(r.out, "file:docs/handbook.md:4\n    Handbook › Kiln The kiln is fired on Mondays.") {
		t.Errorf("search says\n%s%s", r.out, r.err)
	}
}
