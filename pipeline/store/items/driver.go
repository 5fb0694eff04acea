package items

import (
	"context"
	"time"

	"satchel/schemas"
)

// Rows keeps the rows of tenants. All methods are safe for concurrent use.
type Rows interface {
	// Apply reads the tenant's checkpoint and the metadata of b.IDs(), calls b.Fold once,
	// and commits its effect with the new checkpoint in one transaction. It MUST serialise
	// with every other Apply to the tenant.
	Apply(ctx context.Context, tenant string, b *Batch) error
	// Checkpoint returns the position up to which the tenant's log is folded, 0 for none.
	Checkpoint(ctx context.Context, tenant string) (int64, error)
	// Get returns the records with ids, in that order, without those that are not there.
	Get(ctx context.Context, tenant string, ids []string) ([]schemas.Record, error)
	// Scan calls yield for the tenant's records that sel picks, until it returns false.
	Scan(ctx context.Context, tenant string, sel Selection, yield func(*schemas.Record) bool) error
	// SetTokens stores token counts of items; unknown ids are ignored.
	SetTokens(ctx context.Context, tenant string, counts map[string]int) error
	// Reset removes the tenant's rows and its checkpoint.
	Reset(ctx context.Context, tenant string) error
}

// Selection says which records Scan visits.
type Selection int

// The selections.
const (
	ByID      Selection = iota // every record, in byte order of the id
	Uncounted                  // those whose Tokens is 0, in any order
)

// Directory answers questions about many items at once, from what metadata hold.
// All methods are safe for concurrent use.
type Directory interface {
	// Neighbours returns what is within radius (1 to MaxRadius) of each id in its session,
	// by offset; ids without neighbours have no entry. The order in a session is by
	// (Seq, First).
	Neighbours(ctx context.Context, tenant string, ids []string, radius int) (map[string][]Neighbour, error)
	// Recent returns the ids of at most limit items that pass f and are behind a place, by
	// CreatedAt, newest first, then by First, latest first. All are behind the zero Place.
	Recent(ctx context.Context, tenant string, f schemas.Filter, behind Place, limit int) ([]string, error)
	// Stats describes the tenant's items.
	Stats(ctx context.Context, tenant string) (Stats, error)
}

// Place is where an item is in the order of Recent.
type Place struct {
	Created time.Time // to the microsecond
	First   int64     // log position of its first version
}

// Order knows in which order the items of a session were recorded, and keeps what was
// computed from it. All methods are safe for concurrent use.
type Order interface {
	// SessionPositions returns where those of ids that are there stand.
	SessionPositions(ctx context.Context, tenant string, ids []string) (map[string]SessionPosition, error)
	// Windows returns for each spot, in their order, the last Before items of its session
	// below its rank and the first After from it on, by rank.
	Windows(ctx context.Context, tenant string, spots []Window) ([][]Member, error)
	// SetNovelties sets Metadata.SetNovelty of items; unknown ids are ignored. It MUST
	// serialise with every Apply to the tenant.
	SetNovelties(ctx context.Context, tenant string, novelties map[string]float64) error
}

// Driver is what a database has to do for Items.
type Driver interface {
	Rows
	Directory
	Order
}
