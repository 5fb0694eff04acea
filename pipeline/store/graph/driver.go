package graph

import (
	"context"

	"satchel/schemas"
)

// Driver is what a database has to do for Graph. All methods are safe for concurrent use.
type Driver interface {
	// Apply reads the tenant's checkpoint and the rows of b.IDs(), calls b.Fold once, and
	// commits its effect with the new checkpoint in one transaction. It MUST serialise with
	// every other Apply to the tenant.
	Apply(ctx context.Context, tenant string, b *Batch) error
	// Checkpoint returns the position up to which the tenant's log is folded, 0 for none.
	Checkpoint(ctx context.Context, tenant string) (int64, error)
	// Walk traverses as the package comment says; w is complete and within bounds. The
	// order is by distance, then by id, and cut at w.Limit.
	Walk(ctx context.Context, tenant string, w Walk) ([]Visit, error)
	// Between returns the links among ids that pass f, in any order, each once.
	Between(ctx context.Context, tenant string, ids []string, f schemas.Filter) ([]schemas.Edge, error)
	// Scan calls yield for every row of the tenant in byte order of the id.
	Scan(ctx context.Context, tenant string, yield func(id string, n *Row)) error
	// Reset removes the tenant's rows and its checkpoint.
	Reset(ctx context.Context, tenant string) error
}

// Hub reports whether an entity that n items of a walk's population name says too little to be
// followed. items is how many the population has.
func Hub(n, items int) bool { return n > 50 && n*5 > items }
