package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"satchel/pipeline/relevance"
)

// A broken file ends the command, and the doctor names it.
func TestABrokenRelevanceConfigIsRefused(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	broken, circle := filepath.Join(dir, "broken.json"), filepath.Join(dir, "circle.json")
	for path, text := range map[string]string{broken: `{"template_mask":{}}`, circle: `{"dependencies":{"focus":["gists"],"gists":["focus"]}}`} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, path := range []string{broken, circle, filepath.Join(dir, "none.json")} {
		name := filepath.Base(path)
		if r := satchel(t, "", "relevance", "--relevance-config", path, "--mode", "ACT", "--json"); r.code != exitUsage || !strings.Contains(r.err, name) {
			t.Errorf("%s: exit code %d\n%s%s", path, r.code, r.out, r.err)
		}
		r := satchel(t, "", "doctor", "--dir", filepath.Join(dir, "data"), "--relevance-config", path)
		if !strings.Contains(r.out, "NO   relevance ") || !strings.Contains(r.out, name) {
			t.Errorf("%s: the doctor says\n%s", path, r.out)
		}
	}
	if r := satchel(t, "", "doctor", "--dir", filepath.Join(dir, "data")); !strings.Contains(r.out, "ok   relevance ") {
		t.Errorf("without a file the doctor says\n%s", r.out)
	}
}

// TestTheBuiltInRelevanceConfigIsPrinted as a file that the loader takes.
func TestTheBuiltInRelevanceConfigIsPrinted(t *testing.T) {
	t.Parallel()
	r := satchel(t, "", "relevance", "--default")
	path := filepath.Join(t.TempDir(), "relevance.json")
	if err := os.WriteFile(path, []byte(r.out), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := relevance.Load(path); err != nil || r.code != 0 {
		t.Errorf("exit code %d, %v", r.code, err)
	}
	own := satchel(t, "", "relevance", "--relevance-config", path, "--mode", "RESPOND")
	builtin := satchel(t, "", "relevance", "--mode", "RESPOND")
	if own.out != builtin.out || strings.Contains(builtin.out, "warning") {
		t.Errorf("of the printed file:\n%s\nbuilt in:\n%s", own.out, builtin.out)
	}
	if r := satchel(t, "", "relevance"); r.code != 2 || !strings.Contains(r.err, "--mode") {
		t.Errorf("without a mode: exit code %d, %s", r.code, r.err)
	}
}

func TestWrongSignalsAreNamed(t *testing.T) {
	t.Parallel()
	for signal, want := range map[string]string{
		"foo=1": `warning: signal "foo" is unknown`, "context_warmth=abc": `warning: signal "context_warmth" is a text, want a number`,
		"context_warmth=5": `warning: signal "context_warmth" is out of range: 0 to 1`, "context_warmht=.5": "is it context_warmth?",
	} {
		if r := satchel(t, "", "relevance", "--mode", "CLARIFY", "--signal", signal); r.code != 0 || !strings.Contains(r.out, want) {
			t.Errorf("%s: exit code %d\n%s%s", signal, r.code, r.out, r.err)
		}
	}
}
