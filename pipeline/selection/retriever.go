package selection

import (
	"context"
	"fmt"

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
	NameGraph   = "graph"
	NameRecency = "recency"
	NameTool    = "tool-rag" // what evidence calls a find of a tool
)

// Probe is what a retriever is asked.
type Probe struct {
	Text     string
	Vector   []float32
	Filter   schemas.Filter
	Limit    int
	Seeds    []string            // item ids a traversal starts from
	Entities []string            // folded entity names it starts from as well
	Graph    *schemas.GraphQuery // how links are followed; nil: as usual
}

// Hit is a found item. Distance is in hops, for traversals only.
type Hit struct {
	ID       string
	Score    float64
	Distance int
	Span     schemas.Span
}

// Found is a retriever's answer, best first, with the moments of its score over all
// items that pass the filter. Complete says that an item that is not among the hits
// scores zero.
type Found struct {
	Hits     []Hit
	Mean     float64
	SD       float64
	N        int
	Complete bool
}

// Retriever finds candidates. It must be safe for concurrent use.
type Retriever interface {
	Name() string
	Retrieve(ctx context.Context, s scope.Scope, p *Probe) (Found, error)
}

// Scorer is a Retriever that can say its score of any item; the fuser asks it for
// what the hits leave open.
type Scorer interface {
	Retriever
	Score(ctx context.Context, s scope.Scope, p *Probe, ids []string) ([]float64, error)
}

// keywordRetriever finds by BM25.
type keywordRetriever struct{ index keyword.Index }

func (r keywordRetriever) Name() string { return NameKeyword }

func (r keywordRetriever) Retrieve(ctx context.Context, s scope.Scope, p *Probe) (Found, error) {
	res, err := r.index.Search(ctx, s, r.query(p))
	if err != nil {
		return Found{}, fmt.Errorf("search keywords: %w", err)
	}
	return r.found(&res, p.Limit), nil
}

func (r keywordRetriever) found(res *keyword.Result, limit int) Found {
	hits := make([]Hit, len(res.Hits))
	for i, h := range res.Hits {
		hits[i] = Hit{ID: h.ID, Score: h.Score}
	}
	return Found{Hits: hits, Mean: res.Mean, SD: res.SD, N: res.N, Complete: len(hits) < limit}
}

func (r keywordRetriever) Score(ctx context.Context, s scope.Scope, p *Probe, ids []string) ([]float64, error) {
	return r.index.Score(ctx, s, r.query(p), ids)
}

func (r keywordRetriever) query(p *Probe) keyword.Query {
	return keyword.Query{Text: p.Text, Limit: p.Limit, Filter: p.Filter}
}

// vectorRetriever finds by cosine.
type vectorRetriever struct{ index vector.Index }

func (r vectorRetriever) Name() string { return NameVector }

func (r vectorRetriever) Retrieve(ctx context.Context, s scope.Scope, p *Probe) (Found, error) {
	res, err := r.index.Search(ctx, s, r.query(p))
	if err != nil {
		return Found{}, fmt.Errorf("search vectors: %w", err)
	}
	return r.found(&res), nil
}

func (r vectorRetriever) found(res *vector.Result) Found {
	hits := make([]Hit, len(res.Hits))
	for i, h := range res.Hits {
		hits[i] = Hit{ID: h.ID, Score: h.Score, Span: h.Span}
	}
	return Found{Hits: hits, Mean: res.Mean, SD: res.SD, N: res.N}
}

func (r vectorRetriever) Score(ctx context.Context, s scope.Scope, p *Probe, ids []string) ([]float64, error) {
	return r.index.Score(ctx, s, r.query(p), ids)
}

func (r vectorRetriever) query(p *Probe) vector.Query {
	return vector.Query{Vector: p.Vector, Limit: p.Limit, Filter: p.Filter}
}

// graphRetriever finds what is linked to the seeds; its score is 1/(1+distance).
type graphRetriever struct {
	store graph.Store
	hops  int
}

func (r graphRetriever) Name() string { return NameGraph }

func (r graphRetriever) Retrieve(ctx context.Context, s scope.Scope, p *Probe) (Found, error) {
	if len(p.Seeds) == 0 && len(p.Entities) == 0 && (p.Graph == nil || len(p.Graph.From) == 0) {
		return Found{}, nil
	}
	w := graph.Walk{
		From: p.Seeds, Entities: p.Entities, Hops: r.hops, Limit: p.Limit, Filter: p.Filter,
	}
	if g := p.Graph; g != nil {
		w.From, w.Rels, w.Through = append(w.From, g.From...), g.Rels, g.Conds()
		if g.Hops > 0 {
			w.Hops = g.Hops
		}
	}
	visits, err := r.store.Walk(ctx, s, w)
	if err != nil {
		return Found{}, fmt.Errorf("walk graph: %w", err)
	}
	hits := make([]Hit, 0, len(visits))
	for _, v := range visits {
		if isEntity(v.ID) {
			continue
		}
		hits = append(hits, Hit{ID: v.ID, Score: 1 / (1 + float64(v.Distance)), Distance: v.Distance})
	}
	return Found{Hits: hits, N: len(hits)}, nil
}

// recencyRetriever finds the newest items, for a request that has no text.
type recencyRetriever struct{ store items.Store }

func (r recencyRetriever) Name() string { return NameRecency }

func (r recencyRetriever) Retrieve(ctx context.Context, s scope.Scope, p *Probe) (Found, error) {
	ids, err := r.store.Recent(ctx, s, p.Filter, p.Limit)
	if err != nil {
		return Found{}, fmt.Errorf("read recent items: %w", err)
	}
	hits := make([]Hit, len(ids))
	for i, id := range ids {
		hits[i] = Hit{ID: id, Score: 1 / float64(1+i)}
	}
	return Found{Hits: hits, N: len(hits)}, nil
}

const entityPrefix = "entity:"

func isEntity(id string) bool {
	return len(id) > len(entityPrefix) && id[:len(entityPrefix)] == entityPrefix
}
