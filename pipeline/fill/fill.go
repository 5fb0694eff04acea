// Package fill chooses what a text shows within a budget.
//
// It owns the loop by which packs, passages, assemblies, summaries and extracts choose: the best value first, with values
// that change as other things are taken. It also owns the division of a budget by weights.
//
// It promises that equal input gives the same choice, and that shares never add up to more than the budget. It knows no
// item: callers name things by their indexes. Any package may import it.
package fill

// Shelf is what a text is chosen from, by index.
type Shelf struct {
	// Value is what i is worth now. It may change as others are taken.
	Value func(i int) float64
	// Before reports whether i comes before j of the same value; nil: the lower index does.
	Before func(i, j int) bool
	// Take shows i, which was queued at a value, if the budget pays for it. It returns the indexes whose values have risen
	// by that, and whether nothing more can be taken. It MUST ignore what it has taken before.
	Take func(i int, value float64) (risen []int, full bool)
}

// Fill offers each of the open indexes to Take, the best value first. An index whose value has fallen waits for its turn
// at the new value; one whose value has risen is offered again at the new value.
func (s *Shelf) Fill(open []int) {
	q := &queue{shelf: s, list: make([]entry, len(open))}
	for n, i := range open {
		q.list[n] = entry{i, s.Value(i)}
	}
	for at := len(open)/2 - 1; at >= 0; at-- {
		q.sift(at, q.list[at])
	}
	for len(q.list) > 0 {
		top := q.pop()
		if now := s.Value(top.at); now < top.value {
			q.push(entry{top.at, now})
			continue
		}
		risen, full := s.Take(top.at, top.value)
		if full {
			return
		}
		for _, i := range risen {
			q.push(entry{i, s.Value(i)})
		}
	}
}

// All is every index below n.
func All(n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = i
	}
	return out
}

// entry is an index and what it was worth when it was queued.
type entry struct {
	at    int
	value float64
}

// queue is a heap, best first.
type queue struct {
	shelf *Shelf
	list  []entry
}

func (q *queue) isLess(x, y entry) bool {
	switch {
	case x.value != y.value:
		return x.value > y.value
	case q.shelf.Before == nil:
		return x.at < y.at
	}
	return q.shelf.Before(x.at, y.at)
}

func (q *queue) push(x entry) {
	at := len(q.list)
	q.list = append(q.list, x)
	for at > 0 {
		above := (at - 1) / 2
		if !q.isLess(x, q.list[above]) {
			break
		}
		q.list[at] = q.list[above]
		at = above
	}
	q.list[at] = x
}

func (q *queue) pop() entry {
	first := q.list[0]
	last := len(q.list) - 1
	moved := q.list[last]
	q.list = q.list[:last]
	if last > 0 {
		q.sift(0, moved)
	}
	return first
}

// sift puts x where it belongs at or below a place.
func (q *queue) sift(at int, x entry) {
	for below := 2*at + 1; below < len(q.list); below = 2*at + 1 {
		if below+1 < len(q.list) && q.isLess(q.list[below+1], q.list[below]) {
			below++
		}
		if !q.isLess(q.list[below], x) {
			break
		}
		q.list[at] = q.list[below]
		at = below
	}
	q.list[at] = x
}
