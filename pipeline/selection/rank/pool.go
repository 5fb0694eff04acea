package rank

import (
	"cmp"
	"math"
	"slices"

	"satchel/pipeline/candidate"
	"satchel/pipeline/selection/retrieve"
	"satchel/pipeline/store/items"
	"satchel/schemas"
)

// channel is one retriever's scores over the pool. raw[i] belongs to pool.ids[i];
// rank 0 means that the score was looked up, not found.
type channel struct {
	name   string
	weight float64
	found  retrieve.Result
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

// Pool is the items under consideration, held as columns: index i means the same
// item everywhere. It is used again from query to query.
type Pool struct {
	ids      []string
	index    map[string]int32
	channels []*channel
	distance []int16 // hops from the seeds, −1 when not reached
	recent   []bool
	spans    map[int32]schemas.Span
	near     [][]neighbour
	steps    []step            // over links, nearest first
	rels     []schemas.Rel     // that the walk followed, nil for all
	outward  bool              // it followed them as they are written
	from     map[int32]bool    // places that the client named as starts of a walk
	lent     map[int32]float64 // relevance of what links reach
	lender   map[int32]int32   // the item at the other end of such a link
	newest   []int32           // places of AddTimely
	terms    []int32
	items    []*candidate.Visible // nil: the principal may not see it
	fused    []float64
	sums     []float64 // fused before it was turned into heights; see weighChance
	top      float64   // the height of an item that bears on the question as often as not
	cues     []float64
	covered  []float64 // share of the question that the item's words cover
	equal    float64   // the most that one item covers by equal stems
	lacking  []bool    // the encoder has no vector of it
	has      []uint32  // bit w where an item has content word w, stem for stem
	evidence []candidate.Evidence
	relevant []float64 // probability that the item bears on the question

	indexes  []int32     // what all returned last
	places   []place     // of the rows that around returned last
	lists    []neighbour // what near leads to
	smoothed []float64   // of one channel
	roots    []float64   // by index: see kernel
	rows     [][]place   // turns around the best finds
	beside   [2]int32    // the places, from and to, of turns that are there for those rows alone
}

// Pool returns an empty pool. Release gives it back.
func (r *Ranker) Pool() *Pool { return r.pools.Get().(*Pool) }

// Release empties a pool for another question. Nothing of it may be used after that.
func (r *Ranker) Release(p *Pool) {
	p.resetPool()
	r.pools.Put(p)
}

// IDs returns the ids of the items by place. It MUST NOT be changed.
func (p *Pool) IDs() []string { return p.ids }

// Place returns the place of an item, and whether it has one.
func (p *Pool) Place(id string) (int32, bool) {
	i, ok := p.index[id]
	return i, ok
}

// Distance returns how many links an item is away from where the walk over links began, −1
// for one that the walk did not reach.
func (p *Pool) Distance(i int32) int { return int(p.distance[i]) }

// SetSeed notes that the walk over links begins at an item.
func (p *Pool) SetSeed(i int32) { p.distance[i] = 0 }

// SetTerms notes the words of a turn, by which its neighbours are damped.
func (p *Pool) SetTerms(i int32, n int) { p.terms[i] = int32(n) }

// HasChannels reports whether a retriever that ranks has answered.
func (p *Pool) HasChannels() bool { return len(p.channels) > 0 }

func newPool(n int) *Pool {
	return &Pool{index: make(map[string]int32, n), ids: make([]string, 0, n), spans: map[int32]schemas.Span{}, from: map[int32]bool{}, lent: map[int32]float64{}, lender: map[int32]int32{}}
}

// resetPool empties p for another query. Nothing of an item stays in it.
func (p *Pool) resetPool() {
	for _, c := range p.channels {
		*c = channel{raw: c.raw[:0], known: c.known[:0], rank: c.rank[:0], z: c.z[:0]}
	}
	clear(p.ids)
	clear(p.index)
	clear(p.spans)
	clear(p.items)
	p.ids = p.ids[:0]
	p.channels = p.channels[:0]
	p.distance = p.distance[:0]
	p.recent = p.recent[:0]
	p.rows = nil
	p.newest = p.newest[:0]
	p.beside = [2]int32{}
	clear(p.from)
	clear(p.lent)
	clear(p.lender)
	clear(p.steps)
	p.steps = p.steps[:0]
	p.rels = nil
	p.outward = false
	p.near = p.near[:0]
	p.terms = p.terms[:0]
	p.items = p.items[:0]
	p.fused = p.fused[:0]
	p.sums = p.sums[:0]
	p.cues = p.cues[:0]
	p.covered = p.covered[:0]
	p.evidence = p.evidence[:0]
	p.relevant = p.relevant[:0]
	p.equal = 0
	p.has = p.has[:0]
	p.lacking = p.lacking[:0]
}

// openChannel adds an empty channel.
func (p *Pool) openChannel(name string, weight float64, f retrieve.Result) *channel {
	n := len(p.channels)
	if n < cap(p.channels) && p.channels[:n+1][n] != nil {
		p.channels = p.channels[:n+1]
	} else {
		p.channels = append(p.channels, &channel{})
	}
	c := p.channels[n]
	c.name = name
	c.weight = weight
	c.found = f
	return c
}

// findChannel returns that of the retriever, nil if it did not answer.
func (p *Pool) findChannel(name string) *channel {
	for _, c := range p.channels {
		if c.name == name {
			return c
		}
	}
	return nil
}

// Add returns the index of id, making a place for it.
func (p *Pool) Add(id string) int32 {
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

// Grow makes every column as long as ids.
func (p *Pool) Grow() {
	n := len(p.ids)
	for _, c := range p.channels {
		c.raw = lengthenSlice(c.raw, n)
		c.known = lengthenSlice(c.known, n)
		c.rank = lengthenSlice(c.rank, n)
		c.z = lengthenSlice(c.z, n)
	}
	p.near = lengthenSlice(p.near, n)
	p.fused = lengthenSlice(p.fused, n)
	p.sums = lengthenSlice(p.sums, n)
	p.cues = lengthenSlice(p.cues, n)
	p.covered = lengthenSlice(p.covered, n)
	p.has = lengthenSlice(p.has, n)
	p.lacking = lengthenSlice(p.lacking, n)
	p.evidence = lengthenSlice(p.evidence, n)
	p.relevant = lengthenSlice(p.relevant, n)
}

// lengthenSlice returns s with at least n elements; new ones are zero.
func lengthenSlice[T any](s []T, n int) []T {
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

// Take adds a retriever's hits. A channel with a weight takes part in the fusion.
func (p *Pool) Take(name string, weight float64, f retrieve.Result) {
	switch name {
	case retrieve.NameGraph:
		for _, h := range f.Hits {
			p.distance[p.Add(h.ID)] = int16(h.Distance)
		}
		return
	case retrieve.NameRecency:
		for _, h := range f.Hits {
			p.recent[p.Add(h.ID)] = true
		}
		return
	}
	c := p.openChannel(name, weight, f)
	at := make([]int32, len(f.Hits))
	for rank := range f.Hits {
		at[rank] = p.Add(f.Hits[rank].ID)
	}
	p.Grow()
	for rank := range f.Hits {
		h := &f.Hits[rank]
		i := at[rank]
		c.raw[i] = h.Score
		c.known[i] = true
		c.rank[i] = int32(rank + 1)
		if h.Span.End > h.Span.Start {
			p.spans[i] = h.Span
		}
	}
}

// First fuses what the retrievers returned, weighed for the question and without
// neighbours, and returns the indexes of the n best, best first, until the next call of a
// method. A score that is not known counts as the channel's worst hit.
func (p *Pool) First(question *Question, n int) []int32 {
	q := &question.weigh
	p.Grow()
	clear(p.fused)
	for _, c := range p.channels {
		worst := c.found.Mean
		if n := len(c.found.Hits); n > 0 && !c.found.Complete {
			worst = c.found.Hits[n-1].Score
		}
		sd := repairDeviation(c.found.SD)
		weight := q.findFactor(c.name) * c.weight
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
	return p.selectBest(p.All(), n)
}

// All returns every place, until a method is called again.
func (p *Pool) All() []int32 {
	p.indexes = p.indexes[:0]
	for i := range p.ids {
		p.indexes = append(p.indexes, int32(i))
	}
	return p.indexes
}

// compareByScore orders indexes by fused score, best first, ties by id.
func (p *Pool) compareByScore(a, b int32) int {
	if c := cmp.Compare(p.fused[b], p.fused[a]); c != 0 {
		return c
	}
	return cmp.Compare(p.ids[a], p.ids[b])
}

// sortByScore sorts indexes by fused score, best first, ties by id.
func (p *Pool) sortByScore(of []int32) []int32 {
	slices.SortFunc(of, p.compareByScore)
	return of
}

// selectBest moves the n first of the order to the front of the indexes and returns them,
// sorted; the others come after them in no order.
func (p *Pool) selectBest(of []int32, n int) []int32 { return sortFirst(of, n, p.compareByScore) }

// place is where an item stands around one of the best, in turns.
type place struct{ at, offset int32 }

// Around makes places in the pool for the neighbours of the best items, and a row for each
// of those, the item itself at offset 0.
func (p *Pool) Around(near map[string][]items.Neighbour, best []int32) {
	rows := make([][]place, 0, len(best))
	room := len(best)
	p.beside[0] = int32(len(p.ids))
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
			j := p.Add(n.ID)
			p.terms[j] = int32(n.Terms)
			places = append(places, place{j, int32(n.Offset)})
		}
		row := places[from:len(places):len(places)]
		slices.SortFunc(row, func(a, b place) int { return cmp.Compare(a.offset, b.offset) })
		rows = append(rows, row)
	}
	p.places = places
	p.rows = rows
	p.beside[1] = int32(len(p.ids))
	p.Grow()
}

// linkNeighbours derives from the rows the ±2 neighbourhoods of everything within ±2 of the best
// items.
func (p *Pool) linkNeighbours(rows [][]place) {
	lists := slices.Grow(p.lists[:0], 4*len(p.ids)) // near leads into it
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

// keepVisiblePlaces returns the places of a row that the principal may see, counted anew from the
// item at offset 0: what is hidden is passed over as if it were not there. A row around a
// hidden item is empty.
func (p *Pool) keepVisiblePlaces(row []place) []place {
	kept := row[:0]
	middle := int32(0)
	there := false
	for _, at := range row {
		if p.items[at.at] == nil {
			continue
		}
		if at.offset == 0 {
			middle = int32(len(kept))
			there = true
		}
		kept = append(kept, at)
	}
	if !there {
		return nil
	}
	for i := range kept {
		kept[i].offset = int32(i) - middle
	}
	return kept
}

func repairDeviation(sd float64) float64 {
	if sd <= 0 || math.IsNaN(sd) || math.IsInf(sd, 0) {
		return 1
	}
	return sd
}
