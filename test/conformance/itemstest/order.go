package itemstest

import (
	"context"
	"errors"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"satchel/pipeline/store/items"
	"satchel/schemas"
	"satchel/test/conformance/internal/folded"
	"satchel/test/must"
)

// around returns the ids around each spot, and fails when ranks do not ascend.
func around(t interface{ Fatalf(string, ...any) }, ctx context.Context, f *fixture, spots ...items.Window) [][]string {
	got, err := f.Windows(ctx, f.scope, spots)
	if err != nil || len(got) != len(spots) {
		t.Fatalf("%d answers to %d spots: %v", len(got), len(spots), err)
	}
	out := make([][]string, len(got))
	for i, list := range got {
		last := int64(math.MinInt64)
		for _, m := range list {
			if m.Rank <= last {
				t.Fatalf("rank %d after %d", m.Rank, last)
			}
			last = m.Rank
			out[i] = append(out[i], m.ID)
		}
	}
	return out
}

func testOrder(t *testing.T, f *fixture) {
	turn := func(at int64, id, session string, seq int64) items.Change {
		r := Record(id, session, 0)
		r.Seq = seq
		return put(at, r)
	}
	ctx := t.Context()
	f.apply(t, turn(1, "a", "s", 9), turn(2, "x", "", 0), turn(3, "b", "s", 3), turn(4, "y", "", 0), turn(5, "c", "s", 5), turn(6, "d", "other", 0),
		items.Change{Position: 7, Link: &schemas.MemoryLinked{From: "waits", Links: []schemas.Link{{Rel: schemas.RelFollows, To: "a"}}}})
	check := func(want ...[]string) {
		t.Helper()
		places, err := f.SessionPositions(ctx, f.scope, []string{"b", "x", "waits", "unknown"})
		if err != nil || len(places) != 2 || places["b"].Session != "s" || places["x"].Session != "" {
			t.Fatalf("places %+v: %v", places, err)
		}
		end := func(session string) items.SessionPosition {
			return items.SessionPosition{Session: session, Rank: items.MaxRank}
		}
		folded.Same(t, around(t, ctx, f, items.Window{SessionPosition: end("s"), Before: 2, After: 3}, items.Window{SessionPosition: end(""), Before: 9},
			items.Window{SessionPosition: places["b"], Before: 1, After: 1}, items.Window{SessionPosition: places["b"], After: 9}, items.Window{SessionPosition: end("unknown"), Before: 9}), want)
	}
	check([]string{"b", "c"}, []string{"x", "y"}, []string{"a", "b"}, []string{"b", "c"}, nil)
	f.reopen()
	check([]string{"b", "c"}, []string{"x", "y"}, []string{"a", "b"}, []string{"b", "c"}, nil)
	f.apply(t, turn(8, "d", "s", 1), turn(9, "a", "s", 1), turn(10, "y", "s", 0), items.Change{Position: 11, Erased: []string{"c"}}, turn(12, "c", "s", 0))
	check([]string{"d", "c"}, []string{"x"}, []string{"a", "b"}, []string{"b", "y", "d", "c"}, nil)
	if got, err := f.Windows(ctx, f.scope, nil); err != nil || len(got) != 0 {
		t.Errorf("no spots: %v, %v", got, err)
	}
}

func testNovelty(t *testing.T, f *fixture) {
	claimed := Record("claimed", "s", 1)
	own := .25
	claimed.Novelty = &own
	novelty := func(id string) float64 {
		t.Helper()
		got := f.get(t, id)
		if len(got) != 1 {
			t.Fatalf("%d records", len(got))
		}
		if got[0].Novelty == nil {
			return -1
		}
		return *got[0].Novelty
	}
	digest := func() [32]byte {
		t.Helper()
		return must.Get(f.Digest(t.Context(), f.scope))(t)
	}
	f.apply(t, put(1, Record("a", "s", 0)), put(2, claimed), put(3, Record("b", "s", 2)),
		items.Change{Position: 3, Novelty: map[string]float64{"a": 1, "claimed": .5, "unknown": .5}})
	before := digest()
	folded.Same(t, []float64{novelty("a"), novelty("claimed"), novelty("b")}, []float64{1, .25, -1})
	must.Do(t, f.SetNovelties(t.Context(), f.scope, map[string]float64{"b": .1234, "unknown": 1}))
	if digest() == before {
		t.Error("a novelty is not part of the digest")
	}
	f.reopen()
	folded.Same(t, []float64{novelty("a"), novelty("b")}, []float64{1, .123})
	f.apply(t, items.Change{Position: 4, Accessed: []string{"a"}, At: epoch()}, put(5, Record("b", "s", 3)),
		items.Change{Position: 5, Novelty: map[string]float64{"a": 0}})
	folded.Same(t, []float64{novelty("a"), novelty("b")}, []float64{0, -1})
	f.apply(t, items.Change{Position: 6, Novelty: map[string]float64{"a": -1}})
	folded.Same(t, []float64{novelty("a")}, []float64{-1})
	if got := f.get(t, "unknown"); len(got) != 0 {
		t.Error("a novelty made an item")
	}
}

// checkOrder compares the order in the sessions with the model's.
func (m *model) checkOrder(t *rapid.T, ctx context.Context, f *fixture, ids []string) {
	places, err := f.SessionPositions(ctx, f.scope, ids)
	if err != nil {
		t.Fatalf("places: %v", errors.Unwrap(err))
	}
	sessions := map[string][]string{}
	for _, it := range m.byFirst() {
		sessions[it.SessionID()] = append(sessions[it.SessionID()], it.ID)
	}
	if len(places) != len(m.items) {
		t.Fatalf("%d places of %d items", len(places), len(m.items))
	}
	var spots []items.Window
	var want [][]string
	for id, p := range places {
		list := sessions[p.Session]
		at := slices.Index(list, id)
		if at < 0 {
			t.Fatalf("item %s is not in session %q", id, p.Session)
		}
		spots = append(spots, items.Window{SessionPosition: p, Before: 2, After: 2})
		want = append(want, list[max(0, at-2):min(len(list), at+2)])
	}
	if len(spots) > 0 {
		folded.Equal(t, "order", around(t, ctx, f, spots...), want, nil)
	}
}
