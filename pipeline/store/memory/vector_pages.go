package memory

import (
	"slices"

	"satchel/pipeline/infra/vecmath"
)

// pageSize is how many rows, or items, a full page holds.
const pageSize = 4096

// rowPage holds vectors and what belongs to them. What is below the published number of
// rows never changes, so readers need no lock for it.
type rowPage struct {
	vectors []int8    // stride numbers a row
	coarse  []uint8   // the rows once more, in 4 bits
	scales  []float32 // one over the length of the row
	items   []uint32  // ordinal of the item, never falling from row to row
	starts  []uint16  // of the span
	lengths []uint16  // of the span, or far
}

// far in lengths says that the span is in axis.far.
const far = 1<<16 - 1

func newRowPage(rows, stride int) *rowPage {
	return &rowPage{
		vectors: make([]int8, rows*stride), coarse: make([]uint8, rows*vecmath.CoarseLen(stride)), scales: make([]float32, rows),
		items: make([]uint32, rows), starts: make([]uint16, rows), lengths: make([]uint16, rows),
	}
}

// growRowPage returns a copy of p for rows rows.
func (p *rowPage) growRowPage(rows, stride int) *rowPage {
	n := newRowPage(rows, stride)
	copy(n.vectors, p.vectors)
	copy(n.coarse, p.coarse)
	copy(n.scales, p.scales)
	copy(n.items, p.items)
	copy(n.starts, p.starts)
	copy(n.lengths, p.lengths)
	return n
}

// itemPage holds what is known of items, by ordinal. A profile turns into gone, by an
// atomic store, when its item is removed.
type itemPage struct {
	profiles  []uint32
	positions []position
}

// position is a log position in 40 bits.
type position [5]byte

const maxPosition = 1<<40 - 1

func toPosition(n int64) position {
	return position{byte(n >> 32), byte(n >> 24), byte(n >> 16), byte(n >> 8), byte(n)}
}

func (p position) decodePosition() int64 {
	return int64(p[0])<<32 | int64(p[1])<<24 | int64(p[2])<<16 | int64(p[3])<<8 | int64(p[4])
}

func newItemPage(items int) *itemPage {
	return &itemPage{profiles: make([]uint32, items), positions: make([]position, items)}
}

func (p *itemPage) growItemPage(items int) *itemPage {
	n := newItemPage(items)
	copy(n.profiles, p.profiles)
	copy(n.positions, p.positions)
	return n
}

// makePageRoom returns pages with place for entry n, which follows the last: a page starts small
// and doubles. A page that is replaced is replaced in a copy, since readers may hold pages.
func makePageRoom[P any](pages []*P, n int, size func(*P) int, fresh func(size int) *P, grown func(p *P, size int) *P) []*P {
	at := n / pageSize
	if at == len(pages) {
		first := 16
		if at > 0 {
			first = pageSize
		}
		return append(pages, fresh(first))
	}
	if have := size(pages[at]); n%pageSize == have {
		pages = slices.Clone(pages)
		pages[at] = grown(pages[at], min(2*have, pageSize))
	}
	return pages
}
