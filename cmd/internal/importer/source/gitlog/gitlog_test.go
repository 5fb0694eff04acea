package gitlog

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"satchel/test/parts"
)

// repository makes an empty repository and returns its folder and a git for it.
func repository(t *testing.T, args ...string) (string, func(args ...string) string) {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		parts.Missing(t, "git", "no git command on this machine")
	}
	dir := filepath.Join(t.TempDir(), "kiln")
	git := func(args ...string) string {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), "git", append([]string{"-C", dir, "-c", "user.name=Ida", "-c", "user.email=ida@example.org", "-c", "commit.gpgsign=false"}, args...)...)
		cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_AUTHOR_DATE=1700000000 +0200", "GIT_COMMITTER_DATE=1700000100 +0000")
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	git(append([]string{"init", "-q", "-b", "main"}, args...)...)
	return dir, git
}

func write(t *testing.T, dir, name, text string) {
	t.Helper()
	p := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(p, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func open(t *testing.T, dir string) *Repo {
	t.Helper()
	r, err := Open(t.Context(), dir, "")
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func history(t *testing.T, r *Repo, since string) []Commit {
	t.Helper()
	var all []Commit
	if err := r.Log(t.Context(), since, func(c *Commit) error { all = append(all, *c); return nil }); err != nil {
		t.Fatal(err)
	}
	for i := range all {
		item := all[i].Item(r.Name, "acme", []string{"level:internal"})
		if issues := item.Validate(); len(issues) > 0 {
			t.Errorf("item of %s: %v", all[i].SHA, issues)
		}
	}
	return all
}

func TestHistoryOfEveryKind(t *testing.T) {
	t.Parallel()
	dir, git := repository(t)
	write(t, dir, "a", "1\n2\n3\n")
	write(t, dir, "bin", "\x00\x01")
	write(t, dir, "tab\there\nü", "x\n")
	git("add", ".")
	git("commit", "-q", "-m", "first\n\nits body\n")
	git("mv", "a", "b")
	git("commit", "-q", "-m", "rename")
	git("commit", "-q", "--allow-empty", "--allow-empty-message", "-m", "")
	git("checkout", "-q", "-b", "side", "HEAD~1")
	write(t, dir, "c", "c\n")
	git("add", ".")
	git("commit", "-q", "-m", "side")
	git("checkout", "-q", "main")
	git("merge", "-q", "--no-ff", "-m", "merge side", "side")
	write(t, dir, "msg", "gru\xdf\n") // latin-1
	git("-c", "i18n.commitEncoding=ISO-8859-1", "commit", "-q", "--allow-empty", "-F", "msg")

	r := open(t, dir)
	if r.Name != "kiln" || r.Shallow {
		t.Errorf("name %q, shallow %v", r.Name, r.Shallow)
	}
	all := history(t, r, "")
	if n, err := r.Count(t.Context(), ""); err != nil || n != 6 || len(all) != n {
		t.Fatalf("%d commits counted (%v), %d read", n, err, len(all))
	}
	byMessage := map[string]Commit{}
	for _, c := range all {
		byMessage[c.Message] = c
	}
	first := byMessage["first\n\nits body"]
	if first.Author != "Ida" || first.Authored.Unix() != 1700000000 || first.Committed.Unix() != 1700000100 || first.Insertions != 4 || first.Binary != 1 || first.FilesTotal != 3 || len(first.Parents) != 0 {
		t.Errorf("first %+v", first)
	}
	if item := first.Item("kiln", "acme", nil); !bytes.Contains(item.Attributes, []byte(`"author":"Ida"`)) || !bytes.Contains(item.Attributes, []byte(`"date":"2023-11-15","subject":"first"`)) {
		t.Errorf("attributes %s", item.Attributes)
	} else if bytes.Contains(item.Attributes, []byte(`"committed"`)) || !bytes.Contains(item.Attributes, []byte(`"timestamp":"2023-11-15T00:13:20+02:00"`)) {
		t.Errorf("a commit of one moment in two zones came in later: %s", item.Attributes)
	}
	first.CameIn = "2023-11-18"
	if item := first.Item("kiln", "acme", nil); !bytes.Contains(item.Attributes, []byte(`"committed":"2023-11-18"`)) {
		t.Errorf("attributes %s", item.Attributes)
	}
	if c := (&Commit{Message: "fire\nthe kiln\n\nbody"}); c.Subject() != "fire the kiln" {
		t.Errorf("subject %q", c.Subject())
	}
	if !slices.Contains(first.Files, File{Path: "tab\there\nü"}) {
		t.Errorf("files %q", first.Files)
	}
	if c := byMessage["rename"]; !slices.Equal(c.Files, []File{{Path: "b", From: "a"}}) {
		t.Errorf("rename %+v", c)
	}
	if c := byMessage["merge side"]; len(c.Parents) != 2 || c.FilesTotal != 0 {
		t.Errorf("merge %+v", c)
	}
	if byMessage["gruß"].SHA == "" || byMessage[""].SHA == "" {
		t.Error("a message in Latin-1, or the empty one, is not there")
	}
	if one, err := r.Commit(t.Context(), first.SHA); err != nil || one.Message != first.Message || len(one.Files) != 3 {
		t.Errorf("one commit: %+v, %v", one, err)
	}
	seen := map[string]bool{}
	for _, c := range all {
		for _, p := range c.Parents {
			if !seen[p] {
				t.Errorf("%s comes before its parent", c.SHA)
			}
		}
		seen[c.SHA] = true
	}
	if rest := history(t, r, byMessage["merge side"].SHA); len(rest) != 1 || rest[0].Message != "gruß" {
		t.Errorf("since the merge: %+v", rest)
	}
	if head, err := Open(t.Context(), filepath.Join(dir), "side"); err != nil || head.Head != byMessage["side"].SHA {
		t.Errorf("side: %+v, %v", head, err)
	}
}

// TestPartialClone: where content is missing, commits have their files and no counts.
func TestPartialClone(t *testing.T) {
	t.Parallel()
	dir, git := repository(t)
	for i, text := range []string{"one\n", "two\n", "three\n"} {
		write(t, dir, "a", text)
		write(t, dir, fmt.Sprintf("b%d", i), text)
		git("add", ".")
		git("commit", "-q", "-m", text)
	}
	blob := git("rev-parse", "HEAD~1:a")
	if err := os.Remove(filepath.Join(dir, ".git", "objects", blob[:2], blob[2:])); err != nil {
		t.Fatal(err)
	}
	r := open(t, dir)
	var told []string
	for _, c := range history(t, r, "") {
		one, err := r.Commit(t.Context(), c.SHA)
		if err != nil || len(one.Files) != 2 {
			t.Errorf("%s alone: %+v, %v", c.Message, one, err)
		}
		told = append(told, fmt.Sprint(c.Message, len(c.Files), c.Insertions))
	}
	if want := []string{"one2 2", "two2 0", "three2 0"}; !slices.Equal(told, want) {
		t.Errorf("%q, want %q", told, want)
	}
	if err := r.Log(t.Context(), "", func(*Commit) error { return os.ErrClosed }); !errors.Is(err, os.ErrClosed) {
		t.Errorf("an error of yield: %v", err)
	}
}

func TestHugeCommit(t *testing.T) {
	t.Parallel()
	dir, git := repository(t)
	for i := range MaxFiles + 44 {
		write(t, dir, fmt.Sprintf("%s/%03d<&>", strings.Repeat("d", 200), i), "x\n")
	}
	write(t, dir, "message", strings.Repeat("ä", MaxMessage))
	git("add", ".")
	git("commit", "-q", "-F", "message")
	c := history(t, open(t, dir), "")[0]
	if len(c.Files) != MaxFiles || c.FilesTotal != MaxFiles+45 || c.Insertions < MaxFiles+44 || !c.Cut || len(c.Message) > MaxMessage {
		t.Errorf("%d files of %d, %d insertions, cut %v", len(c.Files), c.FilesTotal, c.Insertions, c.Cut)
	}
	item := c.Item("kiln", "acme", nil)
	if !bytes.Contains(item.Attributes, []byte(`"files_total":301,"message_cut":true`)) {
		t.Errorf("attributes end in %s", item.Attributes[max(0, len(item.Attributes)-100):])
	}
}

func TestWhatIsNoHistory(t *testing.T) {
	t.Parallel()
	empty, _ := repository(t)
	full, git := repository(t, "--bare")
	tree := git("mktree")
	git("update-ref", "HEAD", git("commit-tree", tree, "-m", "x"))
	if r := open(t, full); r.Name != "kiln" || len(history(t, r, "")) != 1 {
		t.Errorf("a bare repository: %+v", r)
	}
	for _, c := range []struct {
		dir, revision string
		want          error
	}{
		{t.TempDir(), "", ErrNotRepo}, {filepath.Join(full, "none"), "", os.ErrNotExist}, {empty, "", ErrNoCommits},
		{full, "nothing", ErrRevision}, {full, "--all", ErrRevision}, {full, tree, ErrRevision},
	} {
		if _, err := Open(t.Context(), c.dir, c.revision); !errors.Is(err, c.want) {
			t.Errorf("%s %q: %v, want %v", c.dir, c.revision, err, c.want)
		}
	}
}

func TestShallowClone(t *testing.T) {
	t.Parallel()
	dir, git := repository(t)
	for i := range 3 {
		write(t, dir, fmt.Sprint(i), "x")
		git("add", ".")
		git("commit", "-q", "-m", fmt.Sprint(i))
	}
	clone := filepath.Join(t.TempDir(), "clone")
	git("clone", "-q", "--depth=2", "file://"+dir, clone)
	r := open(t, clone)
	if all := history(t, r, ""); !r.Shallow || len(all) != 2 || all[0].FilesTotal != 0 || all[1].FilesTotal != 1 || r.Name != "kiln" {
		t.Errorf("commits of %s, shallow %v: %+v", r.Name, r.Shallow, all)
	}
}

func TestYieldEndsTheHistory(t *testing.T) {
	t.Parallel()
	dir, git := repository(t)
	git("commit", "-q", "--allow-empty", "-m", "a")
	git("commit", "-q", "--allow-empty", "-m", "b")
	stop := errors.New("stop")
	n := 0
	if err := open(t, dir).Log(t.Context(), "", func(*Commit) error { n++; return stop }); !errors.Is(err, stop) || n != 1 {
		t.Errorf("%d commits, %v", n, err)
	}
}

// TestResume compares with a walk from the newest commit.
func TestResume(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		chain := make([]string, rapid.IntRange(0, 300).Draw(t, "commits"))
		for i := range chain {
			chain[i] = fmt.Sprint(i)
		}
		first, asked := rapid.IntRange(0, len(chain)).Draw(t, "newest known"), 0
		want := ""
		if first < len(chain) {
			want = chain[first]
		}
		got, err := Resume(chain, func(sha string) (bool, error) {
			asked++
			return slices.Index(chain, sha) >= first, nil
		})
		if got != want || err != nil || asked > 11 {
			t.Fatalf("got %q after %d questions, want %q (%v)", got, asked, want, err)
		}
	})
	if _, err := Resume([]string{"a"}, func(string) (bool, error) { return false, os.ErrClosed }); !errors.Is(err, os.ErrClosed) {
		t.Error(err)
	}
}

func FuzzReadLog(f *testing.F) {
	f.Add([]byte("\x01abc\x00p q\x00Ida\x001\x002026-01-31\x002\x00text\n\x00\n1\t2\ta\x00-\t-\tb\x000\t0\t\x00old\x00new\x00\x01def\x00\x00I\x00x\x00y\x00-1\x00\x00"))
	f.Add([]byte("\x01"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		// what is not of git's making is an error, and never an item that is refused
		if err := readLog(bytes.NewReader(raw), true, func(c *Commit) error {
			c.SHA, c.Parents = "0123456789", nil
			item := c.Item("r", "acme", []string{"level:internal"})
			if issues := item.Validate(); len(issues) > 0 {
				t.Fatal(issues)
			}
			return nil
		}); err != nil {
			t.Skip(err)
		}
	})
}

func TestFilesOfAFolder(t *testing.T) {
	t.Parallel()
	dir, git := repository(t)
	for _, name := range []string{"top", "sub/a\tb", "sub/old", "sub/gone"} {
		write(t, dir, name, "1\n")
	}
	git("add", ".")
	git("commit", "-q", "-m", "one")
	first := git("rev-parse", "HEAD")
	write(t, dir, "sub/old", "2\n")
	write(t, dir, ".gitignore", "ignored\n")
	git("rm", "-q", "sub/gone")
	git("add", ".")
	git("commit", "-q", "-m", "two")
	write(t, dir, "sub/ignored", "x\n")
	write(t, dir, "sub/new", "x\n")
	write(t, dir, "sub/old", "3\n")

	r := open(t, filepath.Join(dir, "sub"))
	files, err := r.Files(t.Context())
	slices.Sort(files)
	if err != nil || !slices.Equal(files, []string{"a\tb", "new", "old"}) {
		t.Errorf("files %q, %v", files, err)
	}
	if differ, err := r.Differ(t.Context(), first); err != nil || !slices.Equal(differ, []string{"gone", "old"}) {
		t.Errorf("differ %q, %v", differ, err)
	}
	blobs, err := r.blobs(t.Context())
	if err != nil || len(blobs) != 2 || !blobs["a\tb"].is([]byte("1\n")) || !blobs["old"].is([]byte("2\r\n")) || blobs["old"].is([]byte("3\n")) || blobs["new"].is([]byte("x\n")) {
		t.Errorf("blobs %q, %v", blobs, err)
	}
	for name, want := range map[string]string{"gone": "1\n", "new": "", "old": "1\n"} {
		if text, err := r.Text(t.Context(), first, name, 100); err != nil || string(text) != want {
			t.Errorf("%s was %q, %v", name, text, err)
		}
	}
	changed, err := r.changed(t.Context(), files)
	if err != nil || len(changed) != 2 || changed["old"].Unix() != 1700000100 {
		t.Errorf("changed %v, %v", changed, err)
	}
}

// TestNoProgramOfTheRepositoryRuns has a repository name a program wherever git takes one.
func TestNoProgramOfTheRepositoryRuns(t *testing.T) {
	t.Parallel()
	dir, git := repository(t)
	ran := filepath.Join(t.TempDir(), "ran")
	evil := filepath.Join(t.TempDir(), "evil.sh")
	if err := os.WriteFile(evil, []byte("#!/bin/sh\necho \"$0 $*\" >> '"+ran+"'\nexit 1\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	write(t, dir, "kiln.go", "package kiln\n")
	write(t, dir, "same.go", "package same\n")
	git("add", ".")
	git("commit", "-q", "-m", "one")
	first := git("rev-parse", "HEAD")
	write(t, dir, "kiln.go", "package oven\n")
	git("commit", "-q", "-am", "two")
	write(t, dir, ".git/info/attributes", "*.go filter=a diff=a merge=a\n*.go filter=b.c=d\n")
	write(t, dir, ".gitattributes", "*.go filter=evil diff=evil\n")
	write(t, dir, ".git/included", "[filter \"evil\"]\n\tclean = "+evil+" included\n\trequired\n")
	for _, of := range []string{"filter.a", "filter.b.c=d", "diff.a", "diff.evil"} {
		for _, key := range []string{"clean", "smudge", "process", "textconv", "command"} {
			git("config", of+"."+key, evil)
		}
	}
	for _, key := range []string{"core.fsmonitor", "core.pager", "pager.log", "diff.external", "core.sshCommand", "core.editor", "core.askPass", "credential.helper", "gpg.program", "core.gitProxy", "core.alternateRefsCommand", "uploadpack.packObjectsHook"} {
		git("config", key, evil)
	}
	for key, value := range map[string]string{"include.path": "included", "log.showSignature": "true", "core.hooksPath": filepath.Dir(evil), "remote.origin.url": "ext::" + evil, "protocol.ext.allow": "always",
		"remote.origin.promisor": "true", "extensions.partialClone": "origin", "core.repositoryFormatVersion": "1", "remote.origin.uploadpack": evil, "diff.submodule": "diff"} {
		git("config", key, value)
	}
	blob := git("rev-parse", first+":kiln.go") // as a partial clone lacks it
	if err := os.Remove(filepath.Join(dir, ".git/objects", blob[:2], blob[2:])); err != nil {
		t.Fatal(err)
	}
	write(t, dir, "kiln.go", "package glaze\n")
	write(t, dir, "same.go", "package same\n") // another time than the index has

	if err := os.RemoveAll(ran); err != nil { // what setting up ran
		t.Fatal(err)
	}
	r := open(t, dir)
	files, err := r.Files(t.Context())
	if err != nil {
		t.Error(err)
	}
	if _, err := r.changed(t.Context(), files); err != nil {
		t.Error(err)
	}
	if _, err := r.Differ(t.Context(), first); err != nil {
		t.Error(err)
	}
	if blobs, err := r.blobs(t.Context()); err != nil || blobs["kiln.go"].is([]byte("package glaze\n")) || !blobs["same.go"].is([]byte("package same\n")) {
		t.Errorf("blobs %v, %v", blobs, err)
	}
	if text, err := r.Text(t.Context(), first, "kiln.go", 100); err != nil || text != nil {
		t.Errorf("an object that is not there: %q, %v", text, err)
	}
	if err := r.Log(t.Context(), "", func(c *Commit) error {
		if c.SHA == first && (c.Insertions > 0 || len(c.Files) == 0) {
			t.Errorf("the lines of an object that is not there were counted: %+v", c)
		}
		return nil
	}); err != nil {
		t.Error(err)
	}
	if said, err := Latest(t.Context(), dir, 5); err != nil || !strings.Contains(said, "two") {
		t.Errorf("the latest commits are %q, %v", said, err)
	}
	if said, err := os.ReadFile(ran); err == nil {
		t.Errorf("these ran:\n%s", said)
	}
}
