package sqlite_test

import (
	"path/filepath"
	"testing"

	"satchel/pipeline/scope"
	"satchel/pipeline/store/eventlog"
)

func TestAppendReadHead(t *testing.T) {
	t.Parallel()
	l := open(t, filepath.Join(t.TempDir(), "log.db"))
	s, err := scope.System("acme")
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range []int{1, 7, 300, 1} {
		out, err := l.Append(t.Context(), eventlog.Batch{Drafts: drafts(n*1000, n)})
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range out {
			if o.Status != eventlog.Appended && n != 1 {
				t.Fatal(o)
			}
		}
	}
	entries, err := l.Read(t.Context(), s, 0, 0)
	if err != nil || len(entries) != 308 {
		t.Fatal(len(entries), err)
	}
	if h, err := l.Head(t.Context(), s); err != nil || h.Size != 308 {
		t.Fatal(h, err)
	}
}
