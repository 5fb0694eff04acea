package memory

import (
	"context"
	"errors"
	"math"
	"slices"
	"sync"
	"sync/atomic"

	"satchel/pipeline/infra/vecmath"
	"satchel/pipeline/store/vector"
	"satchel/schemas"
)

// makeView returns what q sees under any of the filters. The caller holds lock for reading.
func (s *vectorState) makeView(q *vector.Query, filters []schemas.Filter) view {
	counted := make([]schemas.Filter, len(filters))
	for i, f := range filters {
		counted[i] = q.Counted(f)
	}
	v := view{items: s.items, masks: s.Facets.Masks(filters), counts: s.Facets.Masks(counted)}
	if len(q.Exclude) > 0 { // else nil: a scan looks at it for each item
		v.without = make([]uint32, len(q.Exclude))
		s.IDs.LookupAll(q.Exclude, v.without)
		slices.Sort(v.without)
	}
	for i := range s.axes {
		if s.axes[i].name == q.Axis {
			v.pages = s.axes[i].pages
			v.rows = s.axes[i].rows
			v.lost = float64(s.axes[i].lost) / lostUnit / float64(max(1, v.rows))
		}
	}
	return v
}

// searchAxis scans the axis once for at most facets.MaxFilters filters and returns a result for
// each. Where there is much of it, it does so in two parts, and reads the coarse rows first.
func searchAxis(ctx context.Context, t *tenant, q *vector.Query, filters []schemas.Filter, cfg *VectorConfig) ([]vector.Result, error) {
	st := t.RLock()
	v := st.makeView(q, filters)
	t.RUnlock()

	ask := question{}
	ask.query, ask.scale = vecmath.QuantiseQuery(q.Vector, st.stride)
	limit := q.Limit
	if ask.scale == 0 {
		limit = 0
	}
	before := func(a, b uint32) bool {
		t.RLock()
		defer t.RUnlock()
		return st.isBefore(a, b)
	}
	like := scan{view: v, question: ask}
	one := best{top: topRows{Limit: limit, Before: before}}
	if cfg.CoarseFrom > 0 && v.rows >= cfg.CoarseFrom && limit > 0 {
		coarse := vecmath.Coarse(ask.query)
		like.coarse, like.scale = &coarse, coarse.Scale()
		one.coarse, one.margin = true, deviations*coarse.Error(v.lost)
	}
	one.updateFloor() // a scan may get no part
	part := func() *scan {
		s := like
		s.best = slices.Repeat([]best{one}, len(filters))
		return &s
	}
	scans, err := v.scanAllRows(ctx, cfg.ParallelFrom, part)
	if err != nil {
		return nil, err
	}
	if like.coarse != nil {
		for i := range filters {
			if err := v.refineScores(ctx, &ask, scans, i); err != nil {
				return nil, err
			}
		}
	}
	t.RLock()
	defer t.RUnlock()
	results := make([]vector.Result, len(filters))
	for i := range results {
		results[i] = st.collectResult(q.Axis, limit, scans, i)
	}
	return results, nil
}

// deviations is how many times its standard deviation a coarse score may be too low for an
// item that belongs to the best: fewer than one of 30,000 is further off.
const deviations = 4

// refineScores gives what the scans found near the top of a filter the scores of the whole rows, and
// makes it the first scan's top.
func (v *view) refineScores(ctx context.Context, ask *question, scans []*scan, filter int) error {
	floor := math.Inf(-1)
	for _, s := range scans {
		floor = max(floor, s.best[filter].floor)
	}
	var near []scoredRow
	for _, s := range scans {
		b := &s.best[filter]
		near = append(near, dropBelowFloor(b.near, floor)...)
		b.near = nil
		b.top.Items = nil
	}
	for some := range slices.Chunk(near, vectorTogether) {
		if err := ctx.Err(); err != nil {
			return err
		}
		v.rescoreCandidates(ask, some)
	}
	scans[0].best[filter].top.Items = near
	return nil
}

// rescoreCandidates sets the scores and best rows of candidates, of whom it has one row each. Like score
// it waits for the memory of all of them at once.
func (v *view) rescoreCandidates(ask *question, some []scoredRow) {
	stride := len(ask.query)
	for i := range some {
		page, at := v.locateRow(int(some[i].Row))
		vecmath.Fetch(page.vectors[at*stride : (at+1)*stride])
	}
	for i := range some {
		c := &some[i]
		n := int(c.Row)
		for ; n > 0; n-- {
			if page, at := v.locateRow(n - 1); page.items[at] != c.Doc {
				break
			}
		}
		c.Score = math.Inf(-1)
		for ; ; n++ {
			page, at := v.locateRow(n)
			if page == nil || page.items[at] != c.Doc {
				break
			}
			var dots [1]int32
			vecmath.Rows(ask.query, page.vectors[at*stride:(at+1)*stride], dots[:])
			if score := computeCosine(dots[0], page.scales[at], ask.scale); score > c.Score {
				c.Score = score
				c.Row = uint32(n)
			}
		}
	}
}

// isBefore orders items by id, those that are gone, whose ids are wiped, after all others. The
// caller holds lock for reading.
func (s *vectorState) isBefore(a, b uint32) bool {
	if s.loadProfile(a) == vectorGone || s.loadProfile(b) == vectorGone {
		return s.loadProfile(a) != vectorGone
	}
	return s.IDs.Compare(a, b) < 0
}

// segments is how many parts of an axis two scans share: the one that has a core to itself
// takes more of them.
const segments = 16

// scanAllRows scans all rows and returns the scans that did it, which part makes: two where there
// are enough rows.
func (v *view) scanAllRows(ctx context.Context, parallelFrom int, part func() *scan) ([]*scan, error) {
	scans := []*scan{part()}
	if parallelFrom <= 0 || v.rows < parallelFrom {
		return scans, scans[0].scanRows(ctx, 0, v.rows)
	}
	scans = append(scans, part())
	var next atomic.Int64
	work := func(s *scan) error {
		for {
			n := int(next.Add(1))
			if n > segments {
				return nil
			}
			if err := s.scanRows(ctx, v.findItemStart(v.rows*(n-1)/segments), v.findItemStart(v.rows*n/segments)); err != nil {
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

// findItemStart returns the first row from n on that begins an item.
func (v *view) findItemStart(n int) int {
	item := func(n int) uint32 { return v.pages[n/pageSize].items[n%pageSize] }
	for n > 0 && n < v.rows && item(n) == item(n-1) {
		n++
	}
	return n
}

// collectResult joins what the scans found for a filter. An item that was removed meanwhile is
// left out. The caller holds lock for reading.
func (s *vectorState) collectResult(axisName string, limit int, scans []*scan, filter int) vector.Result {
	var all moments
	var found []scoredRow
	for _, one := range scans {
		all.mergeMoments(&one.best[filter].moments)
		found = append(found, one.best[filter].top.Items...)
	}
	sortBest(found, s.IDs)
	r := vector.Result{N: int(all.n), Hits: make([]vector.Hit, 0, min(limit, len(found)))}
	r.Mean, r.SD = all.computeMoments()
	for _, c := range found {
		if len(r.Hits) == limit {
			break
		}
		if id := s.IDs.ID(c.Doc); id != "" {
			r.Hits = append(r.Hits, vector.Hit{ID: id, Score: c.Score, Span: s.findSpan(axisName, int(c.Row))})
		}
	}
	return r
}

func (s *vectorState) findSpan(axisName string, row int) (span schemas.Span) {
	for i := range s.axes {
		if s.axes[i].name == axisName {
			c := s.axes[i].readChunk(row, s.stride)
			span = c.makeSpan()
		}
	}
	return span
}

// scoreItems returns what search gives each id, 0 for one that is absent or hidden.
func scoreItems(t *tenant, q *vector.Query, ids []string) []float64 {
	st := t.RLock()
	stride := st.stride
	v := st.makeView(q, []schemas.Filter{q.Filter})
	items := make([]uint32, len(ids))
	st.IDs.LookupAll(ids, items) // columns.NoID is gone
	t.RUnlock()
	ask := question{}
	ask.query, ask.scale = vecmath.QuantiseQuery(q.Vector, stride)
	scores := make([]float64, len(ids))
	if ask.scale == 0 {
		return scores
	}
	for from := 0; from < len(ids); from += vectorTogether {
		to := min(from+vectorTogether, len(ids))
		v.scorePassingItems(&ask, items[from:to], scores[from:to])
	}
	return scores
}

// scoreChunks returns the cosines of the items' rows, none of one that is absent or hidden.
func scoreChunks(t *tenant, q *vector.Query, ids []string) [][]vector.ChunkScore {
	st := t.RLock()
	defer t.RUnlock()
	out := make([][]vector.ChunkScore, len(ids))
	query, scale := vecmath.QuantiseQuery(q.Vector, st.stride)
	at := slices.IndexFunc(st.axes, func(a axis) bool { return a.name == q.Axis })
	if at < 0 || scale == 0 {
		return out
	}
	v := st.makeView(q, []schemas.Filter{q.Filter})
	rows := &st.axes[at]
	items := make([]uint32, len(ids))
	st.IDs.LookupAll(ids, items) // columns.NoID is gone
	var dots [1]int32
	for i, item := range items {
		if item == vectorGone || !v.isPassingItem(item) {
			continue
		}
		for n := rows.findFirstRow(item); n < rows.rows && rows.pages[n/pageSize].items[n%pageSize] == item; n++ {
			c := rows.readChunk(n, st.stride)
			vecmath.Rows(query, c.row, dots[:])
			out[i] = append(out[i], vector.ChunkScore{Span: c.makeSpan(), Score: computeCosine(dots[0], c.scale, scale)})
		}
	}
	return out
}

// vectorTogether is how many items are scored at once: about as many as a core can wait for
// memory for.
const vectorTogether = 32

// scorePassingItems sets the scores of the items that are not gone, that the filter lets through and
// that have rows. It takes one step for all of them before the next, so that what they
// wait for in memory they wait for together.
func (v *view) scorePassingItems(ask *question, items []uint32, scores []float64) {
	var rows [vectorTogether]int
	var dots [vectorTogether]int32
	stride := len(ask.query)
	for i, item := range items {
		if item != vectorGone && !v.isPassingItem(item) {
			items[i] = vectorGone
		}
	}
	for i, item := range items {
		if item == vectorGone {
			continue
		}
		rows[i] = firstRow(v.pages, v.rows, item)
		if page, at := v.locateRow(rows[i]); page == nil || page.items[at] != item {
			items[i] = vectorGone
		} else {
			vecmath.Fetch(page.vectors[at*stride : (at+1)*stride])
		}
	}
	for i, item := range items {
		if item != vectorGone {
			page, at := v.locateRow(rows[i])
			vecmath.Rows(ask.query, page.vectors[at*stride:(at+1)*stride], dots[i:i+1])
		}
	}
	for i, item := range items {
		if item != vectorGone {
			page, at := v.locateRow(rows[i])
			scores[i] = v.findBestScore(ask, item, rows[i]+1, computeCosine(dots[i], page.scales[at], ask.scale))
		}
	}
}

// locateRow returns the page of row n and where in it the row is, no page beyond the last row.
func (v *view) locateRow(n int) (page *rowPage, at int) {
	if n >= v.rows {
		return nil, 0
	}
	return v.pages[n/pageSize], n % pageSize
}

// findBestScore is the best of a score and those of the item's rows from n on.
func (v *view) findBestScore(ask *question, item uint32, n int, score float64) float64 {
	stride := len(ask.query)
	for ; ; n++ {
		page, at := v.locateRow(n)
		if page == nil || page.items[at] != item {
			return score
		}
		var dots [1]int32
		vecmath.Rows(ask.query, page.vectors[at*stride:(at+1)*stride], dots[:])
		if c := computeCosine(dots[0], page.scales[at], ask.scale); c > score {
			score = c
		}
	}
}
