package keyword

import (
	"context"

	"satchel/pipeline/scope"
	"satchel/schemas"
)

// Doc is what is indexed of an item.
type Doc struct {
	ID       string
	Position int64
	Text     string // "speaker: text" with a speaker, else the text
	Facets   schemas.Facets
}

// Change puts a document (replacing one with the same id) or removes ids.
type Change struct {
	Position int64
	Put      *Doc
	Remove   []string
}

// MaxLimit is the most hits a query may ask for.
const MaxLimit = 10_000

// Query is a search.
type Query struct {
	Text   string
	Limit  int // at most MaxLimit
	Filter schemas.Filter
	// Population are the documents that count: how common a word is, how long a document is on
	// average, and the moments are told by these alone, so that a score tells nothing about any
	// other document. What Filter lets through besides is found, and counts nowhere.
	Population schemas.Filter
	Exclude    []string // ids of documents to search as if they were not there
}

// Hit is a found document. Score is BM25.
type Hit struct {
	ID    string
	Score float64
}

// Result holds the best hits, best first (ties by id), and the moments of the score
// over every document of the population that passes the filter (those without a query term
// score 0).
type Result struct {
	Hits []Hit
	Mean float64
	SD   float64
	N    int
}

// Batch is an Index that answers a query under several filters at once, cheaper than by a
// search for each.
type Batch interface {
	// SearchEach MUST return for each filter, in order, what Search returns for the query
	// with that filter in the place of its own.
	SearchEach(ctx context.Context, s scope.Scope, q Query, filters []schemas.Filter) ([]Result, error)
}

// Index is what selection and the projector need. Apply is idempotent by position.
type Index interface {
	Apply(ctx context.Context, s scope.Scope, changes []Change, upTo int64) error
	Checkpoint(ctx context.Context, s scope.Scope) (int64, error)
	Search(ctx context.Context, s scope.Scope, q Query) (Result, error)
	// Score returns the query's score of each id, in order; 0 for one that is absent or filtered.
	Score(ctx context.Context, s scope.Scope, q Query, ids []string) ([]float64, error)
	// ScoreTexts returns the score that the query would give to documents of these texts.
	ScoreTexts(ctx context.Context, s scope.Scope, q Query, texts []string) ([]float64, error)
	Digest(ctx context.Context, s scope.Scope) ([32]byte, error)
	Reset(ctx context.Context, s scope.Scope) error
}
