package erasure_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"satchel/worker/erasure"
)

func TestABadRetentionFileSaysWhere(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "retention.yaml")
	for text, want := range map[string]string{
		"":                      "name at least one",
		"classes: []":           "name at least one",
		"classes: [{name: a b}": "read the retention file",
		"classes: [{name: a b, keep: 1d, then: erase}]":                                                           "class 1 (a b): name:",
		"classes: [{name: a, keep: 1d, then: erase}, {name: a, keep: 2d, then: erase}]":                           "class 2 (a): name: is given twice",
		"classes: [{name: a, then: erase}]":                                                                       "class 1 (a): keep: is required",
		"classes: [{name: a, keep: 0d, then: erase}]":                                                             `keep "0d"`,
		"classes: [{name: a, keep: -3h, then: erase}]":                                                            `keep "-3h"`,
		"classes: [{name: a, keep: 3 months, then: erase}]":                                                       `keep "3 months"`,
		"classes: [{name: a, keep: 1d, then: move}]":                                                              "class 1 (a): then: must be erase",
		"classes: [{name: a, keep: 1d, then: erase, match: {kind: memory}}]":                                      "unknown field",
		"classes: [{name: a, keep: 1d, then: erase, match: {kinds: [memories]}}]":                                 `class 1 (a): match: there is no kind "memories"`,
		"classes: [{name: a, keep: 1d, then: erase, match: {types: [x]}}]":                                        `there is no type "x"`,
		"classes: [{name: a, keep: 1d, then: erase, match: {labels: [internal]}}]":                                `"internal" is no label`,
		"classes: [{name: a, keep: 1d, then: erase, match: {kinds: [memory], labels: [\"level:x\"]}}]":            "",
		"classes: [{name: a, keep: 1d, then: erase, match: {labels: []}}]":                                        "class 1: match: labels: is empty",
		"classes:\n  - name: a\n    keep: 1d\n    then: erase\n    match:\n      labels:\n      # - topic:chat\n": "class 1: match: labels: is empty",
		"classes:\n  - name: a\n    keep: 1d\n    then: erase\n    match:\n":                                      "class 1: match: is empty",
		"classes: [{name: a, keep: 1d, then: erase, match: {}}]":                                                  "class 1: match: is empty",
		"classes: [{name: a, keep: 1d, then: erase}]\n---\nclasses: []":                                           "more than one YAML document",
		"classes: [{name: a, keep: 36h, then: erase, match: {categories: [c], project: p}}]":                      "",
		"# all\nclasses:\n  - name: a\n    keep: \"90d\"\n    then: erase\n":                                      "",
		"classes: [{name: a, keep: 1d, then: erase}, {name: b, keep: 99999d, then: erase}]\nx: [1]":               "unknown field",
	} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		switch _, err := erasure.OpenRetention(path); {
		case want == "" && err != nil:
			t.Errorf("%s: %v", text, err)
		case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

// TestReload: a changed file counts, a broken one is named once and leaves what was read before.
func TestReload(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "retention.yaml")
	at := time.Now() // the same for all: the content says what has changed
	write := func(text string) {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path, at, at); err != nil {
			t.Fatal(err)
		}
	}
	write("classes: [{name: a, keep: 1d, then: erase}]")
	r, err := erasure.OpenRetention(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct {
		text            string
		changed, broken bool
	}{{"", false, false}, {"classes: x", false, true}, {"", false, false}, {"classes: [{name: b, keep: 2d, then: erase}]", true, false}, {"", false, false}} {
		if step.text != "" {
			write(step.text)
		}
		if changed, err := r.Reload(); changed != step.changed || (err != nil) != step.broken {
			t.Errorf("after %q: changed %t, %v", step.text, changed, err)
		}
	}
}
