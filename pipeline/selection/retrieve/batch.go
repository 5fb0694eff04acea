package retrieve

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"satchel/pipeline/scope"
	"satchel/pipeline/store/keyword"
	"satchel/pipeline/store/vector"
	"satchel/schemas"
)

// Answer is what one retriever came back with.
type Answer struct {
	Retriever
	Result Result
	Err    error
}

// Search is a query and the retrievers that answer it.
type Search struct {
	Query   *Query
	Answers []Answer
}

// Ask fills the answers. Each retriever has its own goroutine but for the last, which runs
// on the caller's. deadline bounds each of them; 0: the context alone does.
func (s *Search) Ask(ctx context.Context, sc scope.Scope, deadline time.Duration) {
	ctx, cancel := Within(ctx, deadline)
	defer cancel()
	var wg sync.WaitGroup
	for i := range s.Answers {
		one := &s.Answers[i]
		run := func() { one.Result, one.Err = one.Retrieve(ctx, sc, s.Query) }
		if i == len(s.Answers)-1 {
			run()
			continue
		}
		wg.Go(run)
	}
	wg.Wait()
}

// Within gives a retriever its time; 0: what the context has left.
func Within(ctx context.Context, deadline time.Duration) (context.Context, context.CancelFunc) {
	if deadline > 0 {
		return context.WithTimeout(ctx, deadline)
	}
	return context.WithCancel(ctx)
}

// BatchRetriever is a Retriever that answers a query under several filters at once; ok is
// false when its index cannot.
type BatchRetriever interface {
	Retriever
	RetrieveEach(ctx context.Context, s scope.Scope, q *Query, filters []schemas.Filter) (results []Result, ok bool, err error)
}

// batchQuery is a query, and the answers that wait for it.
type batchQuery struct {
	query   *Query
	answers []*Answer
	filters []schemas.Filter
}

// AskTogether fills the answers of all searches. Searches that ask the same of an index,
// each under a filter of its own, are one search of it where it can answer them together.
func AskTogether(ctx context.Context, sc scope.Scope, searches []*Search, deadline time.Duration) {
	ctx, cancel := Within(ctx, deadline)
	defer cancel()
	var all []*batchQuery
	for _, s := range searches {
		for i := range s.Answers {
			one := &s.Answers[i]
			at := slices.IndexFunc(all, func(b *batchQuery) bool {
				return b.answers[0].Name() == one.Name() && b.query.hasSameQuestion(s.Query)
			})
			if at < 0 {
				at = len(all)
				all = append(all, &batchQuery{query: s.Query})
			}
			all[at].answers = append(all[at].answers, one)
			all[at].filters = append(all[at].filters, s.Query.Filter)
		}
	}
	var wg sync.WaitGroup
	for _, b := range all {
		wg.Go(func() { b.askRetriever(ctx, sc) })
	}
	wg.Wait()
}

// hasSameQuestion reports whether two queries of an index differ at most in their filters.
func (q *Query) hasSameQuestion(o *Query) bool {
	return q.Text == o.Text && q.Limit == o.Limit && slices.Equal(q.Exclude, o.Exclude) && q.Model == o.Model && slices.Equal(q.Vector, o.Vector) && slices.Equal(q.Encoded, o.Encoded)
}

// askRetriever asks once where that can be done, else once for each filter, all at the same time: a
// filter that fails takes no other's answer with it.
func (b *batchQuery) askRetriever(ctx context.Context, sc scope.Scope) {
	if r, is := b.answers[0].Retriever.(BatchRetriever); is && len(b.answers) > 1 {
		if results, ok, err := r.RetrieveEach(ctx, sc, b.query, b.filters); ok && err == nil {
			for i, one := range b.answers {
				one.Result = results[i]
			}
			return
		}
	}
	var wg sync.WaitGroup
	for i, one := range b.answers {
		q := *b.query
		q.Filter = b.filters[i]
		wg.Go(func() { one.Result, one.Err = one.Retrieve(ctx, sc, &q) })
	}
	wg.Wait()
}

// RetrieveEach is Retrieve under each of the filters.
func (r keywordRetriever) RetrieveEach(ctx context.Context, s scope.Scope, q *Query, filters []schemas.Filter) ([]Result, bool, error) {
	index, ok := r.index.(keyword.Batch)
	if !ok {
		return nil, false, nil
	}
	results, err := index.SearchEach(ctx, s, r.makeKeywordQuery(q), filters)
	if err != nil {
		return nil, true, fmt.Errorf("search keywords: %w", err)
	}
	out := make([]Result, len(results))
	for i := range results {
		out[i] = r.makeKeywordResult(&results[i], q.Limit)
	}
	return out, true, nil
}

// RetrieveEach is Retrieve under each of the filters.
func (r vectorRetriever) RetrieveEach(ctx context.Context, s scope.Scope, q *Query, filters []schemas.Filter) ([]Result, bool, error) {
	index, ok := r.index.(vector.Batch)
	if !ok {
		return nil, false, nil
	}
	results, err := index.SearchEach(ctx, s, r.makeVectorQuery(q), filters)
	if err != nil {
		return nil, true, fmt.Errorf("search vectors: %w", err)
	}
	out := make([]Result, len(results))
	for i := range results {
		out[i] = r.makeVectorResult(&results[i])
	}
	return out, true, nil
}

// RetrieveEach is Retrieve under each of the filters.
func (r encoderRetriever) RetrieveEach(ctx context.Context, s scope.Scope, q *Query, filters []schemas.Filter) ([]Result, bool, error) {
	return r.vectorRetriever.RetrieveEach(ctx, s, makeEncodedQuery(q), filters)
}
