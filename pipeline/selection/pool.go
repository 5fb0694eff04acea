package selection

import (
	"cmp"
	"math"
	"slices"

	"satchel/pipeline/store/items"
	"satchel/schemas"
)

// channel is one retriever's scores over the pool. raw[i] belongs to pool.ids[i];
// rank 0 means that the score was looked up, not found.
type channel struct {
	name   string
	weight float64
	found  Found
	raw    []float64
	known  []bool
	rank   []int32
	z      []float64
}

// neighbour is a near item in the same conversation.
type neighbour struct {
	at     int32
	offset int8
}

// pool is the items under consideration, held as columns: index i means the same
// item everywhere. It is used again from query to query.
type pool struct {
	ids      []string
	index    map[string]int32
	channels []*channel
	distance []int16 // hops from the seeds, −1 when not reached
	recent   []bool
	spans    map[int32]schemas.Span
	near     [][]neighbour
	terms    []int32
	record   []*schemas.Record
	fused    []float64
	cues     []float64

	indexes  []int32     // what all returned last
	places   []place     // of the rows that around returned last
	lists    []neighbour // what near leads to
	smoothed []float64   // of one channel
	roots    []float64   // by index: see kernel
}

func newPool(n int) *pool {
	return &pool{index: make(map[string]int32, n), ids: make([]string, 0, n), spans: map[int32]schemas.Span{}}
}

// reset empties p for another query. Nothing of an item stays in it.
func (p *pool) reset() {
	for _, c := range p.channels {
		*c = channel{raw: c.raw[:0], known: c.known[:0], rank: c.rank[:0], z: c.z[:0]}
	}
	clear(p.ids)
	clear(p.index)
	clear(p.spans)
	clear(p.record)
	p.ids, p.channels, p.distance, p.recent = p.ids[:0], p.channels[:0], p.distance[:0], p.recent[:0]
	p.near, p.terms, p.record, p.fused, p.cues = p.near[:0], p.terms[:0], p.record[:0], p.fused[:0], p.cues[:0]
}

// open adds an empty channel.
func (p *pool) open(name string, weight float64, f Found) *channel {
	n := len(p.channels)
	if n < cap(p.channels) && p.channels[:n+1][n] != nil {
		p.channels = p.channels[:n+1]
	} else {
		p.channels = append(p.channels, &channel{})
	}
	c := p.channels[n]
	c.name, c.weight, c.found = name, weight, f
	return c
}

// add returns the index of id, making a place for it.
func (p *pool) add(id string) int32 {
	if i, ok := p.index[id]; ok {
		return i
	}
	i := int32(len(p.ids))
	p.index[id] = i
	p.ids = append(p.ids, id)
	p.distance = append(p.distance, -1)
	p.recent = append(p.recent, false)
	p.terms = append(p.terms, 0)
	return i
}

// grow makes every column as long as ids.
func (p *pool) grow() {
	n := len(p.ids)
	for _, c := range p.channels {
		c.raw = lengthen(c.raw, n)
		c.known = lengthen(c.known, n)
		c.rank = lengthen(c.rank, n)
		c.z = lengthen(c.z, n)
	}
	p.near = lengthen(p.near, n)
	p.record = lengthen(p.record, n)
	p.fused = lengthen(p.fused, n)
	p.cues = lengthen(p.cues, n)
}

// lengthen returns s with at least n elements; new ones are zero.
func lengthen[T any](s []T, n int) []T {
	if n <= len(s) {
		return s
	}
	if n <= cap(s) {
		clear(s[len(s):n])
		return s[:n]
	}
	out := make([]T, n, 2*n)
	copy(out, s)
	return out
}

// take adds a retriever's hits. A channel with a weight takes part in the fusion.
func (p *pool) take(name string, weight float64, f Found) {
	switch name {
	case NameGraph:
		for _, h := range f.Hits {
			p.distance[p.add(h.ID)] = int16(h.Distance)
		}
		return
	case NameRecency:
		for _, h := range f.Hits {
			p.recent[p.add(h.ID)] = true
		}
		return
	}
	c := p.open(name, weight, f)
	at := make([]int32, len(f.Hits))
	for rank := range f.Hits {
		at[rank] = p.add(f.Hits[rank].ID)
	}
	p.grow()
	for rank := range f.Hits {
		h, i := &f.Hits[rank], at[rank]
		c.raw[i], c.known[i], c.rank[i] = h.Score, true, int32(rank+1)
		if h.Span.End > h.Span.Start {
			p.spans[i] = h.Span
		}
	}
}

// first fuses what the retrievers returned, weighed for the query and without
// neighbours, and returns the indexes of the n best, best first, until the next call of
// all. A score that is not known counts as the channel's worst hit.
func (p *pool) first(q *weighing, n int) []int32 {
	p.grow()
	clear(p.fused)
	for _, c := range p.channels {
		worst := c.found.Mean
		if n := len(c.found.Hits); n > 0 && !c.found.Complete {
			worst = c.found.Hits[n-1].Score
		}
		sd, weight := deviation(c.found.SD), q.of(c.name)*c.weight
		for i := range p.ids {
			v := worst
			if c.known[i] {
				v = c.raw[i]
			} else if c.found.Complete {
				v = 0
			}
			p.fused[i] += weight * (v - c.found.Mean) / sd
		}
	}
	return p.best(p.all(), n)
}

// all returns every index, until it is called again.
func (p *pool) all() []int32 {
	p.indexes = p.indexes[:0]
	for i := range p.ids {
		p.indexes = append(p.indexes, int32(i))
	}
	return p.indexes
}

// compare orders indexes by fused score, best first, ties by id.
func (p *pool) compare(a, b int32) int {
	if c := cmp.Compare(p.fused[b], p.fused[a]); c != 0 {
		return c
	}
	return cmp.Compare(p.ids[a], p.ids[b])
}

// order sorts indexes by fused score, best first, ties by id.
func (p *pool) order(of []int32) []int32 {
	slices.SortFunc(of, p.compare)
	return of
}

// best moves the n first of the order to the front of the indexes and returns them,
// sorted; the others come after them in no order.
func (p *pool) best(of []int32, n int) []int32 { return sortFirst(of, n, p.compare) }

// place is where an item stands around one of the best, in turns.
type place struct{ at, offset int32 }

// around makes places in the pool for the neighbours of the best items and returns a
// row for each of those, the item itself at offset 0.
func (p *pool) around(near map[string][]items.Neighbour, best []int32) [][]place {
	rows := make([][]place, 0, len(best))
	room := len(best)
	for _, list := range near {
		room += len(list)
	}
	places := slices.Grow(p.places[:0], room) // the rows are parts of it
	for _, i := range best {
		list := near[p.ids[i]]
		if len(list) == 0 {
			continue
		}
		from := len(places)
		places = append(places, place{i, 0})
		for _, n := range list {
			j := p.add(n.ID)
			p.terms[j] = int32(n.Terms)
			places = append(places, place{j, int32(n.Offset)})
		}
		row := places[from:len(places):len(places)]
		slices.SortFunc(row, func(a, b place) int { return cmp.Compare(a.offset, b.offset) })
		rows = append(rows, row)
	}
	p.places = places
	p.grow()
	return rows
}

// link derives from the rows the ±2 neighbourhoods of everything within ±2 of the best
// items. A neighbour that is hidden from the asker is passed over as if it were not
// there: it must not show in the score of another.
func (p *pool) link(rows [][]place) {
	lists := slices.Grow(p.lists[:0], 4*len(p.ids)) // near leads into it
	for i := range rows {
		rows[i] = p.visible(rows[i])
	}
	// A row knows most about its middle, so the middles of all rows come first.
	for away := range int32(3) {
		for _, row := range rows {
			for _, a := range row {
				if max(a.offset, -a.offset) != away || len(p.near[a.at]) > 0 {
					continue
				}
				from := len(lists)
				for _, b := range row {
					if d := b.offset - a.offset; d != 0 && d >= -2 && d <= 2 {
						lists = append(lists, neighbour{b.at, int8(d)})
					}
				}
				p.near[a.at] = lists[from:len(lists):len(lists)]
			}
		}
	}
	p.lists = lists
}

// visible returns the places of a row that are not hidden, counted anew from the
// item at offset 0.
func (p *pool) visible(row []place) []place {
	kept := row[:0]
	middle := int32(0)
	for _, at := range row {
		if at.offset != 0 && p.hidden(at.at) {
			continue
		}
		if at.offset == 0 {
			middle = int32(len(kept))
		}
		kept = append(kept, at)
	}
	for i := range kept {
		kept[i].offset = int32(i) - middle
	}
	return kept
}

// hidden reports whether an item that was looked up is kept from the asker by the
// filter: the vector index then gives it a score of exactly 0.
func (p *pool) hidden(i int32) bool {
	for _, c := range p.channels {
		if c.name == NameVector {
			return !c.known[i] && c.raw[i] == 0
		}
	}
	return false
}

func deviation(sd float64) float64 {
	if sd <= 0 || math.IsNaN(sd) || math.IsInf(sd, 0) {
		return 1
	}
	return sd
}
