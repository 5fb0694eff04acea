package inproc

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"

	"satchel/pipeline/dot"
	"satchel/pipeline/store/vector"
	"satchel/schemas"
)

// view returns what q sees under any of the filters. The caller holds lock for reading.
func (s *state) view(q *vector.Query, filters []schemas.Filter) view {
	v := view{items: s.items, masks: s.facets.Masks(filters)}
	for i := range s.axes {
		if s.axes[i].name == q.Axis {
			v.pages, v.rows = s.axes[i].pages, s.axes[i].rows
		}
	}
	return v
}

// search scans the axis once for at most profile.MaxFilters filters, in two parts where
// there is much of it, and returns a result for each.
func (t *tenant) search(ctx context.Context, q *vector.Query, filters []schemas.Filter, parallelFrom int) ([]vector.Result, error) {
	t.lock.RLock()
	st := t.state
	v := st.view(q, filters)
	t.lock.RUnlock()

	ask := question{}
	ask.query, ask.scale = dot.QuantiseQuery(q.Vector, st.stride)
	limit := q.Limit
	if ask.scale == 0 {
		limit = 0
	}
	before := func(a, b uint32) bool {
		t.lock.RLock()
		defer t.lock.RUnlock()
		return st.before(a, b)
	}
	part := func() *scan {
		s := &scan{view: v, question: ask, best: make([]best, len(filters))}
		for i := range s.best {
			s.best[i].top = heap{limit: limit, before: before}
		}
		return s
	}
	scans, err := v.each(ctx, parallelFrom, part)
	if err != nil {
		return nil, err
	}
	t.lock.RLock()
	defer t.lock.RUnlock()
	results := make([]vector.Result, len(filters))
	for i := range results {
		results[i] = st.collect(q.Axis, limit, scans, i)
	}
	return results, nil
}

// before orders items by id, those that are gone, whose ids are wiped, after all others. The
// caller holds lock for reading.
func (s *state) before(a, b uint32) bool {
	if s.profile(a) == gone || s.profile(b) == gone {
		return s.profile(a) != gone
	}
	return s.ids.Compare(a, b) < 0
}

// segments is how many parts of an axis two scans share: the one that has a core to itself
// takes more of them.
const segments = 16

// each scans all rows and returns the scans that did it, which part makes: two where there
// are enough rows.
func (v *view) each(ctx context.Context, parallelFrom int, part func() *scan) ([]*scan, error) {
	scans := []*scan{part()}
	if parallelFrom <= 0 || v.rows < parallelFrom {
		return scans, scans[0].run(ctx, 0, v.rows)
	}
	scans = append(scans, part())
	var next atomic.Int64
	work := func(s *scan) error {
		for {
			n := int(next.Add(1))
			if n > segments {
				return nil
			}
			if err := s.run(ctx, v.boundary(v.rows*(n-1)/segments), v.boundary(v.rows*n/segments)); err != nil {
				return err
			}
		}
	}
	var errs [2]error
	var second sync.WaitGroup
	second.Go(func() { errs[1] = work(scans[1]) })
	errs[0] = work(scans[0])
	second.Wait()
	return scans, errors.Join(errs[:]...)
}

// boundary returns the first row from n on that begins an item.
func (v *view) boundary(n int) int {
	item := func(n int) uint32 { return v.pages[n/pageSize].items[n%pageSize] }
	for n > 0 && n < v.rows && item(n) == item(n-1) {
		n++
	}
	return n
}

// collect joins what the scans found for a filter. An item that was removed meanwhile is
// left out. The caller holds lock for reading.
func (s *state) collect(axisName string, limit int, scans []*scan, filter int) vector.Result {
	var all moments
	var found []candidate
	for _, one := range scans {
		all.merge(&one.best[filter].moments)
		found = append(found, one.best[filter].top.items...)
	}
	slices.SortFunc(found, func(a, b candidate) int {
		if c := cmp.Compare(b.score, a.score); c != 0 {
			return c
		}
		return s.ids.Compare(a.item, b.item)
	})
	r := vector.Result{N: int(all.n), Hits: make([]vector.Hit, 0, min(limit, len(found)))}
	r.Mean, r.SD = all.result()
	for _, c := range found {
		if len(r.Hits) == limit {
			break
		}
		if id := s.ids.ID(c.item); id != "" {
			r.Hits = append(r.Hits, vector.Hit{ID: id, Score: c.score, Span: s.span(axisName, int(c.row))})
		}
	}
	return r
}

func (s *state) span(axisName string, row int) (span schemas.Span) {
	for i := range s.axes {
		if s.axes[i].name == axisName {
			c := s.axes[i].chunk(row, s.stride)
			span = c.span()
		}
	}
	return span
}

// score returns what search gives each id, 0 for one that is absent or hidden.
func (t *tenant) score(q *vector.Query, ids []string) []float64 {
	t.lock.RLock()
	stride, v := t.stride, t.view(q, []schemas.Filter{q.Filter})
	items := make([]uint32, len(ids))
	for i, id := range ids {
		ord, ok := t.ids.Lookup(id)
		if items[i] = ord; !ok {
			items[i] = gone
		}
	}
	t.lock.RUnlock()
	query, scale := dot.QuantiseQuery(q.Vector, stride)
	scores := make([]float64, len(ids))
	for i, item := range items {
		if item == gone || scale == 0 || !v.passes(item) {
			continue
		}
		best, found := 0.0, false
		for n := firstRow(v.pages, v.rows, item); n < v.rows; n++ {
			page, at := v.pages[n/pageSize], n%pageSize
			if page.items[at] != item {
				break
			}
			if c := cosine(rowDot(query, page, at, min(pageSize-at, v.rows-n)), page.scales[at], scale); !found || c > best {
				best, found = c, true
			}
		}
		scores[i] = best
	}
	return scores
}

// rowDot returns the dot product of the query and row at of a page, of which left rows
// from it on may be read. The kernel takes four rows at a time; one alone costs more.
func rowDot(query []int16, page *rowPage, at, left int) int32 {
	var dots [4]int32
	n := 1
	if left >= len(dots) {
		n = len(dots)
	}
	stride := len(query)
	dot.Rows(query, page.vectors[at*stride:(at+n)*stride], dots[:n])
	return dots[0]
}
