package vector

import (
	"context"
	"errors"

	"satchel/pipeline/scope"
	"satchel/schemas"
)

// ErrDimension is returned for a vector whose length is not the index's, or that holds NaN or Inf.
var ErrDimension = errors.New("vector has the wrong dimension or is not finite")

// Chunk is one vector of an item: its key is (item, chunk, axis, model).
type Chunk struct {
	Axis   string // "" for the whole text; full, strategy, surprise, root_cause for experiences; AxisPassage
	Span   schemas.Span
	Vector []float32 // unit length, or zero for text without a vector
}

// AxisPassage is the axis of the passages of an item that is shown by its passages.
const AxisPassage = "passage"

// ChunkScore is the cosine of one chunk.
type ChunkScore struct {
	Span  schemas.Span
	Score float64
}

// Doc is what is indexed of an item.
type Doc struct {
	ID       string
	Position int64
	Chunks   []Chunk
	Facets   schemas.Facets
}

// Change puts a document (replacing one with the same id) or removes ids.
type Change struct {
	Position int64
	Put      *Doc
	Remove   []string
}

// Query is a search. Axis picks the chunks that count.
type Query struct {
	Vector []float32
	Axis   string
	Limit  int // at most MaxLimit
	Filter schemas.Filter
	// Population are the items that the moments are of, where Filter lets them through. It is
	// MatchNone for those of Filter.
	Population schemas.Filter
	Exclude    []string // ids of items to search as if they were not there
	// Model made Vector, and says whose vectors are searched where an item has several, one of each model. A driver
	// has those of one model and ignores it.
	Model string
}

// Counted returns the items of a filter that its moments are of.
func (q *Query) Counted(f schemas.Filter) schemas.Filter {
	if q.Population.IsNone() {
		return f
	}
	return f.And(q.Population)
}

// Hit is a found item: the best of its chunks' cosines and that chunk's span.
type Hit struct {
	ID    string
	Score float64
	Span  schemas.Span
}

// Result holds the best hits, best first (ties by id), and the moments of the score
// over every item of the population that passes the filter (a store that cannot see all samples them).
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

// Index is what selection and the projector need, for one embedding model.
// Apply is idempotent by position.
type Index interface {
	Apply(ctx context.Context, s scope.Scope, changes []Change, upTo int64) error
	Checkpoint(ctx context.Context, s scope.Scope) (int64, error)
	Search(ctx context.Context, s scope.Scope, q Query) (Result, error)
	// Score returns the query's score of each id, in order; 0 for one that is absent or filtered.
	Score(ctx context.Context, s scope.Scope, q Query, ids []string) ([]float64, error)
	// ScoreChunks returns the cosines of all chunks of each id on the query's axis, in the order in which they were
	// put; none for an id that is absent or filtered, and none at all for the zero vector.
	ScoreChunks(ctx context.Context, s scope.Scope, q Query, ids []string) ([][]ChunkScore, error)
	Digest(ctx context.Context, s scope.Scope) ([32]byte, error)
	Reset(ctx context.Context, s scope.Scope) error
}
