package op

import (
	"cmp"
	"context"
	"slices"

	"satchel/pipeline/candidate"
	"satchel/pipeline/language"
	"satchel/pipeline/passage"
	"satchel/pipeline/scope"
	"satchel/schemas"
)

// markNeeded marks what a pack must not leave out for being worth less than its best, as far as there is room: what is of the time
// that the question names and, unless hardly anything answers, what answers another part of the question, and what was written
// later about the same thing.
func (e *Operations) markNeeded(ctx context.Context, s scope.Scope, may schemas.Filter, query string, cs []candidate.Candidate, doubtful bool) {
	markDays(cs)
	if doubtful {
		return
	}
	var first *candidate.Candidate
	for i := range cs {
		if c := &cs[i]; isAbout(c) && (first == nil || c.Score > first.Score) {
			first = c
		}
	}
	if first == nil {
		return
	}
	markLater(first, cs)
	e.markChanges(ctx, s, may, first, cs)
	if parts := language.Questions(query); len(parts) > 1 {
		markParts(parts[:min(mostParts, len(parts))], e.Find.Selector.Terms, cs)
	}
}

// isAbout reports whether a candidate was found for what it says.
func isAbout(c *candidate.Candidate) bool {
	return c.Kept() && c.Kind != schemas.KindTool && c.Signals != nil && c.Given == candidate.NotGiven
}

// markDays marks the likeliest of what was made at the time that the question names.
func markDays(cs []candidate.Candidate) {
	var of []*candidate.Candidate
	for i := range cs {
		if c := &cs[i]; isAbout(c) && !passage.Of(c.Visible) && c.Signals.Evidence.Dated >= 1 {
			of = append(of, c)
		}
	}
	markLikeliest(of, neededDays)
}

// markLikeliest marks as many as n candidates.
func markLikeliest(of []*candidate.Candidate, n int) {
	slices.SortStableFunc(of, func(a, b *candidate.Candidate) int { return cmp.Compare(b.Score, a.Score) })
	for _, c := range of[:min(n, len(of))] {
		c.Needed = true
	}
}

// markLater marks the likeliest of the items that have all of the question's words, as the first has them, and of those that are later
// than the first and have enough of the words that it has.
func markLater(first *candidate.Candidate, cs []candidate.Candidate) {
	if passage.Of(first.Visible) || first.Signals.Evidence.Words < leastWords {
		return
	}
	var later []*candidate.Candidate
	for i := range cs {
		c := &cs[i]
		if !isAbout(c) || passage.Of(c.Visible) || c == first {
			continue
		}
		words := c.Signals.Evidence.Words
		firsts := first.Signals.Evidence.Words
		if words >= max(allWords, firsts) || c.CreatedAt.After(first.CreatedAt) && words >= leastLater*firsts {
			later = append(later, c)
		}
	}
	markLikeliest(later, neededLater)
}

// markChanges marks the later notes that are most like the likeliest, whatever words of the question they have: one of them may say
// what has changed since.
func (e *Operations) markChanges(ctx context.Context, s scope.Scope, may schemas.Filter, first *candidate.Candidate, cs []candidate.Candidate) {
	if passage.Of(first.Visible) {
		return
	}
	var ids []string
	var later []*candidate.Candidate
	for i := range cs {
		// Of what is redacted the index has more than the principal sees.
		if c := &cs[i]; len(ids) < comparedLater && isAbout(c) && !c.Masked && !passage.Of(c.Visible) && c.CreatedAt.After(first.CreatedAt) {
			ids = append(ids, c.ID)
			later = append(later, c)
		}
	}
	text := first.Content.Text()
	scores, err := e.Find.Selector.Like(ctx, s, may, text[:min(headBytes, len(text))], ids)
	if err != nil || len(scores) != len(ids) {
		return
	}
	order := make([]int, len(later))
	for n := range order {
		order[n] = n
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(scores[b], scores[a]) })
	for _, n := range order[:min(neededChanges, len(order))] {
		later[n].Needed = later[n].Needed || scores[n] >= leastLike
	}
}

// markParts marks, for each part of the question, the candidates that have most of its words. What is shown by its passages is
// chosen by these. terms are the hashes of the words of a text, in order.
func markParts(parts []string, terms func(text string) []uint64, cs []candidate.Candidate) {
	has := make([][]uint64, len(cs))
	for i := range cs {
		if c := &cs[i]; isAbout(c) && !passage.Of(c.Visible) {
			text := schemas.SearchText(&c.MemoryItem)
			has[i] = terms(text[:min(partBytes, len(text))])
		}
	}
	for _, part := range parts {
		markPart(terms(part), has, cs)
	}
}

func markPart(words []uint64, has [][]uint64, cs []candidate.Candidate) {
	common := make([]int, len(cs))
	var order []int
	for i := range cs {
		for _, w := range words {
			if _, found := slices.BinarySearch(has[i], w); found {
				common[i]++
			}
		}
		if common[i] > 0 && float64(common[i]) >= leastPart*float64(len(words)) {
			order = append(order, i)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Or(common[b]-common[a], cmp.Compare(cs[b].Score, cs[a].Score)) })
	for _, i := range order[:min(neededPart, len(order))] {
		cs[i].Needed = true
	}
}
