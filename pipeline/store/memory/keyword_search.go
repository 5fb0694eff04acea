package memory

import (
	"cmp"
	"context"
	"math"
	"math/bits"
	"slices"
	"sync"
	"unsafe"

	"satchel/pipeline/language"
	"satchel/pipeline/store/internal/columns"
	"satchel/pipeline/store/keyword"
	"satchel/schemas"
)

// maxQueryTerms bounds the terms of one query; the rarest stay.
const maxQueryTerms = 256

// queryTerm is a term of a query that the tenant knows.
type queryTerm struct {
	term   uint32
	df     uint32 // documents of the population that have it
	idf    float64
	weight float64 // idf times the times it occurs in the query
}

// plan is a query made ready for one tenant at one moment.
type plan struct {
	terms    []queryTerm // in the order scores are summed
	masks    []uint8     // by profile: the filters that let it through
	counts   []uint8     // by profile: those of them whose moments it enters
	k1, b    float64
	docs     int // of the population
	avg      float64
	byNumber []int    // indexes into terms, by term number
	without  []uint32 // documents to pass over, sorted
}

// keywordBlock is how many documents are scored at a time: their scores stay in the cache.
const keywordBlock = 1 << 15

// scratch is what a search borrows. scores is all zero between blocks.
type scratch struct {
	analyzer language.Analyzer
	scores   [keywordBlock]float64
	cursors  []cursor
	touched  []uint32
	heaps    [columns.MaxFilters][]scoredRow
	table    [tableTF * tableLen]float64
	tableAvg float64 // the average length that table is for
	shares   [maxQueryTerms]float64
	seen     map[uint32]int
}

const (
	tableTF  = 3
	tableLen = 256
)

// preparePlan looks the query's terms up and decides which of them count, under at most
// facets.MaxFilters filters.
func (s *keywordState) preparePlan(cfg *KeywordConfig, q *keyword.Query, filters []schemas.Filter, sc *scratch) plan {
	p := plan{k1: cfg.K1, b: cfg.B, masks: s.Facets.Masks(filters), without: s.numbersOf(q.Exclude)}
	counted := make([]schemas.Filter, len(filters))
	for i, f := range filters {
		counted[i] = f.And(q.Population)
	}
	p.counts = s.Facets.Masks(counted)
	pop := s.findPopulation(q.Population, p.without)
	p.docs, p.avg = pop.docs, pop.computeMeanLength()
	sc.analyzer.Analyze(q.Text)
	clear(sc.seen)
	for i := range sc.analyzer.Len() {
		t, ok := s.terms.findTerm(sc.analyzer.Term(i))
		if !ok {
			continue
		}
		if at, dup := sc.seen[t]; dup {
			p.terms[at].weight += p.terms[at].idf
			continue
		}
		df := s.countTermDocuments(t, &pop)
		idf := pop.weighTerm(df)
		sc.seen[t] = len(p.terms)
		p.terms = append(p.terms, queryTerm{term: t, df: df, idf: idf, weight: idf})
	}
	p.terms = dropCommon(cfg, p.terms, pop.docs)
	p.byNumber = make([]int, len(p.terms))
	for i := range p.byNumber {
		p.byNumber[i] = i
	}
	slices.SortFunc(p.byNumber, func(a, b int) int { return cmp.Compare(p.terms[a].term, p.terms[b].term) })
	return p
}

// dropCommon leaves out, among many documents, the terms that so many of them have that
// they cost the most and tell the least, unless nothing else is left. A term that none of them has
// decides nothing here: it may be a hidden document's alone.
func dropCommon(cfg *KeywordConfig, terms []queryTerm, docs int) []queryTerm {
	if docs > cfg.CommonFrom {
		limit := uint32(cfg.CommonShare * float64(docs))
		if slices.ContainsFunc(terms, func(t queryTerm) bool { return t.df > 0 && t.df <= limit }) {
			terms = slices.DeleteFunc(terms, func(t queryTerm) bool { return t.df > limit })
		}
	}
	if len(terms) > maxQueryTerms {
		slices.SortStableFunc(terms, func(a, b queryTerm) int { return cmp.Compare(a.df-1, b.df-1) }) // 0 comes last
		terms = terms[:maxQueryTerms]
	}
	return terms
}

// computeSaturation is BM25's share of a term that occurs tf times in a document of length n.
func (p *plan) computeSaturation(tf, n uint32) float64 {
	f := float64(tf)
	norm := float64(p.k1 * float64(1-p.b+float64(p.b*float64(n)/p.avg)))
	return float64(f*(p.k1+1)) / (f + norm)
}

// searchBlocks scores every document that has a term of the plan, a block at a time, and keeps
// the best and the moments of each of the plan's n filters.
func (s *keywordState) searchBlocks(ctx context.Context, p *plan, n, limit int, sc *scratch) ([]keyword.Result, error) {
	passing := s.findPassingCounts(p.counts)
	for _, doc := range p.without {
		for m := p.counts[s.profiles[doc]]; m != 0; m &= m - 1 {
			passing[bits.TrailingZeros8(m)]--
		}
	}
	if len(p.terms) == 0 {
		results := make([]keyword.Result, n)
		for i := range results {
			results[i].N = passing[i]
		}
		return results, nil
	}
	if sc.tableAvg != p.avg { // k1 and b are the index's
		sc.tableAvg = p.avg
		for tf := range uint32(tableTF) {
			for n := range uint32(tableLen) {
				sc.table[tf*tableLen+n] = p.computeSaturation(tf+1, n)
			}
		}
	}
	sc.cursors = sc.cursors[:0]
	for _, t := range p.terms {
		sc.cursors = append(sc.cursors, s.chunks.newCursor(&s.postings[t.term]))
	}
	c := collector{profiles: s.profiles, masks: p.masks, counts: p.counts, without: p.without}
	before := func(a, b uint32) bool { return s.IDs.Compare(a, b) < 0 }
	for i := range n {
		c.by[i].top = topRows{Limit: limit, Before: before, Items: sc.heaps[i][:0]}
	}
	for base := 0; base < len(s.refs); base += keywordBlock {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		sc.touched = sc.touched[:0]
		for i, t := range p.terms {
			s.accumulateTerm(p, t.weight, &sc.cursors[i], uint32(base), sc)
		}
		c.collectBlock(uint32(base), sc)
	}
	results := make([]keyword.Result, n)
	for i := range results {
		results[i] = c.by[i].makeKeywordResult(s, passing[i])
		sc.heaps[i] = c.by[i].top.Items
	}
	return results, nil
}

// accumulateTerm adds one term's share to the score of every document of the block at base
// that has it.
func (s *keywordState) accumulateTerm(p *plan, weight float64, r *cursor, base uint32, sc *scratch) {
	lens := s.lens
	touched := sc.touched
	doc := r.doc
	for {
		b := r.entries
		i := r.at
		for i < len(b) && b[i] != 0 {
			start := i
			v := uint32(b[i])
			i++
			if v >= 0x80 {
				var rest uint32
				rest, i = readUvarintRest(b, i)
				v = v&0x7f | rest<<7
			}
			tf := uint32(1)
			if v&1 == 1 {
				tf, i = readUvarintRest(b, i)
			}
			at := doc + v>>1 - base
			if at >= keywordBlock {
				r.at = start
				r.doc = doc
				sc.touched = touched
				return
			}
			doc += v >> 1
			var share float64
			if n := lens[doc]; n < tableLen && tf <= tableTF {
				share = sc.table[(tf-1)*tableLen+n]
			} else {
				share = p.computeSaturation(tf, n)
			}
			old := sc.scores[at]
			if old == 0 {
				touched = append(touched, at)
			}
			sc.scores[at] = old + float64(weight*share)
		}
		if !s.chunks.advanceCursor(r) {
			r.doc = doc
			sc.touched = touched
			return
		}
	}
}

// collector gathers hits and moments, by filter.
type collector struct {
	profiles []uint32
	masks    []uint8
	counts   []uint8
	without  []uint32
	by       [columns.MaxFilters]gathered
}

// gathered is what a filter lets through.
type gathered struct {
	top          topRows
	sum, squares float64
}

// collectBlock takes the touched documents of the block at base and clears their scores.
func (c *collector) collectBlock(base uint32, sc *scratch) {
	for _, at := range sc.touched {
		score := sc.scores[at]
		sc.scores[at] = 0
		prof := c.profiles[base+at]
		if prof == keywordGone || passedOver(c.without, base+at) {
			continue
		}
		counts := c.counts[prof]
		for m := c.masks[prof]; m != 0; m &= m - 1 {
			g := &c.by[bits.TrailingZeros8(m)]
			if counts&m&-m != 0 {
				g.sum += score
				g.squares += float64(score * score)
			}
			if !g.top.Beneath(score) {
				g.top.Offer(scoredRow{Doc: base + at, Score: score})
			}
		}
	}
}

// makeKeywordResult turns what was gathered into hits, best first, and moments over n documents.
func (g *gathered) makeKeywordResult(s *keywordState, n int) keyword.Result {
	sortBest(g.top.Items, s.IDs)
	res := keyword.Result{Hits: make([]keyword.Hit, len(g.top.Items)), N: n}
	for i, c := range g.top.Items {
		res.Hits[i] = keyword.Hit{ID: s.IDs.ID(c.Doc), Score: c.Score}
	}
	if n > 0 {
		res.Mean = g.sum / float64(n)
		res.SD = math.Sqrt(max(0, g.squares/float64(n)-float64(res.Mean*res.Mean)))
	}
	return res
}

// matchCounts keeps how many documents pass, by list of masks, until the documents change:
// there can be a profile to every document, and a request asks several times.
type matchCounts struct {
	mu sync.Mutex
	by map[*uint8][columns.MaxFilters]int // by where the masks are: they are never changed
}

// maxMatchCounts bounds the lists that are kept.
const maxMatchCounts = 16

func (p *matchCounts) forgetCounts() { p.by = nil } // no one reads meanwhile

// findPassingCounts counts, by filter, the live documents whose profile it lets through.
func (s *keywordState) findPassingCounts(masks []uint8) [columns.MaxFilters]int {
	at := unsafe.SliceData(masks)
	s.matches.mu.Lock()
	n, ok := s.matches.by[at]
	s.matches.mu.Unlock()
	if ok {
		return n
	}
	n = s.countPassing(masks)
	s.matches.mu.Lock()
	defer s.matches.mu.Unlock()
	if s.matches.by == nil || len(s.matches.by) >= maxMatchCounts {
		s.matches.by = map[*uint8][columns.MaxFilters]int{}
	}
	s.matches.by[at] = n
	return n
}

func (s *keywordState) countPassing(masks []uint8) (n [columns.MaxFilters]int) {
	var by [1 << columns.MaxFilters]int
	for prof, live := range s.Live {
		by[masks[prof]] += int(live)
	}
	for mask, live := range by {
		for m := uint8(mask); m != 0; m &= m - 1 {
			n[bits.TrailingZeros8(m)] += live
		}
	}
	return n
}

// keywordTogether is how many documents are scored at once: about as many as a core can wait for
// memory for.
const keywordTogether = 32

// scoreDocuments returns what search gives the documents with ids, 0 for one that is absent or
// hidden. It takes one step for several documents before the next, so that what they wait
// for in memory they wait for together.
func (s *keywordState) scoreDocuments(p *plan, ids []string, sc *scratch) []float64 {
	scores := make([]float64, len(ids))
	docs := make([]uint32, len(ids))
	if len(p.terms) == 0 {
		return scores
	}
	s.IDs.LookupAll(ids, docs) // columns.NoID is gone
	var rows [keywordTogether]forwardRow
	for from := 0; from < len(docs); from += keywordTogether {
		some := docs[from:min(from+keywordTogether, len(docs))]
		for i, doc := range some {
			if doc != keywordGone && (p.masks[s.profiles[doc]] == 0 || passedOver(p.without, doc)) {
				some[i] = keywordGone
			}
		}
		for i, doc := range some {
			if doc != keywordGone {
				rows[i] = forwardRow{ref: s.refs[doc], length: s.lens[doc]}
			}
		}
		for i, doc := range some {
			if doc != keywordGone {
				rows[i].counts = s.forward.findCountBytes(rows[i].ref)
				rows[i].first = rows[i].counts[0]
			}
		}
		for i, doc := range some {
			if doc != keywordGone {
				scores[from+i] = p.scoreForwardRow(&rows[i], sc.shares[:len(p.terms)])
			}
		}
	}
	return scores
}

// forwardRow is a document that is being scored.
type forwardRow struct {
	ref    uint64
	length uint32
	first  byte   // of counts: read only to have it fetched
	counts []byte // as forward keeps them, and what follows
}

// scoreForwardRow adds up the shares of the plan's terms in the order of the plan.
func (p *plan) scoreForwardRow(doc *forwardRow, shares []float64) float64 {
	clear(shares)
	b := doc.counts
	term := uint32(0)
	rest := p.byNumber
	want := p.terms[rest[0]].term
	n, i := decodeUvarint(b, 0)
	for range n {
		var step uint64
		step, i = decodeUvarint(b, i)
		term += uint32(step >> 1)
		tf := uint64(1)
		if step&1 == 1 {
			tf, i = decodeUvarint(b, i)
		}
		for want < term {
			rest = rest[1:]
			if len(rest) == 0 {
				return sumShares(shares)
			}
			want = p.terms[rest[0]].term
		}
		if want == term {
			shares[rest[0]] = float64(p.terms[rest[0]].weight * p.computeSaturation(uint32(tf), doc.length))
		}
	}
	return sumShares(shares)
}

func sumShares(shares []float64) float64 {
	total := 0.0
	for _, v := range shares {
		total += v
	}
	return total
}
