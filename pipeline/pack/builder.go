package pack

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"satchel/pipeline/candidate"
	"satchel/pipeline/token"
	"satchel/schemas"
)

// Config of a Builder. The zero Config works.
type Config struct {
	Shares    *Shares // nil: DefaultShares
	Sentences int     // of the TL;DR; default 5, negative: none
}

// Builder fills packs. It is safe for concurrent use.
type Builder struct {
	shares    Shares
	sentences int
	costs     *costs
}

// New returns a Builder.
func New(cfg Config) (*Builder, error) {
	b := &Builder{shares: DefaultShares(), sentences: cfg.Sentences, costs: newCosts()}
	if cfg.Shares != nil {
		b.shares = *cfg.Shares
	}
	if b.sentences == 0 {
		b.sentences = 5
	}
	return b, b.shares.Validate()
}

// Request says what the pack is for.
type Request struct {
	UserMessage string
	Task        string
	Query       string // what was looked for; picks the TL;DR's sentences
	Purpose     string
	Budget      int // tokens of the text
	Limit       int // items shown
	Bytes       int // of the content shown; 0: no limit
	Counter     token.Counter
	Denied      map[string]int // policy reason → count
}

// Pack is what a Builder makes. Shown are the indexes of the candidates in the order
// of their references; Sections name them by the same indexes.
type Pack struct {
	Text     string
	Tokens   int
	Shown    []int
	Sections []Section
	TLDR     schemas.TLDR
}

// Section is one section of a pack.
type Section struct {
	Type   schemas.SectionType
	Budget int
	Tokens int
	Items  []int
	Reason string
}

// Build fills a pack from the candidates that are kept, which are in the order of
// their scores. Every kept candidate gets its text and token count; one that is not
// shown is dropped for budget or rank.
func (b *Builder) Build(req Request, cs []candidate.Candidate) Pack {
	if req.Limit <= 0 {
		req.Limit = len(cs)
	}
	w := b.plan(&req, cs)
	w.choose()
	p := w.compose()
	// A tokenizer that does not count line by line may find more: give up the last
	// choices until it fits.
	for !additive(req.Counter) && p.Tokens > req.Budget && len(w.chosen) > 0 {
		w.giveUp(max(1, len(w.chosen)*(p.Tokens-req.Budget)/max(1, p.Tokens)))
		p = w.compose()
	}
	if p.Tokens > req.Budget {
		w.bare()
		p = w.compose()
	}
	w.mark()
	p.TLDR = b.summarise(&req, cs, p.Shown)
	return p
}

// work is one pack being filled.
type work struct {
	b      *Builder
	req    *Request
	cs     []candidate.Candidate
	part   []int8 // of each candidate, −1 for one that is dropped
	kind   []schemas.SectionType
	day    []string // the heading above an item of the memory section, "" for none
	fixed  fixedTexts
	limits [parts]int
	spent  [parts]int
	bytes  int   // of the content chosen
	heavy  []int // candidates that only Bytes keeps out
	chosen []int // in the order they were chosen
	taken  []bool
	days   map[string]bool
	heads  map[schemas.SectionType]bool
	full   bool
}

func (b *Builder) plan(req *Request, cs []candidate.Candidate) *work {
	w := &work{
		b: b, req: req, cs: cs, part: make([]int8, len(cs)), kind: make([]schemas.SectionType, len(cs)), day: make([]string, len(cs)),
		taken: make([]bool, len(cs)), days: map[string]bool{}, heads: map[schemas.SectionType]bool{},
	}
	w.fixed = w.fixedTexts()
	days := map[int64]string{}
	var demand [parts]float64
	demand[partUser] = float64(w.count(w.fixed.preamble) + w.count(w.fixed.user))
	demand[partTask] = float64(w.count(w.fixed.task))
	demand[partSafety] = float64(w.count(w.fixed.safety))
	for i := range cs {
		w.part[i] = -1
		c := &cs[i]
		text, verbatim := body(&c.Record)
		if c.Suspect {
			text, verbatim = quoted(&c.Record), false
		}
		if c.Drop != schemas.DropPolicy {
			c.Text = text
			c.Tokens = referenceTokens + b.costs.line(req.Counter, c, text, verbatim)
		}
		if !c.Kept() {
			continue
		}
		info, ok := c.Record.Kind.Info()
		if !ok {
			info.Section = schemas.SectionMemory
		}
		w.kind[i] = info.Section
		w.part[i] = partRecall
		switch info.Section {
		case schemas.SectionTools:
			w.part[i] = partTools
		case schemas.SectionMemory:
			w.day[i] = dayHeading(days, c.Record.CreatedAt)
		}
		demand[w.part[i]] += float64(c.Tokens + dayTokens)
	}
	for part := range demand {
		if demand[part] > 0 {
			demand[part] += 4
		}
	}
	w.limits = allot(req.Budget, b.shares.list(), demand)
	w.trim()
	return w
}

// Costs that hold for the tokenizers that are additive; others are counted whole.
const (
	referenceTokens = 3 // "[", up to three digits, "]"
	dayTokens       = 10
)

func (w *work) count(text string) int {
	if text == "" {
		return 0
	}
	return w.b.costs.count(w.req.Counter, text)
}

// choose takes candidates greedily by score against cost: (s − s₁) − ½·ln(tokens),
// with s the score's logit in units of the fused z-score. Weighing cost keeps a
// larger budget from meaning less evidence.
func (w *work) choose() {
	order := make([]int, 0, len(w.cs))
	value := make([]float64, len(w.cs))
	for i := range w.cs {
		if w.part[i] >= 0 {
			value[i] = logit(w.cs[i].Score) - .5*math.Log(float64(max(1, w.cs[i].Tokens)))
			order = append(order, i)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int {
		return cmp.Or(cmp.Compare(value[b], value[a]), cmp.Compare(w.cs[a].Record.ID, w.cs[b].Record.ID))
	})
	for _, i := range order {
		if len(w.chosen) >= w.req.Limit {
			w.full = true
			return
		}
		w.take(i)
	}
}

// logit inverts the logistic by which a fused score became a relevance.
func logit(score float64) float64 {
	score = min(max(score, 1e-9), 1-1e-9)
	return .75 * math.Log(score/(1-score))
}

// take shows candidate i when it fits its part and the whole.
func (w *work) take(i int) {
	part := w.part[i]
	cost := w.cs[i].Tokens
	head, day := "", ""
	if !w.heads[w.kind[i]] {
		head = heading(w.kind[i])
		cost += w.count(head)
	}
	if day = w.day[i]; day != "" && !w.days[day] {
		cost += w.count(day)
	}
	if w.spent[part]+cost > w.limits[part] {
		return
	}
	size := len(w.cs[i].Record.Content.Text())
	if w.req.Bytes > 0 && w.bytes+size > w.req.Bytes {
		w.heavy = append(w.heavy, i)
		return
	}
	w.bytes += size
	w.spent[part] += cost
	w.taken[i] = true
	w.chosen = append(w.chosen, i)
	w.heads[w.kind[i]] = true
	if day != "" {
		w.days[day] = true
	}
}

// dayHeading is the heading above the items of a day, "" when there is no time.
func dayHeading(known map[int64]string, at time.Time) string {
	if at.IsZero() {
		return ""
	}
	number := at.Unix() / 86400
	h, ok := known[number]
	if !ok {
		h = "### " + at.UTC().Format(time.DateOnly) + "\n"
		known[number] = h
	}
	return h
}

// giveUp takes back the last n choices.
func (w *work) giveUp(n int) {
	for range min(n, len(w.chosen)) {
		last := len(w.chosen) - 1
		w.taken[w.chosen[last]] = false
		w.chosen = w.chosen[:last]
	}
}

// bare leaves what must be said when nothing else fits.
func (w *work) bare() {
	w.giveUp(len(w.chosen))
	w.fixed = fixedTexts{}
}

// mark drops what was not chosen.
func (w *work) mark() {
	for i := range w.cs {
		if w.part[i] < 0 || w.taken[i] {
			continue
		}
		w.cs[i].Drop = schemas.DropBudget
		if w.full {
			w.cs[i].Drop = schemas.DropRank
		}
	}
	for _, i := range w.heavy {
		if !w.taken[i] {
			w.cs[i].Drop, w.cs[i].Detail = schemas.DropBudget, fmt.Sprintf("the content shown may have %d bytes", w.req.Bytes)
		}
	}
}

// shown returns the chosen candidates in the order of the text.
func (w *work) shown(section schemas.SectionType) []int {
	var out []int
	for i := range w.cs {
		if w.taken[i] && w.kind[i] == section {
			out = append(out, i)
		}
	}
	if section != schemas.SectionMemory {
		return out
	}
	slices.SortStableFunc(out, func(a, b int) int {
		x, y := &w.cs[a].Record, &w.cs[b].Record
		return cmp.Or(
			strings.Compare(w.day[a], w.day[b]), x.CreatedAt.Compare(y.CreatedAt),
			cmp.Compare(x.SessionID(), y.SessionID()), cmp.Compare(x.Seq, y.Seq),
			cmp.Compare(x.Position, y.Position), cmp.Compare(x.ID, y.ID),
		)
	})
	return out
}
