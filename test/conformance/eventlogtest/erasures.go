package eventlogtest

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/mod/sumdb/note"

	"satchel/pipeline/store/eventlog"
	"satchel/schemas"
	"satchel/test/conformance/internal/folded"
	"satchel/test/must"
)

// keeping has the log keep its erasures in a folder.
func keeping(folder string) func(*eventlog.Config) {
	return func(c *eventlog.Config) { c.Erasures = folder }
}

// eraseItems appends an erasure for each item and keeps it.
func eraseItems(t *testing.T, l *eventlog.Log, tenant string, items ...string) {
	t.Helper()
	s := folded.Tenant(t, tenant)
	for _, item := range items {
		got := must.Get(l.AppendErasure(t.Context(), s, erasing(t, tenant, "erase-"+item, schemas.MemoryErased{Items: []string{item}}), nil, nil))(t)
		keep(t, l, tenant, got.Position)
	}
}

func keep(t *testing.T, l *eventlog.Log, tenant string, position int64) {
	t.Helper()
	e := must.Get(l.Entry(t.Context(), folded.Tenant(t, tenant), position))(t)
	kept := []eventlog.KeptErasure{eventlog.KeptErasureOf(&e, []string{strings.TrimPrefix(e.ID, "erase-")})}
	for range 2 { // the second time it is there
		must.Do(t, l.KeepErasures(folded.Tenant(t, tenant), kept))
	}
}

func lostIDs(t *testing.T, l *eventlog.Log, tenant string) (ids []string) {
	t.Helper()
	lost := must.Get(l.LostErasures(t.Context(), folded.Tenant(t, tenant)))(t)
	for i := range lost {
		ids = append(ids, lost[i].ID+" as "+lost[i].FreeID)
	}
	return ids
}

// testErasures: a log that was restored from an older copy lost erasures until it takes them
// again.
func testErasures(t *testing.T, open Open) {
	folder := filepath.Join(t.TempDir(), "erased")
	l := newLog(t, open(t), keeping(folder))
	if tenants, err := l.ErasureTenants(); err != nil || len(tenants) != 0 {
		t.Errorf("tenants = %v, %v", tenants, err)
	}
	add(t, l, draft("acme", "a", "x"), draft("acme", "b", "y"), draft("other", "a", "z"))
	eraseItems(t, l, "acme", "item-a", "item-b")
	eraseItems(t, l, "other", "item-a")
	if tenants, err := l.ErasureTenants(); err != nil || cmp.Diff([]string{"acme", "other"}, tenants) != "" {
		t.Errorf("tenants = %v, %v", tenants, err)
	}
	again := newLog(t, open(t), keeping(folder)) // an older copy: it has the first erasure alone
	add(t, again, draft("acme", "a", "x"), draft("acme", "b", "y"))
	eraseItems(t, again, "acme", "item-a")
	if lost := lostIDs(t, l, "acme"); len(lost) > 0 {
		t.Errorf("the log that has them all lost %v", lost)
	}
	if err := l.VerifyAll(t.Context(), nil); err != nil {
		t.Errorf("verify: %v", err)
	}
	if diff := cmp.Diff([]string{"erase-item-b as erase-item-b"}, lostIDs(t, again, "acme")); diff != "" {
		t.Error(diff)
	}
	var bad *eventlog.VerifyError
	if err := again.Verify(t.Context(), folded.Tenant(t, "acme"), nil, nil); !errors.As(err, &bad) || bad.Position != 4 || !strings.Contains(bad.Problem, "restored from an older copy") {
		t.Errorf("verify: %v", err)
	}
	if err := again.VerifyAll(t.Context(), nil); !errors.As(err, &bad) {
		t.Errorf("verify all: %v", err)
	}
	squatter := draft("acme", "erase-item-b", "another event")
	squatter.Source = "satchel://engine"
	add(t, again, squatter)
	if diff := cmp.Diff([]string{"erase-item-b as erase-item-b.again-2"}, lostIDs(t, again, "acme")); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"erase-item-a as erase-item-a"}, lostIDs(t, again, "other")); diff != "" {
		t.Errorf("a tenant whose log is gone: %s", diff)
	}
	eraseItems(t, again, "other", "item-a", "item-c")
	if _, err := again.AppendErasure(t.Context(), folded.Tenant(t, "acme"), erasing(t, "acme", "erase-item-b.again-2", schemas.MemoryErased{Items: []string{"more", "item-b"}}), nil, nil); err != nil {
		t.Fatal(err)
	}
	if lost := append(lostIDs(t, again, "acme"), lostIDs(t, again, "other")...); len(lost) > 0 {
		t.Errorf("lost again: %v", lost)
	}
	if err := again.VerifyAll(t.Context(), nil); err != nil {
		t.Errorf("verify: %v", err)
	}
}

// testErasuresDamaged: a list that was changed is named with its record; one that was not written
// to its end is, too, and can be mended.
func testErasuresDamaged(t *testing.T, open Open) {
	folder := t.TempDir()
	l := newLog(t, open(t), keeping(folder))
	s, path := folded.Tenant(t, "acme"), filepath.Join(folder, "acme")
	eraseItems(t, l, "acme", "item-a", "item-b", "item-c")
	eraseItems(t, l, "other", "item-a")
	whole := must.Get(os.ReadFile(path))(t)
	records := bytes.SplitAfter(whole, []byte("=\n"))[:3]
	write := func(raw []byte) {
		must.Do(t, os.WriteFile(path, raw, 0o600))
	}
	reader := newLog(t, open(t), keeping(folder)) // it writes nothing, so it remembers nothing
	join := func(n ...int) (out []byte) {
		for _, i := range n {
			out = append(out, records[i]...)
		}
		return out
	}
	flipped := func(i, at int) []byte {
		raw := bytes.Clone(whole)
		raw[len(bytes.Join(records[:i], nil))+at] ^= 1
		return raw
	}
	other := must.Get(os.ReadFile(filepath.Join(folder, "other")))(t)
	item := bytes.Index(records[1], []byte("item-b"))
	for name, c := range map[string]struct {
		raw    []byte
		record int
	}{
		"an item changed":        {flipped(1, item), 3}, // the one behind it names its hash
		"an item of the last":    {flipped(2, bytes.Index(records[2], []byte("item-c"))), 3},
		"a record taken out":     {join(0, 2), 2},
		"the first taken out":    {join(1, 2), 1},
		"records exchanged":      {join(1, 0, 2), 1},
		"a record twice":         {join(0, 0), 2},
		"another tenant's":       {other, 1},
		"another tenant's after": {append(join(0, 1, 2), other...), 4},
		"lines before it":        {append([]byte("\n\n\n\n\n\n"), whole...), 1},
	} {
		write(c.raw)
		want := fmt.Sprintf("the list of erasures %s, record %d: ", path, c.record)
		for what, err := range map[string]error{
			"read": failure(reader.KeptErasures(s)), "lost": failure(reader.LostErasures(t.Context(), s)), "mend": failure(reader.MendErasures(s)),
			"keep": reader.KeepErasures(s, []eventlog.KeptErasure{{ID: "x", Leaf: "x"}}), "verify": reader.Verify(t.Context(), s, nil, nil),
		} {
			if !errors.Is(err, eventlog.ErrCorrupt) || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %s: %v, want %s", name, what, err, want)
			}
		}
	}
	for cut := len(join(0, 1)) + 1; cut < len(whole); cut++ {
		write(whole[:cut])
		if _, err := reader.KeptErasures(s); !errors.Is(err, eventlog.ErrCorrupt) || !strings.Contains(err.Error(), "torn record behind record 2") {
			t.Fatalf("cut at %d: %v", cut, err)
		}
		if n, err := reader.MendErasures(s); err != nil || n != cut-len(join(0, 1)) {
			t.Fatalf("cut at %d: mended %d, %v", cut, n, err)
		}
		if kept, err := reader.KeptErasures(s); err != nil || len(kept) != 2 {
			t.Fatalf("cut at %d: %d are left, %v", cut, len(kept), err)
		}
	}
	write(whole[:len(whole)-7]) // the next write replaces the torn record
	writer := newLog(t, open(t), keeping(folder))
	eraseItems(t, writer, "acme", "item-d")
	if kept, err := reader.KeptErasures(s); err != nil || len(kept) != 3 || kept[2].ID != "erase-item-d" {
		t.Errorf("after a torn record: %+v, %v", kept, err)
	}
	_, public, err := note.GenerateKey(nil, "satchel-test")
	if err != nil {
		t.Fatal(err)
	}
	write(whole)
	foreign := newLog(t, open(t), func(c *eventlog.Config) { c.Erasures, c.VerifierKey = folder, public })
	if _, err := foreign.LostErasures(t.Context(), s); !errors.Is(err, eventlog.ErrOtherKey) || !strings.Contains(err.Error(), path) {
		t.Errorf("another key: %v", err)
	}
	if err := foreign.CheckKey(); !errors.Is(err, eventlog.ErrOtherKey) {
		t.Errorf("another key: %v", err)
	}
}

func failure[T any](_ T, err error) error { return err }
