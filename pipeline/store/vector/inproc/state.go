package inproc

import (
	"errors"
	"fmt"
	"math"
	"sort"
	"sync"
	"sync/atomic"

	"satchel/pipeline/dot"
	"satchel/pipeline/store/internal/idtable"
	"satchel/pipeline/store/internal/profile"
	"satchel/pipeline/store/vector"
	"satchel/schemas"
)

// ErrFull is returned by Apply when a tenant has outgrown what one index can number
// (four billion chunks, 4 GiB of ids, positions of 40 bits).
var ErrFull = errors.New("vector index of the tenant is full")

// gone is the profile of an item that was removed or replaced.
const gone = math.MaxUint32

// tenant is the index of one tenant. Items are numbered in the order they came; a
// replaced one gets a new number. Writers hold write for as long as they work, and lock
// only while they change what readers begin with; readers hold lock for reading while
// they take a view and while they look up ids, not while they scan.
type tenant struct {
	write sync.Mutex
	lock  sync.RWMutex
	*state
}

// state is all of a tenant's data. Compaction builds a new one beside it.
type state struct {
	stride     int // numbers a row, a multiple of dot.Lane
	checkpoint int64
	ids        *idtable.Table
	facets     *profile.Dict
	items      []*itemPage
	axes       []axis
	live       []uint32 // live items by profile
	docs       int
}

// axis holds the rows of one axis, in the order of their items.
type axis struct {
	name  string
	pages []*rowPage
	rows  int
	lost  int64                // by the coarse rows, the sum of what dot.Coarsen returns, in lostUnit
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

func newState(dims int) *state {
	return &state{stride: (dims + dot.Lane - 1) / dot.Lane * dot.Lane, ids: idtable.New(0), facets: profile.New()}
}

// put adds an item, which replaces the one with its id.
func (s *state) put(id string, position int64, f schemas.Facets, chunks []chunk) error {
	return s.add(id, position, s.facets.Intern(f), chunks)
}

func (s *state) add(id string, position int64, prof uint32, chunks []chunk) error {
	if position < 0 || position > maxPosition {
		return fmt.Errorf("index item %q: %w", id, ErrFull)
	}
	s.remove(id)
	ord, isNew := s.ids.Intern(id)
	if !isNew {
		return fmt.Errorf("index item %q: %w", id, ErrFull)
	}
	s.items = room(s.items, int(ord), func(p *itemPage) int { return len(p.profiles) }, newItemPage, (*itemPage).grown)
	page := s.items[ord/pageSize]
	atomic.StoreUint32(&page.profiles[ord%pageSize], prof)
	page.positions[ord%pageSize] = toPosition(position)
	for len(s.live) <= int(prof) {
		s.live = append(s.live, 0)
	}
	s.live[prof]++
	s.docs++
	for i := range chunks {
		if !s.axis(chunks[i].axis).add(ord, &chunks[i], s.stride) {
			return fmt.Errorf("index item %q: %w", id, ErrFull)
		}
	}
	return nil
}

// axis returns the axis called name, which it makes when there is none.
func (s *state) axis(name string) *axis {
	for i := range s.axes {
		if s.axes[i].name == name {
			return &s.axes[i]
		}
	}
	s.axes = append(s.axes, axis{name: name})
	return &s.axes[len(s.axes)-1]
}

func (a *axis) add(ord uint32, c *chunk, stride int) bool {
	if a.rows >= math.MaxUint32 {
		return false
	}
	a.pages = room(a.pages, a.rows, func(p *rowPage) int { return len(p.items) },
		func(n int) *rowPage { return newRowPage(n, stride) },
		func(p *rowPage, n int) *rowPage { return p.grown(n, stride) })
	page, at := a.pages[a.rows/pageSize], a.rows%pageSize
	copy(page.vectors[at*stride:(at+1)*stride], c.row)
	page.scales[at], page.items[at] = c.scale, ord
	size := dot.CoarseLen(stride)
	a.lost += int64(lostUnit * dot.Coarsen(page.coarse[at*size:(at+1)*size], page.vectors[at*stride:(at+1)*stride]))
	if length := c.end - c.start; c.start < far && length < far {
		page.starts[at], page.lengths[at] = uint16(c.start), uint16(length)
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

// remove takes an item out, if it is there. Its rows stay until compaction.
func (s *state) remove(id string) {
	ord, ok := s.ids.Delete(id)
	if !ok {
		return
	}
	prof := &s.items[ord/pageSize].profiles[ord%pageSize]
	s.live[*prof]--
	atomic.StoreUint32(prof, gone)
	s.docs--
}

// profile returns the profile of item ord, or gone.
func (s *state) profile(ord uint32) uint32 {
	return atomic.LoadUint32(&s.items[ord/pageSize].profiles[ord%pageSize])
}

// chunk returns row n of a. What it holds of the page must not be changed.
func (a *axis) chunk(n, stride int) chunk {
	page, at := a.pages[n/pageSize], n%pageSize
	c := chunk{axis: a.name, row: page.vectors[at*stride : (at+1)*stride], scale: page.scales[at]}
	if page.lengths[at] == far {
		span := a.far[uint32(n)]
		c.start, c.end = span[0], span[1]
	} else {
		c.start = uint32(page.starts[at])
		c.end = c.start + uint32(page.lengths[at])
	}
	return c
}

func (c *chunk) span() schemas.Span { return schemas.Span{Start: int(c.start), End: int(c.end)} }

// first returns the first row of a that belongs to item ord or a later one.
func (a *axis) first(ord uint32) int { return firstRow(a.pages, a.rows, ord) }

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
	low, high := 0, last // items[low] is below ord, items[high] is not
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

// chunks appends the chunks of item ord to dst, axis by axis.
func (s *state) chunks(dst []chunk, ord uint32) []chunk {
	for i := range s.axes {
		a := &s.axes[i]
		for n := a.first(ord); n < a.rows && a.pages[n/pageSize].items[n%pageSize] == ord; n++ {
			dst = append(dst, a.chunk(n, s.stride))
		}
	}
	return dst
}

// walk gives the chunks of items asked for in rising order, without searching for them.
type walk struct {
	*state
	next []int // row, by axis
}

func (s *state) walk() *walk { return &walk{state: s, next: make([]int, len(s.axes))} }

// of returns the chunks of item ord in dst, axis by axis.
func (w *walk) of(dst []chunk, ord uint32) []chunk {
	for i := range w.axes {
		a, n := &w.axes[i], w.next[i]
		for ; n < a.rows; n++ {
			item := a.pages[n/pageSize].items[n%pageSize]
			if item > ord {
				break
			}
			if item == ord {
				dst = append(dst, a.chunk(n, w.stride))
			}
		}
		w.next[i] = n
	}
	return dst
}

// wasteful reports whether so many items are gone that compaction pays.
func (s *state) wasteful() bool {
	dead := s.ids.Len() - s.docs
	return dead > 1024 && dead > s.docs/4
}

// compact returns a copy of s without what is gone: no dead item, no vector, label or
// session that only dead items had. It only reads s.
func (s *state) compact() (*state, error) {
	n := newState(s.stride)
	n.checkpoint = s.checkpoint
	n.ids = idtable.New(s.docs)
	profiles := make([]uint32, s.facets.Len()) // new number plus one
	var chunks []chunk
	rows := s.walk()
	for ord := range uint32(s.ids.Len()) {
		prof := s.profile(ord)
		if prof == gone {
			continue
		}
		if profiles[prof] == 0 {
			profiles[prof] = n.facets.Intern(s.facets.Facets(prof)) + 1
		}
		chunks = rows.of(chunks[:0], ord)
		at := s.items[ord/pageSize].positions[ord%pageSize].int64()
		if err := n.add(s.ids.ID(ord), at, profiles[prof]-1, chunks); err != nil {
			return nil, err
		}
	}
	return n, nil
}

// bytes returns roughly what memory the tenant holds.
func (s *state) bytes() int64 {
	n := int64(s.ids.Bytes()+s.facets.Bytes()+4*cap(s.live)) + 1024
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

// quantised returns the chunks of d, their rows in arena, which it grows.
func quantised(d *vector.Doc, stride int, arena []int8) ([]chunk, []int8) {
	chunks := make([]chunk, len(d.Chunks))
	for i, c := range d.Chunks {
		at := len(arena)
		arena = append(arena, make([]int8, stride)...)
		row := arena[at : at+stride : at+stride]
		start := min(max(c.Span.Start, 0), math.MaxUint32)
		end := min(max(c.Span.End, start), math.MaxUint32)
		chunks[i] = chunk{axis: c.Axis, start: uint32(start), end: uint32(end), row: row, scale: dot.Quantise(row, c.Vector)}
	}
	return chunks, arena
}
