// Package retrieve finds items that may answer a question: by words, by meaning, over links
// and by age. It returns ids and scores, never content; policy has not decided on them yet.
package retrieve

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"satchel/pipeline/scope"
	"satchel/pipeline/store/graph"
	"satchel/pipeline/store/items"
	"satchel/pipeline/store/keyword"
	"satchel/pipeline/store/vector"
	"satchel/schemas"
)

// The names of the retrievers, as evidence and warnings give them.
const (
	NameKeyword = "keyword"
	NameVector  = "vector"
	NameEncoder = "encoder"
	NameGraph   = "graph"
	NameRecency = "recency"
	NameTool    = "tool-rag" // what evidence calls a find of a tool
)

// DefaultLimit is how many hits a retriever is asked for, unless the request needs more.
const DefaultLimit = 100

// Query is what a retriever is asked.
type Query struct {
	Text    string
	Vector  []float32
	Model   string    // whose vectors are searched
	Encoded []float32 // of the text, by the sentence encoder
	Filter  schemas.Filter
	Exclude []string // ids to search as if they were not there
	// Population are the items that the principal may see: statistics are of those among them that
	// facets decide on.
	Population schemas.Filter
	Limit      int
	Seeds      []string            // item ids a traversal starts from
	Entities   []string            // folded entity names it starts from as well
	Graph      *schemas.GraphQuery // how links are followed; nil: as usual
}

// Hit is a found item. Distance is in hops, for traversals only.
type Hit struct {
	ID       string
	Score    float64
	Distance int
	Span     schemas.Span
}

// Result is a retriever's answer, best first, with the moments of its score over all
// items that pass the filter. Complete says that an item that is not among the hits
// scores zero.
type Result struct {
	Hits     []Hit
	Via      []schemas.Edge // by hit, the link by which a traversal reached it; else nil
	Mean     float64
	SD       float64
	N        int
	Complete bool
}

// Retriever finds candidates. It must be safe for concurrent use.
type Retriever interface {
	Name() string
	Retrieve(ctx context.Context, s scope.Scope, q *Query) (Result, error)
}

// Scorer is a Retriever that can say its score of any item; the fuser asks it for
// what the hits leave open.
type Scorer interface {
	Retriever
	Score(ctx context.Context, s scope.Scope, q *Query, ids []string) ([]float64, error)
}

// Keyword returns the retriever that finds by the words of a question.
func Keyword(index keyword.Index) Retriever { return keywordRetriever{index} }

// Vector returns the retriever that finds by the cosine of vectors.
func Vector(index vector.Index) Retriever { return vectorRetriever{index} }

// Encoder returns the retriever that finds by the cosine of the sentence encoder's vectors. Its score of an item that has
// none yet is NaN.
func Encoder(index vector.Index) Retriever { return encoderRetriever{vectorRetriever{index}} }

// Graph returns the retriever that finds what is linked to its seeds, up to so many hops away.
func Graph(store graph.Store, hops int) Retriever { return graphRetriever{store, hops} }

// Recency returns the retriever that finds the newest items.
func Recency(store items.Store) Retriever { return recencyRetriever{store} }

// keywordRetriever finds by BM25.
type keywordRetriever struct{ index keyword.Index }

func (r keywordRetriever) Name() string { return NameKeyword }

func (r keywordRetriever) Retrieve(ctx context.Context, s scope.Scope, q *Query) (Result, error) {
	res, err := r.index.Search(ctx, s, r.makeKeywordQuery(q))
	if err != nil {
		return Result{}, fmt.Errorf("search keywords: %w", err)
	}
	return r.makeKeywordResult(&res, q.Limit), nil
}

func (r keywordRetriever) makeKeywordResult(res *keyword.Result, limit int) Result {
	hits := make([]Hit, len(res.Hits))
	for i, h := range res.Hits {
		hits[i] = Hit{ID: h.ID, Score: h.Score}
	}
	return Result{Hits: hits, Mean: res.Mean, SD: res.SD, N: res.N, Complete: len(hits) < limit}
}

func (r keywordRetriever) Score(ctx context.Context, s scope.Scope, q *Query, ids []string) ([]float64, error) {
	return r.index.Score(ctx, s, r.makeKeywordQuery(q), ids)
}

func (r keywordRetriever) makeKeywordQuery(q *Query) keyword.Query {
	return keyword.Query{Text: q.Text, Limit: q.Limit, Filter: q.Filter, Population: q.Population.Settled(), Exclude: q.Exclude}
}

// vectorRetriever finds by cosine.
type vectorRetriever struct{ index vector.Index }

func (r vectorRetriever) Name() string { return NameVector }

func (r vectorRetriever) Retrieve(ctx context.Context, s scope.Scope, q *Query) (Result, error) {
	res, err := r.index.Search(ctx, s, r.makeVectorQuery(q))
	if err != nil {
		return Result{}, fmt.Errorf("search vectors: %w", err)
	}
	return r.makeVectorResult(&res), nil
}

func (r vectorRetriever) makeVectorResult(res *vector.Result) Result {
	hits := make([]Hit, len(res.Hits))
	for i, h := range res.Hits {
		hits[i] = Hit{ID: h.ID, Score: h.Score, Span: h.Span}
	}
	return Result{Hits: hits, Mean: res.Mean, SD: res.SD, N: res.N}
}

func (r vectorRetriever) Score(ctx context.Context, s scope.Scope, q *Query, ids []string) ([]float64, error) {
	return r.index.Score(ctx, s, r.makeVectorQuery(q), ids)
}

func (r vectorRetriever) makeVectorQuery(q *Query) vector.Query {
	return vector.Query{Vector: q.Vector, Model: q.Model, Limit: q.Limit, Filter: q.Filter, Population: q.Population.Settled(), Exclude: q.Exclude}
}

// encoderRetriever finds by the cosine of the sentence encoder's vectors.
type encoderRetriever struct{ vectorRetriever }

func (r encoderRetriever) Name() string { return NameEncoder }

// makeEncodedQuery is the query by the encoder's vector.
func makeEncodedQuery(q *Query) *Query {
	by := *q
	by.Vector = q.Encoded
	by.Model = ""
	return &by
}

func (r encoderRetriever) Retrieve(ctx context.Context, s scope.Scope, q *Query) (Result, error) {
	return r.vectorRetriever.Retrieve(ctx, s, makeEncodedQuery(q))
}

func (r encoderRetriever) Score(ctx context.Context, s scope.Scope, q *Query, ids []string) ([]float64, error) {
	chunks, err := r.index.ScoreChunks(ctx, s, r.makeVectorQuery(makeEncodedQuery(q)), ids)
	if err != nil {
		return nil, err
	}
	out := make([]float64, len(ids))
	for i, list := range chunks {
		out[i] = math.NaN()
		for n, c := range list {
			if n == 0 || c.Score > out[i] {
				out[i] = c.Score
			}
		}
	}
	return out, nil
}

// graphRetriever finds what is linked to the seeds; its score is 1/(1+distance).
type graphRetriever struct {
	store graph.Store
	hops  int
}

func (r graphRetriever) Name() string { return NameGraph }

func (r graphRetriever) Retrieve(ctx context.Context, s scope.Scope, q *Query) (Result, error) {
	if len(q.Seeds) == 0 && len(q.Entities) == 0 && (q.Graph == nil || len(q.Graph.From) == 0) {
		return Result{}, nil
	}
	w := graph.Walk{
		From: q.Seeds, Entities: q.Entities, Hops: r.hops, Limit: q.Limit, Filter: q.Filter, Population: q.Population.Settled(), Exclude: q.Exclude,
	}
	if g := q.Graph; g != nil {
		w.From, w.Rels, w.Through = append(w.From, g.From...), g.Rels, g.Conds()
		if g.Hops > 0 {
			w.Hops = g.Hops
		}
	}
	visits, err := r.store.Walk(ctx, s, w)
	if err != nil {
		return Result{}, fmt.Errorf("walk graph: %w", err)
	}
	hits := make([]Hit, 0, len(visits))
	via := make([]schemas.Edge, 0, len(visits))
	for _, v := range visits {
		if IsEntity(v.ID) || slices.Contains(q.Exclude, v.ID) {
			continue
		}
		hits = append(hits, Hit{ID: v.ID, Score: 1 / (1 + float64(v.Distance)), Distance: v.Distance})
		via = append(via, v.Via)
	}
	return Result{Hits: hits, Via: via, N: len(hits)}, nil
}

// recencyRetriever finds the newest items, for a request that has no text.
type recencyRetriever struct{ store items.Store }

func (r recencyRetriever) Name() string { return NameRecency }

func (r recencyRetriever) Retrieve(ctx context.Context, s scope.Scope, q *Query) (Result, error) {
	ids, err := r.store.Recent(ctx, s, q.Filter, items.Place{}, q.Limit+len(q.Exclude))
	if err != nil {
		return Result{}, fmt.Errorf("read recent items: %w", err)
	}
	ids = slices.DeleteFunc(ids, func(id string) bool { return slices.Contains(q.Exclude, id) })
	ids = ids[:min(len(ids), q.Limit)]
	hits := make([]Hit, len(ids))
	for i, id := range ids {
		hits[i] = Hit{ID: id, Score: 1 / float64(1+i)}
	}
	return Result{Hits: hits, N: len(hits)}, nil
}

const entityPrefix = "entity:"

// IsEntity reports whether the id of a node in the graph is an entity's, not an item's.
func IsEntity(id string) bool {
	return len(id) > len(entityPrefix) && id[:len(entityPrefix)] == entityPrefix
}

// Failure says why a retriever is left out, without what an error may quote.
func Failure(err error) string {
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
		return "it was too late and is left out"
	}
	return "it did not answer and is left out"
}
