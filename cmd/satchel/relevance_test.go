package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"satchel/pipeline/relevance"
)

// decided is what satchel relevance --json prints.
type decided struct {
	Inclusion map[string]bool `json:"inclusion"`
	Trace     struct {
		Total    int      `json:"total_included"`
		Warnings []string `json:"warnings"`
	} `json:"trace"`
}

// TestABrokenRelevanceConfigIncludesEverything: who reads the map of nodes has them all,
// and the doctor says why.
func TestABrokenRelevanceConfigIncludesEverything(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	broken := filepath.Join(dir, "broken.json")
	if err := os.WriteFile(broken, []byte(`{"template_mask":{}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{broken, filepath.Join(dir, "none.json")} {
		r := command(t, "", "relevance", "--relevance-config", path, "--mode", "ACT", "--json")
		var d decided
		if err := json.Unmarshal([]byte(r.out), &d); err != nil || r.code != 0 {
			t.Fatalf("%s: exit code %d, %v\n%s%s", path, r.code, err, r.out, r.err)
		}
		if len(d.Inclusion) != 17 || d.Trace.Total != 17 || !d.Inclusion["identity_context"] || len(d.Trace.Warnings) != 1 {
			t.Errorf("%s: %+v", path, d)
		}
		r = command(t, "", "doctor", "--dir", filepath.Join(dir, "data"), "--relevance-config", path)
		if want := filepath.Base(path); !strings.Contains(r.out, "NO   relevance ") || !strings.Contains(r.out, want) {
			t.Errorf("%s: the doctor says\n%s", path, r.out)
		}
	}
	if r := command(t, "", "doctor", "--dir", filepath.Join(dir, "data")); !strings.Contains(r.out, "ok   relevance ") {
		t.Errorf("without a file the doctor says\n%s", r.out)
	}
}

// TestTheBuiltInRelevanceConfigIsPrinted as a file that the loader takes.
func TestTheBuiltInRelevanceConfigIsPrinted(t *testing.T) {
	t.Parallel()
	r := command(t, "", "relevance", "--default")
	path := filepath.Join(t.TempDir(), "relevance.json")
	if err := os.WriteFile(path, []byte(r.out), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := relevance.Load(path); err != nil || r.code != 0 {
		t.Errorf("exit code %d, %v", r.code, err)
	}
	own := command(t, "", "relevance", "--relevance-config", path, "--mode", "RESPOND")
	builtin := command(t, "", "relevance", "--mode", "RESPOND")
	if own.out != builtin.out || strings.Contains(builtin.out, "warning") {
		t.Errorf("of the printed file:\n%s\nbuilt in:\n%s", own.out, builtin.out)
	}
	if r := command(t, "", "relevance"); r.code != 2 || !strings.Contains(r.err, "--mode") {
		t.Errorf("without a mode: exit code %d, %s", r.code, r.err)
	}
}

func TestWrongSignalsAreNamed(t *testing.T) {
	t.Parallel()
	for signal, want := range map[string]string{
		"foo=1": `warning: signal "foo" is unknown`, "context_warmth=abc": `warning: signal "context_warmth" is a text, want a number`,
		"context_warmth=5": `warning: signal "context_warmth" is out of range: 0 to 1`, "context_warmht=.5": "is it context_warmth?",
	} {
		if r := command(t, "", "relevance", "--mode", "CLARIFY", "--signal", signal); r.code != 0 || !strings.Contains(r.out, want) {
			t.Errorf("%s: exit code %d\n%s%s", signal, r.code, r.out, r.err)
		}
	}
}
