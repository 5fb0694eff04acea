package pack

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"satchel/schemas"
)

// fixedTexts are the parts of a pack that are no items, each whole lines or "".
type fixedTexts struct {
	preamble, task, safety, user string
}

func (w *packer) fixedTexts() fixedTexts {
	f := fixedTexts{preamble: "# Context\n" + howToRead.formatRemark() + "\n"}
	if w.req.Purpose != "" {
		f.preamble += "Purpose: " + sanitiseText(w.req.Purpose) + "\n"
	}
	f.preamble += AuthorLine(w.author)
	if w.req.Days != "" {
		f.preamble += w.req.Days + "\n"
	}
	f.preamble += w.writeUnknownLines()
	if w.req.Task != "" {
		f.task = taskHeading + formatParagraph(w.req.Task)
	}
	if w.req.UserMessage != "" {
		f.user = userHeading + formatParagraph(w.req.UserMessage)
	}
	if notes := w.writeNotes(); notes != "" {
		f.safety = safetyHeading + notes
	}
	return f
}

// The headings of the fixed texts.
const (
	taskHeading   = "## Task\n"
	userHeading   = "## User\n"
	safetyHeading = "## Safety\n"
)

// writeUnknownLines are lines that say what is not known here, "" for none.
func (w *packer) writeUnknownLines() string {
	out := ""
	if names := w.req.Unmentioned; len(names) > 0 {
		out += nothingMentions.formatRemark(sanitiseText(strings.Join(names, ", "))) + "\n"
	}
	if w.req.Unanswered {
		out += nothingAnswers.formatRemark() + "\n"
	}
	return out
}

// formatParagraph is a text of the request as lines of the pack.
func formatParagraph(text string) string {
	clean := sanitiseText(text)
	if clean == "" {
		return ""
	}
	if isStructural(clean) && !(clean[0] == '\\' && isStructureStart(clean[1:])) {
		clean = "\\" + clean
	}
	return clean + "\n"
}

// writeNotes say what was withheld, by count. Redacted content says so in its place.
func (w *packer) writeNotes() string {
	out := ""
	if total := Sum(w.req.Denied); total > 0 {
		var reasons []string
		for _, reason := range slices.Sorted(maps.Keys(w.req.Denied)) {
			reasons = append(reasons, reason+" "+strconv.Itoa(w.req.Denied[reason]))
		}
		out += withheld.formatRemark(strconv.Itoa(total), strings.Join(reasons, ", ")) + "\n"
	}
	injected := 0
	for i := range w.cs {
		if w.cs[i].Drop == schemas.DropInjection {
			injected++
		}
	}
	if injected > 0 {
		out += leftOut.formatRemark(strconv.Itoa(injected)) + "\n"
	}
	return out
}

// More says how much more there is, "" for nothing.
func More(n int) string {
	if n == 0 {
		return ""
	}
	return " " + moreBears.formatRemark(strconv.Itoa(n))
}

// sayMore notes how many candidates are not shown because others are worth far more, where there is room to say so.
func (w *packer) sayMore() {
	n := w.req.More
	for i, past := range w.past {
		if past && !w.taken[i] {
			n++
		}
	}
	if n == 0 || len(w.chosen) == 0 {
		return
	}
	line := strings.TrimSpace(More(n)) + "\n"
	if cost := w.countTokens(line); cost <= w.countRemaining() {
		w.more = line
		w.limits[partSafety] += cost
		w.limits[partRecall] -= min(cost, max(0, w.limits[partRecall]-w.spent[partRecall]))
	}
}

// Sum adds up counts.
func Sum(counts map[string]int) int {
	total := 0
	for _, n := range counts {
		total += n
	}
	return total
}

// divideBudget gives the parts of the budget what they demand, and shortens the fixed texts to what their parts allow.
// Where the user's message fits only without the preamble, the preamble gives way, but for what it says is unknown.
func (w *packer) divideBudget(demand [parts]float64) {
	shares := w.b.shares.listShares()
	whole := w.said
	preamble := w.countTokens(w.fixed.preamble)
	user := w.countTokens(w.fixed.user)
	unknown := w.countTokens(w.writeUnknownLines())
	if float64(preamble) > shares[partUser]*float64(w.req.Budget) {
		whole[partUser] = user + unknown
	}
	w.limits = allotBudget(w.req.Budget, shares, reserveShares(w.req.Budget, shares, whole), demand)
	if notes := w.writeNotes(); w.said[partSafety] > w.limits[partSafety] {
		w.fixed.safety, _ = w.shortenText(safetyHeading, notes, w.limits[partSafety])
	}
	if w.said[partTask] > w.limits[partTask] {
		w.fixed.task = w.cutField(schemas.DropTask, taskHeading, w.req.Task, w.limits[partTask])
	}
	limit := w.limits[partUser]
	if alone := user <= limit && preamble+user > limit; alone || preamble > limit {
		w.fixed.preamble = w.writeUnknownLines()
		preamble = unknown
		if unknown > limit {
			w.fixed.preamble = ""
			preamble = 0
		}
	}
	if user > limit-preamble {
		w.fixed.user = w.cutField(schemas.DropUserMessage, userHeading, w.req.UserMessage, limit-preamble)
	}
	w.countFixedTexts()
}

// cutField shortens a text of the request, and keeps what that leaves out as a drop of its field.
func (w *packer) cutField(field, heading, text string, limit int) string {
	shown, end := w.shortenText(heading, text, limit)
	saved := w.countTokens(heading+formatParagraph(text)) - w.countTokens(shown)
	w.lost = append(w.lost, schemas.Drop{
		ItemID: field, Reason: schemas.DropBudget, Detail: fmt.Sprintf("%d of its %d bytes are shown", end, len(text)),
		Tokens: saved, Span: &schemas.Span{Start: end, End: len(text)},
	})
	return shown
}

// leastShown is how many bytes of a text are worth showing.
const leastShown = 16

// shortenText returns a heading and as much of the text as limit tokens allow, and where that ends in the text; "" and 0 when
// not even a few words are left.
func (w *packer) shortenText(heading, text string, limit int) (string, int) {
	lo := 0
	hi := len(text)
	for hi-lo > leastShown/2 {
		mid := (lo + hi) / 2
		if w.req.Counter.Count(heading+formatParagraph(text[:wordEnd(text, mid)]+"…")) <= limit {
			lo = mid
		} else {
			hi = mid
		}
	}
	end := wordEnd(text, lo)
	if end < leastShown {
		return "", 0
	}
	return heading + formatParagraph(text[:end]+"…"), end
}

// longWord is how many bytes a word may have that is not cut in two.
const longWord = 64

// wordEnd is the end of the last word that ends before n, or of the last character where no word does.
func wordEnd(text string, n int) int {
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	from := max(0, n-longWord)
	if i := strings.LastIndexAny(text[from:n], " \n"); i >= 0 && from+i > 0 {
		n = from + i
	}
	return len(strings.TrimRight(text[:n], " \n"))
}

// findSectionHeading is that of a place in sections.
func findSectionHeading(at int) string {
	return [len(sections)]string{"## Tools\n", "## Knowledge\n", "## This conversation\n", "## Memory\n"}[at]
}

// composePack writes the text and counts its sections.
func (w *packer) composePack() Pack {
	var text strings.Builder
	text.Grow(w.estimateSize())
	p := Pack{Shown: make([]int, 0, len(w.chosen))}
	user := Section{Type: schemas.SectionUser, Budget: w.limits[partUser], Reason: "the message of this turn"}
	policy := Section{Type: schemas.SectionPolicy, Budget: 0, Reason: "how to read the pack"}
	if w.fixed.preamble != "" {
		policy.Tokens = w.countTokens(w.fixed.preamble)
		policy.Budget = policy.Tokens
		user.Budget -= policy.Tokens
		text.WriteString(w.fixed.preamble)
	}
	task := Section{Type: schemas.SectionTask, Budget: w.limits[partTask], Tokens: w.countTokens(w.fixed.task), Reason: "the declared task"}
	text.WriteString(w.fixed.task)
	items := w.writeItems(&text, &p)
	w.splitBudgets(items)
	safety := Section{
		Type: schemas.SectionPolicy, Budget: w.limits[partSafety], Tokens: w.countTokens(w.fixed.safety) + w.countTokens(w.more),
		Reason: "what policy withheld and redacted",
	}
	text.WriteString(w.more)
	text.WriteString(w.fixed.safety)
	user.Tokens = w.countTokens(w.fixed.user)
	text.WriteString(w.fixed.user)
	p.Sections = append(append([]Section{user, task}, items...), policy, safety)
	p.Text = text.String()
	if !isAdditive(w.req.Counter) {
		p.Tokens = w.req.Counter.Count(p.Text)
		return p
	}
	for i := range p.Sections {
		p.Tokens += p.Sections[i].Tokens
	}
	return p
}

// estimateSize is about how many bytes the text will have.
func (w *packer) estimateSize() int {
	const perItem = 32 // its reference and its share of headings
	n := len(w.fixed.preamble) + len(w.fixed.task) + len(w.fixed.safety) + len(w.fixed.user) + perItem*len(w.chosen)
	for _, i := range w.chosen {
		n += len(w.cs[i].Text)
	}
	return n
}

// sections of items, in their order. The memory section begins with the turns
// of the request's session.
var sections = [...]schemas.SectionType{schemas.SectionTools, schemas.SectionKnowledge, schemas.SectionMemory, schemas.SectionMemory}

// The places in sections of what the memory section consists of.
const (
	conversation = 2
	memories     = 3
)

// writeItems renders the items and returns their sections.
func (w *packer) writeItems(text *strings.Builder, p *Pack) []Section {
	out := make([]Section, len(sections))
	for n, kind := range sections {
		out[n] = Section{Type: kind, Reason: "nothing was found for it"}
	}
	at := makeTopLine()
	for _, i := range w.orderChosen() {
		s := &out[w.kind[i]]
		if len(s.Items) == 0 {
			s.Reason = "best value of score against tokens, " + w.b.orders.findOrder(s.Type).describeOrder()
			if w.held > 0 {
				s.Reason += " behind what stays of the last pack"
			}
		}
		section, day, tokens := w.findItemHeadings(&at, i)
		text.WriteString(section)
		text.WriteString(day)
		p.Shown = append(p.Shown, i)
		text.WriteString(formatReference(len(p.Shown)))
		text.WriteString(w.cs[i].Text)
		text.WriteByte('\n')
		s.Items = append(s.Items, i)
		s.Tokens += tokens + w.cs[i].Tokens
		if len(p.Shown) > 999 { // a fourth digit is a token of its own
			s.Tokens++
		}
	}
	memory := &out[memories]
	if turns := &out[conversation]; len(turns.Items) > 0 {
		memory.Items = append(turns.Items, memory.Items...)
		memory.Tokens += turns.Tokens
		memory.Reason = "the last turns of the session; " + memory.Reason
	}
	return slices.Delete(out, conversation, memories)
}

// splitBudgets reports the budget of tools, and that of knowledge and memory, which share
// theirs, in proportion to what they took.
func (w *packer) splitBudgets(items []Section) {
	items[0].Budget = w.limits[partTools]
	limit := w.limits[partRecall]
	knowledge := items[1].Tokens
	total := knowledge + items[2].Tokens
	if total == 0 {
		items[2].Budget = limit
		return
	}
	items[1].Budget = max(knowledge, limit*knowledge/total)
	items[2].Budget = limit - items[1].Budget
}
