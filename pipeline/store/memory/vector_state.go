package memory

import (
	"errors"
	"fmt"
	"math"
	"sort"
	"sync/atomic"

	"satchel/pipeline/infra/vecmath"
	"satchel/schemas"
)

// ErrVectorFull is returned by Apply when a tenant has outgrown what one index can number
// (four billion chunks, 4 GiB of ids, positions of 40 bits).
var ErrVectorFull = errors.New("vector index of the tenant is full")

// vectorGone is the profile of an item that was removed or replaced.
const vectorGone = math.MaxUint32

// vectorState is all of a tenant's data. Items are numbered in the order they came. Readers hold
// the tenant's lock while they take a view and while they look up ids, not while they scan.
type vectorState struct {
	baseState
	stride int // numbers a row, a multiple of vecmath.Lane
	items  []*itemPage
	axes   []axis
}

// axis holds the rows of one axis, in the order of their items.
type axis struct {
	name  string
	pages []*rowPage
	rows  int
	lost  int64                // by the coarse rows, the sum of what vecmath.Coarsen returns, in lostUnit
	far   map[uint32][2]uint32 // spans, by row, that rowPage cannot hold
}

// lostUnit is 1 in the sum of what coarse rows lose: whole numbers, so that order does not
// matter.
const lostUnit = 1 << 20

// chunk is a vector.Chunk that is quantised.
type chunk struct {
	axis       string
	start, end uint32
	row        []int8
	scale      float32
}

func newVectorState(dims int) *vectorState { return emptyVectorState(dims, 0) }

// emptyVectorState has room for n items.
func emptyVectorState(dims, n int) *vectorState {
	return &vectorState{baseState: newBaseState(n), stride: (dims + vecmath.Lane - 1) / vecmath.Lane * vecmath.Lane}
}

// putVectorItem adds an item, which replaces the one with its id.
func (s *vectorState) putVectorItem(id string, position int64, f schemas.Facets, chunks []chunk) error {
	return s.addItemChunks(id, position, s.Facets.Intern(f), chunks)
}

func (s *vectorState) addItemChunks(id string, position int64, prof uint32, chunks []chunk) error {
	if position < 0 || position > maxPosition {
		return fmt.Errorf("index item %q: %w", id, ErrVectorFull)
	}
	s.removeItem(id)
	ord, isNew := s.IDs.Intern(id)
	if !isNew {
		return fmt.Errorf("index item %q: %w", id, ErrVectorFull)
	}
	s.items = makePageRoom(s.items, int(ord), func(p *itemPage) int { return len(p.profiles) }, newItemPage, (*itemPage).growItemPage)
	page := s.items[ord/pageSize]
	atomic.StoreUint32(&page.profiles[ord%pageSize], prof)
	page.positions[ord%pageSize] = toPosition(position)
	s.Count(prof, 1)
	for i := range chunks {
		if !s.ensureAxis(chunks[i].axis).addChunk(ord, &chunks[i], s.stride) {
			return fmt.Errorf("index item %q: %w", id, ErrVectorFull)
		}
	}
	return nil
}

// ensureAxis returns the axis called name, which it makes when there is none.
func (s *vectorState) ensureAxis(name string) *axis {
	for i := range s.axes {
		if s.axes[i].name == name {
			return &s.axes[i]
		}
	}
	s.axes = append(s.axes, axis{name: name})
	return &s.axes[len(s.axes)-1]
}

func (a *axis) addChunk(ord uint32, c *chunk, stride int) bool {
	if a.rows >= math.MaxUint32 {
		return false
	}
	a.pages = makePageRoom(a.pages, a.rows, func(p *rowPage) int { return len(p.items) },
		func(n int) *rowPage { return newRowPage(n, stride) },
		func(p *rowPage, n int) *rowPage { return p.growRowPage(n, stride) })
	page := a.pages[a.rows/pageSize]
	at := a.rows % pageSize
	copy(page.vectors[at*stride:(at+1)*stride], c.row)
	page.scales[at] = c.scale
	page.items[at] = ord
	size := vecmath.CoarseLen(stride)
	a.lost += int64(lostUnit * vecmath.Coarsen(page.coarse[at*size:(at+1)*size], page.vectors[at*stride:(at+1)*stride]))
	if length := c.end - c.start; c.start < far && length < far {
		page.starts[at] = uint16(c.start)
		page.lengths[at] = uint16(length)
	} else {
		page.lengths[at] = far
		if a.far == nil {
			a.far = map[uint32][2]uint32{}
		}
		a.far[uint32(a.rows)] = [2]uint32{c.start, c.end}
	}
	a.rows++
	return true
}

// removeItem takes an item out, if it is there. Its rows stay until compaction.
func (s *vectorState) removeItem(id string) {
	ord, ok := s.IDs.Delete(id)
	if !ok {
		return
	}
	prof := &s.items[ord/pageSize].profiles[ord%pageSize]
	s.Count(*prof, -1)
	atomic.StoreUint32(prof, vectorGone)
}

// findPosition is where item ord was put.
func (s *vectorState) findPosition(ord uint32) int64 {
	return s.items[ord/pageSize].positions[ord%pageSize].decodePosition()
}

// loadProfile returns the profile of item ord, or gone.
func (s *vectorState) loadProfile(ord uint32) uint32 {
	return atomic.LoadUint32(&s.items[ord/pageSize].profiles[ord%pageSize])
}

// readChunk returns row n of a. What it holds of the page must not be changed.
func (a *axis) readChunk(n, stride int) chunk {
	page := a.pages[n/pageSize]
	at := n % pageSize
	c := chunk{axis: a.name, row: page.vectors[at*stride : (at+1)*stride], scale: page.scales[at]}
	if page.lengths[at] == far {
		span := a.far[uint32(n)]
		c.start = span[0]
		c.end = span[1]
	} else {
		c.start = uint32(page.starts[at])
		c.end = c.start + uint32(page.lengths[at])
	}
	return c
}

func (c *chunk) makeSpan() schemas.Span { return schemas.Span{Start: int(c.start), End: int(c.end)} }

// findFirstRow returns the first row of a that belongs to item ord or a later one.
func (a *axis) findFirstRow(ord uint32) int { return firstRow(a.pages, a.rows, ord) }

// firstRow is axis.first.
func firstRow(pages []*rowPage, rows int, ord uint32) int {
	full := (rows + pageSize - 1) / pageSize
	n := sort.Search(full, func(n int) bool { return pages[n].items[0] >= ord }) - 1
	if n < 0 {
		return 0
	}
	return n*pageSize + firstOf(pages[n].items[:min(pageSize, rows-n*pageSize)], ord)
}

// firstOf returns the first place in items that is not below ord, as the first item is.
// A row is about as far in as its item is between the first and the last: it is looked for
// there, then in steps that double. Where every item has one row, that is the first look.
func firstOf(items []uint32, ord uint32) int {
	last := len(items) - 1
	if items[last] < ord {
		return len(items)
	}
	low := 0
	high := last // items[low] is below ord, items[high] is not
	guess := int(uint64(ord-items[0]) * uint64(last) / uint64(items[last]-items[0]))
	if items[guess] < ord {
		low = guess
		for step := 1; low+step < high; step *= 2 {
			if items[low+step] >= ord {
				high = low + step
				break
			}
			low += step
		}
	} else {
		high = guess
		for step := 1; high-step > low; step *= 2 {
			if items[high-step] < ord {
				low = high - step
				break
			}
			high -= step
		}
	}
	for high-low > 1 {
		if middle := (low + high) / 2; items[middle] < ord {
			low = middle
		} else {
			high = middle
		}
	}
	return high
}

// appendChunks appends the chunks of item ord to dst, axis by axis.
func (s *vectorState) appendChunks(dst []chunk, ord uint32) []chunk {
	for i := range s.axes {
		a := &s.axes[i]
		for n := a.findFirstRow(ord); n < a.rows && a.pages[n/pageSize].items[n%pageSize] == ord; n++ {
			dst = append(dst, a.readChunk(n, s.stride))
		}
	}
	return dst
}

// walk gives the chunks of items asked for in rising order, without searching for them.
type walk struct {
	*vectorState
	next []int // row, by axis
}

func (s *vectorState) startWalk() *walk { return &walk{vectorState: s, next: make([]int, len(s.axes))} }

// readItemChunks returns the chunks of item ord in dst, axis by axis.
func (w *walk) readItemChunks(dst []chunk, ord uint32) []chunk {
	for i := range w.axes {
		a := &w.axes[i]
		n := w.next[i]
		for ; n < a.rows; n++ {
			item := a.pages[n/pageSize].items[n%pageSize]
			if item > ord {
				break
			}
			if item == ord {
				dst = append(dst, a.readChunk(n, w.stride))
			}
		}
		w.next[i] = n
	}
	return dst
}

// Compact implements sharedState: no dead item, no vector, label or session that only dead
// items had is in the copy.
func (s *vectorState) Compact() (*vectorState, error) {
	n := emptyVectorState(s.stride, s.Docs)
	n.Checkpoint = s.Checkpoint
	profiles := make([]uint32, s.Facets.Len()) // new number plus one
	var chunks []chunk
	rows := s.startWalk()
	for ord := range uint32(s.IDs.Len()) {
		prof := s.loadProfile(ord)
		if prof == vectorGone {
			continue
		}
		if profiles[prof] == 0 {
			profiles[prof] = n.Facets.Intern(s.Facets.Facets(prof)) + 1
		}
		chunks = rows.readItemChunks(chunks[:0], ord)
		at := s.findPosition(ord)
		if err := n.addItemChunks(s.IDs.ID(ord), at, profiles[prof]-1, chunks); err != nil {
			return nil, err
		}
	}
	return n, nil
}

// Bytes implements sharedState.
func (s *vectorState) Bytes() int64 {
	n := int64(s.IDs.Bytes()+s.Facets.Bytes()+4*cap(s.Live)) + 1024
	for _, p := range s.items {
		n += 9 * int64(len(p.profiles))
	}
	for i := range s.axes {
		for _, p := range s.axes[i].pages {
			n += int64(len(p.vectors)+len(p.coarse)) + 12*int64(len(p.items))
		}
		n += 48 * int64(len(s.axes[i].far))
	}
	return n
}
