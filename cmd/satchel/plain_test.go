package main

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"satchel/cmd/internal/app"
	"satchel/cmd/internal/command"
	"satchel/cmd/internal/terminal"
	"satchel/pipeline/language"
)

// hostile is text that would clear a terminal, set its title and reorder a line.
const hostile = "a\x1b[2J\x1b]0;owned\ab\u202ec\u009b31md\x7fe\rf"

func TestPlainWritesNothingThatCommandsATerminal(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringOf(rapid.SampledFrom([]rune("ab ä€😀\x1b\u202e\u009b\n\t\U000e0041"))).Draw(t, "text")
		var out bytes.Buffer
		o := &terminal.Plain{W: &out}
		for rest := []byte(text); len(rest) > 0; {
			n := rapid.IntRange(1, len(rest)).Draw(t, "n")
			if wrote, err := o.Write(rest[:n]); err != nil || wrote != n {
				t.Fatal(wrote, err)
			}
			rest = rest[n:]
		}
		if out.String() != language.Shown(text) {
			t.Errorf("%q became %q, want %q", text, out.String(), language.Shown(text))
		}
	})
}

func TestJSONKeepsWhatIsNotPrintable(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	a := &app.App{Out: &terminal.Plain{W: &out}}
	want := map[string]string{"k\u202e": hostile + "\U000e0041\ufeff<&"}
	if err := command.PrintJSON(a, want); err != nil {
		t.Fatal(err)
	}
	var got map[string]string
	if err := json.Unmarshal(out.Bytes(), &got); err != nil || len(got) != 1 || got["k\u202e"] != want["k\u202e"] {
		t.Errorf("%q, %v", got, err)
	}
	if text := out.String(); language.Shown(text) != text {
		t.Errorf("printed %q", text)
	}
}

// TestForeignTextIsPrintedPlain runs commands on text, names and fields of an attacker.
func TestForeignTextIsPrintedPlain(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	must := func(args ...string) string { t.Helper(); return n.must(t, args...) }
	item, err := json.Marshal(map[string]any{"id": "kiln", "content": "The kiln is fired on Mondays " + hostile + " with beech wood."})
	if err != nil {
		t.Fatal(err)
	}
	dir := folder(t, map[string]string{"m.jsonl": string(item) + "\n", "bad\x1b[31m\u202e.jsonl": `{"content":"x","\u001b[2J\u202e":1,"created_at":"\u001b[2J"}` + "\n"})
	printed := must("import", dir+"/m.jsonl")
	for _, args := range [][]string{{"answer", "when is the kiln fired?"}, {"ask", "when is the kiln fired?"}, {"search", "kiln"}, {"explain", "kiln" + hostile, "when is the kiln fired?"},
		{"import", dir + "/bad\x1b[31m\u202e.jsonl"}, {"lint", dir + "/bad\x1b[31m\u202e.jsonl"}, {"ledger", "--tenant", "main\x1b[2J"}, {"nope\x1b[2J"}, {"dlq", "ls"}} {
		r := n.run(t, args...)
		printed += r.out + r.err
	}
	if !strings.Contains(printed, "fired on Mondays") || !strings.Contains(printed, "jsonl") {
		t.Errorf("nothing of it was printed:\n%s", printed)
	}
	if language.Shown(printed) != printed {
		t.Errorf("printed %q", printed)
	}
}
