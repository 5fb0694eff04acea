package sqlite

import (
	"slices"
	"strings"

	"satchel/pipeline/store/graph"
	"satchel/schemas"
)

// step is a node a walk reached.
type step struct {
	ord    uint32
	parent int32  // index of the step it came from
	half   uint32 // half-edge it came by
	item   bool   // not an entity
	name   string
}

// walker is one walk.
type walker struct {
	*adjacency
	w       graph.Walk
	allowed []bool
	rels    []bool // by relation; nil: all
	seen    *marks
	steps   []step
	levels  []int // where the steps of each distance start, and the end
}

func (a *adjacency) walk(w graph.Walk) []graph.Visit {
	k := walker{adjacency: a, w: w, allowed: a.facets.Allowed(w.Filter), seen: a.marks()}
	defer a.scratch.Put(k.seen)
	if len(w.Rels) > 0 {
		k.rels = make([]bool, len(a.rels))
		for i, r := range a.rels {
			k.rels[i] = slices.Contains(w.Rels, r)
		}
	}
	k.seed()
	items := 0
	for hop := 0; hop < w.Hops && items < w.Limit; hop++ {
		start := k.levels[len(k.levels)-2]
		end := k.levels[len(k.levels)-1]
		for i := start; i < end; i++ {
			items += k.follow(int32(i))
		}
		k.levels = append(k.levels, len(k.steps))
		if len(k.steps) == end {
			break
		}
	}
	return k.visits()
}

// marks returns a set of nodes, empty.
func (a *adjacency) marks() *marks {
	m, ok := a.scratch.Get().(*marks)
	if !ok || len(m.stamp) < a.ids.Len() || m.epoch+1 == 0 {
		m = &marks{stamp: make([]uint32, a.ids.Len()+a.ids.Len()/8)}
	}
	m.epoch++
	return m
}

func (k *walker) seed() {
	add := func(key, name string) {
		ord, ok := k.ids.Lookup(key)
		if ok && k.seen.stamp[ord] != k.seen.epoch && k.enterable(ord, k.allowed) {
			k.seen.stamp[ord] = k.seen.epoch
			k.steps = append(k.steps, step{ord: ord, name: name})
		}
	}
	for _, id := range k.w.From {
		add(id, id)
	}
	for _, name := range k.w.Entities {
		add(entityMark+name, graph.EntityPrefix+name)
	}
	k.levels = append(k.levels, 0, len(k.steps))
}

// follow takes the edges of step i and returns how many items they reached.
func (k *walker) follow(i int32) (items int) {
	from, followed := k.steps[i].ord, 0
	for _, head := range [...]uint32{k.out[from], k.in[from]} {
		for h := head; h != 0 && followed < k.w.FanOut; h = k.next[h-1] {
			half := h - 1
			to := k.other[half]
			if k.rels != nil && !k.rels[k.reason[half/2]>>1] || !k.enterable(to, k.allowed) {
				continue
			}
			followed++
			if k.seen.stamp[to] == k.seen.epoch {
				continue
			}
			k.seen.stamp[to] = k.seen.epoch
			item := k.profile[to] != entity
			if item {
				items++
			}
			k.steps = append(k.steps, step{ord: to, parent: i, half: half, item: item})
		}
	}
	return items
}

// visits turns the steps into the answer, level by level.
func (k *walker) visits() []graph.Visit {
	k.names()
	var out []graph.Visit
	order := make([]int32, 0, len(k.steps))
	for d := 1; d+1 < len(k.levels) && len(out) < k.w.Limit; d++ {
		order = order[:0]
		for i := k.levels[d]; i < k.levels[d+1]; i++ {
			if k.steps[i].item {
				order = append(order, int32(i))
			}
		}
		slices.SortFunc(order, func(x, y int32) int { return strings.Compare(k.steps[x].name, k.steps[y].name) })
		for _, i := range order[:min(len(order), k.w.Limit-len(out))] {
			s := &k.steps[i]
			e := schemas.Edge{From: k.steps[s.parent].name, Rel: k.adjacency.rels[k.reason[s.half/2]>>1], To: s.name}
			if s.half&1 == 1 {
				e.From, e.To = e.To, e.From
			}
			out = append(out, graph.Visit{ID: s.name, Distance: d, Via: e})
		}
	}
	return out
}

// names writes the names of all steps into one allocation.
func (k *walker) names() {
	buf := make([]byte, 0, 37*len(k.steps))
	ends := make([]int, len(k.steps))
	for i := range k.steps {
		s := &k.steps[i]
		if s.name == "" {
			if !s.item {
				buf = append(buf, graph.EntityPrefix[:len(graph.EntityPrefix)-len(entityMark)]...)
			}
			start := len(buf)
			buf = k.ids.AppendID(buf, s.ord)
			if !s.item {
				buf[start] = ':' // in place of the mark
			}
		}
		ends[i] = len(buf)
	}
	text, start := string(buf), 0
	for i := range k.steps {
		if k.steps[i].name == "" {
			k.steps[i].name = text[start:ends[i]]
		}
		start = ends[i]
	}
}
