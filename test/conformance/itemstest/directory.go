package itemstest

import (
	"fmt"
	"testing"
	"time"

	"satchel/pipeline/store/items"
	"satchel/schemas"
	"satchel/test/conformance/internal/folded"
	"satchel/test/must"
)

func testNeighbours(t *testing.T, f *fixture) {
	turn := func(at int64, id string, seq int64) items.Change {
		r := Record(id, "s", 0)
		r.Seq, r.Terms = seq, int(seq)
		return put(at, r)
	}
	f.apply(t, turn(1, "q10", 10), turn(2, "q30", 30), turn(3, "q50", 50), put(4, Record("alone", "", 0)))
	check := func(id string, radius int, want ...items.Neighbour) {
		t.Helper()
		got := must.Get(f.Neighbours(t.Context(), f.scope, []string{id, "unknown", "alone"}, radius))(t)
		expected := map[string][]items.Neighbour{}
		if want != nil {
			expected[id] = want
		}
		folded.Same(t, got, expected)
	}
	check("q30", 1, items.Neighbour{ID: "q10", Offset: -1, Terms: 10}, items.Neighbour{ID: "q50", Offset: 1, Terms: 50})
	f.apply(t, turn(5, "q40", 40), turn(6, "q20", 20), turn(7, "q05", 5))
	check("q30", 2, items.Neighbour{ID: "q10", Offset: -2, Terms: 10}, items.Neighbour{ID: "q20", Offset: -1, Terms: 20},
		items.Neighbour{ID: "q40", Offset: 1, Terms: 40}, items.Neighbour{ID: "q50", Offset: 2, Terms: 50})
	check("q05", 1, items.Neighbour{ID: "q10", Offset: 1, Terms: 10})
	f.apply(t, turn(8, "q10", 60))
	check("q10", 1, items.Neighbour{ID: "q50", Offset: -1, Terms: 50})
	check("q05", 1, items.Neighbour{ID: "q20", Offset: 1, Terms: 20})
	check("q05", 0)
	check("q50", 9, items.Neighbour{ID: "q05", Offset: -4, Terms: 5}, items.Neighbour{ID: "q20", Offset: -3, Terms: 20},
		items.Neighbour{ID: "q30", Offset: -2, Terms: 30}, items.Neighbour{ID: "q40", Offset: -1, Terms: 40},
		items.Neighbour{ID: "q10", Offset: 1, Terms: 60})
}

func testRecent(t *testing.T, f *fixture) {
	const n = 5000
	var log []items.Change
	for i := range n {
		r := Record(fmt.Sprintf("i%04d", i), "", 0)
		r.CreatedAt = epoch().Add(time.Duration(i*7919%n/4) * time.Second) // four of each moment
		r.Facets.Category = fmt.Sprint(i % 3)
		log = append(log, put(int64(i+1), r))
	}
	f.apply(t, log...)
	m := &model{}
	m.apply(log)
	one := schemas.Where(schemas.Cond{Field: schemas.FieldCategory, Op: schemas.In, Values: []string{"1"}})
	for _, filter := range []schemas.Filter{schemas.MatchAll(), one, schemas.MatchNone()} {
		for _, limit := range []int{-1, 0, 1, 7, 500} {
			got := must.Get(f.Recent(t.Context(), f.scope, filter, items.Place{}, limit))(t)
			folded.Same(t, got, m.recent(filter, max(0, limit)))
			var paged []string // the same in pages
			for at := (items.Place{}); limit == 500; {
				page := must.Get(f.Recent(t.Context(), f.scope, filter, at, limit))(t)
				if paged = append(paged, page...); len(page) == 0 {
					folded.Same(t, paged, m.recent(filter, n))
					break
				}
				last, _ := m.get(page[len(page)-1])
				at = items.Place{Created: last.CreatedAt, First: last.First}
			}
		}
	}
}

func testStats(t *testing.T, f *fixture) {
	var log []items.Change
	for i := range 60 {
		r := Record(fmt.Sprintf("i%02d", i), "s", i)
		r.Speaker = fmt.Sprintf("speaker %02d", 59-i)
		if i%10 == 0 {
			r.Role, r.Session, r.Scope.Session = "user", "", ""
		}
		log = append(log, put(int64(i+1), r))
	}
	m := &model{}
	check := func(log ...items.Change) {
		t.Helper()
		f.apply(t, log...)
		m.apply(log)
		got := must.Get(f.Stats(t.Context(), f.scope))(t)
		folded.Same(t, got, m.stats())
	}
	check(log[:30]...)
	check(log[30:]...)
	check(items.Change{Position: 61, Erased: []string{"i00", "i59", "i30"}})
	check(put(62, Record("i01", "", 3)))
	again := Record("i59", "s", 200)
	again.Speaker = "speaker 40"
	check(put(63, again))
}

func testLarge(t *testing.T, f *fixture) {
	big := Record("big", "s", 0)
	big.Content = schemas.TextContent(string(make([]byte, 1<<20)))
	log := []items.Change{put(1, big)}
	var ids []string
	for i := range 1201 {
		ids = append(ids, fmt.Sprintf("i%d", i))
		log = append(log, put(int64(i+2), Record(ids[i], "s", i)))
	}
	f.apply(t, log...)
	if got := f.get(t, append(ids, "big")...); len(got) != 1202 || len(got[1201].Content.Text()) != 1<<20 {
		t.Errorf("%d records", len(got))
	}
}
