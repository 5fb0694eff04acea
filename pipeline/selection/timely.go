package selection

import (
	"context"
	"slices"

	"satchel/pipeline/scope"
	"satchel/pipeline/selection/retrieve"
	"satchel/pipeline/store/items"
	"satchel/schemas"
)

// What a profile that weighs recency has looked at besides the best finds.
const (
	newestRead  = 1000 // items, newest first; up to MaxReach, where too few of them fit
	mostTimely  = 60   // of them, that make candidates
	timelyScore = .5   // of the best score of the question's words, or of its meaning, at least
)

// addTimelyItems makes places in the pool for the newest items that fit the question about as well as the best
// finds, where the profile weighs recency, or the query or the question wants the newest: among many that are alike, the retrievers return others.
func (s *Selector) addTimelyItems(ctx context.Context, sc scope.Scope, p *Pool) {
	s.onDays(ctx, sc, p)
	prof := p.out.Profile
	if weighs := prof.Recency > 0 && prof.Lambda > 0; !weighs && !p.query.Newest && !p.question.AsksNewest() {
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
	least := timelyScore * p.answers[at].Result.Hits[0].Score
	fit, err := s.findNewestItems(within, sc, p, by, p.query.Filter, newestRead, least)
	if err == nil && len(fit) < mostTimely {
		fit, err = s.findNewestItems(within, sc, p, by, p.query.Filter, MaxReach, least)
	}
	if err != nil {
		p.out.Warnings = append(p.out.Warnings, retrieve.NameRecency+": "+retrieve.Failure(err))
		return
	}
	p.out.Sources = append(p.out.Sources, retrieve.NameRecency)
	for _, id := range fit {
		p.columns.AddTimely(id)
	}
	p.out.Counts[retrieve.NameRecency] = len(fit)
}

// findNewestItems returns the first of the newest items to which a retriever gives a score of at least so much.
func (s *Selector) findNewestItems(
	ctx context.Context, sc scope.Scope, p *Pool, by retrieve.Scorer, filter schemas.Filter, read int, least float64,
) ([]string, error) {
	exclude := p.query.Exclude
	ids, err := s.cfg.Items.Recent(ctx, sc, filter, items.Place{}, read+len(exclude))
	if err != nil || len(ids) == 0 {
		return nil, err
	}
	ids = slices.DeleteFunc(ids, func(id string) bool { return slices.Contains(exclude, id) })
	ids = ids[:min(len(ids), read)]
	scores, err := by.Score(ctx, sc, &p.search, ids)
	var fit []string
	for i, score := range scores {
		if score >= least && score > 0 && len(fit) < mostTimely {
			fit = append(fit, ids[i])
		}
	}
	return fit, err
}

// Where a retriever returns all that it was asked for, others of the session may be alike.
const (
	sessionRead = 60 // the newest of the session
	alikeScore  = .8 // of the best score, at least
)

// ofSession makes places in the pool for the newest items of the session that most of the best finds are of, where they fit the
// question about as well: of many versions of one statement the retrievers return some, whichever are the newest.
func (s *Selector) ofSession(ctx context.Context, sc scope.Scope, p *Pool, best []int32) {
	at := slices.IndexFunc(p.answers, func(a retrieve.Answer) bool { return a.Err == nil && len(a.Result.Hits) >= p.search.Limit })
	if at < 0 {
		return
	}
	by, ok := p.answers[at].Retriever.(retrieve.Scorer)
	session := p.mostOf(best)
	if !ok || session == "" {
		return
	}
	within, cancel := retrieve.Within(ctx, s.cfg.Deadline)
	defer cancel()
	filter := p.query.Filter.And(schemas.Where(schemas.Cond{Field: schemas.FieldSession, Op: schemas.In, Values: []string{session}}))
	fit, err := s.findNewestItems(within, sc, p, by, filter, sessionRead, alikeScore*p.answers[at].Result.Hits[0].Score)
	if err != nil {
		p.out.Warnings = append(p.out.Warnings, retrieve.NameRecency+": "+retrieve.Failure(err))
	}
	for _, id := range fit {
		p.columns.AddTimely(id)
	}
}

// mostOf is the session that more than half of the items are of, "" where none is.
func (p *Pool) mostOf(best []int32) string {
	n := map[string]int{}
	for _, i := range best {
		if r := p.records[i]; r != nil {
			n[r.Facets.Session]++
			if 2*n[r.Facets.Session] > len(best) {
				return r.Facets.Session
			}
		}
	}
	return ""
}

// onDay is how many items of the days that a question names make candidates, the last of them first.
const onDay = 60

// onDays makes places in the pool for items of the days that the question names: few of its words may be theirs.
func (s *Selector) onDays(ctx context.Context, sc scope.Scope, p *Pool) {
	for _, d := range p.question.Days() {
		within, cancel := retrieve.Within(ctx, s.cfg.Deadline)
		ids, err := s.cfg.Items.Recent(within, sc, p.query.Filter, items.Place{Created: d.To}, onDay)
		cancel()
		if err != nil {
			p.out.Warnings = append(p.out.Warnings, retrieve.NameRecency+": "+retrieve.Failure(err))
			return
		}
		for _, id := range ids {
			if !slices.Contains(p.query.Exclude, id) {
				p.columns.AddTimely(id)
			}
		}
	}
}
