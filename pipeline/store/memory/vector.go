// Vector is the embedded vector index: a flat scan over 8-bit vectors in memory,
// one index per tenant.
//
// It owns the snapshot files under Config.Dir, one per tenant, and nothing else. A
// tenant is loaded from its snapshot when it is first asked for and written back when it
// is evicted, at Close, every Config.SnapshotEvery changes and by Scrub. A snapshot is
// replaced as a whole and carries the model, its checkpoint and a SHA-256; one that is
// missing, damaged or of another model leaves the tenant empty at checkpoint 0, and the
// projector replays the log. Of a tenant without a snapshot and without changes nothing is
// kept. A snapshot holds no vector, id, label or session that only
// removed items had.
//
// A vector is kept as numbers of -127 to 127 and one over their length, so scores are
// exact cosines of what is kept, within about 0.005 of those of the vectors given. The
// query is kept in 14 bits. On amd64 with AVX2 the sums are taken by an assembly kernel,
// elsewhere by Go; both are exact. Moments are exact sums, whatever the history.
//
// Every vector is kept once more in 4 bits a number. From Config.CoarseFrom vectors on a
// search reads those, half of the memory, and scores by the whole vectors only what comes
// near the best: within four standard deviations of what 4 bits lose, so that one in some
// ten thousand hits may be missed. The moments then are those of the coarse scores: the mean
// is off by less than 0.002, the deviation by less than two hundredths.
//
// Readers take a view and scan it without a lock; they wait for a writer only while it
// adds up to 64 items or swaps in a compacted copy.

package memory

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"satchel/pipeline/scope"
	"satchel/pipeline/store/internal/columns"
	"satchel/pipeline/store/vector"
	"satchel/schemas"
)

// ErrVectorClosed is returned by every call after Close.
var ErrVectorClosed = errors.New("vector index is closed")

// ErrVectorLost is returned while a tenant's snapshot turned out to be damaged after its checkpoint
// was read: the tenant begins again, and who applies changes reads its checkpoint again first.
var ErrVectorLost = errors.New("vector snapshot is damaged, and the index begins anew")

// VectorConfig configures an Index. The zero value works: everything stays in memory.
type VectorConfig struct {
	Model         string // names what makes the vectors, with its revision; part of a snapshot
	Dimensions    int    // length of a vector, at most 65,536; 0: 256
	Dir           string // folder of the snapshots; "": none, and no tenant is evicted
	MemoryBytes   int64  // evict the tenants used longest ago beyond this; 0: no limit. Tenants in use and the one used last stay
	SnapshotEvery int    // changes between snapshots of a tenant, or a quarter of its items if that is more; 0: 100,000, negative: only at eviction and Close
	ParallelFrom  int    // rows from which a search uses two goroutines; 0: 32,768, negative: never
	CoarseFrom    int    // rows from which a search reads 4 bits of each number first; 0: 32,768, negative: never

	// OnError is told what went wrong beside a call that goes on without it: a damaged
	// snapshot was ignored, one could not be written. It may be nil. Errors name the
	// tenant, never content.
	OnError func(tenant string, err error)
}

func (c *VectorConfig) fillVectorDefaults() {
	c.Dimensions = cmp.Or(c.Dimensions, 256)
	c.SnapshotEvery = cmp.Or(c.SnapshotEvery, 100_000)
	c.ParallelFrom = cmp.Or(c.ParallelFrom, 32_768)
	c.CoarseFrom = cmp.Or(c.CoarseFrom, 32_768)
	if c.OnError == nil {
		c.OnError = func(string, error) {}
	}
}

// Validate reports what in c cannot be.
func (c *VectorConfig) Validate() error {
	switch {
	case c.Dimensions < 0 || c.Dimensions > 65_536:
		return fmt.Errorf("dimensions %d: must be between 1 and 65536", c.Dimensions)
	case c.MemoryBytes < 0:
		return fmt.Errorf("memory_bytes %d: must not be negative", c.MemoryBytes)
	}
	return nil
}

// tenant is the index of one tenant.
type tenant = tenantIndex[*vectorState, vector.Change]

// Vector is a vector.Driver; put vector.New in front of it. It is safe for concurrent use.
type Vector struct {
	*sharedIndex[*vectorState, vector.Change]
	cfg VectorConfig
}

var _ vector.Driver = (*Vector)(nil)

// OpenVector returns an index over the snapshots in cfg.Dir, which it creates.
func OpenVector(cfg VectorConfig) (*Vector, error) {
	if err := cfg.Validate(); err != nil {
		return nil, fmt.Errorf("open vector index: %w", err)
	}
	cfg.fillVectorDefaults()
	shared, err := openShared(sharedConfig[*vectorState, vector.Change]{
		Name: "vector", Dir: cfg.Dir, Ext: ".vec", Kind: fmt.Sprint("vector ", vector.Version, " ", cfg.Dimensions, " ", cfg.Model),
		MemoryBytes: cfg.MemoryBytes, SnapshotEvery: cfg.SnapshotEvery,
		New: func() *vectorState { return newVectorState(cfg.Dimensions) }, Position: func(c *vector.Change) int64 { return c.Position },
		Encode: cfg.encodeVectorState, Decode: cfg.decodeVectorState, OnError: cfg.OnError, Closed: ErrVectorClosed, Lost: ErrVectorLost,
	})
	if err != nil {
		return nil, fmt.Errorf("open vector index: %w", err)
	}
	return &Vector{sharedIndex: shared, cfg: cfg}, nil
}

// Dimensions is the length of every vector.
func (x *Vector) Dimensions() int { return x.cfg.Dimensions }

// Remove takes items out ahead of Apply. A snapshot still has them until Scrub. See vector.Driver.
func (x *Vector) Remove(ctx context.Context, s scope.Scope, ids []string, upTo int64) error {
	return x.amend(ctx, s, func(st *vectorState) {
		for _, id := range ids {
			if ord, ok := st.IDs.Lookup(id); ok && st.findPosition(ord) <= upTo {
				st.removeItem(id)
			}
		}
	})
}

// Search returns the best items and the moments of all. See vector.Index.
func (x *Vector) Search(ctx context.Context, s scope.Scope, q vector.Query) (vector.Result, error) {
	results, err := x.SearchEach(ctx, s, q, []schemas.Filter{q.Filter})
	if err != nil {
		return vector.Result{}, err
	}
	return results[0], nil
}

// SearchEach is Search under each of the filters, in one scan for every eight of them. See
// vector.Batch.
func (x *Vector) SearchEach(ctx context.Context, s scope.Scope, q vector.Query, filters []schemas.Filter) ([]vector.Result, error) {
	r, err := x.acquireTenant(ctx, s)
	if err != nil {
		return nil, err
	}
	defer x.release(r)
	results := make([]vector.Result, 0, len(filters))
	for some := range slices.Chunk(filters, columns.MaxFilters) {
		found, err := searchAxis(ctx, r, &q, some, &x.cfg)
		if err != nil {
			return nil, err
		}
		results = append(results, found...)
	}
	return results, nil
}

// Score returns the query's score of each id. See vector.Index.
func (x *Vector) Score(ctx context.Context, s scope.Scope, q vector.Query, ids []string) ([]float64, error) {
	r, err := x.acquireTenant(ctx, s)
	if err != nil {
		return nil, err
	}
	defer x.release(r)
	return scoreItems(r, &q, ids), nil
}

// ScoreChunks returns the cosines of all chunks of each id. See vector.Index.
func (x *Vector) ScoreChunks(ctx context.Context, s scope.Scope, q vector.Query, ids []string) ([][]vector.ChunkScore, error) {
	r, err := x.acquireTenant(ctx, s)
	if err != nil {
		return nil, err
	}
	defer x.release(r)
	return scoreChunks(r, &q, ids), nil
}
