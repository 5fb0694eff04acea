package pipeline

import (
	"cmp"
	"context"
	"slices"

	"satchel/pipeline/candidate"
	"satchel/pipeline/selection/rank"
	"satchel/schemas"
)

// defaultReranked is how many of the best candidates a reranker is asked about.
const defaultReranked = 50

// rerank asks the reranker about the best candidates and takes its scores for their relevance.
// The others stay below them. Without an answer in time the order stays, with a note.
func (e *Engine) rerank(ctx context.Context, req Request, ranked Ranked) (Ranked, error) {
	r, cs, profile := e.cfg.Reranker, ranked.Candidates, &ranked.Profile
	if req.Query == "" || profile.Relevance == 0 {
		return ranked, nil
	}
	at := make([]int, 0, e.cfg.Reranked)
	texts := make([]string, 0, e.cfg.Reranked)
	for i := range cs {
		if cs[i].Kept() && len(at) < e.cfg.Reranked {
			at, texts = append(at, i), append(texts, spoken(&cs[i]))
		}
	}
	if len(at) < 2 {
		return ranked, nil
	}
	scores, err := r.Rerank(ctx, req.Query, texts)
	if err != nil || len(scores) != len(at) {
		ranked.Notes = ranked.Notes.With("rerank: there was no answer in time, the order is without it")
		return ranked, ctx.Err()
	}
	ranked.Reranker += "+" + r.Name()
	least := slices.Min(scores)
	for j, i := range at {
		setRelevance(&cs[i], profile, scores[j])
	}
	for i := range cs {
		if cs[i].Kept() && !slices.Contains(at, i) {
			setRelevance(&cs[i], profile, min(least, relevanceOf(&cs[i])))
		}
	}
	slices.SortStableFunc(at, func(a, b int) int { return cmp.Compare(cs[b].Standing, cs[a].Standing) })
	for place, i := range at {
		cs[i].Channels = append(cs[i].Channels, candidate.Channel{
			Name: "rerank", Channel: schemas.Channel{Rank: place + 1, Score: relevanceOf(&cs[i])},
		})
	}
	slices.SortStableFunc(cs, func(a, b candidate.Candidate) int { return cmp.Compare(b.Standing, a.Standing) })
	return ranked, nil
}

// setRelevance changes a candidate's relevance, and its score with it.
func setRelevance(c *candidate.Candidate, p *rank.Profile, relevance float64) {
	c.SetScore(min(1, max(0, c.Score+p.Relevance*(relevance-relevanceOf(c)))))
	if c.Signals != nil {
		c.Signals.Relevance = fourPlaces(relevance)
	}
}

func relevanceOf(c *candidate.Candidate) float64 {
	if c.Signals == nil {
		return 0
	}
	return c.Signals.Relevance
}

// spoken is "speaker: text".
func spoken(r *candidate.Candidate) string {
	if r.Speaker == "" {
		return r.Content.Text()
	}
	return r.Speaker + ": " + r.Content.Text()
}
