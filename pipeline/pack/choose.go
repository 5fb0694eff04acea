package pack

import (
	"math"
	"slices"

	"satchel/pipeline/candidate"
	"satchel/pipeline/fill"
	"satchel/schemas"
)

// How a candidate is weighed: score, its session, and cost. Measured on labelled
// conversations; the plateau is wide.
const (
	costWeight    = .5  // of ln(tokens)
	sessionWeight = .45 // of how far the best of its session is behind the best of all
	crowdWeight   = .1  // of ln(1 + how many of its session are better)

	scarce = 4 // times the budget that the candidates take, from which all of these count whole
)

// chooseItems takes candidates greedily by value, which is
//
//	s + c·(.45·(s₊ − s₁) − .1·ln(1 + n₊) − .5·ln(tokens))
//
// with s the score's logit in units of the fused z-score, s₊ the best of the
// candidate's session, s₁ the best of all, and n₊ how many of its session are better.
// Weighing cost keeps a larger budget from meaning less evidence; the session counts
// because items that bear on a question come together, the less the more of it is there.
// c is 1 where the candidates take four times the budget or more, and falls to ½ with
// what they take: where nearly all fits, the score says most.
// Tokens are what showing the candidate adds, a new day's heading included,
// so they shrink once its day is there.
//
// First tools keep to their share, and knowledge and memory to what is left beside it. Then
// knowledge and memory get what tools leave; tools get it only where nothing else was found. Items are
// chosen beyond the limit of items too, so that each candidate's place is known, and given up
// again.
func (w *packer) chooseItems() {
	w.scarcity = 1
	if w.req.Farther == 0 { // the order of what is shown does not depend on the budget
		w.scarcity = w.budgetScarcity()
	}
	linked := false
	for i := range w.cs {
		if w.part[i] == partRecall {
			w.likeliest = max(w.likeliest, w.cs[i].Score)
		}
		linked = linked || w.cs[i].Linked != ""
	}
	if linked {
		w.byID = make(map[string]int, len(w.cs))
		for i := range w.cs {
			w.byID[w.cs[i].ID] = i
		}
	}
	w.worth = w.computeStandings()
	best := func() {
		w.takeGivenItems()
		w.takeBestItems(func(part int8) int { return w.limits[part] - w.spent[part] })
		w.takeBestItems(func(part int8) int {
			if part == partTools && !w.toolsAlone {
				return 0
			}
			return w.countRemaining()
		})
	}
	best()
	if len(w.req.Before) > 0 {
		w.keepOrder(best)
	}
	w.restore()
	w.fillRest()
	w.versionsLast()
	w.numberCandidates()
	w.settleBudgets()
	if over := len(w.chosen) - w.req.Limit; over > 0 {
		w.full = true
		w.undoChoices(over)
	}
}

// settleBudgets fixes the budgets that the pack reports. The fixed texts and the tools have what they
// take. Knowledge and memory have the rest, or what they take where nothing is left to show that is relevant.
func (w *packer) settleBudgets() {
	used := w.countUsed()
	w.limits = used
	for i, part := range w.part {
		if part == partRecall && !w.taken[i] && !w.past[i] {
			w.limits[partRecall] += w.countRemaining()
			return
		}
	}
}

// restore has extracts give way to whole items, best first, while the rest of the budget pays for them.
func (w *packer) restore() {
	if w.req.Restore == nil {
		return
	}
	for _, i := range slices.Sorted(slices.Values(w.chosen)) {
		short := w.cs[i]
		if !w.req.Restore(&w.cs[i]) {
			continue
		}
		w.renderItem(i)
		tokens := w.cs[i].Tokens - short.Tokens
		bytes := shownBytes(&w.cs[i]) - shownBytes(&short)
		if tokens > w.countRemaining() || w.req.Bytes > 0 && w.bytes+bytes > w.req.Bytes {
			w.cs[i] = short
			continue
		}
		w.spent[w.part[i]] += tokens
		w.bytes += bytes
		w.costs[slices.Index(w.chosen, i)] += tokens
	}
}

// shortened is how many candidates are tried for an extract that fills the rest of the budget.
const shortened = 8

// fillRest takes an extract of the best candidate of knowledge and memory that is too long for the rest of the budget
// and has one that fits.
func (w *packer) fillRest() {
	isEnded := w.req.Farther > 0 && len(w.chosen) > 0
	if isEnded || w.req.Shorten == nil || len(w.chosen) >= w.req.Limit {
		return
	}
	var open []int
	for i := range w.cs {
		if w.part[i] == partRecall && !w.taken[i] && w.newest[i] < 0 {
			open = append(open, i)
		}
	}
	tried := 0
	w.fill(open, func(i int, _ float64) ([]int, bool) {
		tried++
		return nil, w.takeShortened(i) || tried == shortened
	})
}

// takeShortened takes an extract of a candidate, and reports whether it has one that fits.
func (w *packer) takeShortened(i int) bool {
	whole := w.cs[i]
	room := w.countRemaining() - (w.computeCost(i) - w.cs[i].Tokens) - referenceTokens
	if !w.req.Shorten(&w.cs[i], room-1) { // a space before it may be a token
		return false
	}
	w.renderItem(i)
	if cost := w.computeCost(i); cost <= w.countRemaining() && w.fitsBytes(i) {
		w.takeItem(i, cost)
		return true
	}
	w.cs[i] = whole
	return false
}

// fitsBytes reports whether the limit of bytes has room for candidate i.
func (w *packer) fitsBytes(i int) bool {
	return w.req.Bytes <= 0 || w.bytes+shownBytes(&w.cs[i]) <= w.req.Bytes
}

// takeGivenItems takes the candidates that are in the pack without a search, while the budget pays for them.
func (w *packer) takeGivenItems() {
	for i := range w.cs {
		if w.cs[i].Given == candidate.NotGiven || w.part[i] < 0 || w.taken[i] {
			continue
		}
		if cost := w.computeCost(i); cost <= w.countRemaining() && w.fitsBytes(i) {
			w.takeItem(i, cost)
		}
	}
}

// numberCandidates numbers the candidates as they were chosen, and then the others by value.
func (w *packer) numberCandidates() {
	for n, i := range w.chosen {
		w.cs[i].Place = n + 1
	}
	var rest []int
	for i := range w.cs {
		if w.part[i] >= 0 && !w.taken[i] {
			rest = append(rest, i)
		}
	}
	last := len(w.chosen)
	w.fill(rest, func(i int, _ float64) ([]int, bool) {
		last++
		w.cs[i].Place = last
		return nil, false
	})
}

// budgetScarcity is how much session and cost count, ½ to 1.
func (w *packer) budgetScarcity() float64 {
	wanted := 0
	for i := range w.cs {
		if w.part[i] >= 0 {
			wanted += w.cs[i].Tokens
		}
	}
	return min(1, .5+.5/scarce*float64(wanted)/float64(max(1, w.req.Budget)))
}

// computeStandings returns the value of each candidate before its cost.
func (w *packer) computeStandings() []float64 {
	type session struct {
		top    float64
		better int
	}
	s := make([]float64, len(w.cs))
	best := math.Inf(-1)
	sessions := make(map[string]*session, min(len(w.cs), 64))
	for i := range w.cs {
		if w.part[i] < 0 {
			continue
		}
		s[i] = invertLogistic(w.cs[i].Standing)
		best = max(best, s[i])
		id := w.cs[i].SessionID()
		if of := sessions[id]; of != nil {
			of.top = max(of.top, s[i])
		} else if id != "" {
			sessions[id] = &session{top: s[i]}
		}
	}
	for i := range w.cs { // best first
		if w.part[i] < 0 {
			continue
		}
		if of := sessions[w.cs[i].SessionID()]; of != nil {
			s[i] += w.scarcity * (sessionWeight*(of.top-best) - crowdWeight*math.Log1p(float64(of.better)))
			of.better++
		} else {
			s[i] += w.scarcity * sessionWeight * (s[i] - best)
		}
	}
	return s
}

// Value is what an item of such a standing is worth for the tokens that it takes.
func Value(standing float64, tokens int) float64 {
	return invertLogistic(standing) - costWeight*math.Log(float64(max(1, tokens)))
}

// invertLogistic inverts the logistic by which a fused score became a relevance.
func invertLogistic(standing float64) float64 {
	standing = min(max(standing, 1e-9), 1-1e-9)
	return .75 * math.Log(standing/(1-standing))
}

// takeBestItems takes candidates, best value first, while the pot of their part pays for them.
func (w *packer) takeBestItems(pot func(part int8) int) {
	least := w.findLeastTokens()
	if !w.canStillPay(pot, &least) {
		return
	}
	open := make([]int, 0, len(w.cs))
	onDay := make([][]int, len(w.dates.list)) // those whose day has no heading yet
	for i := range w.cs {
		if w.part[i] < 0 || w.taken[i] || w.isWaiting(i) {
			continue
		}
		open = append(open, i)
		if day := w.day[i]; day != noDay && !w.findItemRun(i).hasHeading(day) {
			onDay[day] = append(onDay[day], i)
		}
	}
	w.fill(open, func(i int, value float64) (risen []int, full bool) {
		if w.taken[i] || w.isPast(i, value) {
			return nil, false
		}
		cost := w.computeCost(i)
		if cost > pot(w.part[i]) || cost > w.countRemaining() {
			return nil, false // dearer now; a new day may make it cheaper again
		}
		if !w.fitsBytes(i) {
			w.heavy = append(w.heavy, i)
			return nil, false
		}
		w.takeItem(i, cost)
		risen = onDay[w.day[i]]
		onDay[w.day[i]] = nil
		for _, of := range w.older[i] {
			if w.part[of] >= 0 {
				risen = append(risen, of)
			}
		}
		return risen, !w.canStillPay(pot, &least)
	})
}

// fill offers candidates, best value first, ties by id.
func (w *packer) fill(open []int, take func(i int, value float64) (risen []int, full bool)) {
	shelf := fill.Shelf{Value: w.value, Before: func(i, j int) bool { return w.cs[i].ID < w.cs[j].ID }, Take: take}
	shelf.Fill(open)
}

// isPast reports whether a candidate is worth too little for its tokens to be shown. What is quoted was chosen by its
// passages, what is given was not chosen, and what is needed belongs to what was. What a link reaches is shown with what it
// was reached from.
func (w *packer) isPast(i int, value float64) bool {
	c := &w.cs[i]
	if w.req.Farther == 0 || w.part[i] != partRecall || c.Given != candidate.NotGiven {
		return false
	}
	if c.Linked != "" && !c.Needed {
		from, there := w.byID[c.Linked]
		w.past[i] = there && from != i && !w.taken[from] && (isFar(&w.cs[from]) || w.isPast(from, w.value(from)))
		return w.past[i]
	}
	w.best = max(w.best, value)
	far := value < w.best-w.req.Farther || c.Score < hopeless*w.likeliest
	w.past[i] = !c.Needed && (far && c.Quote == nil || w.req.Doubtful && c.Score < w.likeliest && w.crowdsDoubt(i))
	return w.past[i]
}

// isFar reports whether a candidate was dropped as too little bears on the question.
func isFar(c *candidate.Candidate) bool {
	return c.Drop == schemas.DropOffTopic || c.Drop == schemas.DropRank || c.Drop == schemas.DropScore
}

// crowdsDoubt reports whether a candidate takes more, beside what was chosen of knowledge and memory and is not given, than
// there is where hardly anything answers.
func (w *packer) crowdsDoubt(next int) bool {
	tokens := 0
	for at, i := range w.chosen {
		if w.part[i] == partRecall && w.cs[i].Given == candidate.NotGiven {
			tokens += w.costs[at]
		}
	}
	return tokens > 0 && tokens+w.computeCost(next) > doubtfulRoom(w.req)
}

// doubtfulRoom is what knowledge and memory may take where hardly anything answers and a pack does not fill its budget.
func doubtfulRoom(req *Request) int { return int(doubtfulShare * float64(req.Budget)) }

// findLeastTokens is what the smallest candidate of each part takes without a heading, of those
// that are not taken.
func (w *packer) findLeastTokens() (tokens [parts]int) {
	for part := range tokens {
		tokens[part] = math.MaxInt
	}
	for i, part := range w.part {
		if part >= 0 && !w.taken[i] {
			tokens[part] = min(tokens[part], w.cs[i].Tokens)
		}
	}
	return tokens
}

// canStillPay reports whether a pot may still pay for a candidate that takes the least of its part.
func (w *packer) canStillPay(pot func(part int8) int, least *[parts]int) bool {
	left := w.countRemaining()
	for part, tokens := range least {
		if tokens <= left && tokens <= pot(int8(part)) {
			return true
		}
	}
	return false
}

// computeCost is what showing candidate i adds.
func (w *packer) computeCost(i int) int {
	run := w.findItemRun(i)
	cost := w.cs[i].Tokens + w.dates.countHeadingCost(run, w.day[i])
	if !run.sections[w.kind[i]] {
		cost += w.heads[w.kind[i]]
	}
	return cost
}

// countRemaining is what nothing has taken of the whole budget.
func (w *packer) countRemaining() int {
	left := w.req.Budget
	for _, used := range w.countUsed() {
		left -= used
	}
	return left
}

// countUsed is what each part takes.
func (w *packer) countUsed() [parts]int {
	used := w.spent
	used[partUser] = w.said[partUser]
	used[partTask] = w.said[partTask]
	used[partSafety] = w.said[partSafety]
	return used
}

func (w *packer) takeItem(i, cost int) {
	part := w.part[i]
	w.spent[part] += cost
	w.bytes += shownBytes(&w.cs[i])
	w.taken[i] = true
	w.chosen = append(w.chosen, i)
	w.costs = append(w.costs, cost)
	run := w.findItemRun(i)
	run.sections[w.kind[i]] = true
	w.dates.markHeadingShown(run, w.day[i])
}

// value is what candidate i is worth for its tokens now.
func (w *packer) value(i int) float64 {
	return w.worth[i] - costWeight*w.scarcity*math.Log(float64(max(1, w.cs[i].Tokens+w.dates.countHeadingCost(w.findItemRun(i), w.day[i]))))
}
