// Package graphtest is the conformance suite of graph stores: every driver runs it.
package graphtest

import (
	"errors"
	"fmt"
	"testing"

	"satchel/pipeline/scope"
	"satchel/pipeline/store/graph"
	"satchel/schemas"
	"satchel/test/conformance/internal/folded"
	"satchel/test/must"
)

// Harness makes the stores under test.
type Harness = folded.Harness[graph.Driver]

// Run checks that a driver keeps the contract.
func Run(t *testing.T, h Harness) {
	t.Helper()
	folded.Run(t, func(t *testing.T, name string) *fixture { return open(t, h, name) }, map[string]func(*testing.T, *fixture){
		"Walk": testWalk, "Entities": testEntities, "Hubs": testHubs, "HubsOfPopulation": testHubsOfPopulation, "Exclude": testExclude, "FanOut": testFanOut, "Filter": testFilter, "Through": testThrough,
		"Replace": testReplace, "Link": testLink, "Remove": testRemove, "Between": testBetween, "Distances": testDistances,
		"Replay": testReplay, "Refusals": testRefusals, "Tenants": testTenants, "Reset": testReset, "Reopen": testReopen,
		"Large": testLarge,
		"Model": testModel,
	})
}

// fixture is an open store and a tenant's scope.
type fixture struct {
	*graph.Graph
	driver graph.Driver
	scope  scope.Scope
	reopen func()
}

func open(t *testing.T, h Harness, name string) *fixture {
	t.Helper()
	f := &fixture{scope: folded.Tenant(t, "t1")}
	f.reopen = h.Start(t, name, func(driver graph.Driver) { f.Graph, f.driver = graph.New(driver), driver })
	return f
}

func (f *fixture) apply(t *testing.T, changes ...graph.Change) {
	t.Helper()
	folded.Apply(t, f.Graph, f.scope, changes...)
}

func (f *fixture) walk(t *testing.T, w graph.Walk) []graph.Visit {
	t.Helper()
	if w.Filter.IsNone() {
		w.Filter = schemas.MatchAll()
	}
	return must.Get(f.Walk(t.Context(), f.scope, w))(t)
}

// node returns a put of a node with links "rel>to".
func node(position int64, id string, links ...schemas.Link) graph.Change {
	return graph.Change{Position: position, Put: &graph.Node{ID: id, Position: position, Links: links,
		Facets: schemas.Facets{Kind: schemas.KindMemory, Labels: []string{"team:x"}}}}
}

func mention(position int64, id string, names ...string) graph.Change {
	c := node(position, id)
	c.Put.Entities = names
	return c
}

func link(rel schemas.Rel, to string) schemas.Link { return schemas.Link{Rel: rel, To: to} }

func add(position int64, from string, links ...schemas.Link) graph.Change {
	return graph.Change{Position: position, Link: &schemas.MemoryLinked{From: from, Links: links}}
}

func visit(id string, distance int, from string, rel schemas.Rel, to string) graph.Visit {
	return graph.Visit{ID: id, Distance: distance, Via: schemas.Edge{From: from, Rel: rel, To: to}}
}

func testWalk(t *testing.T, f *fixture) {
	f.apply(t, node(1, "a"), node(2, "b", link(schemas.RelCausedBy, "a")), node(3, "c", link(schemas.RelFollows, "b")),
		node(4, "d", link(schemas.RelPartOf, "c"), link(schemas.RelMentions, "nowhere")), node(5, "z"))
	b := visit("b", 1, "b", schemas.RelCausedBy, "a")
	c := visit("c", 2, "c", schemas.RelFollows, "b")
	folded.Same(t, f.walk(t, graph.Walk{From: []string{"a"}}), []graph.Visit{b})
	folded.Same(t, f.walk(t, graph.Walk{From: []string{"a", "unknown", "a"}, Hops: 2}), []graph.Visit{b, c})
	folded.Same(t, f.walk(t, graph.Walk{From: []string{"a"}, Hops: 9}), []graph.Visit{b, c, visit("d", 3, "d", schemas.RelPartOf, "c")})
	folded.Same(t, f.walk(t, graph.Walk{From: []string{"a"}, Hops: 3, Limit: 1}), []graph.Visit{b})
	folded.Same(t, f.walk(t, graph.Walk{From: []string{"c"}, Hops: 1}),
		[]graph.Visit{visit("b", 1, "c", schemas.RelFollows, "b"), visit("d", 1, "d", schemas.RelPartOf, "c")})
	folded.Same(t, f.walk(t, graph.Walk{From: []string{"c"}, Hops: 3, Rels: []schemas.Rel{schemas.RelFollows, schemas.RelCausedBy}}),
		[]graph.Visit{visit("b", 1, "c", schemas.RelFollows, "b"), visit("a", 2, "b", schemas.RelCausedBy, "a")})
	folded.Same(t, f.walk(t, graph.Walk{From: []string{"a"}, Rels: []schemas.Rel{"unheard_of"}}), []graph.Visit{})
	folded.Same(t, f.walk(t, graph.Walk{}), []graph.Visit{})
}

func testEntities(t *testing.T, f *fixture) {
	f.apply(t, mention(1, "a", "melanie", "paris"), mention(2, "b", "melanie"), mention(3, "c", "paris", "c"), node(4, "entity:paris"))
	folded.Same(t, f.walk(t, graph.Walk{From: []string{"b"}, Hops: 1}), []graph.Visit{})
	folded.Same(t, f.walk(t, graph.Walk{From: []string{"b"}, Hops: 2}),
		[]graph.Visit{visit("a", 2, "a", schemas.RelMentions, "entity:melanie")})
	folded.Same(t, f.walk(t, graph.Walk{Entities: []string{"paris", "unknown"}, Hops: 1}),
		[]graph.Visit{visit("a", 1, "a", schemas.RelMentions, "entity:paris"), visit("c", 1, "c", schemas.RelMentions, "entity:paris")})
	folded.Same(t, f.walk(t, graph.Walk{From: []string{"entity:paris"}, Hops: 2}), []graph.Visit{})
	folded.Same(t, f.walk(t, graph.Walk{From: []string{"b"}, Hops: 2, Rels: []schemas.Rel{schemas.RelFollows}}), []graph.Visit{})
	if n := len(f.walk(t, graph.Walk{Entities: []string{"melanie"}, Hops: 3})); n != 3 {
		t.Errorf("%d items, want 3", n)
	}
}

func testHubs(t *testing.T, f *fixture) {
	var log []graph.Change
	for i := range 60 {
		log = append(log, mention(int64(i+1), fmt.Sprintf("i%02d", i), "everyone", fmt.Sprint("pair ", i/2)))
	}
	f.apply(t, log...)
	folded.Same(t, f.walk(t, graph.Walk{From: []string{"i00"}, Hops: 2}),
		[]graph.Visit{visit("i01", 2, "i01", schemas.RelMentions, "entity:pair 0")})
	folded.Same(t, f.walk(t, graph.Walk{Entities: []string{"everyone"}, Hops: 1}), []graph.Visit{})
	log = nil
	for i := range 300 {
		log = append(log, node(int64(i+61), fmt.Sprintf("n%03d", i)))
	}
	f.apply(t, log...)
	if n := len(f.walk(t, graph.Walk{Entities: []string{"everyone"}, Hops: 1, FanOut: 100})); n != 60 {
		t.Errorf("%d items, want 60: the entity is named by a sixth of all", n)
	}
}

// What says that an entity is a hub are the items of the population alone: however many others
// there are, those who see none of them walk alike.
func testHubsOfPopulation(t *testing.T, f *fixture) {
	public := schemas.Where(schemas.Cond{Field: schemas.FieldLevel, Op: schemas.AtMost, Number: 0})
	names := func() int {
		return len(f.walk(t, graph.Walk{Entities: []string{"ines"}, Hops: 1, FanOut: 100, Filter: public}))
	}
	var log []graph.Change
	position := int64(0)
	put := func(n int, level schemas.Level, name string) {
		for range n {
			position++
			c := mention(position, fmt.Sprintf("i%03d", position), name)
			c.Put.Facets.Level = level
			log = append(log, c)
		}
		f.apply(t, log...)
		log = nil
	}
	put(20, schemas.Restricted, "ines")
	put(50, schemas.Public, "ines")
	if n := names(); n != 50 {
		t.Errorf("%d items, want 50: hidden items make a hub", n)
	}
	put(1, schemas.Public, "ines")
	put(500, schemas.Restricted, "")
	if n := names(); n != 0 {
		t.Errorf("%d items, want none: hidden items keep a hub from being one", n)
	}
	wide := graph.Walk{Entities: []string{"ines"}, Hops: 1, FanOut: 100, Filter: schemas.MatchAll()}
	if n := len(f.walk(t, wide)); n != 71 {
		t.Errorf("%d items, want 71 of all that are seen", n)
	}
	wide.Population = public
	if n := len(f.walk(t, wide)); n != 0 {
		t.Errorf("%d items, want none: more are seen than say what a hub is", n)
	}
	last := fmt.Sprintf("i%03d", 71)
	if n := len(f.walk(t, graph.Walk{Entities: []string{"ines"}, Hops: 1, FanOut: 100, Filter: public, Exclude: []string{last, last, "unknown"}})); n != 50 {
		t.Errorf("%d items, want 50: an excluded item counts", n)
	}
}

// An excluded item is as if it were not there: neither a place of the fan-out nor a way is its.
func testExclude(t *testing.T, f *fixture) {
	f.apply(t, node(1, "a"), node(2, "b", link(schemas.RelFollows, "a")), node(3, "c", link(schemas.RelFollows, "b")), node(4, "d", link(schemas.RelFollows, "a")))
	without := []string{"d"}
	folded.Same(t, f.walk(t, graph.Walk{From: []string{"a"}, Hops: 1, FanOut: 1, Exclude: without}), []graph.Visit{visit("b", 1, "b", schemas.RelFollows, "a")})
	folded.Same(t, f.walk(t, graph.Walk{From: []string{"a"}, Hops: 2, Exclude: []string{"b"}}), []graph.Visit{visit("d", 1, "d", schemas.RelFollows, "a")})
	folded.Same(t, f.walk(t, graph.Walk{From: []string{"b"}, Hops: 2, Exclude: []string{"b"}}), []graph.Visit{})
	folded.Same(t, f.walk(t, graph.Walk{From: []string{"a"}, Hops: 1, Limit: 1, Exclude: []string{"b"}}), []graph.Visit{visit("d", 1, "d", schemas.RelFollows, "a")})
}

func testFanOut(t *testing.T, f *fixture) {
	log := []graph.Change{node(1, "hub", link(schemas.RelPartOf, "i90"))}
	for i := range 90 {
		log = append(log, node(int64(i+2), fmt.Sprintf("i%02d", i), link(schemas.RelPartOf, "hub")))
	}
	f.apply(t, append(log, node(99, "i90"))...)
	got := f.walk(t, graph.Walk{From: []string{"hub"}, FanOut: 3})
	folded.Same(t, got, []graph.Visit{visit("i88", 1, "i88", schemas.RelPartOf, "hub"), visit("i89", 1, "i89", schemas.RelPartOf, "hub"),
		visit("i90", 1, "hub", schemas.RelPartOf, "i90")})
	f.reopen()
	folded.Same(t, f.walk(t, graph.Walk{From: []string{"hub"}, FanOut: 3}), got)
	if n := len(f.walk(t, graph.Walk{From: []string{"hub"}})); n != graph.DefaultFanOut {
		t.Errorf("%d items, want %d", n, graph.DefaultFanOut)
	}
}

func testFilter(t *testing.T, f *fixture) {
	secret := node(2, "secret", link(schemas.RelFollows, "a"))
	secret.Put.Facets.Level = schemas.Restricted
	f.apply(t, node(1, "a"), secret, node(3, "b", link(schemas.RelFollows, "secret")), node(4, "c", link(schemas.RelFollows, "a")))
	public := schemas.Where(schemas.Cond{Field: schemas.FieldLevel, Op: schemas.AtMost, Number: 0})
	folded.Same(t, f.walk(t, graph.Walk{From: []string{"a"}, Hops: 3, Filter: public}),
		[]graph.Visit{visit("c", 1, "c", schemas.RelFollows, "a")})
	folded.Same(t, f.walk(t, graph.Walk{From: []string{"secret"}, Hops: 3, Filter: public}), []graph.Visit{})
	if got, err := f.Walk(t.Context(), f.scope, graph.Walk{From: []string{"a"}}); err != nil || len(got) != 0 {
		t.Errorf("the zero filter let %d items through, %v", len(got), err)
	}
	edges := must.Get(f.Between(t.Context(), f.scope, []string{"a", "b", "c", "secret"}, public))(t)
	folded.Same(t, edges, []schemas.Edge{{From: "c", Rel: schemas.RelFollows, To: "a"}})
	distances := must.Get(f.Distances(t.Context(), f.scope, []string{"a"}, []string{"b", "c", "secret"}, 5, public))(t)
	folded.Same(t, distances, map[string]int{"c": 1})
}

// testThrough walks k hops over some kinds and labels only, from any start.
func testThrough(t *testing.T, f *fixture) {
	of := func(c graph.Change, kind schemas.Kind, labels ...string) graph.Change {
		c.Put.Facets.Kind, c.Put.Facets.Labels = kind, labels
		return c
	}
	f.apply(t, of(node(1, "start"), schemas.KindMemory, "team:x"),
		of(node(2, "commit", link(schemas.RelDerivedFrom, "start")), schemas.KindCommit, "team:x"),
		of(node(3, "code", link(schemas.RelPartOf, "commit")), schemas.KindCode, "team:x", "team:y"),
		of(node(4, "note", link(schemas.RelFollows, "commit")), schemas.KindMemory, "team:y"),
		of(node(5, "far", link(schemas.RelFollows, "note")), schemas.KindCode, "team:y"))
	kinds := func(values ...string) []schemas.Cond {
		return []schemas.Cond{{Field: schemas.FieldKind, Op: schemas.In, Values: values}}
	}
	labels := []schemas.Cond{{Field: schemas.FieldLabels, Op: schemas.In, Values: []string{"team:y", "team:z"}}}
	commit := visit("commit", 1, "commit", schemas.RelDerivedFrom, "start")
	code := visit("code", 2, "code", schemas.RelPartOf, "commit")
	from := []string{"start"}
	folded.Same(t, f.walk(t, graph.Walk{From: from, Hops: 3, Through: kinds("commit", "code")}), []graph.Visit{commit, code})
	folded.Same(t, f.walk(t, graph.Walk{From: from, Hops: 1, Through: kinds("commit", "code")}), []graph.Visit{commit})
	folded.Same(t, f.walk(t, graph.Walk{From: from, Hops: 3, Through: kinds("code")}), []graph.Visit{})
	folded.Same(t, f.walk(t, graph.Walk{From: []string{"commit"}, Hops: 1, Through: labels}),
		[]graph.Visit{visit("code", 1, "code", schemas.RelPartOf, "commit"), visit("note", 1, "note", schemas.RelFollows, "commit")})
	folded.Same(t, f.walk(t, graph.Walk{From: []string{"commit"}, Hops: 2, Through: append(kinds("code"), labels...)}),
		[]graph.Visit{visit("code", 1, "code", schemas.RelPartOf, "commit")})
	folded.Same(t, f.walk(t, graph.Walk{From: []string{"note"}, Hops: 2, Rels: []schemas.Rel{schemas.RelFollows}, Through: labels}),
		[]graph.Visit{visit("far", 1, "far", schemas.RelFollows, "note")})
	hidden := schemas.Where(schemas.Cond{Field: schemas.FieldKind, Op: schemas.NotIn, Values: []string{"commit"}})
	folded.Same(t, f.walk(t, graph.Walk{From: from, Hops: 3, Filter: hidden, Through: kinds("commit", "code")}), []graph.Visit{})
}

func testReplace(t *testing.T, f *fixture) {
	first := mention(1, "a", "old")
	first.Put.Links = []schemas.Link{link(schemas.RelFollows, "b")}
	f.apply(t, first, mention(2, "b", "old", "new"), add(3, "a", link(schemas.RelCausedBy, "c")), node(4, "c"))
	f.apply(t, mention(5, "a", "new"))
	folded.Same(t, f.walk(t, graph.Walk{From: []string{"a"}, Hops: 2}), []graph.Visit{
		visit("c", 1, "a", schemas.RelCausedBy, "c"), visit("b", 2, "b", schemas.RelMentions, "entity:new")})
}

func testLink(t *testing.T, f *fixture) {
	f.apply(t, add(1, "a", link(schemas.RelCausedBy, "b"), link(schemas.RelCausedBy, "b")), node(2, "b"))
	folded.Same(t, f.walk(t, graph.Walk{From: []string{"b"}, Hops: 1}), []graph.Visit{})
	f.apply(t, node(3, "a"))
	want := []graph.Visit{visit("a", 1, "a", schemas.RelCausedBy, "b")}
	folded.Same(t, f.walk(t, graph.Walk{From: []string{"b"}, Hops: 1}), want)
	f.reopen()
	folded.Same(t, f.walk(t, graph.Walk{From: []string{"b"}, Hops: 1}), want)
}

func testRemove(t *testing.T, f *fixture) {
	f.apply(t, node(1, "a"), mention(2, "b", "x"), mention(3, "c", "x"), add(4, "b", link(schemas.RelFollows, "a")))
	folded.Same(t, f.walk(t, graph.Walk{From: []string{"a"}, Hops: 3}),
		[]graph.Visit{visit("b", 1, "b", schemas.RelFollows, "a"), visit("c", 3, "c", schemas.RelMentions, "entity:x")})
	f.remains(t, 3, "a", "b", "c", "unknown")
	f.apply(t, graph.Change{Position: 5, Remove: []string{"b", "unknown"}})
	f.remains(t, 2, "a", "b", "c", "unknown")
	folded.Same(t, f.walk(t, graph.Walk{From: []string{"a"}, Hops: 3}), []graph.Visit{})
	folded.Same(t, f.walk(t, graph.Walk{Entities: []string{"x"}, Hops: 1}), []graph.Visit{visit("c", 1, "c", schemas.RelMentions, "entity:x")})
	f.apply(t, node(6, "b", link(schemas.RelPartOf, "c")))
	folded.Same(t, f.walk(t, graph.Walk{From: []string{"b"}, Hops: 1}), []graph.Visit{visit("c", 1, "b", schemas.RelPartOf, "c")})
}

func (f *fixture) remains(t *testing.T, want int, ids ...string) {
	t.Helper()
	folded.Remains(t, f.driver, f.scope.Tenant(), want, ids...)
}

func testBetween(t *testing.T, f *fixture) {
	f.apply(t, node(1, "a", link(schemas.RelFollows, "b"), link(schemas.RelCausedBy, "b"), link(schemas.RelFollows, "gone")),
		mention(2, "b", "x"), mention(3, "c", "x"), add(4, "a", link(schemas.RelFollows, "b"), link(schemas.RelFollows, "c")))
	edges := must.Get(f.Between(t.Context(), f.scope, []string{"c", "b", "a", "a", "gone"}, schemas.MatchAll()))(t)
	folded.Same(t, edges, []schemas.Edge{{From: "a", Rel: schemas.RelCausedBy, To: "b"}, {From: "a", Rel: schemas.RelFollows, To: "b"},
		{From: "a", Rel: schemas.RelFollows, To: "c"}})
}

func testDistances(t *testing.T, f *fixture) {
	var log []graph.Change
	for i := range 8 {
		log = append(log, node(int64(i+1), fmt.Sprint(i), link(schemas.RelFollows, fmt.Sprint(i-1))))
	}
	f.apply(t, append(log, node(9, "m", link(schemas.RelMentions, "0")))...)
	got := must.Get(f.Distances(t.Context(), f.scope, []string{"0", "5"}, []string{"0", "1", "3", "7", "m", "unknown"}, 5, schemas.MatchAll()))(t)
	folded.Same(t, got, map[string]int{"0": 0, "1": 1, "3": 2, "7": 2})
	got = must.Get(f.Distances(t.Context(), f.scope, []string{"0"}, []string{"5", "6"}, 5, schemas.MatchAll()))(t)
	folded.Same(t, got, map[string]int{"5": 5})
}

func testReplay(t *testing.T, f *fixture) {
	log := []graph.Change{mention(1, "a", "x"), add(2, "a", link(schemas.RelFollows, "b")), node(3, "b"), mention(4, "a", "y")}
	folded.Replay(t, f.Graph, f.scope, log)
	must.Do(t, f.Apply(t.Context(), f.scope, nil, 9))
	f.apply(t, node(9, "late", link(schemas.RelFollows, "a")))
	folded.Same(t, f.walk(t, graph.Walk{From: []string{"late"}}), []graph.Visit{})
	if at, err := f.Checkpoint(t.Context(), f.scope); err != nil || at != 9 {
		t.Errorf("checkpoint %d, %v", at, err)
	}
}

func testRefusals(t *testing.T, f *fixture) {
	ctx, none := t.Context(), scope.Scope{}
	all := schemas.MatchAll()
	calls := map[string]func() error{
		"Apply":      func() error { return f.Apply(ctx, none, nil, 1) },
		"Checkpoint": func() error { _, err := f.Checkpoint(ctx, none); return err },
		"Walk":       func() error { _, err := f.Walk(ctx, none, graph.Walk{From: []string{"a"}, Filter: all}); return err },
		"Between":    func() error { _, err := f.Between(ctx, none, []string{"a"}, all); return err },
		"Distances":  func() error { _, err := f.Distances(ctx, none, []string{"a"}, []string{"b"}, 1, all); return err },
		"Digest":     func() error { _, err := f.Digest(ctx, none); return err },
		"Reset":      func() error { return f.Reset(ctx, none) },
	}
	for name, call := range calls {
		if err := call(); !errors.Is(err, scope.ErrNone) {
			t.Errorf("%s with the zero scope: %v", name, err)
		}
	}
	if err := f.Apply(ctx, f.scope, []graph.Change{node(2, "a"), node(1, "b")}, 0); err == nil {
		t.Error("changes out of order were taken")
	}
	if err := f.Apply(ctx, f.scope, []graph.Change{node(1, "")}, 0); err == nil {
		t.Error("a node without an id was taken")
	}
}

func testTenants(t *testing.T, f *fixture) {
	other := *f
	other.scope = folded.Tenant(t, "t2")
	f.apply(t, mention(1, "a", "x"), mention(2, "b", "x"))
	other.apply(t, mention(1, "a", "x"), node(2, "c", link(schemas.RelFollows, "a")))
	folded.Same(t, f.walk(t, graph.Walk{From: []string{"a"}, Hops: 3}), []graph.Visit{visit("b", 2, "b", schemas.RelMentions, "entity:x")})
	folded.Same(t, other.walk(t, graph.Walk{From: []string{"a"}, Hops: 3}), []graph.Visit{visit("c", 1, "c", schemas.RelFollows, "a")})
	other.apply(t, graph.Change{Position: 3, Remove: []string{"a", "b"}})
	must.Do(t, other.Reset(t.Context(), other.scope))
	folded.Same(t, f.walk(t, graph.Walk{From: []string{"a"}, Hops: 3}), []graph.Visit{visit("b", 2, "b", schemas.RelMentions, "entity:x")})
}

func testReset(t *testing.T, f *fixture) {
	empty := must.Get(f.Digest(t.Context(), f.scope))(t)
	f.apply(t, node(1, "a"), node(2, "b", link(schemas.RelFollows, "a")))
	must.Do(t, f.Reset(t.Context(), f.scope))
	folded.Same(t, f.walk(t, graph.Walk{From: []string{"a"}}), []graph.Visit{})
	folded.At(t, f.Graph, f.scope, 0, empty)
	f.apply(t, node(1, "a"), node(2, "b", link(schemas.RelFollows, "a")))
	if n := len(f.walk(t, graph.Walk{From: []string{"a"}})); n != 1 {
		t.Error("nothing is there after a rebuild")
	}
}

func testReopen(t *testing.T, f *fixture) {
	f.apply(t, mention(1, "a", "x", "y"), mention(2, "b", "y"), node(3, "c", link(schemas.RelCausedBy, "a")), node(4, "d"))
	f.apply(t, graph.Change{Position: 5, Remove: []string{"d"}}, add(6, "c", link(schemas.RelFollows, "b")))
	look := func() []any {
		digest, err1 := f.Digest(t.Context(), f.scope)
		at, err2 := f.Checkpoint(t.Context(), f.scope)
		must.Do(t, errors.Join(err1, err2))
		return []any{digest, at, f.walk(t, graph.Walk{From: []string{"a"}, Hops: 3}), f.walk(t, graph.Walk{Entities: []string{"y"}, Hops: 2})}
	}
	before := look()
	f.reopen()
	folded.Same(t, look(), before)
}

func testLarge(t *testing.T, f *fixture) {
	var log []graph.Change
	for i := range 1201 {
		log = append(log, node(int64(i+1), fmt.Sprintf("i%04d", i), link(schemas.RelFollows, "i0000")))
	}
	f.apply(t, log...)
	if n := len(f.walk(t, graph.Walk{From: []string{"i0000"}, FanOut: 5000, Limit: 5000})); n != 1200 {
		t.Errorf("%d items", n)
	}
}
