package sqlite_test

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"path/filepath"
	"sync"
	"testing"

	"satchel/pipeline/scope"
	"satchel/pipeline/store/eventlog"
	"satchel/pipeline/store/sqlite"
)

// What many append at once is what each of them attached.
func TestAttachAtOnce(t *testing.T) {
	t.Parallel()
	l := openLog(t, filepath.Join(t.TempDir(), "log.db"))
	s, err := scope.System("acme")
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for worker := range 4 {
		all.Go(func() {
			r := rand.New(rand.NewPCG(uint64(worker), 1))
			for n := range 10 {
				batch := answer(r, worker<<16|n)
				outcomes, err := l.Append(t.Context(), eventlog.Batch{Drafts: batch})
				if err != nil {
					t.Error(err)
					return
				}
				attached, err := l.Attachment(t.Context(), s, outcomes[0].Position)
				if err != nil || !bytes.Equal(attached, batch[0].Attachment.Bytes()) {
					t.Errorf("attachment of position %d: %d bytes, %v", outcomes[0].Position, len(attached), err)
				}
				for i, o := range outcomes {
					e, err := l.Entry(t.Context(), s, o.Position)
					if err != nil || !bytes.Equal(e.Data, batch[i].Data) {
						t.Errorf("data of position %d: %d bytes, %v", o.Position, len(e.Data), err)
					}
				}
			}
		})
	}
	all.Wait()
	if err := l.Verify(t.Context(), s, nil, nil); err != nil {
		t.Error(err)
	}
}

// Leaf knows the full chunks that were read, of a log that was opened too, and nothing
// else, and nothing after DropCaches.
func TestLeafAtHand(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "log.db")
	first := openLog(t, path)
	if _, err := first.Append(t.Context(), eventlog.Batch{Drafts: drafts(0, 100)}); err != nil {
		t.Fatal(err)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	db, err := sqlite.OpenLog(t.Context(), sqlite.LogConfig{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	l, err := eventlog.New(eventlog.Config{Driver: db})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	s, err := scope.System("acme")
	if err != nil {
		t.Fatal(err)
	}
	atHand := func(want bool, positions ...int64) {
		t.Helper()
		for _, p := range positions {
			if _, ok := db.Leaf("acme", p); ok != want {
				t.Errorf("leaf of position %d is at hand: %t", p, ok)
			}
		}
	}
	atHand(false, 1, 100)
	if _, err := l.Leaves(t.Context(), s, []int64{1, 100}); err != nil {
		t.Fatal(err)
	}
	atHand(true, 1, 2, 60)
	atHand(false, -1, 0, 100, 101, 1<<39, 1<<50)
	if _, ok := db.Leaf("other", 1); ok {
		t.Error("another tenant has the leaf")
	}
	if _, err := l.Leaves(t.Context(), s, []int64{1, 101}); !errors.Is(err, eventlog.ErrNotFound) {
		t.Errorf("leaves beyond the log: %v", err)
	}
	db.DropCaches()
	atHand(false, 1, 100)
}
