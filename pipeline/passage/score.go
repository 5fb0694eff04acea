package passage

import (
	"cmp"
	"context"
	"hash/maphash"
	"math"
	"slices"

	"satchel/pipeline/candidate"
	"satchel/pipeline/fill"
	"satchel/pipeline/scope"
	"satchel/pipeline/store/vector"
	"satchel/schemas"
)

// How much a question reads. A megabyte of prose is read in a tenth of a second the first time.
const (
	readWhole = 8 << 20  // bytes of the first items
	readFirst = 32 << 10 // bytes of each other
)

// The recipe of a score. It was measured on questions about repositories: see docs/explanation/packs.md.
const (
	units     = 100 // items whose passages are scored
	dense     = .5  // of the score that vectors say, the rest is said by terms
	ofUnit    = .2  // of both that the whole item says, the rest is said by the passage
	scale     = 1.5 // of a passage's score, against cues
	forTest   = 1.0 // taken from passages of tests
	preferred = .7  // for passages of the kinds that the asker prefers
	feedback  = .2  // of what terms of the best passages say
)

// Query is a question and what the principal may see.
type Query struct {
	Text       string
	Filter     schemas.Filter // what was searched
	Population schemas.Filter // the items that the principal may see
	Vector     []float32      // of the question, for the stored passages; nil: they have none, or none that counts
	Prefer     []schemas.Kind // where the asker expects the answer; none: anywhere
}

// Ranking is the scored passages of some candidates, best first.
type Ranking struct {
	Err   error       // of the stored vectors, in whose place those of the items counted; nil: none
	Begun int         // items of which only the beginning was read
	items []*analysis // by candidate; nil: it is not cut
	list  []scored
	rest  []scored // of the other items, in the order of these, and what says nothing alone; they are not scored
}

// scored is a passage.
type scored struct {
	at, part int // of the candidates, and of its passages
	score    float64
}

// Score cuts the kept candidates that are cut at all and scores the passages of the best. What
// the retrievers say of the items is in their channels.
func (r *Reader) Score(ctx context.Context, s scope.Scope, q Query, cs []candidate.Candidate) *Ranking {
	out := &Ranking{items: make([]*analysis, len(cs))}
	w := &scoring{reader: r, ctx: ctx, scope: s, query: q, cs: cs, ranking: out, cues: r.cfg.Cues.findCues(q.Text)}
	if len(q.Prefer) > 0 {
		w.cues = append(w.cues, cue{kinds: q.Prefer, weight: preferred})
	}
	w.pickItems()
	if len(out.list) == 0 {
		return out
	}
	w.scorePassages()
	slices.SortStableFunc(out.list, func(a, b scored) int {
		return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(a.at, b.at), cmp.Compare(a.part, b.part))
	})
	return out
}

// scoring is one ranking being made. The columns are by passage, as in ranking.list.
type scoring struct {
	reader  *Reader
	ctx     context.Context
	scope   scope.Scope
	query   Query
	cs      []candidate.Candidate
	cues    []cue
	ranking *Ranking
}

// pickItems picks the best items and lists their passages.
func (w *scoring) pickItems() {
	type unit struct {
		at    int
		score float64
	}
	var list []unit
	done := 0 // bytes
	for i := range w.cs {
		c := &w.cs[i]
		if !c.Kept() || c.Abbreviated || !Of(c.Visible) {
			continue
		}
		most := max(readWhole-done, readFirst)
		done += min(len(c.Content.Text()), most)
		a := w.reader.memo.analyseItem(w.scope.Tenant(), c, most)
		if a.begun {
			w.ranking.Begun++
		}
		w.ranking.items[i] = a
		list = append(list, unit{i, w.scoreItem(c, a)})
	}
	slices.SortStableFunc(list, func(a, b unit) int { return cmp.Compare(b.score, a.score) })
	r := reading{memo: w.reader.memo, by: w.reader.cfg.Vectors}
	for n, u := range list {
		a := w.ranking.items[u.at]
		if n < units {
			r.readPassages(a, w.cs[u.at].Content.Text(), !w.hasStoredVectors())
		}
		for p := range a.parts {
			if n < units && !a.parts[p].bare {
				w.ranking.list = append(w.ranking.list, scored{at: u.at, part: p})
			} else {
				w.ranking.rest = append(w.ranking.rest, scored{at: u.at, part: p, score: unscored - float64(n)})
			}
		}
	}
}

// unscored is below every score.
const unscored = -100

// computeStanding is what a profile of ranking or a reranker says of an item beside its relevance, as
// a logit in the unit of scores.
func computeStanding(c *candidate.Candidate) float64 {
	relevance := c.Score
	if _, reranked := c.Channels.Of("rerank"); reranked {
		relevance = .5
	} else if c.Signals != nil {
		relevance = c.Signals.Relevance
	}
	return scale * (computeLogit(c.Score) - computeLogit(relevance)) / 2
}

func computeLogit(p float64) float64 {
	p = min(max(p, 1e-6), 1-1e-6)
	return math.Log(p / (1 - p))
}

// scoreItem scores an item as a whole.
func (w *scoring) scoreItem(c *candidate.Candidate, a *analysis) float64 {
	words, _ := c.Channels.Of("keyword")
	vectors, _ := c.Channels.Of("vector")
	if encoded, ok := c.Channels.Of("encoder"); ok {
		vectors.Z = (vectors.Z + encoded.Z) / 2
	}
	score := (1-dense)*words.Z + dense*vectors.Z + computeStanding(c)
	for i := range w.cues {
		score += w.cues[i].scoreItemKind(c.Kind)
	}
	if a.test {
		score -= forTest
	}
	return score
}

// findPassage returns a passage and its item.
func (w *scoring) findPassage(i int) (*read, *analysis) {
	p := &w.ranking.list[i]
	a := w.ranking.items[p.at]
	return &a.parts[p.part], a
}

// scorePassages scores every listed passage.
func (w *scoring) scorePassages() {
	list := w.ranking.list
	groups := w.readQuestion()
	w.weighTerms(groups)
	byTerms := w.mixScores(w.matchTerms(groups), "keyword")
	by := "vector"
	if w.hasStoredVectors() {
		by = "encoder"
	}
	similar := w.mixScores(w.computeCosines(), by)
	cues := w.scoreCues()
	share := dense
	if !w.canReadQuestion() {
		share = 0
	}
	for i := range list {
		list[i].score = scale * ((1-share)*byTerms[i] + share*similar[i])
	}
	if more := w.findFeedbackTerms(groups, cues); more != nil {
		for i, z := range zScores(w.matchTerms(more)) {
			list[i].score += scale * feedback * z
		}
	}
	for i := range list {
		list[i].score += cues[i] + computeStanding(&w.cs[list[i].at])
		if _, a := w.findPassage(i); a.test {
			list[i].score -= forTest
		}
	}
}

// mixScores is what passages say, and their items by a retriever, in units of the spread.
func (w *scoring) mixScores(own []float64, retriever string) []float64 {
	whole := make([]float64, len(own))
	for i := range whole {
		channel, _ := w.cs[w.ranking.list[i].at].Channels.Of(retriever)
		whole[i] = channel.Score
	}
	own = zScores(own)
	whole = zScores(whole)
	for i := range own {
		own[i] = (1-ofUnit)*own[i] + ofUnit*whole[i]
	}
	return zScores(own)
}

// zScores are the z-scores of each value among them.
func zScores(values []float64) []float64 {
	var mean, square float64
	for _, v := range values {
		mean += v
	}
	mean /= float64(max(1, len(values)))
	for _, v := range values {
		square += (v - mean) * (v - mean)
	}
	sd := math.Sqrt(square / float64(max(1, len(values))))
	if sd < 1e-9 {
		sd = 1
	}
	out := make([]float64, len(values))
	for i, v := range values {
		out[i] = (v - mean) / sd
	}
	return out
}

// hasStoredVectors reports whether the stored vectors of passages count.
func (w *scoring) hasStoredVectors() bool {
	return w.query.Vector != nil && w.reader.cfg.Passages != nil
}

// mostlyRead is the share of a question that the vectors must read; those of other languages say nothing.
const mostlyRead = .5

// canReadQuestion reports whether the vectors read the question.
func (w *scoring) canReadQuestion() bool {
	by := w.reader.cfg.Vectors
	return w.hasStoredVectors() || by == nil || by.ReadsWords(spaceCompounds(w.query.Text)) >= mostlyRead
}

// computeCosines are those of question and passage.
func (w *scoring) computeCosines() []float64 {
	if w.hasStoredVectors() {
		return w.storedCosines()
	}
	out := make([]float64, len(w.ranking.list))
	by := w.reader.cfg.Vectors
	if by == nil {
		return out
	}
	q := by.WordVector(nil, spaceCompounds(w.query.Text))
	for i := range out {
		p, _ := w.findPassage(i)
		dot := float32(0)
		for j, v := range p.vector {
			dot += v * q[j]
		}
		out[i] = float64(dot)
	}
	return out
}

// storedCosines are those of the stored passages. A passage that is not stored, of an item that is hidden in part or
// has no other, has its item's.
func (w *scoring) storedCosines() []float64 {
	var ids []string
	place := map[int]int{}
	for _, entry := range w.ranking.list {
		if c := &w.cs[entry.at]; len(w.ranking.items[entry.at].parts) > 1 && !c.Masked && !c.Verdict.Redact {
			if _, listed := place[entry.at]; !listed {
				place[entry.at] = len(ids)
				ids = append(ids, c.ID)
			}
		}
	}
	stored, err := w.reader.cfg.Passages.ScoreChunks(w.ctx, w.scope, vector.Query{
		Vector: w.query.Vector, Axis: vector.AxisPassage, Filter: w.query.Filter, Population: w.query.Population.Settled()}, ids)
	if err != nil {
		w.ranking.Err = err
		stored = nil
	}
	out := make([]float64, len(w.ranking.list))
	for i, entry := range w.ranking.list {
		item, _ := w.cs[entry.at].Channels.Of("encoder")
		out[i] = item.Score
		p, a := w.findPassage(i)
		at, asked := place[entry.at]
		if !asked || at >= len(stored) {
			continue
		}
		if isWhole := len(stored[at]) == len(a.parts); !isWhole && !(a.begun && entry.part < len(stored[at])) {
			continue
		}
		if chunk := stored[at][entry.part]; chunk.Span == p.span {
			out[i] = chunk.Score
		}
	}
	return out
}

// scoreCues is what the wording of the question adds.
func (w *scoring) scoreCues() []float64 {
	out := make([]float64, len(w.ranking.list))
	for i := range out {
		p, a := w.findPassage(i)
		for j := range w.cues {
			c := &w.cues[j]
			out[i] += c.scoreItemKind(a.kind)
			if c.canReadKind(a.kind) && p.cues.isCueMet(c.number, func() string { return w.readPassageText(i, p, a) }, c) {
				out[i] += c.weight
			}
		}
	}
	return out
}

// readPassageText is that of a passage.
func (w *scoring) readPassageText(i int, p *read, a *analysis) string {
	return a.readOwnText(p.part, w.cs[w.ranking.list[i].at].Content.Text())
}

// The parameters of BM25.
const (
	k1      = 1.2
	b       = .75
	average = 60 // terms of a passage
)

// matchTerms is BM25 over the passages, of each group the best term.
func (w *scoring) matchTerms(groups []group) []float64 {
	out := make([]float64, len(w.ranking.list))
	for i := range out {
		p, _ := w.findPassage(i)
		norm := k1 * (1 - b + b*p.length/average)
		for g := range groups {
			best := 0.0
			for _, t := range groups[g].terms {
				if f := float64(p.terms[t.hash]); f > 0 {
					best = max(best, t.weight*t.idf*f*(k1+1)/(f+norm))
				}
			}
			out[i] += best
		}
	}
	return out
}

// The bounds of feedback.
const (
	feedbackUnits = 8  // whose best passage is read
	feedbackFrom  = 60 // passages among which these are
	feedbackTerms = 12 // that are taken
	commonest     = 3  // idf of a term that one of twenty items has
	fade          = 1.5
)

// findFeedbackTerms returns terms that the best passages share and the question lacks, nil for none.
func (w *scoring) findFeedbackTerms(groups []group, cues []float64) []group {
	order := w.pickBestPassages(cues, feedbackFrom)
	known := map[uint64]bool{}
	for _, g := range groups {
		known[g.terms[0].hash] = true
	}
	found := map[uint64]*term{}
	seen := map[int]bool{}
	var an analyzer
	top := 0.0
	for n, i := range order {
		entry := &w.ranking.list[i]
		score := entry.score + cues[i]
		if n == 0 {
			top = score
		}
		if seen[entry.at] {
			continue
		}
		seen[entry.at] = true
		weight := math.Exp(min(0, (score-top)/fade))
		p, a := w.findPassage(i)
		for _, t := range an.listDistinctTerms(a.found + "\n" + w.readPassageText(i, p, a)) {
			hash := maphash.String(w.reader.memo.seed, t)
			if known[hash] {
				continue
			}
			if found[hash] == nil {
				found[hash] = &term{hash: hash, text: t}
			}
			found[hash].weight += weight * min(float64(p.terms[hash]), 3) / (p.length + 20)
		}
		if len(seen) >= feedbackUnits {
			break
		}
	}
	return w.commonTerms(found)
}

// pickBestPassages returns the best passages by score and cues.
func (w *scoring) pickBestPassages(cues []float64, n int) []int {
	order := fill.All(len(w.ranking.list))
	slices.SortStableFunc(order, func(x, y int) int {
		return cmp.Compare(w.ranking.list[y].score+cues[y], w.ranking.list[x].score+cues[x])
	})
	return order[:min(n, len(order))]
}

// commonTerms are the terms to look for as well: rare, but in more than one item.
func (w *scoring) commonTerms(found map[uint64]*term) []group {
	var all []group
	for _, t := range found {
		all = append(all, group{terms: []term{*t}})
	}
	slices.SortFunc(all, func(x, y group) int { return cmp.Compare(x.terms[0].text, y.terms[0].text) })
	w.weighTerms(all)
	for i := range all {
		all[i].terms[0].weight *= all[i].terms[0].idf
	}
	slices.SortStableFunc(all, func(x, y group) int { return cmp.Compare(y.terms[0].weight, x.terms[0].weight) })
	kept := all[:0]
	for _, g := range all {
		if t := &g.terms[0]; t.weight > 0 && t.idf >= commonest && w.countHolders(t.hash) > 1 {
			kept = append(kept, g)
		}
		if len(kept) == feedbackTerms {
			break
		}
	}
	all = kept
	if len(all) == 0 {
		return nil
	}
	most := all[0].terms[0].weight
	for i := range all {
		all[i].terms[0].weight /= most
	}
	return all
}

// countHolders counts the items among the scored that have a term.
func (w *scoring) countHolders(hash uint64) int {
	last := -1
	n := 0
	for i := range w.ranking.list {
		if p, _ := w.findPassage(i); p.terms[hash] > 0 && w.ranking.list[i].at != last {
			last = w.ranking.list[i].at
			n++
		}
	}
	return n
}
