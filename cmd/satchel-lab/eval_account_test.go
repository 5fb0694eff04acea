package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"satchel/cmd/internal/lab/eval"
)

// Items in which personal data is hidden are shorter than what was remembered; extracts
// of them are held against what recovery brings back.
func TestEvalHoldsRedactedExtracts(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	folder := filepath.Join(dir, "letters")
	if err := os.MkdirAll(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	var memories, queries strings.Builder
	for i := range 8 {
		var text strings.Builder
		fmt.Fprintf(&text, "Write to ana.of.the.kilns.%d@example.com about letter %d. ", i, i)
		for n := range 30 {
			fmt.Fprintf(&text, "Point %d of letter %d was about the weather, the chairs and the coffee. ", n, i)
		}
		fmt.Fprintf(&text, "Lantern number %d hangs at gate %d.", i, i*7)
		line, err := json.Marshal(map[string]any{"tenant": "t", "id": fmt.Sprint("m", i), "session": "s", "speaker": "Bo", "text": text.String(), "ts": "2026-01-02T03:04:05Z"})
		if err != nil {
			t.Fatal(err)
		}
		memories.Write(append(line, '\n'))
		fmt.Fprintf(&queries, `{"tenant":"t","id":"q%d","text":"which gate does lantern number %d hang at?","relevant":["m%d"],"ts":"2026-01-03T03:04:05Z"}`+"\n", i, i, i)
	}
	for name, text := range map[string]string{"memories.jsonl": memories.String(), "queries.jsonl": queries.String()} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	r := lab(t, "eval", "--data", dir, "--set", "letters", "--budget", "500,1000", "--json", "--dir", t.TempDir())
	var reports []eval.Report
	if err := json.Unmarshal([]byte(r.out), &reports); r.code != 0 || err != nil || len(reports) != 1 {
		t.Fatalf("exit code %d, %v\n%s%s", r.code, err, r.out, r.err)
	}
	lines := reports[0].Lines
	a := lines[len(lines)-1].Account
	if a.Resolved != a.Cited || a.Named != a.Removed {
		t.Errorf("%d of %d citations, %d of %d characters", a.Resolved, a.Cited, a.Named, a.Removed)
	}
	if a.Cited < 100 || a.Removed == 0 {
		t.Errorf("the test shows nothing: %+v", a)
	}
	r = lab(t, "eval", "--data", dir, "--all", "--account", "--budget", "500,1000", "--dir", t.TempDir())
	if r.code != 0 || !strings.Contains(r.out, "drops named") {
		t.Fatalf("exit code %d\n%s%s", r.code, r.out, r.err)
	}
	fields := strings.Fields(r.out[strings.LastIndex(r.out, " all "):])
	if want := []string{"all", "16", "0", "0"}; !slices.Equal(fields[:4], want) || fields[7] != "100%" || fields[10] != "100%" {
		t.Errorf("all packs: %v", fields)
	}
}
