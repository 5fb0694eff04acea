package main

import (
	"bufio"
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
)

// The documents say what the program has: every command, every setting, every default.

func read(t *testing.T, name string) string {
	t.Helper()
	raw, err := os.ReadFile("../../" + name)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

func TestTheReadmeHasEveryCommand(t *testing.T) {
	t.Parallel()
	parser, err := kong.New(&cli{})
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(read(t, "README.md"), "## Commands")
	table, _, _ = strings.Cut(table, "## Settings")
	for _, c := range parser.Model.Leaves(true) {
		if !regexp.MustCompile("`(satchel )?(" + c.Parent.Name + " )?" + c.Name + "`").MatchString(table) {
			t.Errorf("the README's commands lack %s", c.FullPath())
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
	for _, field := range reflect.VisibleFields(reflect.TypeFor[Settings]()) {
		tag := field.Tag
		name := tag.Get("env")
		if name == "" {
			continue
		}
		want := tag.Get("default")
		if value, ok := example[name]; !ok || value != want && !(want == "" && value == "false") {
			t.Errorf(".env.example has %s=%s, the default is %q", name, value, want)
		}
		delete(example, name)
		row := regexp.MustCompile("(?m)^\\| `" + name + "` \\| `--[a-z0-9-]+` \\| (`([^`]*)`)? ?\\|").FindStringSubmatch(settings)
		if row == nil || row[2] != want && !(want == "" && row[2] == "false") {
			t.Errorf("docs/settings.md has %v, the default of %s is %q", row, name, want)
		}
	}
	if len(example) > 0 {
		t.Errorf(".env.example has settings that are not there: %v", example)
	}
}

// TestTheReadmesPackIsTheDemos finds each line of the README's pack, in order, in the
// first context of the demo; … stands for what is left out of a line.
func TestTheReadmesPackIsTheDemos(t *testing.T) {
	t.Parallel()
	_, block, _ := strings.Cut(read(t, "README.md"), "### What a pack looks like")
	_, block, _ = strings.Cut(block, "```\n")
	block, _, _ = strings.Cut(block, "```")
	r := command(t, "", "demo", "--verbose")
	_, shown, _ := strings.Cut(r.out, "── as support_agent")
	shown, _, _ = strings.Cut(shown, "── as risk_officer")
	lines := 0
	for line := range strings.Lines(block) {
		if line = strings.TrimSpace(line); line == "" {
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
	if lines < 10 {
		t.Errorf("the README's pack has %d lines", lines)
	}
}

func TestAnEmptySettingIsUnset(t *testing.T) { // not parallel: it sets the environment
	for _, name := range []string{"NATS_CREDS", "SATCHEL_PRINCIPALS", "POLICY_BUNDLE", "SATCHEL_SIGNING_KEYS", "SATCHEL_RELEVANCE", "NATS_URL"} {
		t.Setenv(name, "")
	}
	r := command(t, "", "config", "--json")
	for _, s := range effectiveOf(t, r.out) {
		if os.Getenv(s.Env) == "" && s.Env != "" && strings.HasPrefix(s.Value, "/") && s.Name != "dir" {
			t.Errorf("an empty %s counts as %q", s.Env, s.Value)
		}
	}
}
