package items

import (
	"context"
	"errors"
	"time"

	"satchel/pipeline/scope"
	"satchel/schemas"
)

// ErrNotFound is returned when an id is not there.
var ErrNotFound = errors.New("item not found")

// Change is one log entry's effect on items. Exactly one of the fields after Position is set.
type Change struct {
	Position   int64
	Put        *schemas.Record       // recorded: insert, or replace the item with that id
	Link       *schemas.MemoryLinked // edges were added to an item
	Superseded *schemas.MemorySuperseded
	Novelty    map[string]float64 // computed, by id: see Metadata.SetNovelty; unknown ids are ignored
	Accessed   []string           // ids used, at At
	Erased     []string           // ids to remove
	At         time.Time
}

// Neighbour is an item near another one in its session.
type Neighbour struct {
	ID     string
	Offset int // turns away, negative before it
	Terms  int // Record.Terms of "speaker: text"; what neighbour damping divides by
}

// Store is what selection and the projector need. Every call checks its scope.
// Apply is idempotent by position: a change at or below the checkpoint is skipped,
// and the checkpoint moves in the same transaction.
type Store interface {
	Apply(ctx context.Context, s scope.Scope, changes []Change, upTo int64) error
	Checkpoint(ctx context.Context, s scope.Scope) (int64, error)
	Get(ctx context.Context, s scope.Scope, ids []string) ([]schemas.Record, error) // in the order of ids; missing ones are left out
	Neighbours(ctx context.Context, s scope.Scope, ids []string, radius int) (map[string][]Neighbour, error)
	Recent(ctx context.Context, s scope.Scope, f schemas.Filter, behind Place, limit int) ([]string, error) // newest first; the zero Place: all
	Stats(ctx context.Context, s scope.Scope) (Stats, error)
	Digest(ctx context.Context, s scope.Scope) ([32]byte, error)
	Reset(ctx context.Context, s scope.Scope) error
}

// TokenCounts is how exact token counts reach stored items, off the write path.
type TokenCounts interface {
	Uncounted(ctx context.Context, s scope.Scope, limit int) ([]schemas.Record, error) // items whose Tokens is 0
	// CountTokens stores what count says of at most limit of those, and returns them with it.
	CountTokens(ctx context.Context, s scope.Scope, limit int, count func(*schemas.Record) int) ([]schemas.Record, error)
}

// Stats describes a tenant's items.
type Stats struct {
	Items        int
	Speakers     []string // at most 51, in order of first use
	UserTurns    int      // items whose role or speaker is "user"
	Turns        int      // items with a session
	FirstCreated time.Time
	LastCreated  time.Time
}
