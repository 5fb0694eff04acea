package sqlite

import (
	"slices"

	"satchel/pipeline/store/graph"
	"satchel/schemas"
)

// step is a node a walk reached.
type step struct {
	ord    uint32
	parent int32  // index of the step it came from
	half   uint32 // half-edge it came by
	item   bool   // not an entity
}

// scratch is what a walk needs and the next one uses again: the nodes it has seen are
// those stamped with its epoch.
type scratch struct {
	stamp  []uint32
	epoch  uint32
	steps  []step
	levels []int // where the steps of each distance start, and the end
	level  nearest
}

// walker is one walk.
type walker struct {
	*adjacency
	*scratch
	w       graph.Walk
	allowed []bool // where it may start
	through []bool // what it may enter
	only    []bool // by relation, those to follow; nil: all
	exclude map[uint32]bool
	crowd   crowd
}

func (a *adjacency) walkGraph(w graph.Walk) []graph.Visit {
	if !a.hasAnyNode(w.From, "") && !a.hasAnyNode(w.Entities, entityMark) {
		return nil
	}
	k := walker{adjacency: a, scratch: a.newScratch(), w: w, allowed: a.facets.Allowed(w.Filter)}
	defer a.pool.Put(k.scratch)
	k.through = k.allowed
	if len(w.Through) > 0 {
		k.through = a.facets.Allowed(w.Filter.And(schemas.Where(w.Through...)))
	}
	if len(w.Rels) > 0 {
		k.only = make([]bool, len(a.rels))
		for i, r := range a.rels {
			k.only[i] = slices.Contains(w.Rels, r)
		}
	}
	k.exclude = a.numbersOf(w.Exclude)
	k.crowd = crowd{adjacency: a, filter: w.Population, exclude: k.exclude}
	k.seedSteps()
	items := 0
	for hop := 0; hop < w.Hops && items < w.Limit; hop++ {
		start := k.levels[hop]
		end := k.levels[hop+1]
		for i := start; i < end; i++ {
			items += k.followEdges(int32(i))
		}
		k.levels = append(k.levels, len(k.steps))
		if len(k.steps) == end {
			break
		}
	}
	return k.makeVisits(min(items, w.Limit))
}

// canEnter reports whether a walk may enter a node.
func (k *walker) canEnter(ord uint32, allowed []bool) bool {
	switch p := k.profile[ord]; p {
	case absent:
		return false
	case entity:
		return !k.crowd.isCrowdHub(ord)
	default:
		return allowed[p] && !k.exclude[ord]
	}
}

// hasAnyNode reports whether there is a node for one of names.
func (a *adjacency) hasAnyNode(names []string, mark string) bool {
	return slices.ContainsFunc(names, func(name string) bool {
		_, ok := a.ids.Lookup(mark + name)
		return ok
	})
}

// newScratch returns an empty scratch for the nodes there are.
func (a *adjacency) newScratch() *scratch {
	s, ok := a.pool.Get().(*scratch)
	if !ok || len(s.stamp) < a.ids.Len() || s.epoch+1 == 0 {
		s = &scratch{stamp: make([]uint32, a.ids.Len()+a.ids.Len()/8)}
	}
	s.epoch++
	s.steps = s.steps[:0]
	s.levels = s.levels[:0]
	return s
}

func (k *walker) seedSteps() {
	add := func(key string) {
		ord, ok := k.ids.Lookup(key)
		if ok && k.stamp[ord] != k.epoch && k.canEnter(ord, k.allowed) {
			k.stamp[ord] = k.epoch
			k.steps = append(k.steps, step{ord: ord, item: k.profile[ord] != entity})
		}
	}
	for _, id := range k.w.From {
		add(id)
	}
	for _, name := range k.w.Entities {
		add(entityMark + name)
	}
	k.levels = append(k.levels, 0, len(k.steps))
}

// followEdges takes the edges of step i and returns how many items they reached.
func (k *walker) followEdges(i int32) (items int) {
	from := k.steps[i].ord
	followed := 0
	for _, head := range [...]uint32{k.out[from], k.in[from]} {
		for h := head; h != 0 && followed < k.w.FanOut; h = k.next[h-1] {
			half := h - 1
			to := k.other[half]
			if k.only != nil && !k.only[k.reason[half/2]>>1] || !k.canEnter(to, k.through) {
				continue
			}
			followed++
			if k.stamp[to] == k.epoch {
				continue
			}
			k.stamp[to] = k.epoch
			item := k.profile[to] != entity
			if item {
				items++
			}
			k.steps = append(k.steps, step{ord: to, parent: i, half: half, item: item})
		}
	}
	return items
}

// makeVisits turns the steps into n visits, level by level.
func (k *walker) makeVisits(n int) []graph.Visit {
	if n == 0 {
		return nil
	}
	chosen := make([]int32, 0, n)
	ends := make([]int, 0, k.w.Hops) // of each distance, in chosen
	for d := 1; d+1 < len(k.levels) && len(chosen) < n; d++ {
		k.level.startSearch(k.ids, n-len(chosen))
		for i := k.levels[d]; i < k.levels[d+1]; i++ {
			if k.steps[i].item {
				k.level.offerNode(k.steps[i].ord, int32(i))
			}
		}
		for _, f := range k.level.sortFound() {
			chosen = append(chosen, f.step)
		}
		ends = append(ends, len(chosen))
	}
	names := k.listStepNames(chosen)
	out := make([]graph.Visit, len(chosen))
	for j, i := range chosen {
		s := k.steps[i]
		from := names[2*j+1]
		to := names[2*j]
		if s.half&1 == 1 {
			from, to = to, from
		}
		out[j] = graph.Visit{ID: names[2*j], Via: schemas.Edge{From: from, Rel: k.rels[k.reason[s.half/2]>>1], To: to}}
	}
	j := 0
	for d, end := range ends {
		for ; j < end; j++ {
			out[j].Distance = d + 1
		}
	}
	return out
}

// listStepNames returns the names of steps and their parents, in turn, in one allocation.
func (k *walker) listStepNames(chosen []int32) []string {
	buf := make([]byte, 0, 76*len(chosen))
	ends := make([]int, 0, 2*len(chosen))
	for _, i := range chosen {
		buf = k.ids.AppendID(buf, k.steps[i].ord)
		ends = append(ends, len(buf))
		parent := k.steps[k.steps[i].parent]
		if parent.item {
			buf = k.ids.AppendID(buf, parent.ord)
		} else {
			buf = append(buf, graph.EntityPrefix...)
			buf = append(buf, k.ids.ID(parent.ord)[len(entityMark):]...)
		}
		ends = append(ends, len(buf))
	}
	text := string(buf)
	start := 0
	names := make([]string, len(ends))
	for j, end := range ends {
		names[j] = text[start:end]
		start = end
	}
	return names
}
