package vector

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"

	"satchel/pipeline/scope"
	"satchel/schemas"
)

// MaxLimit is the most hits a query may ask for.
const MaxLimit = 10_000

// ErrOrder is returned by Apply when positions fall, or pass upTo.
var ErrOrder = errors.New("changes are not in order of position")

// Driver is what a backend implements. Vectors calls it with a scope that is not zero,
// changes in order that have ids, and vectors of Dimensions finite numbers.
type Driver interface {
	Index
	Batch
	// Remove takes out the items, but for what came after position upTo, and leaves the checkpoint where it is.
	Remove(ctx context.Context, s scope.Scope, ids []string, upTo int64) error
	// Dimensions is the length of every vector; it MUST NOT change between calls.
	Dimensions() int
}

// Vectors implements Index over a Driver. It is safe for concurrent use.
type Vectors struct{ driver Driver }

var (
	_ Index = (*Vectors)(nil)
	_ Batch = (*Vectors)(nil)
)

// New returns the vectors kept by d.
func New(d Driver) *Vectors { return &Vectors{driver: d} }

// Apply puts and removes items and moves the checkpoint to upTo. Nothing of a batch that
// is refused is applied.
func (v *Vectors) Apply(ctx context.Context, s scope.Scope, changes []Change, upTo int64) error {
	if err := s.Check(); err != nil {
		return fmt.Errorf("apply to vectors: %w", err)
	}
	last := int64(0)
	for i := range changes {
		c := &changes[i]
		if c.Position < last || c.Position > upTo {
			return fmt.Errorf("apply to vectors: position %d after %d, up to %d: %w", c.Position, last, upTo, ErrOrder)
		}
		last = c.Position
		if c.Put == nil {
			continue
		}
		if c.Put.ID == "" {
			return fmt.Errorf("apply to vectors: position %d: item has no id", c.Position)
		}
		for j := range c.Put.Chunks {
			if err := v.checkVector(c.Put.Chunks[j].Vector); err != nil {
				return fmt.Errorf("apply to vectors: chunk %d of item %q: %w", j, c.Put.ID, err)
			}
		}
	}
	return failed(fmt.Sprintf("apply to vectors up to %d", upTo), v.driver.Apply(ctx, s, changes, upTo))
}

// Remove takes items out ahead of the removal that a later change brings, but for what came after position upTo. The
// checkpoint stays.
func (v *Vectors) Remove(ctx context.Context, s scope.Scope, ids []string, upTo int64) error {
	if err := s.Check(); err != nil {
		return fmt.Errorf("remove from vectors: %w", err)
	}
	return failed(fmt.Sprintf("remove %d items from vectors", len(ids)), v.driver.Remove(ctx, s, ids, upTo))
}

// Checkpoint returns the position up to which changes are in the index, 0 for none.
func (v *Vectors) Checkpoint(ctx context.Context, s scope.Scope) (int64, error) {
	if err := s.Check(); err != nil {
		return 0, fmt.Errorf("read vectors checkpoint: %w", err)
	}
	return v.driver.Checkpoint(ctx, s)
}

// Search returns the best items and the moments of all. See Index.
func (v *Vectors) Search(ctx context.Context, s scope.Scope, q Query) (Result, error) {
	if err := v.mayAsk(s, &q); err != nil {
		return Result{}, fmt.Errorf("search vectors: %w", err)
	}
	if q.Filter.IsNone() {
		return Result{}, nil
	}
	r, err := v.driver.Search(ctx, s, q)
	return r, failed("search vectors", err)
}

// SearchEach is Search under each of the filters, in one call of the driver. See Batch.
func (v *Vectors) SearchEach(ctx context.Context, s scope.Scope, q Query, filters []schemas.Filter) ([]Result, error) {
	if err := v.mayAsk(s, &q); err != nil {
		return nil, fmt.Errorf("search vectors: %w", err)
	}
	results := make([]Result, len(filters))
	var some []schemas.Filter
	var at []int
	for i, f := range filters {
		if !f.IsNone() {
			some = append(some, f)
			at = append(at, i)
		}
	}
	if len(some) == 0 {
		return results, nil
	}
	found, err := v.driver.SearchEach(ctx, s, q, some)
	if err != nil {
		return nil, fmt.Errorf("search vectors: %w", err)
	}
	for j, i := range at {
		results[i] = found[j]
	}
	return results, nil
}

// mayAsk reports what a search may not ask for.
func (v *Vectors) mayAsk(s scope.Scope, q *Query) error {
	if err := s.Check(); err != nil {
		return err
	}
	if q.Limit < 0 || q.Limit > MaxLimit {
		return fmt.Errorf("limit %d: must be between 0 and %d", q.Limit, MaxLimit)
	}
	return v.checkVector(q.Vector)
}

// Score returns the query's score of each id, in order. See Index.
func (v *Vectors) Score(ctx context.Context, s scope.Scope, q Query, ids []string) ([]float64, error) {
	if err := cmp.Or(s.Check(), v.checkVector(q.Vector)); err != nil {
		return nil, fmt.Errorf("score vectors: %w", err)
	}
	if q.Filter.IsNone() || len(ids) == 0 {
		return make([]float64, len(ids)), nil
	}
	scores, err := v.driver.Score(ctx, s, q, ids)
	return scores, failed("score vectors", err)
}

// ScoreChunks returns the cosines of all chunks of each id, in order. See Index.
func (v *Vectors) ScoreChunks(ctx context.Context, s scope.Scope, q Query, ids []string) ([][]ChunkScore, error) {
	if err := v.mayAsk(s, &q); err != nil {
		return nil, fmt.Errorf("score chunks: %w", err)
	}
	if q.Filter.IsNone() || len(ids) == 0 {
		return make([][]ChunkScore, len(ids)), nil
	}
	scores, err := v.driver.ScoreChunks(ctx, s, q, ids)
	return scores, failed("score chunks", err)
}

// Digest returns a hash of the tenant's items. See Index.
func (v *Vectors) Digest(ctx context.Context, s scope.Scope) ([32]byte, error) {
	if err := s.Check(); err != nil {
		return [32]byte{}, fmt.Errorf("digest vectors: %w", err)
	}
	return v.driver.Digest(ctx, s)
}

// Reset empties the tenant and puts its checkpoint to 0.
func (v *Vectors) Reset(ctx context.Context, s scope.Scope) error {
	if err := s.Check(); err != nil {
		return fmt.Errorf("reset vectors: %w", err)
	}
	return v.driver.Reset(ctx, s)
}

// checkVector reports a vector of another length, or with NaN or Inf in it, as ErrDimension.
func (v *Vectors) checkVector(x []float32) error {
	if want := v.driver.Dimensions(); len(x) != want {
		return fmt.Errorf("%d numbers, want %d: %w", len(x), want, ErrDimension)
	}
	for i, f := range x {
		if math.IsNaN(float64(f)) || math.IsInf(float64(f), 0) {
			return fmt.Errorf("number %d: %w", i, ErrDimension)
		}
	}
	return nil
}

func failed(call string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", call, err)
}
