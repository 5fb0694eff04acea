package e2e

import (
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"satchel/test/parts"
)

// inShell runs a script with the binary as satchel and returns its lines.
func inShell(t *testing.T, shell, script string) []string {
	t.Helper()
	path, err := exec.LookPath(shell)
	if err != nil {
		parts.Missing(t, shell, "no "+shell+" on this machine")
	}
	cmd := exec.CommandContext(t.Context(), path, "-c", script)
	cmd.Dir, cmd.Env = t.TempDir(), []string{"PATH=" + binDir + ":/usr/bin:/bin", "HOME=" + t.TempDir()}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", shell, err, out)
	}
	return strings.Split(strings.TrimSuffix(string(out), "\n"), "\n")
}

// TestBashCompletes sources the script and completes as bash does: it makes a word of each =.
func TestBashCompletes(t *testing.T) {
	t.Parallel()
	cases := []struct {
		words []string
		want  []string // among the words that are offered
		not   []string
	}{
		{[]string{""}, []string{"ask", "up", "tenant", "completion"}, []string{"words", "ls"}},
		{[]string{"as"}, []string{"ask", "assemble"}, []string{"answer"}},
		{[]string{"dlq", ""}, []string{"ls", "show", "retry", "drop"}, []string{"ask"}},
		{[]string{"--dir", "ask", "tenant", "l"}, []string{"ls"}, nil},
		{[]string{"completion", ""}, []string{"bash", "fish", "zsh"}, []string{"words"}},
		{[]string{"ask", "-"}, []string{"--budget", "--dir", "--json", "--help", "--help-all"}, []string{"--qdrant-url", "--min-size"}},
		{[]string{"ask", "--qd"}, []string{"--qdrant-url"}, []string{"--budget"}},
		{[]string{"import", "memories.jsonl", "--st"}, []string{"--strict"}, nil},
		{[]string{"ask", "--json", "--type", "h"}, []string{"hybrid"}, []string{"keyword"}},
		{[]string{"ask", "--type", "=", "h"}, []string{"hybrid"}, []string{"keyword"}},
		{[]string{"ask", "--type", "="}, []string{"hybrid", "keyword"}, nil},
		{[]string{"ask", "--limit", ""}, []string{""}, []string{"hybrid", "ask"}},
		{[]string{"ask", "why", "--", "--"}, []string{""}, []string{"--json"}},
	}
	var script strings.Builder
	script.WriteString("source <(satchel completion bash)\n")
	for _, c := range cases {
		fmt.Fprintf(&script, "COMP_WORDS=(satchel %s); COMP_CWORD=%d; _satchel satchel; echo \"${COMPREPLY[*]}\"\n", "'"+strings.Join(c.words, "' '")+"'", len(c.words))
	}
	lines := inShell(t, "bash", script.String())
	if len(lines) != len(cases) {
		t.Fatalf("%d lines of %d cases:\n%s", len(lines), len(cases), strings.Join(lines, "\n"))
	}
	for i, c := range cases {
		got := strings.Split(lines[i], " ")
		for _, word := range c.want {
			if !slices.Contains(got, word) {
				t.Errorf("satchel %v: bash offers %q, not %q", c.words, got, word)
			}
		}
		for _, word := range c.not {
			if slices.Contains(got, word) {
				t.Errorf("satchel %v: bash offers %q, with %q", c.words, got, word)
			}
		}
	}
}

// TestFishCompletes has fish complete, with what each word does.
func TestFishCompletes(t *testing.T) {
	t.Parallel()
	lines := inShell(t, "fish", `satchel completion fish | source; complete -C "satchel tenan"; complete -C "satchel ask --type=hy"; touch memories.jsonl; complete -C "satchel lint mem"`)
	if want := []string{"tenant\tList the tenants.", "--type=hybrid", "memories.jsonl"}; !slices.Equal(lines, want) {
		t.Errorf("fish offers %q, want %q", lines, want)
	}
}

// TestZshReadsTheScript has zsh define the completion.
func TestZshReadsTheScript(t *testing.T) {
	t.Parallel()
	lines := inShell(t, "zsh", `autoload -Uz compinit; compinit -u -D; source <(satchel completion zsh); print $_comps[satchel]`)
	if !slices.Equal(lines, []string{"_satchel"}) {
		t.Errorf("zsh says %q", lines)
	}
}
