// Package release has users of the product begin as README.md says: each snippet of it runs in an empty place,
// against the binary. Go gets the module that make publish writes; Python and TypeScript get the packages in dist/.
package release

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"satchel/test/testenv"
)

const root = "../.."

var bin string // folder of the programs under test

func TestMain(m *testing.M) {
	os.Exit(run(m))
}

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "release-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	bin = dir
	if err := testenv.Build(root, bin, "./cmd/satchel", "./deploy/release"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return m.Run()
}

// up starts satchel up on an empty folder.
func up(t *testing.T) *testenv.Satchel {
	t.Helper()
	return testenv.Up(t, filepath.Join(bin, "satchel"), t.TempDir())
}

// snippet returns the block of README.md in a language that has a text. Pairs of old and new are replaced in it, and
// each old has to be there.
func snippet(t *testing.T, language, with string, replace ...string) string {
	t.Helper()
	readme, err := os.ReadFile(filepath.Join(root, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, rest := range strings.Split(string(readme), "```"+language+"\n")[1:] {
		block, _, closed := strings.Cut(rest, "```")
		if !closed || !strings.Contains(block, with) {
			continue
		}
		for i := 0; i < len(replace); i += 2 {
			if !strings.Contains(block, replace[i]) {
				t.Fatalf("the README's %s does not have %q", language, replace[i])
			}
		}
		return strings.NewReplacer(replace...).Replace(block)
	}
	t.Fatalf("the README shows no %s with %q", language, with)
	return ""
}

// promised fails the test unless out is what README.md says that each snippet prints, but for empty lines at its end.
// The day of a pack is today's.
func promised(t *testing.T, out string) {
	t.Helper()
	today := func(hours int) string {
		return time.Now().UTC().Add(time.Duration(hours) * time.Hour).Format("2 January 2006")
	}
	for _, day := range []string{today(0), today(-1)} { // midnight may have passed since
		if strings.TrimRight(out, "\n") == strings.TrimRight(snippet(t, "text", "## Memory", "3 March 2026", day), "\n") {
			return
		}
	}
	t.Errorf("printed\n%s\nand the README says\n%s", out, snippet(t, "text", "## Memory"))
}

// start runs a program in dir with these variables, and returns what it printed.
func start(t *testing.T, dir string, env []string, program string, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 8*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), env...)
	var said strings.Builder
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s%s", program, strings.Join(args, " "), err, out, said.String())
	}
	return string(out)
}

// folder writes files into a new folder.
func folder(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}
