package sqlite

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"satchel/pipeline/scope"
	"satchel/pipeline/store/items"
	"satchel/test/conformance/itemstest"
)

// However many accesses there are, and whatever they count from, they are what is read: while
// the file is open, when it is opened again, and after rows were replaced by sums, of which
// there is none of what was erased.
func TestAccessesAreSummed(t *testing.T) {
	t.Parallel()
	const n, rounds = 3000, 60
	path := filepath.Join(t.TempDir(), "items.db")
	s, err := scope.System("acme")
	if err != nil {
		t.Fatal(err)
	}
	db, st := openItems(t, path)
	ids, position := make([]string, n), int64(0)
	apply := func(c items.Change) {
		t.Helper()
		position++
		if c.Position = position; c.Put != nil {
			c.Put.Position, c.Put.First = position, position
		}
		if err := st.Apply(t.Context(), s, []items.Change{c}, 0); err != nil {
			t.Fatal(err)
		}
	}
	var puts []items.Change
	for i := range ids {
		position++
		ids[i] = fmt.Sprintf("item-%04d", i)
		puts = append(puts, items.Change{Position: position, Put: itemstest.Record(ids[i], "s", i)})
	}
	if err := st.Apply(t.Context(), s, puts, 0); err != nil {
		t.Fatal(err)
	}
	heads(t, db, s, ids[:10], func(h *items.Metadata) { h.AccessCount, h.LastAccess = 7, at(1) }) // as they were written once
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	db, st = openItems(t, path)
	check := func(when string, erased int, counts func(i int) (int64, time.Time)) {
		t.Helper()
		got, err := st.Get(t.Context(), s, ids)
		if err != nil || len(got) != n-erased {
			t.Fatalf("%s: %d items, %v", when, len(got), err)
		}
		for _, r := range got {
			var i int
			if _, err := fmt.Sscanf(r.ID, "item-%d", &i); err != nil {
				t.Fatal(err)
			}
			if count, last := counts(i); r.AccessCount != count || r.LastAccess != last {
				t.Fatalf("%s: item %d was accessed %d times, %v; want %d, %v", when, i, r.AccessCount, r.LastAccess, count, last)
			}
		}
	}
	sums := 0
	for round := range rounds {
		apply(items.Change{Accessed: ids, At: at(10 + round)})
		if round == 20 {
			apply(items.Change{Erased: ids[n-1:]})
			apply(items.Change{Put: itemstest.Record(ids[n-1], "s", 1)}) // it counts from 0
			apply(items.Change{Erased: ids[n-2 : n-1]})
		}
		sums = max(sums, count(t, db, "sum"))
	}
	apply(items.Change{Accessed: ids[5:6], At: at(0)}) // that was earlier: it counts all the same
	apply(items.Change{Put: itemstest.Record(ids[6], "s", 8)})
	want := func(i int) (int64, time.Time) {
		switch {
		case i == n-1:
			return rounds - 21, at(9 + rounds)
		case i == 5:
			return 7 + rounds + 1, at(9 + rounds)
		case i < 10:
			return 7 + rounds, at(9 + rounds)
		}
		return rounds, at(9 + rounds)
	}
	check("open", 1, want)
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	db, st = openItems(t, path)
	check("opened again", 1, want)
	if rows := count(t, db, "NOT sum"); sums == 0 || rows >= rounds {
		t.Errorf("%d rows of sums, %d others after %d batches", sums, rows, rounds)
	}
	if err := st.Reset(t.Context(), s); err != nil || count(t, db, "true") != 0 {
		t.Errorf("%d rows are left, %v", count(t, db, "true"), err)
	}
}

// A row that nobody can have written is a named error.
func TestDamagedAccesses(t *testing.T) {
	t.Parallel()
	for _, raw := range []string{"", "\x02", "\x01\x05", "\x01\x05\x01", "\x01\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"} {
		if err := eachAccess(raw, func(int64, int64, time.Time) { t.Errorf("%q: an access", raw) }); err == nil {
			t.Errorf("%q is read", raw)
		}
	}
}

func at(second int) time.Time { return time.Unix(1_800_000_000+int64(second), 123_456_789).UTC() }

func openItems(t *testing.T, path string) (*Items, *items.Items) {
	t.Helper()
	db, err := OpenItems(t.Context(), IndexConfig{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return db, items.New(db)
}

// heads rewrites metadata.
func heads(t *testing.T, db *Items, s scope.Scope, ids []string, change func(*items.Metadata)) {
	t.Helper()
	for _, id := range ids {
		var head []byte
		if err := db.file.Write.QueryRowContext(t.Context(), "SELECT head FROM items WHERE id = ?", id).Scan(&head); err != nil {
			t.Fatal(err)
		}
		h, err := items.DecodeMetadata(head)
		if err != nil {
			t.Fatal(err)
		}
		change(&h)
		if _, err := db.file.Write.ExecContext(t.Context(), "UPDATE items SET head = ? WHERE id = ?", h.Append(nil), id); err != nil {
			t.Fatal(err)
		}
	}
}

func count(t *testing.T, db *Items, which string) (n int) {
	t.Helper()
	if err := db.file.Read.QueryRowContext(context.Background(), "SELECT count(*) FROM accesses WHERE "+which).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// BenchmarkAccess50of100k is what a pack of 50 items costs the projection.
func BenchmarkAccess50of100k(b *testing.B) {
	_, st, s, ids := fill(b, 100_000)
	position, i := int64(len(ids)), 0
	apply := func(packs int) {
		var changes []items.Change
		for range packs {
			position++
			c := items.Change{Position: position, At: at(int(position))}
			for range 50 {
				i++
				c.Accessed = append(c.Accessed, ids[i*7919%len(ids)])
			}
			changes = append(changes, c)
		}
		if err := st.Apply(b.Context(), s, changes, 0); err != nil {
			b.Fatal(err)
		}
	}
	apply(1) // loads the directory
	for b.Loop() {
		apply(25)
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(25*b.N), "us/pack")
}
