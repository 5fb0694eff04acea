package pipeline

import (
	"context"
	"errors"
	"slices"

	"satchel/pipeline/model"
	"satchel/pipeline/scope"
	"satchel/pipeline/selection"
	"satchel/pipeline/selection/retrieve"
	"satchel/pipeline/store/items"
	"satchel/schemas"
)

// Retrieved is what retrieval found. Policy has not decided on it, so nothing may show, count
// or rank it.
type Retrieved struct {
	Pools []selection.Found   // what each query found
	Named []*schemas.Record   // what an operation reads by id, in its order
	Axes  []axisFound         // of a premortem: which of Named each axis found
	Given map[string][]string // of a context request: by node, ids of Named, newest first
	Notes Notes
}

// records are all records that were found.
func (r *Retrieved) records() []*items.Lent {
	out := lent(r.Named)
	for _, p := range r.Pools {
		if p.Pool != nil {
			out = append(out, p.Records()...)
		}
	}
	return out
}

func lent(records []*schemas.Record) []*items.Lent {
	out := make([]*items.Lent, len(records))
	for i, r := range records {
		out[i] = items.Lend(r)
	}
	return out
}

// release gives the pools back.
func (e *Engine) release(found Retrieved) {
	for _, p := range found.Pools {
		e.selector.Release(p.Pool)
	}
}

// Bounds of the searches of one request.
const (
	maxRounds = 4 // again without what policy denies
	farther   = 5 // times as many hits, where those found do not satisfy the client's filters
)

// selectCandidates retrieves and has policy decide on what was found. It retrieves again as if
// what policy denies were not there, so that nothing of it shows in scores or takes a place; and
// further off, where too little satisfies the client's filters.
func (e *Engine) selectCandidates(ctx context.Context, rec *Recorder, op operation, req Request, plan Plan) (Authorized, error) {
	by := e.newAuthorizer(req)
	var near *Authorized // what the last search without the widening found
	for round := 1; ; round++ {
		auth, err := e.decideOn(ctx, rec, op, req, plan, by)
		if err != nil {
			if near != nil && ctx.Err() == nil {
				near.Notes = near.Notes.With("filters: only the nearest items were held against them, the indexes did not answer for more")
				return *near, nil
			}
			return Authorized{}, err
		}
		if near != nil {
			e.release(near.Retrieved)
			near = nil
		}
		if denied := auth.newlyDenied; len(denied) > 0 && len(auth.Pools) > 0 && round < maxRounds {
			e.release(auth.Retrieved)
			plan = plan.without(denied)
			continue
		}
		if !auth.wantsMore(plan) {
			return e.withDenied(ctx, rec, op, req, plan, by, auth)
		}
		reach := auth.Pools[0].Reach()
		if reach >= selection.MaxReach {
			auth.Notes = auth.Notes.With("filters: only the nearest 10000 items were held against them, there may be more that pass")
			return e.withDenied(ctx, rec, op, req, plan, by, auth)
		}
		plan.Query.Reach = min(farther*reach, selection.MaxReach)
		near = &auth
	}
}

// decideOn is one search, and the decision on what it found.
func (e *Engine) decideOn(ctx context.Context, rec *Recorder, op operation, req Request, plan Plan, by *authorizer) (Authorized, error) {
	found, err := staged(ctx, rec, "retrieve", func(ctx context.Context) (Retrieved, error) {
		return op.retrieve(ctx, req, plan)
	})
	if err != nil {
		return Authorized{}, err
	}
	auth, err := staged(ctx, rec, "slice", func(ctx context.Context) (Authorized, error) {
		return by.authorize(ctx, op.spec(), found)
	})
	if err != nil {
		e.release(found)
	}
	return auth, err
}

// withDenied has policy decide, for an auditor, on what it keeps from the search altogether, so
// that the auditor's counts are of all that the question found.
func (e *Engine) withDenied(
	ctx context.Context, rec *Recorder, op operation, req Request, plan Plan, by *authorizer, auth Authorized,
) (Authorized, error) {
	if !isAuditor(req.Scope) || len(auth.Pools) == 0 {
		return auth, nil
	}
	all := plan
	all.Pushdown = Pushdown{Filter: schemas.MatchAll(), Population: schemas.MatchAll()}
	all.Exclude = nil
	hidden, err := e.decideOn(ctx, rec, op, req, all, by)
	if err != nil {
		return Authorized{}, err
	}
	e.release(hidden.Retrieved)
	return auth, nil
}

// isAuditor reports whether the principal may know which items policy denies.
func isAuditor(s scope.Scope) bool {
	p := s.Principal()
	return p.HasRole("auditor")
}

// find asks one query.
func (e *Engine) find(ctx context.Context, req Request, q selection.Query, notes Notes) (Retrieved, error) {
	pool, err := e.selector.Find(ctx, req.Scope, q)
	if err != nil {
		return Retrieved{}, err
	}
	return Retrieved{Pools: []selection.Found{{Pool: pool}}, Notes: notes}, nil
}

// readBatch is how many items are read at once.
const readBatch = 100

// readItems reads the items that policy lets be looked at.
func (e *Engine) readItems(ctx context.Context, req Request, plan Plan, ids []string) (Retrieved, error) {
	out := Retrieved{Notes: plan.Notes}
	for part := range slices.Chunk(ids, readBatch) {
		records, err := e.cfg.Items.Get(ctx, req.Scope, part)
		if err != nil {
			return Retrieved{}, storageError("items could not be read")
		}
		for i := range records {
			if r := &records[i]; plan.Pushdown.Filter.Match(&r.Facets) {
				out.Named = append(out.Named, r)
			}
		}
	}
	return out, nil
}

// defaultReranker is the name of the ranking of an operation that does not take its order from
// one query.
const defaultReranker = "z-fusion/default"

// embedded are the vectors of an operation's queries, and by what they were made. There are none where the queries go
// by keywords alone.
type embedded struct {
	by      model.QuestionForm
	vectors [][]float32
}

// ask has a query search by the vector of text i. Without one it leaves the vector index out.
func (v embedded) ask(q *selection.Query, i int) {
	q.Questions = v.by
	if v.vectors != nil {
		q.Vector = v.vectors[i]
		return
	}
	skip := q.Skip
	q.Skip = func(retriever string) bool { return retriever == retrieve.NameVector || skip != nil && skip(retriever) }
}

// embedQuery embeds the texts of all queries of an operation at once. It fails where they cannot be embedded and
// there is no keyword index either.
func (e *Engine) embedQuery(ctx context.Context, s scope.Scope, notes Notes, texts ...string) (embedded, Notes, error) {
	if e.cfg.Vector == nil || e.cfg.Embedder == nil {
		return embedded{}, notes, nil
	}
	by := e.selector.Questions(ctx, s)
	vectors, err := by.Embed(ctx, texts)
	switch {
	case err == nil && len(vectors) == len(texts):
		return embedded{by, vectors}, notes, nil
	case ctx.Err() != nil:
		return embedded{}, notes, ctx.Err()
	case e.cfg.Keyword == nil:
		return embedded{}, notes, &schemas.Error{Code: schemas.CodeEmbedding, Message: "the query could not be embedded"}
	}
	return embedded{by: by}, notes.With("vector: the query could not be embedded"), nil
}

// failure says in a warning's words why a search did not answer.
func failure(err error) string {
	var known *schemas.Error
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) ||
		errors.As(err, &known) && known.Code == schemas.CodeDeadlineExceeded {
		return "it was too late and is left out"
	}
	return "it did not answer and is left out"
}
