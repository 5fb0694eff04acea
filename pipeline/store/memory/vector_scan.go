package memory

import (
	"context"
	"math"
	"math/big"
	"math/bits"
	"slices"
	"sync/atomic"

	"satchel/pipeline/infra/vecmath"
)

// vectorBlock is how many rows the kernel is given at once: as many as it fetches ahead at 256
// dimensions, so that the next block comes in while this one's items are counted.
const vectorBlock = 64

// view is what a reader sees of one axis: it stays as it is, but for items that are
// removed meanwhile.
type view struct {
	pages   []*rowPage
	rows    int
	lost    float64 // by a coarse row, in the mean: see vecmath.Coarsen
	items   []*itemPage
	masks   []uint8  // by profile: the filters that let it through
	counts  []uint8  // by profile: those of them whose moments it enters
	without []uint32 // items to pass over, sorted
}

func (v *view) isPassingItem(ord uint32) bool {
	if v.passesOver(ord) {
		return false
	}
	prof := atomic.LoadUint32(&v.items[ord/pageSize].profiles[ord%pageSize])
	return prof != vectorGone && v.masks[prof] != 0
}

// passesOver reports whether the query excludes an item.
func (v *view) passesOver(ord uint32) bool {
	if len(v.without) == 0 {
		return false
	}
	_, found := slices.BinarySearch(v.without, ord)
	return found
}

// question is a query made ready.
type question struct {
	query []int16
	scale float64
}

// computeCosine is the score of a row.
func computeCosine(dot int32, row float32, query float64) float64 {
	return float64(float64(dot)*float64(row)) * query
}

// scan scores rows of a view. Rows of an item follow each other; the best counts.
type scan struct {
	view
	question                      // with the scale of what is read
	coarse   *vecmath.CoarseQuery // nil: whole rows are read, not coarse ones
	under    currentItem
	best     []best // by filter
}

// best is what a filter lets through.
type best struct {
	top     topRows
	moments moments
	coarse  bool        // the scores are of coarse rows: near is kept
	margin  float64     // how far below the top the score of one that belongs there may be
	near    []scoredRow // what is not below the floor
	floor   float64     // a score below it does not get to the top
}

// currentItem is the item whose rows are being read.
type currentItem struct {
	item  uint32
	mask  uint8 // the filters that let it through
	count uint8 // those of them whose moments it enters
	score float64
	row   int
}

// scanRows scores rows from up to to, which MUST NOT part an item's rows.
func (s *scan) scanRows(ctx context.Context, from, to int) error {
	var dots [vectorBlock]int32
	stride := len(s.query)
	s.under = currentItem{item: vectorGone}
	for at := from; at < to; {
		page := s.pages[at/pageSize]
		off := at % pageSize
		if off%1024 == 0 {
			if err := ctx.Err(); err != nil {
				return err
			}
		}
		n := min(vectorBlock, pageSize-off, to-at)
		if s.coarse != nil {
			size := vecmath.CoarseLen(stride)
			s.coarse.Rows(page.coarse[off*size:(off+n)*size], dots[:n])
		} else {
			vecmath.Rows(s.query, page.vectors[off*stride:(off+n)*stride], dots[:n])
		}
		if len(s.best) == 1 {
			s.countItems(page.items[off:off+n], page.scales[off:off+n], dots[:n], at)
		} else {
			s.countItemsOfEach(page.items[off:off+n], page.scales[off:off+n], dots[:n], at)
		}
		at += n
	}
	s.finishItem(s.under)
	return nil
}

// countItems counts the items whose rows end here, for one filter, whose masks are 0 or 1. What
// changes row by row is kept beside the scan, in registers: this runs for every row there is.
func (s *scan) countItems(items []uint32, scales []float32, dots []int32, at int) {
	scales = scales[:len(items)]
	dots = dots[:len(items)]
	b := &s.best[0]
	u := s.under
	m := b.moments
	floor := b.floor
	scale := s.scale
	masks := s.masks
	for i, item := range items {
		score := computeCosine(dots[i], scales[i], scale)
		if item == u.item {
			if score > u.score {
				u.score = score
				u.row = at + i
			}
			continue
		}
		m.countScore(u.score, u.count)
		if u.score >= floor && u.mask != 0 {
			b.offerItem(u)
			floor = b.floor
		}
		u = s.beginItem(item, masks)
		u.score = score
		u.row = at + i
	}
	s.under = u
	b.moments = m
}

// countItemsOfEach is take for several filters.
func (s *scan) countItemsOfEach(items []uint32, scales []float32, dots []int32, at int) {
	scales = scales[:len(items)]
	dots = dots[:len(items)]
	u := s.under
	scale := s.scale
	masks := s.masks
	for i, item := range items {
		score := computeCosine(dots[i], scales[i], scale)
		if item == u.item {
			if u.mask != 0 && score > u.score {
				u.score = score
				u.row = at + i
			}
			continue
		}
		if u.mask != 0 {
			s.finishItem(u)
		}
		u = s.beginItem(item, masks)
		u.score = score
		u.row = at + i
	}
	s.under = u
}

// beginItem is an item of which no row is read yet.
func (s *scan) beginItem(item uint32, masks []uint8) currentItem {
	u := currentItem{item: item}
	if prof := atomic.LoadUint32(&s.items[item/pageSize].profiles[item%pageSize]); prof != vectorGone && (s.without == nil || !s.passesOver(item)) {
		u.mask = masks[prof]
		u.count = s.counts[prof]
	}
	return u
}

// finishItem counts an item all of whose rows are read.
func (s *scan) finishItem(u currentItem) {
	for m := u.mask; m != 0; m &= m - 1 {
		b := &s.best[bits.TrailingZeros8(m)]
		b.moments.countScore(u.score, u.count>>bits.TrailingZeros8(m)&1)
		if u.score >= b.floor {
			b.offerItem(u)
		}
	}
}

// offerItem gives an item to the top; one below the floor changes nothing there.
func (b *best) offerItem(u currentItem) {
	c := scoredRow{Doc: u.item, Row: uint32(u.row), Score: u.score}
	b.top.Offer(c)
	b.updateFloor()
	if !b.coarse {
		return
	}
	if len(b.near) == cap(b.near) {
		b.near = slices.Grow(dropBelowFloor(b.near, b.floor), 4*b.top.Limit)
	}
	b.near = append(b.near, c)
}

// dropBelowFloor drops the candidates below floor.
func dropBelowFloor(all []scoredRow, floor float64) []scoredRow {
	return slices.DeleteFunc(all, func(c scoredRow) bool { return c.Score < floor })
}

// updateFloor sets the floor to the worst score of a full top, less the margin.
func (b *best) updateFloor() {
	switch {
	case b.top.Limit == 0:
		b.floor = math.Inf(1)
	case len(b.top.Items) == b.top.Limit:
		b.floor = b.top.Items[0].Score - b.margin
	default:
		b.floor = math.Inf(-1)
	}
}

// moments sums scores in fixed point, so that neither order nor partition matters.
type moments struct {
	n         int64
	sum       int64
	high, low uint64 // of the sum of squares
}

// vectorUnit is 1 in fixed point; scores are within ±1, give or take a rounding.
const vectorUnit = 1 << 31

// countScore adds a score once or, when times is 0, never. It takes no branch, since which items a
// filter lets through cannot be foreseen.
func (m *moments) countScore(score float64, times uint8) {
	x := int64(score*vectorUnit) & -int64(times)
	m.n += int64(times)
	m.sum += x
	var carry uint64
	m.low, carry = bits.Add64(m.low, uint64(x*x), 0)
	m.high += carry
}

func (m *moments) mergeMoments(o *moments) {
	m.n += o.n
	m.sum += o.sum
	var carry uint64
	m.low, carry = bits.Add64(m.low, o.low, 0)
	m.high += o.high + carry
}

// computeMoments returns the mean and the standard deviation of the population.
func (m *moments) computeMoments() (mean, sd float64) {
	if m.n == 0 {
		return 0, 0
	}
	n := big.NewInt(m.n)
	sum := big.NewInt(m.sum)
	v := new(big.Int).SetUint64(m.high)
	v.Lsh(v, 64).Or(v, new(big.Int).SetUint64(m.low))
	v.Mul(v, n).Sub(v, sum.Mul(sum, sum)) // n²·unit²·variance, exact
	variance, _ := new(big.Float).SetInt(v).Float64()
	return float64(m.sum) / float64(m.n) / vectorUnit, math.Sqrt(variance) / float64(m.n) / vectorUnit
}
