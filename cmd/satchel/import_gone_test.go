package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestImportEndsWhatIsGone holds that a section that is no longer in its file ends, once,
// and comes back with its text, and that nothing of another file or folder does.
func TestImportEndsWhatIsGone(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	const travel, kiln, leave = "## Travel\nTrains are booked two weeks early.\n", "## Kiln\nThe kiln is fired on Mondays.\n", "## Leave\nLeave is asked for in writing.\n"
	dir := folder(t, map[string]string{
		"a/docs/handbook.md": "# Handbook\n" + travel + kiln + leave, "a/docs/deep/handbook.md": "# Handbook\n## Kiln\nThe deep kiln is fired on Fridays.\n",
		"b/docs/handbook.md": "# Handbook\n## Kiln\nThe other kiln is fired on Sundays.\n", "m.jsonl": `{"content":"A kiln is hot for two days."}`})
	written := time.Date(2025, 4, 5, 6, 7, 8, 0, time.UTC)
	write := func(text string) {
		t.Helper()
		name := filepath.Join(dir, "a/docs/handbook.md")
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(name, written, written); err != nil {
			t.Fatal(err)
		}
	}
	imports := func(want string, args ...string) {
		t.Helper()
		for i := range args {
			if strings.HasPrefix(args[i], "/") {
				args[i] = dir + args[i]
			}
		}
		if r := n.run(t, append([]string{"import"}, args...)...); r.code != 0 || r.out != want+"\n" {
			t.Errorf("%v: exit code %d\n%s%swant %q", args, r.code, r.out, r.err, want)
		}
	}
	shows := func(kilns ...string) {
		t.Helper()
		r := n.run(t, "search", "when is the kiln fired, how is leave asked for, and how early are trains booked?", "--limit", "20")
		for _, what := range []string{"on Mondays", "on Fridays", "on Sundays", "two days", "in writing", "two weeks"} {
			want := false
			for _, k := range kilns {
				want = want || k == what
			}
			if strings.Contains(r.out, what) != want {
				t.Errorf("%q is shown: %v\n%s%s", what, !want, r.out, r.err)
			}
		}
	}
	write("# Handbook\n" + travel + kiln + leave)
	imports("5 items read, 5 published: 5 new, 0 known already, 0 malformed", "/a/docs", "/m.jsonl")
	imports("1 item read, 1 published: 1 new, 0 known already, 0 malformed", "/b/docs")
	shows("on Mondays", "on Fridays", "on Sundays", "two days", "in writing", "two weeks")

	write("# Handbook\n" + travel + leave)
	imports("2 items read, 2 published: 1 new, 1 known already, 0 malformed", "/a/docs/handbook.md", "--keep") // one has other lines
	imports("2 items read, 2 published: 0 new, 2 known already, 0 malformed; 1 section that is gone has ended", "/a/docs/handbook.md")
	imports("3 items read, 3 published: 0 new, 3 known already, 0 malformed", "/a/docs")
	shows("on Fridays", "on Sundays", "two days", "in writing", "two weeks")

	write("# Handbook\n" + travel + kiln + leave)
	imports("4 items read, 4 published: 1 new, 3 known already, 0 malformed", "/a/docs")
	imports("4 items read, 4 published: 0 new, 4 known already, 0 malformed", "/a/docs")
	shows("on Mondays", "on Fridays", "on Sundays", "two days", "in writing", "two weeks")

	written = written.AddDate(0, 1, 0)
	write("# Handbook\n" + travel + strings.ReplaceAll(kiln, "Mondays", "Tuesdays") + leave) // the day of the file is of this change alone
	imports("4 items read, 4 published: 1 new, 3 known already, 0 malformed", "/a/docs")
	write("# Handbook\n" + travel + kiln + leave)
	imports("4 items read, 4 published: 1 new, 3 known already, 0 malformed", "/a/docs")

	if err := os.Remove(filepath.Join(dir, "a/docs/handbook.md")); err != nil {
		t.Fatal(err)
	}
	imports("1 item read, 1 published: 0 new, 1 known already, 0 malformed; 3 sections that are gone have ended", "/a/docs")
	shows("on Fridays", "on Sundays", "two days")
}
