package main

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"satchel/cmd/internal/importer"
	"satchel/schemas"
	"satchel/test/parts"
)

// gitIn returns a git for a new repository in dir.
func gitIn(t *testing.T, dir string) func(args ...string) {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		parts.Missing(t, "git", "no git command on this machine")
	}
	git := func(args ...string) {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), "git", append([]string{"-C", dir, "-c", "user.name=Ida", "-c", "user.email=ida@example.org", "-c", "commit.gpgsign=false"}, args...)...)
		cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	git("init", "-q", "-b", "main")
	return git
}

func rewrite(t *testing.T, dir, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

const kilnGo = "package kiln\n\n// Fire heats the kiln until the glaze melts.\nfunc Fire(at int) error { return nil }\n\n// Vent lets the smoke out of the chimney.\nfunc Vent() {}\n"

func TestImportGitAndCodeOnANode(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	dir := folder(t, map[string]string{"kiln.go": kilnGo, "notes.txt": "x", ".gitignore": "out\n", "out/x.go": "package out\nfunc X() {}\n"})
	git := gitIn(t, dir)
	git("add", ".")
	git("commit", "-q", "-m", "the kiln is fired with beech wood")

	first := mustJSON[importer.GitResult](t, n, "import", "git", dir, "--name", "kiln")
	if first.Read != 1 || first.Published != 1 || first.Since != "" || !first.Indexed {
		t.Errorf("first import %+v", first)
	}
	git("commit", "-q", "--allow-empty", "-m", "the chimney is swept in spring")
	second := mustJSON[importer.GitResult](t, n, "import", "git", dir, "--name", "kiln")
	if second.Read != 1 || second.Since != first.Head {
		t.Errorf("second import %+v", second)
	}
	contains(t, "a third import", n.must(t, "import", "git", dir, "--name", "kiln"), "kiln: 2 commits: 0 new, 2 known already")
	contains(t, "since", n.must(t, "import", "git", dir, "--name", "kiln", "--since", first.Head), "kiln: 1 commit since "+first.Head[:10]+": 0 new, 1 known already")
	contains(t, "all", n.must(t, "import", "git", dir, "--name", "kiln", "--all"), "kiln: 2 commits: 0 new, 2 known already")
	contains(t, "ask for a commit", n.must(t, "ask", "what wood is the kiln fired with?"), "beech wood")

	code := mustJSON[importer.CodeResult](t, n, "import", "code", dir, "--name", "kiln")
	if code.Units["go"] != 2 || code.Files != 1 || code.Removed != 0 || !code.Indexed {
		t.Errorf("code %+v", code)
	}
	contains(t, "ask for code", n.must(t, "ask", "which function lets smoke out of the chimney?"), "func Vent()")
	contains(t, "code again", n.must(t, "import", "code", dir, "--name", "kiln"), "kiln: 0 units of 0 files: 0 new or changed, 0 known already; 1 file unchanged since "+second.Head[:10]+"\n")
	contains(t, "code again, all", n.must(t, "import", "code", dir, "--name", "kiln", "--all"), "kiln: 2 units of 1 file (go 2): 0 new or changed, 2 known already\n")
	rewrite(t, dir, "kiln.go", strings.Replace(kilnGo, "func Vent", "func Draw", 1))
	git("commit", "-q", "-am", "vent is called draw")
	code = mustJSON[importer.CodeResult](t, n, "import", "code", dir, "--name", "kiln")
	if code.Removed != 1 || code.Since != second.Head {
		t.Errorf("code after a removal %+v", code)
	}
	out := n.must(t, "ask", "which function lets smoke out of the chimney?")
	contains(t, "ask after a removal", out, "func Draw()")
	if strings.Contains(out, "func Vent()") {
		t.Errorf("a unit that is gone is shown\n%s", out)
	}
}

// TestImportRepo imports a repository in one, again, and after changes: what is gone ends,
// and neither what git ignores nor what others wrote is read.
func TestImportRepo(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	const guide = "# Guide\n\nThe kiln is fired on Mondays.\n\n## Chimney\n\nSmoke leaves by the chimney.\n"
	dir := folder(t, map[string]string{"kiln.go": kilnGo, "docs/guide.md": guide, "docs/old.rst": "Ash\n===\n\nAsh is sieved in autumn.\n", "empty.md": "\n", "bin.md": "a\x00b", ".gitignore": "drafts\n",
		"drafts/plan.md": "# Plan\nThe kiln moves to Lisbon.\n", "vendor/x/README.md": "# X\nA stranger's words.\n", "notes.txt": "x", ".env": "TOKEN=x", "deploy/id_ed25519": "x", "latin.md": "# Gl\xfcht\nhot\n"})
	git := gitIn(t, dir)
	git("add", ".")
	git("commit", "-q", "-m", "the kiln is fired with beech wood", "--date", "2026-01-31T23:30:00-08:00")
	first := mustJSON[importer.RepoResult](t, n, "import", "repo", dir, "--name", "kiln")
	if first.Commits.New != 1 || first.Files.New != 6 || first.Files.Units["markdown"] != 3 || first.Files.Units["rst"] != 1 || first.Files.Units["go"] != 2 || first.Files.Removed != 0 ||
		!maps.Equal(first.Files.LeftOut, map[string]int{"vendored": 1, "binary": 1, "other language": 2, "secret": 2}) {
		t.Errorf("first import %+v, %+v", first.Commits, first.Files)
	}
	contains(t, "again", n.must(t, "import", "repo", dir, "--name", "kiln", "--all"), "kiln: 1 commit: 0 new, 1 known already\nkiln: 6 units of 5 files (go 2, markdown 3, rst 1): 0 new or changed, 6 known already\n6 files left out: 1 binary, 2 other language, 2 secret, 1 vendored\n")
	rewrite(t, dir, "kiln.go", kilnGo+"\nfunc Draft() {}\n")
	contains(t, "a file that is not committed", n.must(t, "import", "repo", dir, "--name", "kiln"), "kiln: 3 units of 1 file (go 3): ", "; 5 files unchanged since "+first.Commits.Head[:10]+"\n")
	rewrite(t, dir, "kiln.go", kilnGo)
	r := n.run(t, "import", dir, "--name", "kiln")
	contains(t, "files of the repository", r.out, "4 items read, 3 published: 0 new, 3 known already, 1 malformed\n8 files left out: 1 binary, 1 empty, 5 neither documentation nor .jsonl, 1 vendored\n")
	out := n.must(t, "search", "when is the kiln fired, and where does smoke leave, and who sieves ash?", "--limit", "20")
	contains(t, "search", out, "md:kiln:docs:guide.md:guide.chimney  knowledge", "file:kiln/docs/guide.md:5", "Ash is sieved")
	for _, not := range []string{"Lisbon", "stranger"} {
		if strings.Contains(out, not) {
			t.Errorf("%s is shown\n%s", not, out)
		}
	}

	rewrite(t, dir, "docs/guide.md", "# Guide\n\nThe kiln is fired on Mondays.\n")
	rewrite(t, dir, "kiln.go", strings.Replace(kilnGo, "func Vent", "func Draw", 1))
	git("rm", "-q", "docs/old.rst")
	git("commit", "-q", "-am", "smoke and ash are gone")
	again := mustJSON[importer.RepoResult](t, n, "import", "repo", dir, "--name", "kiln")
	if again.Files.Removed != 3 || again.Files.Since != first.Commits.Head || again.Commits.New != 1 {
		t.Errorf("after a removal %+v, %+v", again.Commits, again.Files)
	}
	out = n.must(t, "search", "when is the kiln fired, and where does smoke leave, and who sieves ash?", "--limit", "20")
	for what, want := range map[string]bool{"on Mondays": true, "func Draw": true, "func Vent": false, "leaves by the chimney": false, "sieved": false} {
		if strings.Contains(out, what) != want {
			t.Errorf("%q is shown: %v\n%s", what, !want, out)
		}
	}
}

func TestImportExperiencesAndValuesOnANode(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	var lines strings.Builder
	for i, cause := range []string{"The disk was full of old logs", "Old logs had filled the disk", "A typo"} {
		lines.WriteString(`{"id":"g` + string(rune('0'+i)) + `","domain":"debugging","goal":"mend it","hypothesis":"h","action":"a","prediction":"p","outcome_status":"falsified","root_cause":"` + cause + `"}` + "\n")
	}
	dir := folder(t, map[string]string{"g.jsonl": lines.String(), "bad.jsonl": lines.String() + "{\"goal\":7}\n"})
	file := filepath.Join(dir, "g.jsonl")
	for _, want := range []string{"3 experiences read: 3 new, 0 known already, 0 malformed", "3 experiences read: 0 new, 3 known already, 0 malformed"} {
		contains(t, "import", n.must(t, "import", "experiences", file), want)
	}
	for _, args := range [][]string{{}, {"--strict"}} {
		r := n.run(t, append([]string{"import", "experiences", filepath.Join(dir, "bad.jsonl")}, args...)...)
		if r.code != exitFound || !strings.Contains(r.err, "bad.jsonl:4: /goal: must be a string") {
			t.Errorf("a malformed line: exit code %d\n%s%s", r.code, r.out, r.err)
		}
	}
	if dry := mustJSON[importer.ValuesResult](t, n, "values", "--dry-run"); dry.Experiences != 3 || dry.Values["root_cause"] != 1 || dry.Published != 0 {
		t.Errorf("dry run %+v", dry)
	}
	if did := mustJSON[importer.ValuesResult](t, n, "values"); did.Published == 0 || did.Published != len(did.Items) {
		t.Errorf("values %+v", did)
	}
	if again := mustJSON[importer.ValuesResult](t, n, "values"); again.Published != 0 || again.Unchanged != len(again.Items) {
		t.Errorf("values again %+v", again)
	}
	n.must(t, "emit", "--item", `{"id":"mine","kind":"value","content":"Old logs fill a disk: rotate them","links":[{"rel":"derived_from","to":"ghap:g0"},{"rel":"derived_from","to":"ghap:g1"}]}`)
	if again := mustJSON[importer.ValuesResult](t, n, "values"); again.Published != 0 || again.Superseded != 0 || again.Ended != 0 {
		t.Errorf("values beside one of the user's %+v", again)
	}
	n.must(t, "forget", "ghap:g1")
	gone := mustJSON[importer.ValuesResult](t, n, "values")
	if gone.Experiences != 2 || gone.Values["root_cause"] != 0 {
		t.Errorf("values after an erasure %+v", gone)
	}
	res := mustJSON[schemas.ContextResult](t, n, "ask", "what fills the disk?")
	if !slices.ContainsFunc(res.Payload.Results, func(r schemas.ResultItem) bool { return r.ID == "mine" }) {
		t.Error("the user's own value is gone")
	}
	for _, r := range res.Payload.Results {
		if strings.HasPrefix(r.ID, "value:root_cause") {
			t.Errorf("a value without its experiences is shown: %s", r.ID)
		}
	}
}

func TestImportSourcesUsage(t *testing.T) {
	t.Parallel()
	empty := t.TempDir()
	for _, c := range []struct {
		args []string
		says string
	}{
		{[]string{"import", "git", filepath.Join(empty, "none")}, "none"}, {[]string{"import", "git", empty}, "is not a git repository"},
		{[]string{"import", "code", filepath.Join(empty, "none")}, "is not a folder"}, {[]string{"import", "code", empty, "--since", "HEAD"}, "--since"},
		{[]string{"import", "experiences", filepath.Join(empty, "none")}, "none"}, {[]string{"values", "--threshold", "2"}, "--threshold"}, {[]string{"values", "--min-size", "1"}, "--min-size"},
	} {
		if r := satchel(t, "", append(c.args, "--dir", t.TempDir())...); r.code != exitUsage || !strings.Contains(r.err, c.says) {
			t.Errorf("satchel %s: exit code %d\n%s%s", strings.Join(c.args, " "), r.code, r.out, r.err)
		}
	}
}
