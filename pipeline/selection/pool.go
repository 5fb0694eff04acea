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
// item everywhere.
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
}

func newPool(n int) *pool {
	return &pool{index: make(map[string]int32, n), ids: make([]string, 0, n), spans: map[int32]schemas.Span{}}
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

// lengthen returns s with at least n elements; new ones are zero, because nothing is
// ever taken off a column.
func lengthen[T any](s []T, n int) []T {
	if n <= cap(s) {
		return s[:max(n, len(s))]
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
	c := &channel{name: name, weight: weight, found: f}
	p.channels = append(p.channels, c)
	for _, h := range f.Hits {
		p.add(h.ID)
	}
	p.grow()
	for rank, h := range f.Hits {
		i := p.index[h.ID]
		c.raw[i], c.known[i], c.rank[i] = h.Score, true, int32(rank+1)
		if h.Span.End > h.Span.Start {
			p.spans[i] = h.Span
		}
	}
}

// first fuses what the retrievers returned, weighed for the query and without
// neighbours, and returns the indexes best first. A score that is not known counts as the channel's worst hit.
func (p *pool) first(q *weighing) []int32 {
	p.grow()
	for _, c := range p.channels {
		worst := c.found.Mean
		if n := len(c.found.Hits); n > 0 && !c.found.Complete {
			worst = c.found.Hits[n-1].Score
		}
		sd := deviation(c.found.SD)
		for i := range p.ids {
			v := worst
			if c.known[i] {
				v = c.raw[i]
			} else if c.found.Complete {
				v = 0
			}
			p.fused[i] += q.of(c.name) * c.weight * (v - c.found.Mean) / sd
		}
	}
	return p.order(p.all())
}

func (p *pool) all() []int32 {
	out := make([]int32, len(p.ids))
	for i := range out {
		out[i] = int32(i)
	}
	return out
}

// order sorts indexes by fused score, best first, ties by id.
func (p *pool) order(of []int32) []int32 {
	slices.SortFunc(of, func(a, b int32) int {
		if c := cmp.Compare(p.fused[b], p.fused[a]); c != 0 {
			return c
		}
		return cmp.Compare(p.ids[a], p.ids[b])
	})
	return of
}

// place is where an item stands around one of the best, in turns.
type place struct{ at, offset int32 }

// around makes places in the pool for the neighbours of the best items and returns a
// row for each of those, the item itself at offset 0.
func (p *pool) around(near map[string][]items.Neighbour, best []int32) [][]place {
	rows := make([][]place, 0, len(best))
	for _, i := range best {
		list := near[p.ids[i]]
		if len(list) == 0 {
			continue
		}
		row := make([]place, 0, len(list)+1)
		row = append(row, place{i, 0})
		for _, n := range list {
			j := p.add(n.ID)
			p.terms[j] = int32(n.Terms)
			row = append(row, place{j, int32(n.Offset)})
		}
		slices.SortFunc(row, func(a, b place) int { return cmp.Compare(a.offset, b.offset) })
		rows = append(rows, row)
	}
	p.grow()
	return rows
}

// link derives from the rows the ±2 neighbourhoods of everything within ±2 of the best
// items. A neighbour that is hidden from the asker is passed over as if it were not
// there: it must not show in the score of another.
func (p *pool) link(rows [][]place) {
	lists := make([]neighbour, 0, 4*len(p.ids))
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
