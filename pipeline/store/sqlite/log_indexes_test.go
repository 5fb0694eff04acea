package sqlite_test

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"satchel/pipeline/store/eventlog"
	"satchel/pipeline/store/sqlite"
	"satchel/schemas"
	"satchel/test/conformance/eventlogtest"
)

const (
	source13, id13 = "//satchel/agents/planner", "01920000-0000-7000-8000-000000000013" // of position 14
	namesIndex     = "sqlite_autoindex_names_1"
	tenantsIndex   = "sqlite_autoindex_tenants_1"
)

// TestFlippedIndex flips one bit in each index: verifying a tenant finds it, and so does a
// process that examines the log, which then closes what is damaged.
func TestFlippedIndex(t *testing.T) {
	t.Parallel()
	for name, flip := range map[string]struct{ index, text string }{
		"key": {"entries_key", id13}, "subject": {"entries_subject", "m-" + id13}, "source": {namesIndex, source13},
		"type": {namesIndex, schemas.TypeMemoryRecorded}, "agent": {namesIndex, "planner"}, "tenant": {tenantsIndex, "acme"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "log.db")
			seed(t, path)
			eventlogtest.FlipIndexed(t, path, flip.index, flip.text)
			l, s := openLog(t, path), system(t, "acme")
			if err := l.Damaged("acme"); err != nil {
				t.Errorf("before it was examined: %v", err)
			}
			failures := map[string]error{"verify": l.Verify(t.Context(), s, nil, nil), "check": l.CheckDatabase(t.Context()), "examine": l.Examine(t.Context()), "damaged": l.Damaged("acme")}
			var at *eventlog.VerifyError
			if name != "tenant" && (!errors.As(failures["verify"], &at) || at.Tenant != "acme" || at.Position > 14) {
				t.Errorf("verify: %v does not name the position", failures["verify"])
			}
			_, failures["append"] = l.Append(t.Context(), eventlog.Batch{Drafts: drafts(13, 1)})
			_, failures["find"] = l.Find(t.Context(), s, source13, id13)
			_, failures["by subject"] = l.BySubject(t.Context(), s, "m-"+id13)
			_, failures["referring"] = l.Referring(t.Context(), s, []string{"m-1"})
			erasure := eventlog.Draft{Tenant: "acme", Type: schemas.TypeMemoryErased, Source: "satchel://engine", ID: "e2", Data: []byte(`{}`)}
			_, failures["erase"] = l.AppendErasure(t.Context(), s, erasure, []int64{14}, nil)
			_, failures["erase alone"] = l.Erase(t.Context(), s, []int64{14})
			for what, err := range failures {
				if !errors.Is(err, eventlog.ErrCorrupt) {
					t.Errorf("%s: %v, want ErrCorrupt", what, err)
				}
			}
			other := drafts(0, 1)
			other[0].Tenant, other[0].ID = "globex", "another"
			if _, err := l.Append(t.Context(), eventlog.Batch{Drafts: other}); (err == nil) != (name != "tenant") {
				t.Errorf("append for another tenant: %v", err)
			}
		})
	}
}

// TestLoggedTwice has an event logged again through a damaged index: verifying finds it,
// also when the index is as it was before, so that it holds both.
func TestLoggedTwice(t *testing.T) {
	t.Parallel()
	for index, text := range map[string]string{"entries_key": id13, namesIndex: source13} {
		path := filepath.Join(t.TempDir(), "log.db")
		seed(t, path)
		flipped := eventlogtest.FlipIndexed(t, path, index, text)
		db, err := sqlite.OpenLog(t.Context(), sqlite.LogConfig{Path: path})
		if err != nil {
			t.Fatal(err)
		}
		l, err := eventlog.New(eventlog.Config{Driver: db})
		if err != nil {
			t.Fatal(err)
		}
		out, err := l.Append(t.Context(), eventlog.Batch{Drafts: drafts(13, 1)})
		if err = errors.Join(err, l.Close()); err != nil || out[0].Status != eventlog.Appended {
			t.Fatalf("%s: %+v, %v: the index leads to the entry", index, out, err)
		}
		for _, repaired := range []bool{false, true} {
			if repaired {
				eventlogtest.FlipIndexed(t, path, index, flipped)
			}
			l := openLog(t, path)
			for what, err := range map[string]error{"verify": l.Verify(t.Context(), system(t, "acme"), nil, nil), "examine": l.Examine(t.Context())} {
				if !errors.Is(err, eventlog.ErrCorrupt) {
					t.Errorf("%s, repaired %t: %s: %v", index, repaired, what, err)
				}
				// The first position that a lost name concerns is not the one that is there twice.
				if (repaired || index != namesIndex) && !strings.Contains(fmt.Sprint(err), "has the same source and id") {
					t.Errorf("%s, repaired %t: %s: %v does not say what it is", index, repaired, what, err)
				}
			}
		}
	}
}

// TestFlippedIndexAnywhere flips bits all over the pages of the indexes. Where examining the
// log finds nothing, every entry is found and none is logged again.
func TestFlippedIndexAnywhere(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	path := filepath.Join(folder, "log.db")
	seed(t, path)
	good, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	const pageSize = 4096
	random, found := rand.New(rand.NewPCG(3, 4)), 0
	for page := range len(good) / pageSize {
		if kind := good[page*pageSize]; kind != 2 && kind != 10 {
			continue
		}
		for _, within := range []int{32, pageSize} { // the header with the first pointers to cells, and all
			at := page*pageSize + random.IntN(within)
			b := bytes.Clone(good)
			b[at] ^= 1 << random.IntN(8)
			bad := filepath.Join(folder, fmt.Sprintf("%d.db", at))
			if err := os.WriteFile(bad, b, 0o600); err != nil {
				t.Fatal(err)
			}
			switch err := examined(t, bad); {
			case err == nil:
				allFound(t, bad, at)
			case errors.Is(err, eventlog.ErrCorrupt):
				found++
			default:
				t.Errorf("byte %d: %v", at, err)
			}
		}
	}
	if found == 0 {
		t.Error("no flipped bit was found")
	}
}

// examined opens the log in path, examines and closes it.
func examined(t *testing.T, path string) error {
	t.Helper()
	db, err := sqlite.OpenLog(t.Context(), sqlite.LogConfig{Path: path, Readers: 1})
	if err != nil {
		return err
	}
	l, err := eventlog.New(eventlog.Config{Driver: db})
	if err != nil {
		t.Fatal(err)
	}
	return errors.Join(l.Examine(t.Context()), l.Close())
}

// allFound looks every entry up and appends all again.
func allFound(t *testing.T, path string, at int) {
	t.Helper()
	l, s := openLog(t, path), system(t, "acme")
	entries, err := l.Read(t.Context(), s, 0, 0)
	if err != nil || len(entries) != 153 {
		t.Errorf("byte %d: %d entries, %v", at, len(entries), err)
	}
	for _, e := range entries {
		if got, err := l.Find(t.Context(), s, e.Source, e.ID); err != nil || got.Position != e.Position {
			t.Errorf("byte %d: position %d is found at %d, %v", at, e.Position, got.Position, err)
		}
		if e.Subject == "" {
			continue
		}
		if about, err := l.BySubject(t.Context(), s, e.Subject); err != nil || len(about) != 1 || about[0].Position != e.Position {
			t.Errorf("byte %d: position %d is found by subject as %v, %v", at, e.Position, about, err)
		}
	}
	out, err := l.Append(t.Context(), eventlog.Batch{Drafts: drafts(0, 150)})
	if err != nil {
		t.Errorf("byte %d: %v", at, err)
	}
	for i, o := range out {
		if o.Position != int64(i)+1 {
			t.Errorf("byte %d: draft %d is at %d", at, i, o.Position)
		}
	}
}
