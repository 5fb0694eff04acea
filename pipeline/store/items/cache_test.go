package items_test

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"satchel/pipeline/scope"
	"satchel/pipeline/store/items"
	"satchel/pipeline/store/sqlite"
	"satchel/schemas"
	"satchel/test/conformance/itemstest"
)

// TestCacheFollows reads before and after every kind of change: what is kept in memory
// must be what a store without memory of it reads.
func TestCacheFollows(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "items.db")
	open := func() (*sqlite.Items, *items.Items) {
		db, err := sqlite.OpenItems(t.Context(), sqlite.IndexConfig{Path: path})
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
	_, warm := open()
	s, err := scope.System("acme")
	if err != nil {
		t.Fatal(err)
	}
	ids := []string{"a", "b", "c", "a"}
	at := time.Date(2026, 1, 2, 3, 4, 5, 6, time.FixedZone("", 3600))
	a, b, again := itemstest.Record("a", "s", 1), itemstest.Record("b", "s", 2), itemstest.Record("a", "s", 9)
	for i, changes := range [][]items.Change{
		{{Position: 1, Put: a}, {Position: 2, Put: b}},
		{{Position: 3, Accessed: []string{"a", "b", "c"}, At: at}},
		{{Position: 4, Accessed: []string{"a"}, At: at.Add(-time.Hour)}, {Position: 5, Accessed: []string{"a"}, At: at.Add(time.Hour)}},
		{{Position: 6, Accessed: []string{"a", "b"}, At: at}, {Position: 7, Superseded: &schemas.MemorySuperseded{Item: "b", By: "a"}}},
		{{Position: 8, Link: &schemas.MemoryLinked{From: "a", Links: []schemas.Link{{Rel: schemas.RelFollows, To: "b"}}}}},
		{{Position: 9, Put: again}, {Position: 9, Accessed: []string{"a"}, At: at}},
		{{Position: 10, Accessed: []string{"b"}, At: at}, {Position: 11, Erased: []string{"b"}}},
	} {
		if err := warm.Apply(t.Context(), s, changes, 0); err != nil {
			t.Fatal(err)
		}
		if _, err := warm.CountTokens(t.Context(), s, 1+i%2, func(r *schemas.Record) int { return len(r.ID) + i }); err != nil {
			t.Fatal(err)
		}
		var got []schemas.Record
		for range 2 { // encoded, then decoded
			if got, err = warm.Get(t.Context(), s, ids); err != nil {
				t.Fatal(err)
			}
		}
		stored, _ := open()
		want, err := stored.Get(t.Context(), s.Tenant(), ids)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(schemas.Content{})); diff != "" {
			t.Errorf("after change %d (-stored +kept):\n%s", i, diff)
		}
	}
}
