package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/alecthomas/kong"

	"satchel/cmd/internal/cli"
	"satchel/test/parts"
)

// result is what a command did.
type result struct {
	code     int
	out, err string
}

// lab runs the command line in this process, as a user would.
func lab(t *testing.T, args ...string) result {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	var out, errOut bytes.Buffer
	code := run(ctx, args, strings.NewReader(""), &out, &errOut)
	return result{code, out.String(), errOut.String()}
}

// folder makes files below a new folder and returns it.
func folder(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		p := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func contains(t *testing.T, what, text string, parts ...string) {
	t.Helper()
	for _, p := range parts {
		if !strings.Contains(text, p) {
			t.Errorf("%s does not say %q:\n%s", what, p, text)
		}
	}
}

func TestHelp(t *testing.T) {
	t.Parallel()
	first := lab(t)
	contains(t, "help", first.out, "Usage: satchel-lab <command>", "eval", "rot", "bench", "fit", "satchel-lab --help-all")
	if lines := strings.Count(first.out, "\n"); first.code != 0 || lines > 40 {
		t.Errorf("exit code %d, %d lines", first.code, lines)
	}
	for _, command := range []string{"eval", "rot", "bench", "fit"} {
		r := lab(t, command, "--help")
		contains(t, command, r.out, "Usage: satchel-lab "+command, "All settings: satchel-lab "+command)
		if r.code != 0 || r.err != "" {
			t.Errorf("%s: exit code %d %s", command, r.code, r.err)
		}
	}
}

// TestLabReference holds the table of the commands and checks that the help of each has an example.
func TestLabReference(t *testing.T) {
	t.Parallel()
	parser, err := kong.New(&commands{}, cli.Explain(help))
	if err != nil {
		t.Fatal(err)
	}
	var table strings.Builder
	table.WriteString("| command | what it does |\n|---|---|\n")
	for _, c := range parser.Model.Leaves(true) {
		if c.Name == "version" {
			continue // that of satchel
		}
		fmt.Fprintf(&table, "| `satchel-lab %s` | %s |\n", c.Name, c.Help)
		_, examples, _ := strings.Cut(c.Detail, "Example")
		contains(t, "the help of "+c.Name, examples, "satchel-lab "+c.Name)
	}
	parts.Table(t, "../../docs/reference/commands.md", "lab", table.String())
}

func TestRefused(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		args []string
		says string
	}{
		{[]string{"bench", "--items", "0"}, "--items"},
		{[]string{"bench", "--against", os.Args[0]}, "satchel-lab"},
		{[]string{"eval", "--data", t.TempDir()}, "name a set"},
		{[]string{"fit", "--data", t.TempDir(), "--most", "0"}, "--most"},
		{[]string{"fit", "--data", t.TempDir(), "--meaning", "--wrong"}, "satchel-lab: unknown flag --wrong"},
	} {
		if r := lab(t, c.args...); r.code != cli.ExitUsage || !strings.Contains(r.err, c.says) {
			t.Errorf("%v: exit code %d %s", c.args, r.code, r.err)
		}
	}
}

// TestTheDocumentsSetIsEvaluated runs the labelled set of docs/how-to/evaluate.md.
func TestTheDocumentsSetIsEvaluated(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/how-to/evaluate.md")
	if err != nil {
		t.Fatal(err)
	}
	_, text, _ := strings.Cut(string(page), "## A labelled set of your own")
	blocks := regexp.MustCompile("(?s)```json\n(.*?)```").FindAllStringSubmatch(text, 2)
	if len(blocks) != 2 {
		t.Fatalf("%d files are shown", len(blocks))
	}
	dir := folder(t, map[string]string{"own/memories.jsonl": blocks[0][1], "own/queries.jsonl": blocks[1][1]})
	r := lab(t, "eval", "--data", dir, "--set", "own")
	if r.code != 0 || !strings.Contains(r.out, "single") || !strings.Contains(r.out, "session") || strings.Contains(r.out, "NaN") {
		t.Errorf("exit code %d\n%s%s", r.code, r.out, r.err)
	}
}
