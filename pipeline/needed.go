package pipeline

import (
	"cmp"
	"slices"

	"satchel/pipeline/candidate"
	"satchel/pipeline/infra/sentences"
	"satchel/pipeline/passage"
	"satchel/pipeline/store/keyword"
	"satchel/schemas"
)

// markNeeded marks what a pack must not leave out for being worth less than its best, as far as there is room: what answers
// another part of the question, and what was written later about the same thing.
func markNeeded(query string, cs []candidate.Candidate) {
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
	if parts := sentences.Questions(query); len(parts) > 1 {
		markParts(parts[:min(mostParts, len(parts))], cs)
	}
}

// isAbout reports whether a candidate was found for what it says.
func isAbout(c *candidate.Candidate) bool {
	return c.Kept() && c.Kind != schemas.KindTool && c.Signals != nil && c.Given == candidate.NotGiven
}

// markLater marks the likeliest of the items that are later than the first and have enough of the question's words that the
// first has.
func markLater(first *candidate.Candidate, cs []candidate.Candidate) {
	if passage.Of(first.Visible) || first.Signals.Evidence.Words < leastWords {
		return
	}
	var later []*candidate.Candidate
	for i := range cs {
		c := &cs[i]
		if isAbout(c) && !passage.Of(c.Visible) && c.CreatedAt.After(first.CreatedAt) && c.Signals.Evidence.Words >= leastLater*first.Signals.Evidence.Words {
			later = append(later, c)
		}
	}
	slices.SortStableFunc(later, func(a, b *candidate.Candidate) int { return cmp.Compare(b.Score, a.Score) })
	for _, c := range later[:min(neededLater, len(later))] {
		c.Needed = true
	}
}

// markParts marks, for each part of the question, the candidates that have most of its words. What is shown by its passages is
// chosen by these.
func markParts(parts []string, cs []candidate.Candidate) {
	has := make([]map[string]bool, len(cs))
	for i := range cs {
		if c := &cs[i]; isAbout(c) && !passage.Of(c.Visible) {
			text := c.Content.Text()
			has[i] = wordsOf(c.Speaker + " " + text[:min(partBytes, len(text))])
		}
	}
	for _, part := range parts {
		markPart(wordsOf(part), has, cs)
	}
}

func wordsOf(text string) map[string]bool {
	out := map[string]bool{}
	for _, w := range keyword.Analyze(text) {
		out[w] = true
	}
	return out
}

func markPart(words map[string]bool, has []map[string]bool, cs []candidate.Candidate) {
	common := make([]int, len(cs))
	var order []int
	for i := range cs {
		for w := range words {
			if has[i][w] {
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
