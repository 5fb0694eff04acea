package pipeline

import (
	"context"
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
	Pools []selection.Found // what each query found
	Named []*schemas.Record // what an operation reads by id, in its order
	// Search tells the searches of a request apart, for an operation that keeps something of each.
	Search int
	Notes  Notes
}

// records are all records that were found.
func (r *Retrieved) records() []*items.Lent {
	out := make([]*items.Lent, len(r.Named))
	for i, record := range r.Named {
		out[i] = items.Lend(record)
	}
	for _, p := range r.Pools {
		if p.Pool != nil {
			out = append(out, p.Records()...)
		}
	}
	return out
}

// release gives the pools back.
func (r *Retrieved) release(to *selection.Selector) {
	for _, p := range r.Pools {
		to.Release(p.Pool)
	}
}

// Finding searches the stores and reads items.
type Finding struct {
	Stores
	Selector *selection.Selector
	embedder model.Embedder
}

// Ask asks one query.
func (f *Finding) Ask(ctx context.Context, req Request, q selection.Query, notes Notes) (Retrieved, error) {
	pool, err := f.Selector.Find(ctx, req.Scope, q)
	if err != nil {
		return Retrieved{}, err
	}
	return Retrieved{Pools: []selection.Found{{Pool: pool}}, Notes: notes}, nil
}

// ReadBatch is how many items are read at once.
const ReadBatch = 100

// Read reads the items that policy lets be looked at.
func (f *Finding) Read(ctx context.Context, req Request, plan Plan, ids []string) (Retrieved, error) {
	out := Retrieved{Notes: plan.Notes}
	for part := range slices.Chunk(ids, ReadBatch) {
		records, err := f.Items.Get(ctx, req.Scope, part)
		if err != nil {
			return Retrieved{}, StorageError("items could not be read")
		}
		for i := range records {
			if r := &records[i]; plan.Pushdown.Filter.Match(&r.Facets) {
				out.Named = append(out.Named, r)
			}
		}
	}
	return out, nil
}

// Vectors are the vectors of an operation's queries, and by what they were made. There are none where the queries go
// by keywords alone.
type Vectors struct {
	By model.QuestionForm
	Of [][]float32
}

// Ask has a query search by the vector of text i. Without one it leaves the vector index out.
func (v Vectors) Ask(q *selection.Query, i int) {
	q.Questions = v.By
	if v.Of != nil {
		q.Vector = v.Of[i]
		return
	}
	skip := q.Skip
	q.Skip = func(retriever string) bool { return retriever == retrieve.NameVector || skip != nil && skip(retriever) }
}

// Embed embeds the texts of all queries of an operation at once. It fails where they cannot be embedded and
// there is no keyword index either.
func (f *Finding) Embed(ctx context.Context, s scope.Scope, notes Notes, texts ...string) (Vectors, Notes, error) {
	if f.Vector == nil || f.embedder == nil {
		return Vectors{}, notes, nil
	}
	by := f.Selector.Questions(ctx, s)
	vectors, err := by.Embed(ctx, texts)
	switch {
	case err == nil && len(vectors) == len(texts):
		return Vectors{by, vectors}, notes, nil
	case ctx.Err() != nil:
		return Vectors{}, notes, ctx.Err()
	case f.Keyword == nil:
		return Vectors{}, notes, &schemas.Error{Code: schemas.CodeEmbedding, Message: "the query could not be embedded"}
	}
	return Vectors{By: by}, notes.With("vector: the query could not be embedded"), nil
}
