package graph

import (
	"context"

	"satchel/pipeline/scope"
	"satchel/schemas"
)

// Node is an item, or an entity named in items ("entity:<folded name>").
type Node struct {
	ID       string
	Position int64
	Facets   schemas.Facets
	Links    []schemas.Link // explicit edges
	Entities []string       // folded entity names the item mentions
}

// Change puts a node (replacing its entity edges), adds links, or removes ids.
type Change struct {
	Position int64
	Put      *Node
	Link     *schemas.MemoryLinked
	Remove   []string
}

// Walk is a k-hop traversal.
type Walk struct {
	From     []string       // item ids
	Entities []string       // folded entity names to start from as well
	Hops     int            // 1–3
	Rels     []schemas.Rel  // empty: all
	FanOut   int            // neighbours followed per node, default 50
	Limit    int            // default 1000
	Filter   schemas.Filter // nodes that do not pass are neither returned nor walked through, nor started from
	Through  []schemas.Cond // conditions on the nodes it enters besides, but not on those it starts from
	// Population are the items that say whether an entity is named too often to be followed: see
	// Hub. It is MatchNone for those of Filter.
	Population schemas.Filter
	Exclude    []string // ids of items to walk as if they were not there
}

// Visit is an item reached, with its distance in hops and the edge it was reached by.
type Visit struct {
	ID       string
	Distance int
	Via      schemas.Edge
}

// Edge is schemas.Edge; entity nodes appear as "entity:<name>" with rel mentions.

// Store is what selection, pack and the projector need. Apply is idempotent by position.
type Store interface {
	Apply(ctx context.Context, s scope.Scope, changes []Change, upTo int64) error
	Checkpoint(ctx context.Context, s scope.Scope) (int64, error)
	Walk(ctx context.Context, s scope.Scope, w Walk) ([]Visit, error)                                   // nearest first, then by id
	Between(ctx context.Context, s scope.Scope, ids []string, f schemas.Filter) ([]schemas.Edge, error) // edges among ids
	Digest(ctx context.Context, s scope.Scope) ([32]byte, error)
	Reset(ctx context.Context, s scope.Scope) error
}
