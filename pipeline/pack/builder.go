package pack

import (
	"errors"
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
	Orders    Orders  // of items within their sections
	Sentences int     // of the TL;DR; default 5, negative: none
}

// Builder fills packs. It is safe for concurrent use.
type Builder struct {
	shares    Shares
	orders    Orders
	sentences int
	costs     *costs
}

// New returns a Builder.
func New(cfg Config) (*Builder, error) {
	b := &Builder{shares: DefaultShares(), orders: cfg.Orders.fillDefaults(), sentences: cfg.Sentences, costs: newCosts()}
	if cfg.Shares != nil {
		b.shares = *cfg.Shares
	}
	if b.sentences == 0 {
		b.sentences = 5
	}
	return b, errors.Join(b.shares.Validate(), b.orders.Validate())
}

// Request says what the pack is for.
type Request struct {
	UserMessage string
	Task        string
	Query       string // what was looked for; picks the TL;DR's sentences
	Purpose     string
	Unmentioned []string // names of the question that nothing has
	Unanswered  bool     // nothing bears on the question
	Doubtful    bool     // what is shown hardly answers the question: the TL;DR is empty
	Budget      int      // tokens of the text
	Farther     float64  // deviations below the best value, past which knowledge and memory are not shown; 0: they fill the budget
	More        int      // candidates that were left out before, which Farther 0 would show
	Limit       int      // items shown
	Bytes       int      // of the content shown; 0: no limit
	Counter     token.Counter
	Denied      map[string]int // policy reason → count
	// Shorten puts an extract of at most so many tokens in the place of a candidate's content, and reports
	// whether there is one. nil: every item is shown as it is.
	Shorten func(c *candidate.Candidate, tokens int) bool
	// Restore puts the whole back in the place of a candidate's extract, and reports whether that may be. nil: extracts stay.
	Restore func(c *candidate.Candidate) bool
	// Before are candidates in the order of the session's last pack, −1 for one that is
	// none any more; what stays of it is where it was. nil: no pack is kept to.
	Before []int
	Days   string         // a sentence about those that the question names
	Zone   *time.Location // of the days above items; nil is UTC
}

// Pack is what a Builder makes. Shown are the indexes of the candidates in the order
// of their references; Sections name them by the same indexes.
type Pack struct {
	Text     string
	Tokens   int
	Shown    []int
	Sections []Section
	TLDR     schemas.TLDR

	ItemsLimited bool           // the limit of items kept out what the budget has room for
	Lost         []schemas.Drop // what is not shown of the request's own texts; a drop names the field
	Least        int            // where the budget has no room for any item: tokens of the smallest, with its headings; else 0
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
	w := b.preparePacker(&req, cs)
	w.chooseItems()
	w.sayMore()
	p := w.composePack()
	// A tokenizer that does not count line by line may find more: give up the last
	// choices until it fits.
	for p.Tokens > req.Budget && len(w.chosen) > 0 {
		w.undoChoices(max(1, len(w.chosen)*(p.Tokens-req.Budget)/max(1, p.Tokens)))
		p = w.composePack()
	}
	if p.Tokens > req.Budget {
		w.keepMinimum()
		p = w.composePack()
	}
	w.markDroppedItems()
	p.ItemsLimited = w.full
	p.Least = w.findSmallestCost()
	p.Lost = w.lost
	p.TLDR = b.summariseItems(&req, cs, p.Shown)
	return p
}

// packer fills one pack.
type packer struct {
	b          *Builder
	req        *Request
	cs         []candidate.Candidate
	part       []int8 // of each candidate, −1 for one that is dropped
	kind       []int8 // its place in sections
	day        []day  // the one above an item of the memory section
	fixed      fixedTexts
	more       string             // a line that says how much more there is, "" for none
	lost       []schemas.Drop     // what fixed leaves out of the texts of the request
	author     string             // see Credit
	said       [parts]int         // tokens of fixed
	heads      [len(sections)]int // tokens of the headings
	limits     [parts]int         // while choosing; then the budgets that the pack reports
	held       int                // of req.Before, the first that are chosen
	spent      [parts]int
	bytes      int   // of the content chosen
	heavy      []int // candidates that only Bytes keeps out
	chosen     []int // in the order they were chosen
	costs      []int // of each of these
	toolsAlone bool  // nothing but tools was found
	full       bool  // the limit of items kept some out
	taken      []bool
	newest     []int   // of each candidate, the one that it is an older version of, −1 for none
	older      [][]int // of each candidate, its older versions
	dates      dates
	runs       [2]covered     // of what the last pack did not show, and, where one is kept to, of what it did
	again      []bool         // what the last pack showed; nil: there is none
	scarcity   float64        // how much session and cost count
	best       float64        // value of the best of knowledge and memory
	likeliest  float64        // the best chance of these
	past       []bool         // what is farther from the best than is shown
	worth      []float64      // of each candidate before its cost
	byID       map[string]int // the candidates, where links reach some of them
}

func (b *Builder) preparePacker(req *Request, cs []candidate.Candidate) *packer {
	w := &packer{
		b: b, req: req, cs: cs, part: make([]int8, len(cs)), kind: make([]int8, len(cs)), day: make([]day, len(cs)),
		taken: make([]bool, len(cs)), past: make([]bool, len(cs)), best: math.Inf(-1), dates: newDates(req.Counter, b.costs, req.Zone),
	}
	w.newest, w.older = Versions(cs)
	for at := range sections {
		w.heads[at] = w.countTokens(findSectionHeading(at))
	}
	if dropTools(cs, req.Query, req.Before) && !anyKept(cs) {
		req.Unanswered = true
	}
	w.toolsAlone = onlyTools(cs)
	w.author = Credit(cs)
	w.layOut()
	if w.author != "" && !strings.Contains(w.fixed.preamble, AuthorLine(w.author)) { // nothing says who wrote most
		w.author = ""
		for i := range cs {
			cs[i].Credit = candidate.CreditOther
		}
		w.layOut()
	}
	return w
}

// layOut renders the texts and divides the budget among the parts.
func (w *packer) layOut() {
	w.fixed = w.fixedTexts()
	w.lost = nil
	w.countFixedTexts()
	var demand [parts]float64
	for part, tokens := range w.said {
		demand[part] = float64(tokens)
	}
	for i := range w.cs {
		w.part[i] = -1
		w.renderItem(i)
		if !w.cs[i].Kept() {
			continue
		}
		w.part[i] = partRecall
		if sections[w.kind[i]] == schemas.SectionTools {
			w.part[i] = partTools
		}
		demand[w.part[i]] += float64(w.cs[i].Tokens + dayTokens)
	}
	for part := range demand {
		if demand[part] > 0 {
			demand[part] += 4
		}
	}
	if !w.toolsAlone {
		demand[partTools] = min(demand[partTools], w.b.shares.listShares()[partTools]*float64(w.req.Budget))
	}
	w.divideBudget(demand)
}

// countFixedTexts counts the tokens of the fixed texts.
func (w *packer) countFixedTexts() {
	w.said = [parts]int{
		partUser: w.countTokens(w.fixed.preamble) + w.countTokens(w.fixed.user), partTask: w.countTokens(w.fixed.task), partSafety: w.countTokens(w.fixed.safety),
	}
}

// renderItem sets the text, the tokens and the place of candidate i.
func (w *packer) renderItem(i int) {
	c := &w.cs[i]
	section := sectionOf(c)
	switch {
	case c.Given == candidate.GivenTurn:
		w.kind[i] = conversation
	case section == schemas.SectionMemory:
		w.kind[i] = memories
	default:
		w.kind[i] = int8(slices.Index(sections[:], section))
	}
	isCounted := c.ContentTokens > 0 && w.req.Counter.Name() == storedTokenizer
	if isCounted && !c.Kept() && c.Quote == nil { // its text is not read
		c.Tokens = referenceTokens + c.ContentTokens
		if inFence(c) {
			c.Tokens += w.countTokens(fenceText(chooseTitle(c), ""))
		}
		return
	}
	text, verbatim := w.formatItem(i)
	of := w.newest[i]
	if of >= 0 {
		w.day[i] = noDay
		if w.kind[i] == memories && w.b.orders.Memory == OrderTime && !w.cs[of].CreatedAt.IsZero() {
			w.day[i] = w.dates.findDayIndex(w.cs[of].CreatedAt)
		}
	} else if section == schemas.SectionMemory && !c.CreatedAt.IsZero() {
		if w.b.orders.Memory == OrderTime {
			w.day[i] = w.dates.findDayIndex(c.CreatedAt)
		} else {
			text = c.CreatedAt.In(w.dates.zone).Format(time.DateOnly) + " " + text
			verbatim = false
		}
	}
	c.Text = text
	c.Tokens = referenceTokens + w.b.costs.countLineTokens(w.req.Counter, c, text, verbatim)
}

// formatItem is how candidate i is shown, and whether that is "speaker: text" byte for byte.
func (w *packer) formatItem(i int) (text string, verbatim bool) {
	c := &w.cs[i]
	of := w.newest[i]
	switch {
	case of >= 0 && c.Fenced():
		return fenceText(writeOlderStart(c, &w.cs[of], w.req.Zone)+chooseCaution(c), c.Difference), false
	case of >= 0:
		return Older(c, &w.cs[of], w.req.Zone), false
	}
	return wholeText(c, w.req.Zone)
}

// wholeText is how a candidate is shown that is no older version.
func wholeText(c *candidate.Candidate, zone *time.Location) (text string, verbatim bool) {
	also := Also(c, zone)
	by := ""
	if !hasShownSpeaker(c) {
		by = Writer(c)
	}
	if c.Fenced() {
		return fenceItem(c, by+chooseCaution(c)+also), false
	}
	text, verbatim = formatBody(c)
	text = by + text
	verbatim = verbatim && by == ""
	if also != "" && c.Quote == nil && !inFence(c) {
		return text + also, false
	}
	return text, verbatim
}

// hasShownSpeaker reports whether a candidate is shown behind its speaker.
func hasShownSpeaker(c *candidate.Candidate) bool {
	return c.Speaker != "" && (c.Fenced() || c.Quote == nil && !inFence(c) || c.Quote != nil && c.Kind == schemas.KindMemory)
}

// chooseCaution is the words before a fenced candidate.
func chooseCaution(c *candidate.Candidate) string {
	if c.Suspect {
		return Caution
	}
	return cautionUnjudged
}

// sectionOf is the section of a candidate. Passages of a memory are dated as memories are.
func sectionOf(c *candidate.Candidate) schemas.SectionType {
	info, ok := c.Kind.Info()
	switch {
	case !ok:
		return schemas.SectionMemory
	case c.Quote != nil && (c.Kind != schemas.KindMemory || c.Category == "markdown"):
		return schemas.SectionKnowledge
	}
	return info.Section
}

// Costs that hold for the tokenizers that are additive; others are counted whole.
const (
	referenceTokens = 3 // "[", up to three digits, "]"
	dayTokens       = 3
)

func (w *packer) countTokens(text string) int {
	if text == "" {
		return 0
	}
	return w.b.costs.countCached(w.req.Counter, text)
}

// undoChoices takes back the last n choices.
func (w *packer) undoChoices(n int) {
	for range min(n, len(w.chosen)) {
		last := len(w.chosen) - 1
		i := w.chosen[last]
		w.taken[i] = false
		w.spent[w.part[i]] -= w.costs[last]
		w.chosen = w.chosen[:last]
		w.costs = w.costs[:last]
	}
}

// keepMinimum leaves what must be said when nothing else fits.
func (w *packer) keepMinimum() {
	w.undoChoices(len(w.chosen))
	w.more = ""
	w.fixed = fixedTexts{}
	w.said = [parts]int{}
	w.lost = nil
	if w.req.Task != "" {
		w.cutField(schemas.DropTask, taskHeading, w.req.Task, 0)
	}
	if w.req.UserMessage != "" {
		w.cutField(schemas.DropUserMessage, userHeading, w.req.UserMessage, 0)
	}
}

// findSmallestCost returns the tokens of the smallest candidate that the budget left out, with its headings; 0 where something is
// shown.
func (w *packer) findSmallestCost() int {
	if len(w.chosen) > 0 {
		return 0
	}
	least := 0
	for i := range w.cs {
		if w.part[i] < 0 || w.cs[i].Drop != schemas.DropBudget {
			continue
		}
		if cost := w.computeCost(i); least == 0 || cost < least {
			least = cost
		}
	}
	return least
}

// markDroppedItems drops what was not chosen.
func (w *packer) markDroppedItems() {
	for i := range w.cs {
		if w.part[i] < 0 || w.taken[i] {
			continue
		}
		w.cs[i].Drop = schemas.DropBudget
		if of := w.newest[i]; of >= 0 && w.taken[of] {
			w.cs[i].Drop = schemas.DropNewer
			w.cs[i].Detail = "by " + w.cs[of].ID
			w.cs[i].Of = w.cs[of].ID
		} else if w.past[i] {
			w.cs[i].Drop = schemas.DropRank
			w.cs[i].Detail = candidate.WorthLess
		} else if w.full {
			w.cs[i].Drop = schemas.DropRank
		} else if w.part[i] == partTools && !w.toolsAlone {
			w.cs[i].Drop = schemas.DropRank
			w.cs[i].Detail = "tools have their share"
		}
	}
	for _, i := range w.heavy {
		if !w.taken[i] {
			w.cs[i].Drop = schemas.DropBudget
			w.cs[i].Detail = fmt.Sprintf("the content shown may have %d bytes", w.req.Bytes)
		}
	}
}
