package passage

import (
	"math"
	"slices"
	"strings"

	"satchel/pipeline/candidate"
	"satchel/pipeline/fill"
	"satchel/pipeline/token"
	"satchel/schemas"
)

// The weights of a choice.
const (
	costWeight  = .25 // of ln(tokens)
	crowdWeight = .3  // of ln(1 + passages of the same item)
	leastCost   = 12  // tokens from which cost counts
	perHead     = 4   // tokens of a reference and of what parts items
	perPart     = 2   // tokens of what parts passages
	perFence    = 4   // tokens of the fence around code
	mostOfOne   = .75 // of the budget, for one item among others, but for its first passage
)

// Options bound a choice.
type Options struct {
	Budget  int     // tokens of what is shown
	Farther float64 // below the best value, past which no passage is taken; 0: they fill the budget
	Items   int     // that are shown; 0: any number
	Counter token.Counter
	Measure func(*candidate.Candidate) int // tokens of a candidate as it is shown
	// Floors are tokens that passages of a kind have before those of others, as far as there are any. The
	// floors together are at most Budget. With them the best value is that of the kind.
	Floors map[schemas.Kind]int
	// Most are the tokens that one item of a kind takes beside others, but for its first passage; default mostOfOne.
	Most map[schemas.Kind]int
}

// Choose takes passages greedily by score, cost and how many of the same item there are already,
// as long as the budget pays for them. It puts what is taken of an item in the place of its
// content, as a quotation, and drops the other items that are cut. What an item takes is measured
// as it is shown.
//
// The standings of the items that are quoted stay the same numbers, but go by their best passages:
// where other items want a part of the budget, the quotation that says least gives way.
func (k *Ranking) Choose(cs []candidate.Candidate, o Options) {
	c := &choice{
		ranking: k, cs: cs, options: &o, taken: map[int][]int{}, shown: map[int]int{}, at: map[int][]int{}, done: map[int]bool{},
		best: map[schemas.Kind]float64{}, far: map[int]bool{},
		floors: o.Floors, used: map[schemas.Kind]int{}, many: countKept(cs) > 1,
	}
	for i := range k.list {
		c.at[k.list[i].at] = append(c.at[k.list[i].at], i)
	}
	if len(o.Floors) > 0 {
		c.takeFittingPassages()
		c.floors = nil // what a kind can't use is the others'
	}
	c.takeFittingPassages()
	if o.Farther > 0 {
		k.rest = slices.DeleteFunc(k.rest, func(p scored) bool { return p.score < unscored-units || len(c.at[p.at]) > 0 })
	}
	if o.Budget-c.spent > roomForRest && len(k.rest) > 0 { // nearly all that is scored is taken, or nothing could be
		for i := range k.rest {
			c.at[k.rest[i].at] = append(c.at[k.rest[i].at], len(k.list)+i)
		}
		k.list = append(k.list, k.rest...)
		k.rest = nil
		c.takeFittingPassages()
	}
	c.updateStandings()
	for i, a := range k.items {
		switch parts := c.taken[i]; {
		case a == nil:
		case len(parts) == 0:
			cs[i].Drop = schemas.DropBudget
			if c.far[i] || o.Farther > 0 && len(c.at[i]) == 0 {
				cs[i].Drop = schemas.DropRank
				cs[i].Detail = candidate.WorthLess
			} else if o.Items > 0 && len(c.taken) >= o.Items { // whatever its size
				cs[i].Drop = schemas.DropRank
			}
		default:
			a.quotePassages(&cs[i], parts, o.Counter)
		}
	}
}

// countKept is how many candidates may be shown.
func countKept(cs []candidate.Candidate) (n int) {
	for i := range cs {
		if cs[i].Kept() {
			n++
		}
	}
	return n
}

// updateStandings gives the items that are quoted new standings.
func (c *choice) updateStandings() {
	var order []int // by their best passages
	var standings []float64
	listed := map[int]bool{}
	for i := range c.ranking.list {
		if at := c.ranking.list[i].at; c.done[i] && !listed[at] {
			listed[at] = true
			order = append(order, at)
			standings = append(standings, c.cs[at].Standing)
		}
	}
	slices.Sort(standings)
	for n, at := range order {
		c.cs[at].Standing = standings[len(standings)-1-n]
	}
}

// roomForRest is the tokens of a short passage.
const roomForRest = leastCost

// Whole shows every item that is cut as a quotation of the whole of it.
func (k *Ranking) Whole(cs []candidate.Candidate, by token.Counter) {
	for i, a := range k.items {
		if a != nil {
			a.quotePassages(&cs[i], fill.All(len(a.parts)), by)
		}
	}
}

// choice is a choice being made.
type choice struct {
	ranking *Ranking
	cs      []candidate.Candidate
	options *Options
	taken   map[int][]int // by candidate: its passages
	shown   map[int]int   // by candidate: tokens of what is taken
	at      map[int][]int // by candidate: places in the ranking
	done    map[int]bool  // by place: it is taken
	spent   int
	best    map[schemas.Kind]float64 // the best value, of all under ""
	far     map[int]bool             // by candidate: its best passage is too far below it
	floors  map[schemas.Kind]int     // that still hold
	used    map[schemas.Kind]int     // tokens by kind
	many    bool                     // there are other items to show
}

// takeFittingPassages takes what fits.
func (c *choice) takeFittingPassages() {
	shelf := fill.Shelf{Value: c.valuePassage, Take: c.take}
	shelf.Fill(fill.All(len(c.ranking.list)))
}

// take takes a passage if it fits. The others of an item are cheaper once its first is taken.
func (c *choice) take(i int, value float64) (risen []int, full bool) {
	p := c.ranking.list[i]
	kind := c.cs[p.at].Kind
	switch {
	case c.done[i]:
		return nil, false
	case c.spent+leastCost > c.options.Budget:
		return nil, true
	case c.isPast(i, value, kind):
		c.far[p.at] = len(c.taken[p.at]) == 0
		return nil, false
	}
	left := c.countLeftTokens(kind)
	first := len(c.taken[p.at]) == 0
	if leastShare*float64(c.estimateCost(i)) > float64(left) {
		return nil, false
	}
	cost := c.measureItem(p) - c.shown[p.at]
	if cost > left || !first && c.isCrowding(p.at, cost) {
		return nil, false
	}
	if first && c.options.Items > 0 && len(c.taken) >= c.options.Items {
		return nil, false
	}
	c.done[i] = true
	c.taken[p.at] = append(c.taken[p.at], p.part)
	c.shown[p.at] += cost
	c.spent += cost
	c.used[kind] += cost
	if first {
		risen = c.at[p.at]
	}
	return risen, false
}

// isPast reports whether a passage is worth too little for its tokens beside the best.
func (c *choice) isPast(i int, value float64, kind schemas.Kind) bool {
	if len(c.options.Floors) == 0 {
		kind = ""
	}
	best, known := c.best[kind]
	if !known {
		best = value
		c.best[kind] = value
	}
	return c.options.Farther > 0 && value < best-c.options.Farther && c.ranking.list[i].score > unscored
}

// isCrowding reports whether an item would take more than its part beside others.
func (c *choice) isCrowding(at, cost int) bool {
	most, capped := c.options.Most[c.cs[at].Kind]
	if !capped {
		most = int(mostOfOne * float64(c.options.Budget))
	}
	return c.many && c.shown[at]+cost > most
}

// countLeftTokens is what passages of a kind may still take: the floors of other kinds are theirs.
func (c *choice) countLeftTokens(kind schemas.Kind) int {
	left := c.options.Budget - c.spent
	for other, floor := range c.floors {
		if other != kind {
			left -= max(0, floor-c.used[other])
		}
	}
	return left
}

// valuePassage is what a passage is worth now. Its tokens are estimated: the logarithm forgives that.
func (c *choice) valuePassage(i int) float64 {
	p := c.ranking.list[i]
	cost := c.estimateCost(i)
	return p.score - costWeight*math.Log(float64(max(leastCost, cost))) - crowdWeight*math.Log1p(float64(len(c.taken[p.at])))
}

// leastShare of its estimate is what a passage takes at least, as a rule.
const leastShare = .5

// estimateCost is about what showing a passage adds.
func (c *choice) estimateCost(i int) int {
	p := c.ranking.list[i]
	a := c.ranking.items[p.at]
	part := &a.parts[p.part]
	cost := estimateTokens(part.span.End-part.span.Start) + perPart
	if part.doc.End > part.doc.Start {
		cost += estimateTokens(part.doc.End - part.doc.Start)
	}
	if len(c.taken[p.at]) > 0 {
		return cost
	}
	cost += perHead + estimateTokens(len(a.formatHead(a.line))+1+a.title)
	if p.part > 0 {
		cost += estimateTokens(len(a.sign))
	}
	if a.kind == schemas.KindCode {
		cost += perFence
	}
	return cost
}

// exactly is how many passages of an item are measured together. To measure all of them each time would cost the square of
// what they are.
const exactly = 16

// measureItem returns the tokens of an item as it is shown with one passage more. From so many on that takes what it takes alone.
func (c *choice) measureItem(p scored) int {
	shown := c.cs[p.at]
	parts := c.taken[p.at]
	if len(parts) < exactly {
		c.ranking.items[p.at].putPassages(&shown, append(slices.Clone(parts), p.part))
		return c.options.Measure(&shown)
	}
	c.ranking.items[p.at].putPassages(&shown, []int{p.part})
	return c.shown[p.at] + c.options.Measure(&shown)
}

// signed is how many bytes of a content are looked at for its signature.
const signed = 600

// quotePassages puts passages in the place of an item's content, and counts what that leaves out.
func (a *analysis) quotePassages(c *candidate.Candidate, parts []int, by token.Counter) {
	a.putPassages(c, parts)
	x := c.Extract
	if x == nil {
		return
	}
	x.Before = by.Count(candidate.Counted(c.Speaker, x.Whole.Text()))
	x.After = by.Count(candidate.Counted(c.Speaker, c.Content.Text()))
	if x.After >= x.Before { // leaving out saves nothing
		c.ShowWhole()
	}
}

// putPassages puts passages in the place of an item's content.
func (a *analysis) putPassages(c *candidate.Candidate, parts []int) {
	parts = slices.Sorted(slices.Values(parts))
	text := c.Content.Text()
	var spans []schemas.Span
	if a.title > 0 {
		spans = append(spans, schemas.Span{End: a.title})
	}
	var doc []string
	for _, p := range parts {
		if part := &a.parts[p]; part.span.End > part.span.Start {
			spans = append(spans, part.span)
		}
		if d := a.parts[p].doc; d.End > d.Start {
			doc = append(doc, a.doc[d.Start:d.End])
		}
	}
	if len(spans) == 0 { // the comment alone: with the line that it is about
		first, _, _ := strings.Cut(text, "\n")
		spans = append(spans, schemas.Span{End: max(1, len(first))})
	}
	spans = joinSpans(text, spans)
	whole := spans[0].Start == 0
	line := a.line
	if line > 0 && a.kind != schemas.KindCode { // a document is cited by the lines that are shown
		line += strings.Count(text[:spans[min(len(spans)-1, 1)].Start], "\n")
	}
	c.Quote = &candidate.Quote{Head: a.formatHead(line), Comment: strings.Join(doc, "\n"+candidate.Ellipsis+"\n")}
	if a.sign != "" && (!whole || !strings.Contains(strings.Join(strings.Fields(truncateText(text, signed)), " "), a.sign)) {
		c.Quote.Signature = a.sign
	}
	if len(spans) == 1 && whole && spans[0].End == len(text) {
		return
	}
	x := &candidate.Extract{Quoted: true, Lines: make([]candidate.Line, len(spans))}
	for i, s := range spans {
		x.Lines[i].Span = s
	}
	c.ShowPart(x)
}

// joinSpans joins spans that overlap or have nothing but space between them, and takes the space
// at both ends of the text to them.
func joinSpans(text string, spans []schemas.Span) []schemas.Span {
	out := spans[:1]
	for _, s := range spans[1:] {
		last := &out[len(out)-1]
		if s.Start <= last.End || strings.TrimSpace(text[last.End:s.Start]) == "" {
			last.End = max(last.End, s.End)
			continue
		}
		out = append(out, s)
	}
	if first := &out[0]; strings.TrimSpace(text[:first.Start]) == "" {
		first.Start = 0
	}
	if last := &out[len(out)-1]; strings.TrimSpace(text[last.End:]) == "" {
		last.End = len(text)
	}
	return out
}
