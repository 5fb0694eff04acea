package pipeline

import (
	"context"
	"math"
	"slices"

	"satchel/pipeline/candidate"
	"satchel/pipeline/selection"
	"satchel/schemas"
)

// defaultReranked is how many of the best candidates a reranker is asked about.
const defaultReranked = 50

// rerank asks the reranker about the best of what policy and the defences left, and
// takes its scores for their relevance; what it is not asked about stays below. Without
// an answer in time the order stays, with a warning.
func (t *turn) rerank(ctx context.Context) error {
	r := t.e.cfg.Reranker
	profile := &t.ranking.Profile
	if r == nil || t.query == "" || profile.Relevance == 0 {
		return nil
	}
	cs := t.ranking.Candidates
	at := make([]int, 0, t.e.cfg.Reranked)
	texts := make([]string, 0, t.e.cfg.Reranked)
	for i := range cs {
		if cs[i].Kept() && len(at) < t.e.cfg.Reranked {
			at, texts = append(at, i), append(texts, spoken(&cs[i].Record))
		}
	}
	if len(at) < 2 {
		return nil
	}
	scores, err := r.Rerank(ctx, t.query, texts)
	if err != nil || len(scores) != len(at) {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		t.warnings = append(t.warnings, "rerank: there was no answer in time, the order is without it")
		return nil
	}
	t.ranking.Reranker += "+" + r.Name()
	least := slices.Min(scores)
	for j, i := range at {
		setRelevance(&cs[i], profile, scores[j])
	}
	for i := range cs {
		if cs[i].Kept() && !slices.Contains(at, i) && relevanceOf(&cs[i]) > least {
			setRelevance(&cs[i], profile, least)
		}
	}
	ranks := slices.Clone(at)
	slices.SortStableFunc(ranks, func(a, b int) int { return compareScores(&cs[a], &cs[b]) })
	for rank, i := range ranks {
		cs[i].Channels = append(cs[i].Channels, candidate.Channel{Name: "rerank", Channel: schemas.Channel{Rank: rank + 1, Score: relevanceOf(&cs[i])}})
	}
	slices.SortStableFunc(cs, func(a, b candidate.Candidate) int { return compareScores(&a, &b) })
	return nil
}

// setRelevance changes a candidate's relevance, and its score with it.
func setRelevance(c *candidate.Candidate, p *selection.Profile, relevance float64) {
	c.Score += p.Relevance * (relevance - relevanceOf(c))
	c.Score = math.Min(1, math.Max(0, c.Score))
	if c.Signals != nil {
		c.Signals.Relevance = round(relevance)
	}
}

func relevanceOf(c *candidate.Candidate) float64 {
	if c.Signals == nil {
		return 0
	}
	return c.Signals.Relevance
}

func compareScores(a, b *candidate.Candidate) int {
	switch {
	case a.Score > b.Score:
		return -1
	case a.Score < b.Score:
		return 1
	}
	return 0
}

// spoken is "speaker: text".
func spoken(r *schemas.Record) string {
	if r.Speaker == "" {
		return r.Content.Text()
	}
	return r.Speaker + ": " + r.Content.Text()
}
