package sqlite

import (
	"math"
	"slices"
	"sync"

	"satchel/pipeline/store/graph"
	"satchel/pipeline/store/internal/columns"
	"satchel/schemas"
)

// Profiles of nodes that have no facets.
const (
	absent = math.MaxUint32     // linked to, not put
	entity = math.MaxUint32 - 1 // an entity
)

// entityMark starts the key of an entity: no item id holds it.
const entityMark = "\x00"

// own marks an edge that goes when its node is replaced.
const own = 1

// adjacency is a tenant's graph in arrays. An edge is two half-edges, 2i in the list of
// the node it leaves and 2i+1 in the list of the node it reaches; lists are doubly
// linked by half-edge + 1, newest first.
type adjacency struct {
	upTo    int64 // the checkpoint it is at
	ids     *columns.IDs
	facets  *columns.Dict
	profile []uint32 // by node
	out, in []uint32 // by node: first half-edge + 1
	degree  []uint32 // by node: edges that reach it
	live    []int    // by profile: nodes that were put

	other, next, prev []uint32 // by half-edge
	reason            []uint32 // by edge: relation·2 + own
	free              []uint32 // edges to use again
	rels              []schemas.Rel

	pool sync.Pool // *scratch
}

func newAdjacency() *adjacency { return &adjacency{ids: columns.NewIDs(0), facets: columns.NewDict()} }

// Bytes returns about what memory the adjacency holds, 0 of a tenant of which there is nothing.
func (a *adjacency) Bytes() int {
	if a.upTo == 0 {
		return 0
	}
	return a.ids.Bytes() + a.facets.Bytes() + 16*cap(a.profile) + 8*cap(a.live) + 12*cap(a.other) + 4*cap(a.reason) + 4*cap(a.free) + 1024
}

func (a *adjacency) internNode(key string, profile uint32) uint32 {
	ord, isNew := a.ids.Intern(key)
	if isNew {
		a.profile = append(a.profile, profile)
		a.out = append(a.out, 0)
		a.in = append(a.in, 0)
		a.degree = append(a.degree, 0)
	}
	return ord
}

func (a *adjacency) internRelation(r schemas.Rel) uint32 {
	i := slices.Index(a.rels, r)
	if i < 0 {
		i = len(a.rels)
		a.rels = append(a.rels, r)
	}
	return uint32(i) << 1
}

// takeNodeRow takes a row's facets, and appends its edges that were written after a position.
func (a *adjacency) takeNodeRow(edges []written, id string, n *graph.Row, after int64) []written {
	ord := a.internNode(id, absent)
	if ord == columns.NoID {
		return edges
	}
	if n.Position > 0 {
		a.dropNode(ord)
		p := a.facets.Intern(n.Facets)
		if missing := int(p) + 1 - len(a.live); missing > 0 {
			a.live = append(a.live, make([]int, missing)...)
		}
		a.live[p]++
		a.profile[ord] = p
	}
	order := int32(0)
	add := func(position int64, to, reason uint32) {
		if position > after && to != columns.NoID {
			edges = append(edges, written{position, order, ord, to, reason})
		}
		order++
	}
	for _, l := range n.Links {
		add(n.Position, a.internNode(l.To, absent), a.internRelation(l.Rel)|own)
	}
	for _, name := range n.Entities {
		add(n.Position, a.internNode(entityMark+name, entity), a.internRelation(schemas.RelMentions)|own)
	}
	for _, l := range n.Added {
		add(l.Position, a.internNode(l.To, absent), a.internRelation(l.Rel))
	}
	return edges
}

// dropNode makes a node one that was not put. An entity stays one.
func (a *adjacency) dropNode(ord uint32) {
	if p := a.profile[ord]; p < entity {
		a.live[p]--
		a.profile[ord] = absent
	}
}

// applyGraphEntries brings a committed batch in.
func (a *adjacency) applyGraphEntries(entries []graphEntry, upTo int64) {
	if a.upTo >= upTo {
		return
	}
	var edges []written
	for _, e := range entries {
		ord, known := a.ids.Lookup(e.id)
		if known && (e.Removed || e.Key == 0) { // an id that was removed may have come back
			a.dropNode(ord)
			a.disconnectNode(ord, false)
		}
		if e.Removed {
			continue
		}
		if known && e.Position > a.upTo {
			a.disconnectNode(ord, true)
		}
		edges = a.takeNodeRow(edges, e.id, e.Row, a.upTo)
	}
	a.joinEdges(edges)
	a.upTo = upTo
}

// connectNodes puts an edge at the head of both lists.
func (a *adjacency) connectNodes(from, to, reason uint32) {
	var i uint32
	if n := len(a.free); n > 0 {
		i = a.free[n-1]
		a.free = a.free[:n-1]
		a.reason[i] = reason
	} else {
		i = uint32(len(a.reason))
		a.reason = append(a.reason, reason)
		a.other = append(a.other, 0, 0)
		a.next = append(a.next, 0, 0)
		a.prev = append(a.prev, 0, 0)
	}
	a.pushEdge(&a.out[from], 2*i, to)
	a.pushEdge(&a.in[to], 2*i+1, from)
	a.degree[to]++
}

func (a *adjacency) pushEdge(head *uint32, half, other uint32) {
	a.other[half] = other
	a.next[half] = *head
	a.prev[half] = 0
	if *head != 0 {
		a.prev[*head-1] = half + 1
	}
	*head = half + 1
}

// disconnectNode removes the edges that leave a node, or its own ones only.
func (a *adjacency) disconnectNode(from uint32, onlyOwn bool) {
	for h := a.out[from]; h != 0; {
		half := h - 1
		h = a.next[half]
		if onlyOwn && a.reason[half/2]&own == 0 {
			continue
		}
		to := a.other[half]
		a.unlinkEdge(&a.out[from], half)
		a.unlinkEdge(&a.in[to], half^1)
		a.degree[to]--
		a.free = append(a.free, half/2)
	}
}

func (a *adjacency) unlinkEdge(head *uint32, half uint32) {
	next := a.next[half]
	prev := a.prev[half]
	if prev == 0 {
		*head = next
	} else {
		a.next[prev-1] = next
	}
	if next != 0 {
		a.prev[next-1] = prev
	}
}

// findEdgesBetween returns the links among ids that pass f, each once.
func (a *adjacency) findEdgesBetween(ids []string, f schemas.Filter) []schemas.Edge {
	allowed := a.facets.Allowed(f)
	among := make(map[uint32]string, len(ids))
	for _, id := range ids {
		if ord, ok := a.ids.Lookup(id); ok && a.profile[ord] < entity && allowed[a.profile[ord]] {
			among[ord] = id
		}
	}
	var edges []schemas.Edge
	for from, id := range among {
		first := len(edges)
		for h := a.out[from]; h != 0; h = a.next[h-1] {
			to, ok := among[a.other[h-1]]
			e := schemas.Edge{From: id, Rel: a.rels[a.reason[(h-1)/2]>>1], To: to}
			if ok && !slices.Contains(edges[first:], e) {
				edges = append(edges, e)
			}
		}
	}
	return edges
}
