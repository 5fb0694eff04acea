package selection

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"satchel/pipeline/model"
	"satchel/pipeline/scope"
	"satchel/pipeline/selection/rank"
	"satchel/pipeline/selection/retrieve"
	"satchel/pipeline/store/items"
	"satchel/schemas"
)

// MaxReach is the most hits that a retriever is asked for.
const MaxReach = 10_000

// Pool is what the retrievers found for a query, before policy has decided on it, and what
// stands beside that in the conversation. It belongs to one request; Release gives it back.
type Pool struct {
	query     Query
	question  *rank.Question
	questions model.QuestionForm // whose vectors are searched
	search    retrieve.Query
	answers   []retrieve.Answer
	tools     retrieve.Search // among tools alone; no answers: there is none
	columns   *rank.Pool      // nil where nothing can be found
	records   []*items.Lent   // by place in the columns; nil: not there, or not for the query
	found     int             // places that retrievers found; those after them are of Query.Previous alone
	previous  []int32         // places of Query.Previous
	renamed   bool            // names of the query have other names here
	asked     bool            // the query asks for what links reach
	replaced  []schemas.Record
	out       Ranking
	start     time.Time
}

// Records returns what was found, in the order in which Rank expects its answer. A nil is of
// no item that the query is about. The records are shared and MUST NOT be changed.
func (p *Pool) Records() []*items.Lent { return p.records }

// Replaced returns the items that were recorded again after the moment the query is about:
// what they were then is in the log, and not among the records. Where the moment is a time,
// some may not have been there yet at all.
func (p *Pool) Replaced() []schemas.Record { return p.replaced }

// Reach is how many hits each retriever was asked for.
func (p *Pool) Reach() int { return p.search.Limit }

// More reports whether a retriever may find more than it was asked for.
func (p *Pool) More() bool {
	return slices.ContainsFunc(p.answers, func(a retrieve.Answer) bool { return len(a.Result.Hits) >= p.search.Limit })
}

// Complete reports whether every retriever that was asked has answered.
func (p *Pool) Complete() bool {
	return !slices.ContainsFunc(p.answers, func(a retrieve.Answer) bool { return a.Err != nil })
}

// Release gives the pool's memory back. Nothing of p may be used after it.
func (s *Selector) Release(p *Pool) {
	if p != nil && p.columns != nil {
		s.ranker.Release(p.columns)
		p.columns = nil
	}
}

// Find asks the retrievers, all at once. Nothing is ranked, and what it returns may be shown
// to nobody before policy has decided. Errors are *schemas.Error: validation_error for an
// unknown profile or weights that do not sum, embedding_error when a vector is required and
// there is none, search_error when no retriever answered, storage_error when items cannot be
// read.
func (s *Selector) Find(ctx context.Context, sc scope.Scope, q Query) (*Pool, error) {
	p, err := s.beginQuery(ctx, sc, q)
	if err != nil || p.question == nil {
		return p, err
	}
	searches := []*retrieve.Search{{Query: &p.search, Answers: p.answers}}
	p.planTools()
	if len(p.tools.Answers) > 0 {
		searches = append(searches, &p.tools)
	}
	retrieve.AskTogether(ctx, sc, searches, s.cfg.Deadline)
	if err := s.fillPool(ctx, sc, p); err != nil {
		s.Release(p)
		return nil, err
	}
	return p, nil
}

// Found is the answer to one of several queries.
type Found struct {
	*Pool
	Err error
}

// FindEach is Find of every query, all at once, but looks for no tools apart. Queries that ask the same of an index,
// each under a filter of its own, are one search of it where it can answer them together;
// what is found is the same.
func (s *Selector) FindEach(ctx context.Context, sc scope.Scope, queries []Query) []Found {
	out := make([]Found, len(queries))
	var wg sync.WaitGroup
	for i := range queries {
		wg.Go(func() { out[i].Pool, out[i].Err = s.beginQuery(ctx, sc, queries[i]) })
	}
	wg.Wait()
	s.askTogether(ctx, sc, out)
	for i := range out {
		if p := out[i].Pool; p != nil && p.question != nil {
			wg.Go(func() {
				out[i].Err = s.fillPool(ctx, sc, p)
				if out[i].Err != nil {
					s.Release(p)
				}
			})
		}
	}
	wg.Wait()
	return out
}

// askTogether asks the retrievers of all pools, and finds out how common the words are that
// the rankings will compare by closeness: those of one text are the same in each.
func (s *Selector) askTogether(ctx context.Context, sc scope.Scope, found []Found) {
	var searches []*retrieve.Search
	var of []*Pool
	for _, f := range found {
		if f.Pool != nil && f.question != nil {
			searches = append(searches, &retrieve.Search{Query: &f.search, Answers: f.answers})
			of = append(of, f.Pool)
		}
	}
	retrieve.AskTogether(ctx, sc, searches, s.cfg.Deadline)
	var filters []schemas.Filter
	var n []int
	for i, search := range searches {
		for j := range search.Answers {
			if a := &search.Answers[j]; a.Name() == retrieve.NameKeyword && a.Err == nil && a.Result.N > 0 && of[i].query.Text == of[0].query.Text {
				filters = append(filters, of[i].query.Filter)
				n = append(n, a.Result.N)
			}
		}
	}
	if len(filters) > 1 {
		s.ranker.MeasureWords(ctx, sc, of[0].question, of[0].query.Population, of[0].query.Exclude, filters, n)
	}
}

// beginQuery reads the query and picks whom to ask.
func (s *Selector) beginQuery(ctx context.Context, sc scope.Scope, q Query) (*Pool, error) {
	if err := sc.Check(); err != nil {
		return nil, fmt.Errorf("find: %w", err)
	}
	profile, note, err := s.ranker.Profile(sc.Tenant(), q.Profile, q.Override)
	if err != nil {
		return nil, err
	}
	if q.Limit <= 0 {
		q.Limit = retrieve.DefaultLimit
	}
	if q.Population.IsNone() {
		q.Population = q.Filter
	}
	p := &Pool{query: q, out: Ranking{Reranker: "z-fusion/" + profile.Name, Profile: profile, Counts: map[string]int{}, Sources: []string{}, Warnings: []string{}}}
	if note != "" {
		p.out.Warnings = append(p.out.Warnings, "weights: "+note)
	}
	if q.Filter.IsNone() {
		return p, nil
	}
	p.start = s.cfg.Clock()
	names := s.resolveAliases(ctx, sc, &p.query)
	p.renamed = len(names) > 0
	if n := len(names); n > 0 { // not which: policy may keep from the principal what the filter lets through
		p.out.Warnings = append(p.out.Warnings, "names: what the query names was looked for under "+strconv.Itoa(n)+" more")
	}
	if err := s.readQuery(ctx, sc, p, names); err != nil {
		return nil, err
	}
	p.answers = s.pickRetrievers(p)
	return p, nil
}

// pickRetrievers picks the retrievers of the query's type. A graph query finds its seeds by
// keyword and vector as well.
func (s *Selector) pickRetrievers(p *Pool) []retrieve.Answer {
	q := &p.query
	var out []retrieve.Answer
	if s.keyword != nil && strings.TrimSpace(q.Text) != "" && q.Type != schemas.QuerySemantic {
		out = append(out, retrieve.Answer{Retriever: s.keyword})
	}
	if s.vector != nil && len(p.search.Vector) > 0 && q.Type != schemas.QueryKeyword {
		out = append(out, retrieve.Answer{Retriever: s.vector})
	}
	if len(p.search.Encoded) > 0 {
		out = append(out, retrieve.Answer{Retriever: s.encoder})
	}
	if len(out) == 0 {
		out = append(out, retrieve.Answer{Retriever: s.recency})
	}
	return slices.DeleteFunc(out, func(a retrieve.Answer) bool { return q.isSkipped(a.Name()) })
}

// fillPool reads what the answers name, and the turns around the best of it.
func (s *Selector) fillPool(ctx context.Context, sc scope.Scope, p *Pool) error {
	p.columns = s.ranker.Pool()
	if err := s.collectAnswers(ctx, p); err != nil {
		return err
	}
	if err := s.askForOthers(ctx, sc, p); err != nil {
		return newStorageError(ctx, "items could not be read")
	}
	s.addTimelyItems(ctx, sc, p)
	if q := &p.query; len(p.answers) > 0 && s.graph != nil && !q.isSkipped(retrieve.NameGraph) && q.Type != schemas.QueryKeyword && q.Type != schemas.QuerySemantic {
		s.walkLinks(ctx, sc, p)
	}
	if err := s.addNeighbors(ctx, sc, p); err != nil {
		return newStorageError(ctx, "items could not be read")
	}
	s.addPrivate(ctx, sc, p)
	p.addTools()
	p.found = len(p.columns.All())
	for _, v := range p.query.Previous {
		p.previous = append(p.previous, p.columns.Add(v.ID))
	}
	p.columns.Grow()
	if err := s.readRecords(ctx, sc, p, p.columns.All()); err != nil {
		return newStorageError(ctx, "items could not be read")
	}
	for i, r := range p.records {
		switch {
		case r == nil:
		case !p.query.Filter.Match(&r.Facets): // an index may lag behind the record
			p.records[i] = nil
		case !p.query.canSeeRecord(r.Record):
			if p.query.hasEarlierVersion(r.Record) {
				p.replaced = append(p.replaced, *r.Record)
			}
			p.records[i] = nil
		}
	}
	p.out.Times.Retrieve = s.cfg.Clock().Sub(p.start)
	return nil
}

// collectAnswers puts what the retrievers found into the pool. A retriever that fails is named in
// the warnings; when all fail, there is no ranking.
func (s *Selector) collectAnswers(ctx context.Context, p *Pool) error {
	failed := 0
	for i := range p.answers {
		a := &p.answers[i]
		if a.Err != nil {
			failed++
			p.out.Warnings = append(p.out.Warnings, a.Name()+": "+retrieve.Failure(a.Err))
			continue
		}
		p.out.Sources = append(p.out.Sources, a.Name())
		p.out.Counts[a.Name()] = len(a.Result.Hits)
		p.columns.Take(a.Name(), s.ranker.Weight(a.Name()), a.Result)
	}
	if failed == 0 || failed < len(p.answers) {
		return nil
	}
	if err := checkDeadline(ctx); err != nil {
		return err
	}
	return &schemas.Error{Code: schemas.CodeSearch, Message: "no retriever answered: " + strings.Join(p.out.Warnings, "; ")}
}

// addNeighbors makes places in the pool for the turns around the best finds.
func (s *Selector) addNeighbors(ctx context.Context, sc scope.Scope, p *Pool) error {
	if !p.columns.HasChannels() || !rank.MayPassTurns(p.query.Filter) {
		return nil
	}
	best := slices.Clone(p.columns.First(p.question, linkedBest))
	if err := s.readRecords(ctx, sc, p, best); err != nil {
		return err
	}
	s.ofSession(ctx, sc, p, best)
	if s.isDisabled(rank.FeatureNear) {
		return nil
	}
	turns := make([]int32, 0, len(best))
	ids := make([]string, 0, len(best))
	for _, i := range best {
		if r := p.records[i]; r != nil && r.IsTurn() {
			p.columns.SetTerms(i, r.Terms)
			turns = append(turns, i)
			ids = append(ids, r.ID)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	near, err := s.cfg.Items.Neighbours(ctx, sc, ids, linkedRadius)
	if err == nil {
		p.columns.Around(near, turns)
	}
	return err
}

// references is an items.Store that can lend records instead of copying them.
type references interface {
	Refs(ctx context.Context, s scope.Scope, ids []string) ([]*items.Lent, error)
}

// readRecords reads the records at places, unless they were read before.
func (s *Selector) readRecords(ctx context.Context, sc scope.Scope, p *Pool, of []int32) error {
	all := p.columns.IDs()
	p.records = append(p.records, make([]*items.Lent, len(all)-len(p.records))...)
	ids := make([]string, 0, len(of))
	missing := make([]int32, 0, len(of))
	for _, i := range of {
		if p.records[i] == nil {
			ids = append(ids, all[i])
			missing = append(missing, i)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	if kept, ok := s.cfg.Items.(references); ok {
		records, err := kept.Refs(ctx, sc, ids)
		for j, i := range missing[:len(records)] {
			p.records[i] = records[j]
		}
		return err
	}
	records, err := s.cfg.Items.Get(ctx, sc, ids)
	for j := range records {
		if i, ok := p.columns.Place(records[j].ID); ok {
			p.records[i] = items.Lend(&records[j])
		}
	}
	return err
}
