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

func TestTheExampleHasEverySetting(t *testing.T) {
	t.Parallel()
	example := map[string]string{}
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

// docs/reference/relevance.md has every mode and node of the built-in configuration, and every
// signal that its rules ask for.
func TestTheDocumentsHaveEveryNodeAndSignal(t *testing.T) {
	t.Parallel()
	cfg, err := relevance.DefaultConfig()
	if err != nil {
		t.Fatal(err)
	}
	text := read(t, "docs/reference/relevance.md")
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
		t.Errorf("the tables of docs/reference/relevance.md (-configuration +tables):\n%s", diff)
	}
}

// TestTheDocumentsTemplateIsRegistered sends the request of docs/reference/templates.md and builds with it.
func TestTheDocumentsTemplateIsRegistered(t *testing.T) {
	t.Parallel()
	m := regexp.MustCompile(`(?m)^nats req --no-templates (ctx[^ ]+\.template) '(.+)'$`).FindStringSubmatch(read(t, "docs/reference/templates.md"))
	if m == nil {
		t.Fatal("docs/reference/templates.md registers no template")
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
