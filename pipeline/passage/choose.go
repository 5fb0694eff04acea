package passage

import (
	"cmp"
	"container/heap"
	"math"
	"slices"
	"strings"

	"satchel/pipeline/candidate"
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
)

// Options bound a choice.
type Options struct {
	Budget  int // tokens of what is shown
	Items   int // that are shown; 0: any number
	Floor   int // tokens that documents, code and commits get first, each, where they have passages
	Counter token.Counter
	Measure func(*candidate.Candidate) int // tokens of a candidate as it is shown
}

// Choose takes passages greedily by score, cost and how many of the same item there are already,
// as long as the budget pays for them. It puts what is taken of an item in the place of its
// content, as a quotation, and drops the other items that are cut.
//
// What a passage takes is estimated, never too low as a rule; what that leaves of the budget is
// measured, and given to what still fits.
func (k *Ranking) Choose(cs []candidate.Candidate, o Options) {
	c := &choice{ranking: k, cs: cs, options: &o, taken: map[int][]int{}, at: map[int][]int{}, done: map[int]bool{}}
	for i := range k.list {
		c.at[k.list[i].at] = append(c.at[k.list[i].at], i)
	}
	if o.Floor > 0 {
		c.floors()
	}
	c.fill()
	if c.all() && len(k.rest) > 0 {
		for i := range k.rest {
			c.at[k.rest[i].at] = append(c.at[k.rest[i].at], len(k.list)+i)
		}
		k.list, k.rest = append(k.list, k.rest...), nil
		c.fill()
	}
	for i, a := range k.items {
		switch parts := c.taken[i]; {
		case a == nil:
		case len(parts) == 0:
			cs[i].Drop = schemas.DropBudget
			if c.full {
				cs[i].Drop = schemas.DropRank
			}
		default:
			a.quote(&cs[i], parts, o.Counter)
		}
	}
}

// fill takes what fits, as often as what is left of the budget allows.
func (c *choice) fill() {
	for range fillings {
		before := len(c.done)
		if c.run(); len(c.done) == before {
			return
		}
		c.spent = c.measure()
	}
}

// all reports whether there is room for what is not scored: nearly all that is, is taken.
func (c *choice) all() bool { return c.options.Budget-c.spent > roomForRest }

// roomForRest is the tokens of a short passage.
const roomForRest = leastCost

// Whole shows every item that is cut as a quotation of the whole of it.
func (k *Ranking) Whole(cs []candidate.Candidate, by token.Counter) {
	for i, a := range k.items {
		if a != nil {
			all := make([]int, len(a.parts))
			for p := range all {
				all[p] = p
			}
			a.quote(&cs[i], all, by)
		}
	}
}

// fillings is how often what is left of the budget is given away.
const fillings = 3

// measure returns the tokens that what is taken takes as it is shown.
func (c *choice) measure() int {
	total := 0
	for at, parts := range c.taken {
		shown := c.cs[at]
		c.ranking.items[at].quote(&shown, parts, c.options.Counter)
		total += c.options.Measure(&shown)
	}
	return total
}

// choice is a choice being made.
type choice struct {
	ranking *Ranking
	cs      []candidate.Candidate
	options *Options
	queue   queue
	taken   map[int][]int // by candidate: its passages
	at      map[int][]int // by candidate: places in the ranking
	done    map[int]bool  // by place: it is taken
	spent   int
	only    schemas.Kind // passages of these items alone are taken; "": of all
	full    bool         // the limit of items kept some out
}

// floors takes the best passages of documents, code and commits, each up to its floor.
func (c *choice) floors() {
	budget := c.options.Budget
	for _, kind := range []schemas.Kind{schemas.KindKnowledge, schemas.KindCode, schemas.KindCommit} {
		c.only = kind
		c.options.Budget = min(budget, c.spent+c.options.Floor)
		c.run()
	}
	c.only, c.options.Budget = "", budget
}

// sort is the kind of an item, of a document KindKnowledge.
func (a *analysis) sort() schemas.Kind {
	if a.kind == schemas.KindCode || a.kind == schemas.KindCommit {
		return a.kind
	}
	return schemas.KindKnowledge
}

// run takes what fits.
func (c *choice) run() {
	c.queue = c.queue[:0]
	for i := range c.ranking.list {
		if !c.done[i] && (c.only == "" || c.ranking.items[c.ranking.list[i].at].sort() == c.only) {
			c.queue = append(c.queue, valued{i, c.value(i)})
		}
	}
	heap.Init(&c.queue)
	for len(c.queue) > 0 {
		top := heap.Pop(&c.queue).(valued)
		if c.done[top.place] {
			continue
		}
		if now := c.value(top.place); top.value-now > 1e-9 { // its item is more crowded by now
			heap.Push(&c.queue, valued{top.place, now})
			continue
		}
		if c.spent+leastCost > c.options.Budget {
			return
		}
		cost, p := c.cost(top.place, c.options.Counter.Count), c.ranking.list[top.place]
		first := len(c.taken[p.at]) == 0
		if c.spent+cost > c.options.Budget {
			continue
		}
		if first && c.options.Items > 0 && len(c.taken) >= c.options.Items {
			c.full = true
			continue
		}
		c.done[top.place] = true
		c.taken[p.at] = append(c.taken[p.at], p.part)
		c.spent += cost
		if first { // the others of the item are cheaper now
			for _, i := range c.at[p.at] {
				if !c.done[i] {
					heap.Push(&c.queue, valued{i, c.value(i)})
				}
			}
		}
	}
}

// value is what a passage is worth now. Its tokens are estimated: the logarithm forgives that.
func (c *choice) value(i int) float64 {
	p := c.ranking.list[i]
	cost := c.cost(i, func(text string) int { return tokens(len(text)) })
	return p.score - costWeight*math.Log(float64(max(leastCost, cost))) - crowdWeight*math.Log1p(float64(len(c.taken[p.at])))
}

// cost is what showing a passage adds.
func (c *choice) cost(i int, count func(text string) int) int {
	p := c.ranking.list[i]
	a, text := c.ranking.items[p.at], c.cs[p.at].Content.Text()
	part := a.parts[p.part]
	cost := count(text[part.span.Start:part.span.End]) + perPart
	if part.doc.End > part.doc.Start {
		cost += count(a.doc[part.doc.Start:part.doc.End])
	}
	if len(c.taken[p.at]) > 0 {
		return cost
	}
	cost += perHead + count(a.head(a.line)+" "+text[:a.title])
	if p.part > 0 {
		cost += count(a.sign)
	}
	if a.kind == schemas.KindCode {
		cost += perFence
	}
	return cost
}

// valued is a place in the ranking and what it was worth when it was queued.
type valued struct {
	place int
	value float64
}

// queue is a heap, best first.
type queue []valued

func (q queue) Len() int { return len(q) }
func (q queue) Less(i, j int) bool {
	return cmp.Or(cmp.Compare(q[j].value, q[i].value), cmp.Compare(q[i].place, q[j].place)) < 0
}
func (q queue) Swap(i, j int) { q[i], q[j] = q[j], q[i] }
func (q *queue) Push(x any)   { *q = append(*q, x.(valued)) }
func (q *queue) Pop() any {
	last := (*q)[len(*q)-1]
	*q = (*q)[:len(*q)-1]
	return last
}

// signed is how many bytes of a content are looked at for its signature.
const signed = 600

// quote puts passages in the place of an item's content.
func (a *analysis) quote(c *candidate.Candidate, parts []int, by token.Counter) {
	parts = slices.Sorted(slices.Values(parts))
	text := c.Content.Text()
	var spans []schemas.Span
	if a.title > 0 {
		spans = append(spans, schemas.Span{End: a.title})
	}
	var doc []string
	for _, p := range parts {
		if part := a.parts[p]; part.span.End > part.span.Start {
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
	spans = together(text, spans)
	whole := spans[0].Start == 0
	line := a.line
	if line > 0 && a.kind != schemas.KindCode { // a document is cited by the lines that are shown
		line += strings.Count(text[:spans[min(len(spans)-1, 1)].Start], "\n")
	}
	c.Quote = &candidate.Quote{Head: a.head(line), Comment: strings.Join(doc, "\n"+candidate.Ellipsis+"\n")}
	if !whole || !strings.Contains(strings.Join(strings.Fields(cut(text, signed)), " "), a.sign) {
		c.Quote.Signature = a.sign
	}
	if len(spans) == 1 && whole && spans[0].End == len(text) {
		return
	}
	x := &candidate.Extract{
		Whole: c.Content, Before: said(c, text, by), Stored: c.ContentTokens, Quoted: true, Lines: make([]candidate.Line, len(spans)),
	}
	for i, s := range spans {
		x.Lines[i].Span = s
	}
	shown := x.Text()
	if x.After = said(c, shown, by); x.After >= x.Before { // leaving out saves nothing
		return
	}
	c.Extract = x
	c.Content, c.ContentTokens = schemas.TextContent(shown), 0
}

// said is the tokens of a content, as records count them.
func said(c *candidate.Candidate, text string, by token.Counter) int {
	if c.Speaker != "" {
		text = strings.ReplaceAll(c.Speaker, "\n", " ") + ": " + text
	}
	return by.Count(text + "\n")
}

// together joins spans that overlap or have nothing but space between them, and takes the space
// at both ends of the text to them.
func together(text string, spans []schemas.Span) []schemas.Span {
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
