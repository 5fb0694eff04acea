package selection

import (
	"context"
	"slices"

	"satchel/pipeline/scope"
	"satchel/pipeline/selection/retrieve"
	"satchel/pipeline/store/items"
)

// What a profile that weighs recency has looked at besides the best finds.
const (
	newestRead  = 1000 // items, newest first
	mostTimely  = 60   // of them, that make candidates
	timelyScore = .5   // of the best score of the question's words, or of its meaning, at least
)

// timely makes places in the pool for the newest items that fit the question about as well as the best
// finds, where the profile weighs recency: among many that are alike, the retrievers return others.
func (s *Selector) timely(ctx context.Context, sc scope.Scope, p *Pool) {
	if prof := p.out.Profile; prof.Recency == 0 || prof.Lambda == 0 {
		return
	}
	at := slices.IndexFunc(p.answers, func(a retrieve.Answer) bool { return a.Err == nil && len(a.Result.Hits) > 0 })
	if at < 0 {
		return
	}
	by, ok := p.answers[at].Retriever.(retrieve.Scorer)
	if !ok {
		return
	}
	within, cancel := retrieve.Within(ctx, s.cfg.Deadline)
	defer cancel()
	exclude := p.query.Exclude
	ids, err := s.cfg.Items.Recent(within, sc, p.query.Filter, items.Place{}, newestRead+len(exclude))
	ids = slices.DeleteFunc(ids, func(id string) bool { return slices.Contains(exclude, id) })
	ids = ids[:min(len(ids), newestRead)]
	var scores []float64
	if err == nil && len(ids) > 0 {
		scores, err = by.Score(within, sc, &p.search, ids)
	}
	if err != nil {
		p.out.Warnings = append(p.out.Warnings, retrieve.NameRecency+": "+retrieve.Failure(err))
		return
	}
	p.out.Sources = append(p.out.Sources, retrieve.NameRecency)
	least, n := timelyScore*p.answers[at].Result.Hits[0].Score, 0
	for i, score := range scores {
		if score >= least && score > 0 && n < mostTimely {
			p.columns.AddTimely(ids[i])
			n++
		}
	}
	p.out.Counts[retrieve.NameRecency] = n
}
