package sqlite_test

import (
	"bytes"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"satchel/pipeline/infra/sqlitefile"
	"satchel/pipeline/store/eventlog"
	"satchel/pipeline/store/sqlite"
)

// TestScrub erases canaries of many sizes, spread over tenants that were written in
// turn, and looks for them in every byte of the folder.
func TestScrub(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	l := openLog(t, filepath.Join(folder, "log.db"))
	random := rand.New(rand.NewPCG(1, 2))
	victims := map[string][]int64{}
	for i := range 60 {
		var batch []eventlog.Draft
		for j := range 1 + random.IntN(30) {
			n := i*100 + j
			canary := fmt.Sprintf("CANARY%06d%s", n, strings.Repeat("z", random.IntN(1<<random.IntN(14))))
			d := eventlog.Draft{Tenant: fmt.Sprintf("t%d", random.IntN(4)), Type: "t", Source: "s", ID: fmt.Sprint(n), Data: []byte(`"` + canary + `"`)}
			if n%7 == 0 {
				d = pack(d.Tenant, d.ID, canary, "item")
			}
			batch = append(batch, d)
		}
		out, err := l.Append(t.Context(), eventlog.Batch{Drafts: batch})
		if err != nil {
			t.Fatal(err)
		}
		for j, o := range out {
			victims[batch[j].Tenant] = append(victims[batch[j].Tenant], o.Position)
		}
	}
	if countLog(t, folder) == 0 {
		t.Fatal("no canary was ever stored")
	}
	for tenant, positions := range victims {
		random.Shuffle(len(positions), func(i, j int) { positions[i], positions[j] = positions[j], positions[i] })
		half := len(positions) / 2
		for _, part := range [][]int64{positions[:half], positions[half:]} {
			if _, err := l.Erase(t.Context(), system(t, tenant), part); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := l.Scrub(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := countLog(t, folder); n != 0 {
		t.Errorf("%d canaries are left", n)
	}
}

// TestScrubBesideOthers erases a part of what there is, so that pages are balanced: nothing is left in a page that a row was
// moved out of.
func TestScrubBesideOthers(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "log.db")
	l := openLog(t, path)
	random := rand.New(rand.NewPCG(3, 4))
	const entries = 900
	for at := 0; at < entries; at += 30 {
		var batch []eventlog.Draft
		for n := at; n < at+30; n++ {
			batch = append(batch, eventlog.Draft{Tenant: fmt.Sprintf("t%d", n%3), Type: "t", Source: "s", ID: fmt.Sprint(n), Data: fmt.Appendf(nil, "%q", strings.Repeat(fmt.Sprintf("n%06d ", n), 1+random.IntN(60)))})
		}
		if _, err := l.Append(t.Context(), eventlog.Batch{Drafts: batch}); err != nil {
			t.Fatal(err)
		}
	}
	for tenant := range 3 {
		for _, position := range random.Perm(entries / 3)[:entries/4] {
			if _, err := l.Erase(t.Context(), system(t, fmt.Sprintf("t%d", tenant)), []int64{int64(position + 1)}); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := l.Scrub(t.Context()); err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite", sqlitefile.DSN(path, ""))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if pages, err := sqlitefile.Stale(t.Context(), db); err != nil || len(pages) > 0 {
		t.Errorf("pages %d hold what was moved: %v", pages, err)
	}
	var whole string
	if err := db.QueryRowContext(t.Context(), "PRAGMA integrity_check").Scan(&whole); err != nil || whole != "ok" {
		t.Errorf("integrity %q: %v", whole, err)
	}
}

func countLog(t *testing.T, folder string) int {
	t.Helper()
	files, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, f := range files {
		b, err := os.ReadFile(filepath.Join(folder, f.Name()))
		if err != nil {
			t.Fatal(err)
		}
		n += bytes.Count(b, []byte("CANARY")) + bytes.Count(b, []byte("zzzzzzzz"))
	}
	return n
}

// TestCrash takes the files as they are after each commit, as a crash would leave them,
// and opens them: everything that was acknowledged is there, and appending goes on.
func TestCrash(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	path := filepath.Join(folder, "log.db")
	l := openLog(t, path)
	for i := range 12 {
		cp := &eventlog.Checkpoint{Name: "c", StreamSeq: uint64(i), Epoch: "e"}
		if _, err := l.Append(t.Context(), eventlog.Batch{Drafts: drafts(i*37, 37), Checkpoint: cp}); err != nil {
			t.Fatal(err)
		}
		crashed := filepath.Join(folder, fmt.Sprintf("crash%d.db", i))
		clone(t, path, crashed)
		if i%4 == 3 { // a torn write at the journal's end: the last commit was not acknowledged
			tear(t, crashed+"-wal")
		}
		after := openLog(t, crashed)
		head, err := after.Head(t.Context(), system(t, "acme"))
		if want := int64(37 * (i + 1)); err != nil || (head.Size != want && (i%4 != 3 || head.Size != want-37)) {
			t.Fatalf("crash %d: head %d, want %d (%v)", i, head.Size, want, err)
		}
		_, stored, err := after.TakeFence(t.Context(), "c")
		if err != nil || int64(stored.StreamSeq) != head.Size/37-1 {
			t.Errorf("crash %d: checkpoint %d at head %d, %v", i, stored.StreamSeq, head.Size, err)
		}
		out, err := after.Append(t.Context(), eventlog.Batch{Drafts: drafts(i*37, 40)})
		if err != nil || out[39].Position != int64(37*i+40) {
			t.Errorf("crash %d: appending again: %v", i, err)
		}
		if err := after.VerifyAll(t.Context(), nil); err != nil {
			t.Errorf("crash %d: %v", i, err)
		}
	}
}

func tear(t *testing.T, path string) {
	t.Helper()
	info, err := os.Stat(path)
	if err == nil {
		err = os.Truncate(path, info.Size()-100)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestFull lets the database grow no further: the batch is refused whole with ErrFull,
// what was there stays readable, and once there is room appending goes on.
func TestFull(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "log.db")
	db, err := sqlite.OpenLog(t.Context(), sqlite.LogConfig{Path: path, MaxPages: 60})
	if err != nil {
		t.Fatal(err)
	}
	l, err := eventlog.New(eventlog.Config{Driver: db})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := l.Append(t.Context(), eventlog.Batch{Drafts: drafts(0, 100)}); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Append(t.Context(), eventlog.Batch{Drafts: drafts(100, 1000)}); !errors.Is(err, eventlog.ErrFull) {
		t.Errorf("append: %v, want ErrFull", err)
	}
	if entries, err := l.Read(t.Context(), system(t, "acme"), 0, 0); err != nil || len(entries) != 100 {
		t.Errorf("read %d, %v", len(entries), err)
	}
	if err := errors.Join(l.VerifyAll(t.Context(), nil), l.Close()); err != nil {
		t.Error(err)
	}
	l = openLog(t, path)
	out, err := l.Append(t.Context(), eventlog.Batch{Drafts: drafts(0, 1100)})
	if err != nil || out[0].Status != eventlog.Duplicate || out[1099].Position != 1100 {
		t.Errorf("append when there is room: %v", err)
	}
}
