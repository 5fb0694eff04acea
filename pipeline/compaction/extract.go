package compaction

import (
	"math"
	"strings"

	"satchel/pipeline/candidate"
	"satchel/pipeline/compaction/blob"
	"satchel/pipeline/fill"
	"satchel/pipeline/token"
	"satchel/schemas"
)

// Trigger says when a request's context is compacted. The zero Trigger is the default.
type Trigger struct {
	Share float64 // of the token budget that what was found would take; default 0.8
	Items int     // more items than this; default 200
	// KeepTools leaves what a tool put out as it is. Otherwise the latest item of the
	// session, when a tool put it out, is compacted whatever room there is.
	KeepTools bool
}

// Due reports whether so many items of so many tokens are to be compacted for a budget.
func (t Trigger) Due(tokens, items, budget int) bool {
	share := t.Share
	most := t.Items
	if share <= 0 {
		share = .8
	}
	if most <= 0 {
		most = 200
	}
	return float64(tokens) > share*float64(budget) || items > most
}

// Options say what extracts are for.
type Options struct {
	Query   string
	Budget  int // tokens of the pack they are for
	Counter token.Counter
	Texts   *Texts // what is known of texts; nil for nothing
	// Whole is how many tokens an item may have and still be shown whole; default 160.
	// Measured on labelled conversations: shorter items lose more by an extract than
	// they make room for.
	Whole int
}

// Smallest is the tokens of an extract, at least, if the whole has as many.
const Smallest = 24

const (
	largest  = .5  // share of the budget that one extract takes at most
	part     = .7  // share of an item that its extract takes
	enough   = 3   // times the budget that extracts are made for, best candidates first
	blobFrom = 400 // bytes of a text that may be a log, a table, …
)

// Shorten puts extracts in place of kept candidates that are longer than one item of
// the pack should be, and returns how many. Candidates that are tools, code, quotations,
// references or fenced stay as they are. RestoreUnshown MUST be called once it is known what is shown.
//
// An extract is made of the sentences that hold most of the query's words, weighed by
// how rare these are among all sentences, and then of those that say most of what the
// whole says: words that come again, numbers, the beginning. What is said twice is taken once, and a
// heading only with something under it. Lines of logs, tables, JSON,
// diffs, search results and test reports are picked by package blob.
func Shorten(cs []candidate.Candidate, o Options) int {
	if o.Whole <= 0 {
		o.Whole = 160
	}
	r := newReader(o.Query, o.Texts)
	var list []*piece
	room := enough * o.Budget
	for i := range cs {
		if room <= 0 {
			break
		}
		c := &cs[i]
		if c.Extract != nil || !canShorten(c) {
			continue
		}
		before := Tokens(c, o.Counter)
		if before <= o.Whole {
			room -= before
			continue
		}
		target := int(min(max(part*float64(before), Smallest), max(largest*float64(o.Budget), Smallest)))
		p := &piece{c: c, before: before, target: min(target, before)}
		room -= p.target
		r.readItem(p, o.Query, p.target)
		list = append(list, p)
	}
	n := 0
	for _, p := range list {
		if r.shortenPiece(p, o.Counter) {
			n++
		}
	}
	return n
}

func canShorten(c *candidate.Candidate) bool {
	return c.Kept() && !c.Abbreviated && !c.Fenced() && c.Quote == nil && c.Kind != schemas.KindTool && c.Kind != schemas.KindCode
}

// ShortenTo puts an extract of at most so many tokens, its speaker among them, in the place of a candidate,
// with the sentence that says most for the query of the options. It reports whether there is one; without, the
// candidate stays as it is.
func ShortenTo(c *candidate.Candidate, tokens int, o Options) bool {
	if tokens < Smallest || !canShorten(c) {
		return false
	}
	was := *c
	c.ShowWhole()
	p := &piece{c: c, before: Tokens(c, o.Counter), target: tokens}
	r := newReader(o.Query, o.Texts)
	r.readItem(p, o.Query, p.target)
	if r.shortenPiece(p, o.Counter) && c.Extract.After <= tokens {
		return true
	}
	*c = was
	return false
}

// Tokens counts "speaker: text\n", which is what the stored count is of: the same whether
// that has been stored yet or not.
func Tokens(c *candidate.Candidate, by token.Counter) int {
	if c.ContentTokens > 0 && by.Name() == token.CL100K {
		return c.ContentTokens
	}
	return by.Count(candidate.Counted(c.Speaker, c.Content.Text()))
}

// piece is an item being shortened.
type piece struct {
	c      *candidate.Candidate
	before int
	target int
	lines  []candidate.Line // of a blob
	reading
}

// blobLines are the lines of a blob that its extract may hold, nil where it cannot be read as one.
func blobLines(c *candidate.Candidate, query string, target int) []candidate.Line {
	s, err := blob.Summarise(strings.NewReader(c.Content.Text()), blob.Options{Query: query, Lines: max(4, min(64, target/12)), Output: c.Role == "tool"})
	if err != nil {
		return nil
	}
	lines := []candidate.Line{}
	end := int64(0)
	for _, l := range s.Lines {
		if !l.Verbatim || l.Span.Start < end || l.Text == "" {
			continue
		}
		end = l.Span.End
		line := candidate.Line{Span: schemas.Span{Start: int(l.Span.Start), End: int(l.Span.End)}}
		if l.Count > 1 && l.Pattern != "" {
			line.Times = int(l.Count)
			line.Pattern = l.Pattern
		}
		lines = append(lines, line)
	}
	return lines
}

// shortenPiece makes a piece's extract; false when it would save nothing.
func (r *reader) shortenPiece(p *piece, by token.Counter) bool {
	lines := p.lines
	if lines == nil {
		lines = r.pickUnits(p)
	}
	e := &candidate.Extract{Whole: p.c.Content, Before: p.before, Lines: lines, Blob: p.lines != nil}
	if len(lines) == 0 || len(e.Gaps()) == 0 {
		return false
	}
	text := e.Text()
	e.After = by.Count(candidate.Counted(p.c.Speaker, text))
	if e.After >= p.before {
		return false
	}
	p.c.ShowPart(e)
	if by.Name() == token.CL100K {
		p.c.ContentTokens = e.After
	}
	return true
}

// pickUnits takes units, best first by score against size, until the target is reached, and
// joins those that are together.
func (r *reader) pickUnits(p *piece) []candidate.Line {
	text := p.c.Content.Text()
	scores := r.scoreUnits(p)
	cost := func(i int) float64 {
		u := p.units[i]
		return float64(p.before) * float64(u.End-u.Start) / float64(len(text)+1)
	}
	taken := make([]bool, len(p.units))
	left := float64(p.target)
	first := true
	repeated := map[string]bool{}
	shelf := fill.Shelf{
		Value: func(i int) float64 { return scores[i] / math.Sqrt(cost(i)+4) },
		Take: func(i int, _ float64) ([]int, bool) {
			said := text[p.units[i].Start:p.units[i].End]
			if (cost(i) <= left || first) && !repeated[said] {
				taken[i] = true
				repeated[said] = len(p.terms[i]) > 0
				left -= cost(i) + 1
			}
			first = false
			return nil, false
		},
	}
	shelf.Fill(fill.All(len(p.units)))
	r.dropBareHeadings(p, taken)
	var lines []candidate.Line
	for i, u := range p.units {
		switch {
		case !taken[i]:
			continue
		case i > 0 && taken[i-1]:
			lines[len(lines)-1].Span.End = u.End
		default:
			lines = append(lines, candidate.Line{Span: u})
		}
	}
	if n := len(p.units); n > 0 && taken[0] {
		lines[0].Span.Start = 0
	}
	if n := len(p.units); n > 0 && taken[n-1] {
		lines[len(lines)-1].Span.End = len(text)
	}
	return lines
}

// dropBareHeadings gives up the headings of Markdown under which nothing is taken, unless they have a word of
// the question.
func (r *reader) dropBareHeadings(p *piece, taken []bool) {
	const text = 7                        // deeper than any heading
	under := 0                            // the depth of the next unit; 0: there is none
	for i := len(taken) - 1; i > 0; i-- { // what an item begins with stays
		depth := headingDepth(p.c.Content.Text()[p.units[i].Start:])
		isBare := depth > 0 && under <= depth && !r.asksAny(p.terms[i])
		switch {
		case depth == 0 && taken[i]:
			under = text
		case taken[i] && isBare:
			taken[i] = false
		case depth > 0 && (taken[i] || under > depth):
			under = depth
		}
	}
}

// headingDepth is that of the heading of Markdown which a text begins with, 1 to 6, or 0.
func headingDepth(text string) int {
	depth := len(text) - len(strings.TrimLeft(text, "#"))
	if depth > 6 || !strings.HasPrefix(text[depth:], " ") {
		return 0
	}
	return depth
}

// RestoreUnshown gives the candidates that are not shown their whole content back, so that what
// is left out is accounted for as a whole.
func RestoreUnshown(cs []candidate.Candidate) {
	for i := range cs {
		if c := &cs[i]; !c.Kept() && c.Extract != nil {
			c.Tokens += c.Extract.Before - c.Extract.After
			c.ShowWhole()
		}
	}
}

// Score gives candidates that nothing has ranked a score: how much the best sentence of
// each says about the query and about what the others speak of, 0–1.
func Score(cs []candidate.Candidate, query string, texts *Texts) {
	r := newReader(query, texts)
	pieces := make([]piece, len(cs))
	for i := range cs {
		pieces[i] = piece{c: &cs[i]}
		r.openWhole(&pieces[i], r.texts.readContent(&cs[i]))
	}
	for i := range cs {
		best := 0.0
		for _, s := range r.scoreUnits(&pieces[i]) {
			best = max(best, s)
		}
		cs[i].SetScore(best / (best + 2))
	}
}
