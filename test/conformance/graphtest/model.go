package graphtest

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"satchel/pipeline/scope"
	"satchel/pipeline/store/graph"
	"satchel/schemas"
	"satchel/test/conformance/internal/folded"
)

// ids are the ids of drawn logs.
func ids() []string { return []string{"a", "b", "c", "d", "e"} }

// changes draws a log over a few ids and entities.
func changes() *rapid.Generator[[]graph.Change] {
	return rapid.Custom(func(t *rapid.T) []graph.Change {
		id := rapid.SampledFrom(ids())
		links := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) schemas.Link {
			return link(rapid.SampledFrom([]schemas.Rel{schemas.RelFollows, schemas.RelMentions}).Draw(t, "rel"), id.Draw(t, "to"))
		}), 0, 2)
		log := make([]graph.Change, rapid.IntRange(1, 25).Draw(t, "length"))
		for i := range log {
			position := int64(i + 1)
			switch rapid.IntRange(0, 9).Draw(t, "kind") {
			case 0, 1:
				log[i] = add(position, id.Draw(t, "from"), links.Draw(t, "links")...)
			case 2, 3:
				log[i] = graph.Change{Position: position, Remove: rapid.SliceOfN(id, 1, 2).Draw(t, "remove")}
			default:
				c := node(position, id.Draw(t, "put"), links.Draw(t, "links")...)
				c.Put.Entities = rapid.SliceOfN(rapid.SampledFrom([]string{"x", "y"}), 0, 2).Draw(t, "entities")
				c.Put.Facets.Level = schemas.Level(rapid.IntRange(0, 1).Draw(t, "level"))
				log[i] = c
			}
		}
		return log
	})
}

func testModel(t *testing.T, f *fixture) {
	folded.Model(t, f.Graph, changes(), func(s scope.Scope) (func([]graph.Change), func(*rapid.T)) {
		m, f := &model{}, &fixture{Graph: f.Graph, scope: s}
		return m.apply, func(rt *rapid.T) { m.check(rt, t.Context(), f) }
	})
}

// model is the plainest graph that keeps the contract of package graph.
type model struct {
	nodes map[string]*graph.Node
	added map[string][]arc
}

// arc is an edge that leaves a node; key names the other end, entities with their prefix.
type arc struct {
	rel      schemas.Rel
	to       string
	entity   bool
	position int64
	order    int
}

func (m *model) apply(log []graph.Change) {
	if m.nodes == nil {
		m.nodes, m.added = map[string]*graph.Node{}, map[string][]arc{}
	}
	for _, c := range log {
		switch {
		case c.Put != nil:
			m.nodes[c.Put.ID] = c.Put
		case c.Link != nil:
			for _, l := range c.Link.Links {
				list := m.added[c.Link.From]
				if !slices.ContainsFunc(list, func(a arc) bool { return a.rel == l.Rel && a.to == l.To }) {
					m.added[c.Link.From] = append(list, arc{rel: l.Rel, to: l.To, position: c.Position, order: len(list)})
				}
			}
		}
		for _, id := range c.Remove {
			delete(m.nodes, id)
			delete(m.added, id)
		}
	}
}

// arcs returns what leaves a node that is there, in the order in which it was written.
func (m *model) arcs(id string) []arc {
	var list []arc
	if n := m.nodes[id]; n != nil {
		for _, l := range n.Links {
			list = append(list, arc{rel: l.Rel, to: l.To, position: n.Position, order: len(list)})
		}
		for _, name := range n.Entities {
			list = append(list, arc{rel: schemas.RelMentions, to: graph.EntityPrefix + name, entity: true, position: n.Position, order: len(list)})
		}
	}
	for _, a := range m.added[id] {
		a.order += 1000
		list = append(list, a)
	}
	slices.SortStableFunc(list, func(a, b arc) int { return cmp.Or(cmp.Compare(a.position, b.position), cmp.Compare(a.order, b.order)) })
	return list
}

func (m *model) allowed(id string, f schemas.Filter) bool {
	if strings.HasPrefix(id, graph.EntityPrefix) {
		return true
	}
	n := m.nodes[id]
	return n != nil && f.Match(&n.Facets)
}

// distances is a walk without bounds on the fan-out: how far everything is.
func (m *model) distances(w graph.Walk) map[string]int {
	at := map[string]int{}
	for _, id := range w.From {
		if m.allowed(id, w.Filter) {
			at[id] = 0
		}
	}
	for _, name := range w.Entities {
		at[graph.EntityPrefix+name] = 0
	}
	for hop := range w.Hops {
		for _, from := range ids() {
			for _, a := range m.arcs(from) {
				if len(w.Rels) > 0 && !slices.Contains(w.Rels, a.rel) || !m.allowed(from, w.Filter) || !m.allowed(a.to, w.Filter) {
					continue
				}
				for _, pair := range [][2]string{{from, a.to}, {a.to, from}} {
					if !m.allowed(pair[1], w.Filter.And(schemas.Where(w.Through...))) && len(w.Through) > 0 {
						continue
					}
					d, known := at[pair[0]]
					if _, seen := at[pair[1]]; known && d == hop && !seen {
						at[pair[1]] = hop + 1
					}
				}
			}
		}
	}
	maps.DeleteFunc(at, func(id string, d int) bool { return d == 0 || strings.HasPrefix(id, graph.EntityPrefix) })
	return at
}

// check compares walks and edges with the model, and asks whether Via is an edge.
func (m *model) check(t *rapid.T, ctx context.Context, f *fixture) {
	low := schemas.Where(schemas.Cond{Field: schemas.FieldLevel, Op: schemas.AtMost, Number: 0})
	for _, filter := range []schemas.Filter{schemas.MatchAll(), low} {
		for _, w := range []graph.Walk{
			{From: []string{"a"}, Hops: 1}, {From: []string{"a", "b"}, Hops: 3}, {Entities: []string{"x"}, Hops: 2},
			{From: []string{"c"}, Hops: 2, Rels: []schemas.Rel{schemas.RelMentions}},
			{From: []string{"a", "d"}, Entities: []string{"y"}, Hops: 2, Through: []schemas.Cond{{Field: schemas.FieldLevel, Op: schemas.AtLeast, Number: 1}}},
		} {
			w.Filter = filter
			visits, err := f.Walk(ctx, f.scope, w)
			got := map[string]int{}
			for i, v := range visits {
				got[v.ID] = v.Distance
				if i > 0 && cmp.Or(cmp.Compare(visits[i-1].Distance, v.Distance), cmp.Compare(visits[i-1].ID, v.ID)) >= 0 {
					t.Fatalf("visits are out of order at %d", i)
				}
				if !slices.ContainsFunc(m.arcs(v.Via.From), func(a arc) bool { return a.rel == v.Via.Rel && a.to == v.Via.To }) {
					t.Fatalf("%v is not an edge", v.Via)
				}
			}
			folded.Equal(t, "walk", got, m.distances(w), err)
		}
		edges, err := f.Between(ctx, f.scope, ids(), filter)
		folded.Equal(t, "between", edges, m.between(filter), err)
	}
	narrow := graph.Walk{From: []string{"a"}, Hops: 1, FanOut: 1, Filter: low}
	visits, err := f.Walk(ctx, f.scope, narrow)
	folded.Equal(t, "narrow walk", visits, m.firstNeighbour("a", low), err)
}

// firstNeighbour is a walk of one hop with a fan-out of one.
func (m *model) firstNeighbour(id string, f schemas.Filter) []graph.Visit {
	if !m.allowed(id, f) {
		return nil
	}
	type half struct {
		arc
		from, other string
	}
	var out, in []half
	for _, from := range ids() {
		for _, a := range m.arcs(from) {
			if from == id {
				out = append(out, half{a, from, a.to})
			}
			if a.to == id {
				in = append(in, half{a, from, from})
			}
		}
	}
	for _, list := range [][]half{out, in} {
		slices.SortStableFunc(list, func(a, b half) int {
			return -cmp.Or(cmp.Compare(a.position, b.position), cmp.Compare(a.order, b.order))
		})
		for _, h := range list {
			if !m.allowed(h.other, f) {
				continue
			}
			if h.other == id || h.entity {
				return nil
			}
			return []graph.Visit{{ID: h.other, Distance: 1, Via: schemas.Edge{From: h.from, Rel: h.rel, To: h.to}}}
		}
	}
	return nil
}

func (m *model) between(f schemas.Filter) []schemas.Edge {
	var edges []schemas.Edge
	for _, from := range ids() {
		for _, a := range m.arcs(from) {
			e := schemas.Edge{From: from, Rel: a.rel, To: a.to}
			if !a.entity && m.allowed(from, f) && m.allowed(a.to, f) && !slices.Contains(edges, e) {
				edges = append(edges, e)
			}
		}
	}
	slices.SortFunc(edges, func(a, b schemas.Edge) int {
		return cmp.Or(cmp.Compare(a.From, b.From), cmp.Compare(a.Rel, b.Rel), cmp.Compare(a.To, b.To))
	})
	return edges
}
