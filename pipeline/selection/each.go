package selection

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"satchel/pipeline/scope"
	"satchel/pipeline/store/keyword"
	"satchel/pipeline/store/vector"
	"satchel/schemas"
)

// Ranked is the answer to one of several queries.
type Ranked struct {
	Ranking
	Err error
}

// RankEach is Rank of every query, all at once. Queries that ask the same of an index,
// each under a filter of its own, are one search of it where it can answer them together
// (keyword.Batch, vector.Batch); what is found is the same.
func (s *Selector) RankEach(ctx context.Context, sc scope.Scope, queries []Query) []Ranked {
	out := make([]Ranked, len(queries))
	runs := make([]*ranking, len(queries))
	var wg sync.WaitGroup
	for i := range queries {
		wg.Go(func() { runs[i], out[i].Err = s.begin(ctx, sc, &queries[i]) })
	}
	wg.Wait()
	s.askTogether(ctx, sc, runs)
	for i, r := range runs {
		if r == nil {
			continue
		}
		wg.Go(func() {
			if out[i].Err = s.finish(ctx, sc, r); out[i].Err == nil {
				out[i].Ranking = r.out
			}
		})
	}
	wg.Wait()
	return out
}

// together is a Retriever that answers a probe under several filters at once; ok is false
// when its index cannot.
type together interface {
	Retriever
	RetrieveEach(ctx context.Context, s scope.Scope, p *Probe, filters []schemas.Filter) (found []Found, ok bool, err error)
}

// asking is a probe, and the answers that wait for it.
type asking struct {
	probe   *Probe
	answers []*answer
	filters []schemas.Filter
	of      []*analysis
}

// askTogether fills the answers of all rankings.
func (s *Selector) askTogether(ctx context.Context, sc scope.Scope, runs []*ranking) {
	ctx, cancel := s.within(ctx)
	defer cancel()
	var all []*asking
	for _, r := range runs {
		if r == nil || r.analysis == nil {
			continue
		}
		for i := range r.answers {
			one := &r.answers[i]
			at := slices.IndexFunc(all, func(a *asking) bool {
				return a.answers[0].retriever.Name() == one.retriever.Name() && a.probe.asks(&r.probe)
			})
			if at < 0 {
				at = len(all)
				all = append(all, &asking{probe: &r.probe})
			}
			all[at].answers = append(all[at].answers, one)
			all[at].filters = append(all[at].filters, r.probe.Filter)
			all[at].of = append(all[at].of, r.analysis)
		}
	}
	var wg sync.WaitGroup
	for _, a := range all {
		wg.Go(func() {
			a.run(ctx, sc)
			if a.answers[0].retriever.Name() == NameKeyword {
				s.measure(ctx, sc, a)
			}
		})
	}
	wg.Wait()
}

// measure finds out how common the words are that the rankings will compare by closeness:
// those of one text are the same in each.
func (s *Selector) measure(ctx context.Context, sc scope.Scope, a *asking) {
	var filters []schemas.Filter
	var n []int
	for i, one := range a.answers {
		if one.err == nil && one.found.N > 0 && s.comparesWords(a.of[i]) {
			filters, n = append(filters, a.filters[i]), append(n, one.found.N)
		}
	}
	if len(filters) > 1 {
		s.shares.measure(ctx, sc, filters, n, a.of[0].content)
	}
}

// asks reports whether two probes of an index differ at most in their filters.
func (p *Probe) asks(q *Probe) bool {
	return p.Text == q.Text && p.Limit == q.Limit && slices.Equal(p.Vector, q.Vector)
}

// run asks once where that can be done, else once for each filter, all at the same time: a
// filter that fails takes no other's answer with it.
func (a *asking) run(ctx context.Context, sc scope.Scope) {
	if r, is := a.answers[0].retriever.(together); is && len(a.answers) > 1 {
		if found, ok, err := r.RetrieveEach(ctx, sc, a.probe, a.filters); ok && err == nil {
			for i, one := range a.answers {
				one.found = found[i]
			}
			return
		}
	}
	var wg sync.WaitGroup
	for i, one := range a.answers {
		probe := *a.probe
		probe.Filter = a.filters[i]
		wg.Go(func() { one.found, one.err = one.retriever.Retrieve(ctx, sc, &probe) })
	}
	wg.Wait()
}

// RetrieveEach is Retrieve under each of the filters.
func (r keywordRetriever) RetrieveEach(ctx context.Context, s scope.Scope, p *Probe, filters []schemas.Filter) ([]Found, bool, error) {
	index, ok := r.index.(keyword.Batch)
	if !ok {
		return nil, false, nil
	}
	results, err := index.SearchEach(ctx, s, r.query(p), filters)
	if err != nil {
		return nil, true, fmt.Errorf("search keywords: %w", err)
	}
	out := make([]Found, len(results))
	for i := range results {
		out[i] = r.found(&results[i], p.Limit)
	}
	return out, true, nil
}

// RetrieveEach is Retrieve under each of the filters.
func (r vectorRetriever) RetrieveEach(ctx context.Context, s scope.Scope, p *Probe, filters []schemas.Filter) ([]Found, bool, error) {
	index, ok := r.index.(vector.Batch)
	if !ok {
		return nil, false, nil
	}
	results, err := index.SearchEach(ctx, s, r.query(p), filters)
	if err != nil {
		return nil, true, fmt.Errorf("search vectors: %w", err)
	}
	out := make([]Found, len(results))
	for i := range results {
		out[i] = r.found(&results[i])
	}
	return out, true, nil
}
