// Package itemstest is the conformance suite of item stores: every driver runs it.
package itemstest

import (
	"errors"
	"slices"
	"testing"

	"satchel/pipeline/scope"
	"satchel/pipeline/store/items"
	"satchel/schemas"
	"satchel/test/conformance/internal/folded"
	"satchel/test/must"
)

// Harness makes the stores under test.
type Harness = folded.Harness[items.Driver]

// Run checks that a driver keeps the contract.
func Run(t *testing.T, h Harness) {
	t.Helper()
	folded.Run(t, func(t *testing.T, name string) *fixture { return open(t, h, name) }, map[string]func(*testing.T, *fixture){
		"Record": testRecord, "Replace": testReplace, "Link": testLink, "Supersede": testSupersede,
		"Access": testAccess, "Erase": testErase, "Replay": testReplay, "Refusals": testRefusals,
		"Tenants": testTenants, "Neighbours": testNeighbours, "Recent": testRecent, "Stats": testStats,
		"Tokens": testTokens, "Order": testOrder, "Novelty": testNovelty, "Reset": testReset, "Reopen": testReopen, "Large": testLarge,
		"Model": testModel,
	})
}

// fixture is an open store and a tenant's scope.
type fixture struct {
	*items.Items
	scope  scope.Scope
	reopen func()
}

func open(t *testing.T, h Harness, name string) *fixture {
	t.Helper()
	f := &fixture{scope: folded.Tenant(t, "t1")}
	f.reopen = h.Start(t, name, func(driver items.Driver) { f.Items = items.New(driver) })
	return f
}

func (f *fixture) apply(t *testing.T, changes ...items.Change) {
	t.Helper()
	folded.Apply(t, f.Items, f.scope, changes...)
}

func (f *fixture) get(t *testing.T, ids ...string) []schemas.Record {
	t.Helper()
	return must.Get(f.Get(t.Context(), f.scope, ids))(t)
}

func put(position int64, r *schemas.Record) items.Change {
	r.Position, r.First = position, position
	return items.Change{Position: position, Put: r}
}

func testRecord(t *testing.T, f *fixture) {
	full, plain := fullRecord("full"), Record("plain", "", 0)
	bare := &schemas.Record{}
	bare.ID = "bare"
	f.apply(t, put(1, full), put(2, plain), put(3, bare))
	folded.Same(t, f.get(t, "plain", "missing", "full", "bare"), []schemas.Record{*plain, *full, *bare})
	folded.Same(t, f.get(t), []schemas.Record(nil))
	if at, err := f.Checkpoint(t.Context(), f.scope); err != nil || at != 3 {
		t.Errorf("checkpoint %d, %v", at, err)
	}
}

func testReplace(t *testing.T, f *fixture) {
	first, second := Record("a", "s", 0), Record("a", "s", 1)
	f.apply(t, put(1, first), items.Change{Position: 2, Superseded: &schemas.MemorySuperseded{Item: "a", By: "z"}},
		items.Change{Position: 3, Accessed: []string{"a"}, At: epoch()})
	f.apply(t, put(4, second))
	want := *second
	want.AccessCount, want.LastAccess, want.First = 1, epoch(), 1
	folded.Same(t, f.get(t, "a"), []schemas.Record{want})
}

func testLink(t *testing.T, f *fixture) {
	link := func(at int64, to string) items.Change {
		return items.Change{Position: at, Link: &schemas.MemoryLinked{From: "a", Links: []schemas.Link{{Rel: schemas.RelCausedBy, To: to}}}}
	}
	a := Record("a", "s", 0)
	a.Links = []schemas.Link{{Rel: schemas.RelFollows, To: "own"}}
	f.apply(t, link(1, "early"))
	folded.Same(t, f.get(t, "a"), []schemas.Record(nil))
	f.apply(t, put(2, Record("b", "s", 1)), put(3, a), link(4, "late"), link(5, "late"))
	want := *a
	want.Links = []schemas.Link{{Rel: schemas.RelFollows, To: "own"}, {Rel: schemas.RelCausedBy, To: "early"}, {Rel: schemas.RelCausedBy, To: "late"}}
	folded.Same(t, f.get(t, "a"), []schemas.Record{want})
	f.reopen()
	folded.Same(t, f.get(t, "a"), []schemas.Record{want})
	got := must.Get(f.Neighbours(t.Context(), f.scope, []string{"a"}, 1))(t)
	folded.Same(t, got, map[string][]items.Neighbour{"a": {{ID: "b", Offset: -1, Terms: 6}}})
}

func testSupersede(t *testing.T, f *fixture) {
	f.apply(t, put(1, Record("a", "s", 0)), items.Change{Position: 2, Superseded: &schemas.MemorySuperseded{Item: "a", By: "b"}},
		items.Change{Position: 3, Superseded: &schemas.MemorySuperseded{Item: "unknown", By: "b"}})
	if got := f.get(t, "a", "unknown"); len(got) != 1 || got[0].SupersededBy != "b" {
		t.Errorf("got %d records", len(got))
	}
}

func testAccess(t *testing.T, f *fixture) {
	f.apply(t, put(1, Record("a", "s", 0)), items.Change{Position: 2, Accessed: []string{"a", "unknown"}, At: epoch().Add(2)})
	f.apply(t, items.Change{Position: 3, Accessed: []string{"a"}, At: epoch().Add(1)})
	if got := f.get(t, "a", "unknown"); len(got) != 1 || got[0].AccessCount != 2 || !got[0].LastAccess.Equal(epoch().Add(2)) {
		t.Errorf("got %+v", got)
	}
}

func testErase(t *testing.T, f *fixture) {
	f.apply(t, put(1, Record("a", "s", 0)), put(2, Record("b", "s", 1)), put(3, Record("c", "s", 2)))
	f.apply(t, items.Change{Position: 4, Erased: []string{"b", "unknown"}})
	if got := f.get(t, "a", "b", "c"); len(got) != 2 {
		t.Errorf("%d records", len(got))
	}
	got := must.Get(f.Neighbours(t.Context(), f.scope, []string{"a", "b"}, 1))(t)
	folded.Same(t, got, map[string][]items.Neighbour{"a": {{ID: "c", Offset: 1, Terms: 7}}})
	f.apply(t, items.Change{Position: 5, Erased: []string{"c"}}, put(6, Record("c", "s", 4)), put(7, Record("b", "s", 5)))
	got = must.Get(f.Neighbours(t.Context(), f.scope, []string{"a"}, 2))(t)
	folded.Same(t, got, map[string][]items.Neighbour{"a": {{ID: "c", Offset: 1, Terms: 9}, {ID: "b", Offset: 2, Terms: 10}}})
}

func testReplay(t *testing.T, f *fixture) {
	log := []items.Change{put(1, Record("a", "s", 0)), {Position: 2, Accessed: []string{"a"}, At: epoch()}, put(3, Record("b", "s", 1))}
	folded.Replay(t, f.Items, f.scope, log)
	must.Do(t, f.Apply(t.Context(), f.scope, nil, 9))
	f.apply(t, put(9, Record("late", "s", 0)))
	if at, err := f.Checkpoint(t.Context(), f.scope); err != nil || at != 9 || len(f.get(t, "late")) != 0 {
		t.Errorf("checkpoint %d, %v", at, err)
	}
}

func testRefusals(t *testing.T, f *fixture) {
	ctx, none := t.Context(), scope.Scope{}
	calls := map[string]func() error{
		"Apply":            func() error { return f.Apply(ctx, none, nil, 1) },
		"Checkpoint":       func() error { _, err := f.Checkpoint(ctx, none); return err },
		"Get":              func() error { _, err := f.Get(ctx, none, []string{"a"}); return err },
		"Neighbours":       func() error { _, err := f.Neighbours(ctx, none, []string{"a"}, 1); return err },
		"Recent":           func() error { _, err := f.Recent(ctx, none, schemas.MatchAll(), items.Place{}, 1); return err },
		"Stats":            func() error { _, err := f.Stats(ctx, none); return err },
		"Digest":           func() error { _, err := f.Digest(ctx, none); return err },
		"Reset":            func() error { return f.Reset(ctx, none) },
		"Uncounted":        func() error { _, err := f.Uncounted(ctx, none, 1); return err },
		"CountTokens":      func() error { _, err := f.CountTokens(ctx, none, 1, nil); return err },
		"SessionPositions": func() error { _, err := f.SessionPositions(ctx, none, []string{"a"}); return err },
		"Windows":          func() error { _, err := f.Windows(ctx, none, []items.Window{{After: 1}}); return err },
		"SetNovelties":     func() error { return f.SetNovelties(ctx, none, map[string]float64{"a": 1}) },
	}
	for name, call := range calls {
		if err := call(); !errors.Is(err, scope.ErrNone) {
			t.Errorf("%s with the zero scope: %v", name, err)
		}
	}
	if err := f.Apply(ctx, f.scope, []items.Change{put(2, Record("a", "", 0)), put(1, Record("b", "", 0))}, 0); err == nil {
		t.Error("changes out of order were taken")
	}
	if err := f.Apply(ctx, f.scope, []items.Change{put(1, &schemas.Record{})}, 0); err == nil {
		t.Error("an item without an id was taken")
	}
}

func testTenants(t *testing.T, f *fixture) {
	other := *f
	other.scope = folded.Tenant(t, "t2")
	f.apply(t, put(1, Record("a", "s", 0)), put(2, Record("b", "s", 1)))
	other.apply(t, put(1, Record("a", "s", 5)))
	if got := other.get(t, "a", "b"); len(got) != 1 || got[0].CreatedAt != Record("", "", 5).CreatedAt {
		t.Errorf("tenant t2 sees %d records", len(got))
	}
	got, err := other.Neighbours(t.Context(), other.scope, []string{"a"}, 2)
	if err != nil || len(got) != 0 {
		t.Errorf("tenant t2 has neighbours: %v %v", got, err)
	}
	other.count(t, map[string]int{"a": 3, "b": 3})
	other.apply(t, items.Change{Position: 2, Erased: []string{"a", "b"}, Accessed: nil})
	if got := f.get(t, "a", "b"); len(got) != 2 || got[0].Tokens != 0 || got[1].Tokens != 0 {
		t.Errorf("tenant t1 has %d records left", len(got))
	}
	must.Do(t, other.Reset(t.Context(), other.scope))
	if stats, err := f.Stats(t.Context(), f.scope); err != nil || stats.Items != 2 {
		t.Errorf("stats %+v, %v", stats, err)
	}
}

func testReset(t *testing.T, f *fixture) {
	empty := must.Get(f.Digest(t.Context(), f.scope))(t)
	f.apply(t, put(1, Record("a", "s", 0)))
	must.Do(t, f.Reset(t.Context(), f.scope))
	stats := must.Get(f.Stats(t.Context(), f.scope))(t)
	folded.Same(t, stats, items.Stats{})
	folded.At(t, f.Items, f.scope, 0, empty)
	f.apply(t, put(1, Record("a", "s", 0)))
	if got := f.get(t, "a"); len(got) != 1 {
		t.Error("nothing is there after a rebuild")
	}
}

func testReopen(t *testing.T, f *fixture) {
	f.apply(t, put(1, fullRecord("full")), put(2, Record("a", "s", 0)), put(3, Record("b", "s", 2)), put(4, Record("c", "s", 2)))
	f.apply(t, items.Change{Position: 5, Erased: []string{"b"}}, items.Change{Position: 6, Accessed: []string{"a"}, At: epoch()})
	look := func() (out []any) {
		ids := []string{"full", "a", "b", "c"}
		near, err1 := f.Neighbours(t.Context(), f.scope, ids, 2)
		recent, err2 := f.Recent(t.Context(), f.scope, schemas.MatchAll(), items.Place{}, 10)
		stats, err3 := f.Stats(t.Context(), f.scope)
		digest, err4 := f.Digest(t.Context(), f.scope)
		at, err5 := f.Checkpoint(t.Context(), f.scope)
		must.Do(t, errors.Join(err1, err2, err3, err4, err5))
		return []any{f.get(t, ids...), near, recent, stats, digest, at}
	}
	before := look()
	f.reopen()
	folded.Same(t, look(), before)
}

func testTokens(t *testing.T, f *fixture) {
	counted := Record("counted", "", 0)
	counted.Tokens = 4
	f.apply(t, put(1, counted), put(2, Record("a", "", 0)), put(3, Record("b", "", 1)),
		items.Change{Position: 4, Link: &schemas.MemoryLinked{From: "waits", Links: []schemas.Link{{Rel: schemas.RelFollows, To: "a"}}}})
	uncounted := func(limit int) []string {
		var ids []string
		list := must.Get(f.Uncounted(t.Context(), f.scope, limit))(t)
		for _, r := range list {
			ids = append(ids, r.ID)
		}
		slices.Sort(ids)
		return ids
	}
	folded.Same(t, uncounted(10), []string{"a", "b"})
	if n := len(uncounted(1)); n != 1 {
		t.Errorf("%d records for a limit of 1", n)
	}
	before := must.Get(f.Digest(t.Context(), f.scope))(t)
	f.count(t, map[string]int{"a": 7, "b": 0})
	folded.Same(t, uncounted(10), []string{"b"})
	if got := f.get(t, "a"); len(got) != 1 || got[0].Tokens != 7 {
		t.Error("the count was not stored")
	}
	if after, err := f.Digest(t.Context(), f.scope); err != nil || after != before {
		t.Errorf("a token count changed the digest: %v", err)
	}
	f.apply(t, put(5, Record("a", "", 2)))
	folded.Same(t, uncounted(10), []string{"a", "b"})
}

// count gives items their token counts and holds what that returns against what is stored.
func (f *fixture) count(t *testing.T, counts map[string]int) {
	t.Helper()
	counted := must.Get(f.CountTokens(t.Context(), f.scope, 10, func(r *schemas.Record) int { return counts[r.ID] }))(t)
	for i := range counted {
		folded.Same(t, f.get(t, counted[i].ID), counted[i:i+1])
		if counted[i].Tokens != counts[counted[i].ID] {
			t.Errorf("item %q has %d tokens", counted[i].ID, counted[i].Tokens)
		}
	}
}
