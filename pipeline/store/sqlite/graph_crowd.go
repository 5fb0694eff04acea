package sqlite

import (
	"satchel/pipeline/store/graph"
	"satchel/schemas"
)

// crowd is the items that say whether an entity is named too often for one walk: those that
// pass a filter, but for some. They are counted when a walk first meets an entity that may be.
type crowd struct {
	*adjacency
	filter  schemas.Filter
	exclude map[uint32]bool

	counts []bool // by profile
	items  int
	all    bool            // it is every item
	known  map[uint32]bool // by entity: what hub said; nil: the items were not counted
}

func (c *crowd) countCrowdItems() {
	c.counts = c.facets.Allowed(c.filter)
	c.known = map[uint32]bool{}
	all := 0
	for p, n := range c.live {
		all += n
		if c.counts[p] {
			c.items += n
		}
	}
	for ord := range c.exclude {
		if p := c.profile[ord]; p < entity && c.counts[p] {
			c.items--
		}
	}
	c.all = c.items == all
}

// isCrowdHub reports whether an entity is a graph.Hub among the items.
func (c *crowd) isCrowdHub(ord uint32) bool {
	most := int(c.degree[ord]) // of all items
	if !graph.Hub(most, 0) {
		return false
	}
	if c.known == nil {
		c.countCrowdItems()
	}
	if c.all || !graph.Hub(most, c.items) {
		return graph.Hub(most, c.items) // fewer of the items make no hub where all do not
	}
	is, known := c.known[ord]
	if !known {
		is = c.isCountedHub(ord)
		c.known[ord] = is
	}
	return is
}

// isCountedHub counts the items that name an entity, until it is sure whether it is a hub.
func (c *crowd) isCountedHub(ord uint32) bool {
	n := 0
	left := int(c.degree[ord])
	for h := c.in[ord]; h != 0 && graph.Hub(n+left, c.items); h = c.next[h-1] {
		left--
		if from := c.other[h-1]; c.profile[from] < entity && c.counts[c.profile[from]] && !c.exclude[from] {
			n++
			if graph.Hub(n, c.items) {
				return true
			}
		}
	}
	return false
}

// numbersOf returns the nodes of ids that there are, nil for none.
func (a *adjacency) numbersOf(ids []string) map[uint32]bool {
	var out map[uint32]bool
	for _, id := range ids {
		if ord, ok := a.ids.Lookup(id); ok {
			if out == nil {
				out = make(map[uint32]bool, len(ids))
			}
			out[ord] = true
		}
	}
	return out
}
