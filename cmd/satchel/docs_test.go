package main

import (
	"bufio"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/alecthomas/kong"
	"github.com/google/go-cmp/cmp"

	"satchel/cmd/internal/cli"
	"satchel/cmd/internal/config"
	"satchel/pipeline/relevance"
)

func read(t *testing.T, name string) string {
	t.Helper()
	raw, err := os.ReadFile("../../" + name)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

func TestTheDocumentsHaveEveryCommand(t *testing.T) {
	t.Parallel()
	parser, err := kong.New(&commands{})
	if err != nil {
		t.Fatal(err)
	}
	table, _, _ := strings.Cut(read(t, "docs/commands.md"), "## Exit codes")
	for _, c := range parser.Model.Leaves(true) {
		if !regexp.MustCompile("`(satchel )?(" + c.Parent.Name + " )?" + c.Name + "`").MatchString(table) {
			t.Errorf("docs/commands.md lacks %s", c.FullPath())
		}
	}
}

func TestEveryCommandShowsHowItIsCalled(t *testing.T) {
	t.Parallel()
	parser, err := kong.New(&commands{}, cli.Explain(help))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range parser.Model.Leaves(true) {
		name := c.Name
		switch {
		case c.Parent.Type != kong.CommandNode:
		case c.Parent.DefaultCmd == c:
			name = c.Parent.Name
		default:
			name = c.Parent.Name + " " + name
		}
		if _, examples, _ := strings.Cut(c.Detail, "Example"); !strings.Contains(examples, "satchel "+name) {
			t.Errorf("satchel %s --help has no example", name)
		}
	}
}

func TestTheDocumentsHaveEverySetting(t *testing.T) {
	t.Parallel()
	settings, example := read(t, "docs/settings.md"), map[string]string{}
	lines := bufio.NewScanner(strings.NewReader(read(t, ".env.example")))
	for lines.Scan() {
		if name, value, ok := strings.Cut(lines.Text(), "="); ok && !strings.HasPrefix(name, "#") {
			example[name] = value
		}
	}
	for _, one := range (&config.Settings{}).Effective() {
		if one.Env == "" {
			continue
		}
		if value, ok := example[one.Env]; !ok || value != one.Default && !(one.Default == "" && value == "false") {
			t.Errorf(".env.example has %s=%s, the default is %q", one.Env, value, one.Default)
		}
		delete(example, one.Env)
		row := regexp.MustCompile("(?m)^\\| `" + one.Env + "` \\| `--" + one.Name + "` \\| (?:`([^`]*)`)? ?\\| (?:`([A-Z0-9_]+)`)? ?\\|").FindStringSubmatch(settings)
		if row == nil || row[1] != one.Default && !(one.Default == "" && row[1] == "false") || row[2] != one.Older {
			t.Errorf("docs/settings.md has %q; the default of %s is %q, its older name %q", row, one.Env, one.Default, one.Older)
		}
	}
	if len(example) > 0 {
		t.Errorf(".env.example has settings that are not there: %v", example)
	}
}

// TestTheReadmesPackIsTheDemos finds each line of the README's pack, in order, in the
// first context of the demo; … stands for what is left out of a line. The second context says what of it is hidden.
func TestTheReadmesPackIsTheDemos(t *testing.T) {
	t.Parallel()
	_, block, _ := strings.Cut(read(t, "README.md"), "## What you get")
	_, block, _ = strings.Cut(block, "```\n")
	block, _, _ = strings.Cut(block, "```")
	r := satchel(t, "", "demo", "--verbose")
	_, shown, _ := strings.Cut(r.out, "── as support_agent")
	shown, second, _ := strings.Cut(shown, "── as risk_officer")
	if !strings.Contains(second, "\nredacted parts of 1 item, which policy hides") {
		t.Errorf("the second context does not say what it hides:\n%s", second)
	}
	lines := 0
	for line := range strings.Lines(block) {
		if line = strings.TrimSpace(line); line == "" || strings.HasPrefix(line, `"`) {
			continue
		}
		lines++
		is := regexp.MustCompile("(?m)^" + strings.ReplaceAll(regexp.QuoteMeta(line), "…", ".+") + "$")
		at := is.FindStringIndex(shown)
		if at == nil {
			t.Fatalf("exit code %d; the demo does not print %q after the lines before it:\n%s%s", r.code, line, r.out, r.err)
		}
		shown = shown[at[1]:]
	}
	if lines < 8 {
		t.Errorf("the README's pack has %d lines", lines)
	}
}

func TestAnEmptySettingIsUnset(t *testing.T) { // not parallel: it sets the environment
	for _, name := range []string{"NATS_CREDS", "SATCHEL_PRINCIPALS", "POLICY_BUNDLE", "SATCHEL_SIGNING_KEYS", "SATCHEL_RELEVANCE", "NATS_URL"} {
		t.Setenv(name, "")
	}
	r := satchel(t, "", "config", "--json")
	for _, s := range effectiveOf(t, r.out) {
		if os.Getenv(s.Env) == "" && s.Env != "" && strings.HasPrefix(s.Value, "/") && s.Name != "dir" {
			t.Errorf("an empty %s counts as %q", s.Env, s.Value)
		}
	}
}

// The reasons of dead letters are the constants of write.Reason.
func TestTheDocumentsHaveEveryReasonOfADeadLetter(t *testing.T) {
	t.Parallel()
	want := map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^\t\w+ +Reason = "(\w+)"$`).FindAllStringSubmatch(read(t, "pipeline/write/rejection.go"), -1) {
		want[m[1]] = true
	}
	if len(want) < 11 {
		t.Fatalf("%d reasons are in the code", len(want))
	}
	_, table, _ := strings.Cut(read(t, "docs/operations.md"), "| reason | the event |")
	table, _, _ = strings.Cut(table, "\n\n")
	got := map[string]bool{}
	for _, m := range regexp.MustCompile("(?m)^\\| `(\\w+)` \\|").FindAllStringSubmatch(table, -1) {
		got[m[1]] = true
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the table of reasons in docs/operations.md (-code +table):\n%s", diff)
	}
}

// docs/relevance.md has every mode and node of the built-in configuration, and every
// signal that its rules ask for.
func TestTheDocumentsHaveEveryNodeAndSignal(t *testing.T) {
	t.Parallel()
	cfg, err := relevance.DefaultConfig()
	if err != nil {
		t.Fatal(err)
	}
	text := read(t, "docs/relevance.md")
	rows := map[string]bool{}
	for _, m := range regexp.MustCompile("(?m)^\\| `(\\w+)` \\|").FindAllStringSubmatch(text, -1) {
		rows[m[1]] = true
	}
	want := map[string]bool{}
	for node := range cfg.Nodes {
		want[node] = true
	}
	for mode := range cfg.TemplateMasks {
		want[mode] = true
	}
	signals := func(when map[string]any) {
		for key := range when {
			want[regexp.MustCompile(`_(gte|gt|lte|lt|eq)$`).ReplaceAllString(key, "")] = true
		}
	}
	for _, rules := range cfg.SignalRules {
		for i := range rules {
			signals(rules[i].When)
		}
	}
	for _, conditions := range cfg.SafetyOverrides {
		for i := range conditions {
			signals(conditions[i].When)
		}
	}
	if diff := cmp.Diff(want, rows); diff != "" {
		t.Errorf("the tables of docs/relevance.md (-configuration +tables):\n%s", diff)
	}
}

// TestTheDocumentsTemplateIsRegistered sends the request of docs/packs.md and builds with it.
func TestTheDocumentsTemplateIsRegistered(t *testing.T) {
	t.Parallel()
	m := regexp.MustCompile(`(?m)^nats req --no-templates (ctx[^ ]+\.template) '(.+)'$`).FindStringSubmatch(read(t, "docs/packs.md"))
	if m == nil {
		t.Fatal("docs/packs.md registers no template")
	}
	n := startNode(t)
	n.must(t, "emit", "--text", "The kiln is fired on Mondays.", "--created-at", "2026-03-03T10:00:00Z")
	if reply, err := n.connect(t).Request(m[1], []byte(m[2]), time.Minute); err != nil || !strings.Contains(string(reply.Data), `"name":"bullets"`) {
		t.Fatalf("%s, %v", reply.Data, err)
	}
	out := n.must(t, "preview", "--build", "--template", "bullets", "when is the kiln fired?")
	if out != "Known:\n* The kiln is fired on Mondays. (episodic, 2026-03-03T10:00:00Z)\n" {
		t.Errorf("built %q", out)
	}
}
