package items

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"maps"
	"slices"

	"satchel/pipeline/scope"
	"satchel/schemas"
)

// Items implements Store and TokenCounts over a Driver. It is safe for concurrent use.
type Items struct {
	driver  Driver
	records *records // nil: none are kept
}

var (
	_ Store       = (*Items)(nil)
	_ TokenCounts = (*Items)(nil)
)

// New returns the items kept by d, which no other process changes: records that were read
// or written lately are kept in memory, up to 160 MiB.
func New(d Driver) *Items { return NewWithCache(d, cachedBytes) }

// NewWithCache is New, with as many bytes of records, about, as are given.
func NewWithCache(d Driver, bytes int64) *Items {
	return &Items{driver: d, records: newRecords(int(bytes))}
}

// NewShared returns the items kept by d, which other processes may change: every read
// reaches d.
func NewShared(d Driver) *Items { return &Items{driver: d} }

// Bounds of one call; more is cut off, not refused.
const (
	MaxRadius = 4
	MaxRecent = 1 << 20
)

// Apply folds changes into the items and moves the checkpoint to upTo, or to the last
// change's position when that is greater. Changes MUST be in order of position.
func (i *Items) Apply(ctx context.Context, s scope.Scope, changes []Change, upTo int64) error {
	if err := s.Check(); err != nil {
		return fmt.Errorf("apply to items: %w", err)
	}
	b, err := NewBatch(changes, upTo)
	if err != nil {
		return fmt.Errorf("apply to items: %w", err)
	}
	if err := i.driver.Apply(ctx, s.Tenant(), b); err != nil {
		i.records.dropRecords(s.Tenant(), b.IDs()) // it may have been committed
		return fmt.Errorf("apply to items up to %d: %w", b.UpTo, err)
	}
	i.records.applyBatch(s.Tenant(), b)
	return nil
}

// Checkpoint returns the position up to which the log is folded, 0 for none.
func (i *Items) Checkpoint(ctx context.Context, s scope.Scope) (int64, error) {
	if err := s.Check(); err != nil {
		return 0, fmt.Errorf("read items checkpoint: %w", err)
	}
	return i.driver.Checkpoint(ctx, s.Tenant())
}

// Get returns the records with ids, in that order; missing ones are left out. What a
// record points to is shared and MUST NOT be changed.
func (i *Items) Get(ctx context.Context, s scope.Scope, ids []string) ([]schemas.Record, error) {
	found, err := i.Refs(ctx, s, ids)
	if err != nil || len(ids) == 0 {
		return nil, err
	}
	out := make([]schemas.Record, 0, len(ids))
	for _, r := range found {
		if r != nil {
			out = append(out, *r.Record)
		}
	}
	return out, nil
}

// Refs is Get by the index of the id, nil for a missing one: records are not copied. They
// are shared with other callers and MUST NOT be changed.
func (i *Items) Refs(ctx context.Context, s scope.Scope, ids []string) ([]*Lent, error) {
	if err := s.Check(); err != nil {
		return nil, fmt.Errorf("get items: %w", err)
	}
	found := make([]*Lent, len(ids))
	if len(ids) == 0 {
		return found, nil
	}
	missing, state := i.records.findKeptRecords(s.Tenant(), ids, found)
	if len(missing) > 0 {
		read, err := i.driver.Get(ctx, s.Tenant(), missing)
		if err != nil {
			return nil, err
		}
		i.records.keepRecords(s.Tenant(), state, read)
		at := make(map[string]*Lent, len(read))
		for j := range read {
			at[read[j].ID] = Lend(&read[j])
		}
		for j, id := range ids {
			if found[j] == nil {
				found[j] = at[id]
			}
		}
	}
	return found, nil
}

// Neighbours returns what is within radius of each id in its session, by offset.
func (i *Items) Neighbours(ctx context.Context, s scope.Scope, ids []string, radius int) (map[string][]Neighbour, error) {
	if err := s.Check(); err != nil {
		return nil, fmt.Errorf("find neighbours: %w", err)
	}
	if len(ids) == 0 || radius < 1 {
		return map[string][]Neighbour{}, nil
	}
	return i.driver.Neighbours(ctx, s.Tenant(), ids, min(radius, MaxRadius))
}

// Recent returns the ids of at most limit items that pass f and are behind a place, newest
// first by CreatedAt. All are behind the zero Place.
func (i *Items) Recent(ctx context.Context, s scope.Scope, f schemas.Filter, behind Place, limit int) ([]string, error) {
	if err := s.Check(); err != nil {
		return nil, fmt.Errorf("find recent items: %w", err)
	}
	if f.IsNone() || limit < 1 {
		return nil, nil
	}
	return i.driver.Recent(ctx, s.Tenant(), f, behind, min(limit, MaxRecent))
}

// Stats describes the tenant's items.
func (i *Items) Stats(ctx context.Context, s scope.Scope) (Stats, error) {
	if err := s.Check(); err != nil {
		return Stats{}, fmt.Errorf("describe items: %w", err)
	}
	return i.driver.Stats(ctx, s.Tenant())
}

// Digest returns the SHA-256 over every record, in byte order of the ids: two stores
// that folded the same log have the same digest, however the log was cut into batches.
// Token counts and the time of the last access are not part of it.
func (i *Items) Digest(ctx context.Context, s scope.Scope) ([32]byte, error) {
	if err := s.Check(); err != nil {
		return [32]byte{}, fmt.Errorf("digest items: %w", err)
	}
	sum := sha256.New()
	buf := []byte(nil)
	err := i.driver.Scan(ctx, s.Tenant(), ByID, func(r *schemas.Record) bool {
		h := NewMetadata(r)
		h.SupersededBy = r.SupersededBy
		h.AccessCount = r.AccessCount
		buf = append(append(buf[:0], r.ID...), 0)
		buf = AppendPayload(h.Append(buf), r)
		var size [8]byte
		binary.LittleEndian.PutUint64(size[:], uint64(len(buf)))
		sum.Write(size[:])
		sum.Write(buf)
		return true
	})
	if err != nil {
		return [32]byte{}, err
	}
	return [32]byte(sum.Sum(nil)), nil
}

// Reset removes the tenant's items and checkpoint.
func (i *Items) Reset(ctx context.Context, s scope.Scope) error {
	if err := s.Check(); err != nil {
		return fmt.Errorf("reset items: %w", err)
	}
	defer i.records.dropRecords(s.Tenant(), nil)
	return i.driver.Reset(ctx, s.Tenant())
}

// Uncounted returns at most limit records whose Tokens is 0.
func (i *Items) Uncounted(ctx context.Context, s scope.Scope, limit int) ([]schemas.Record, error) {
	if err := s.Check(); err != nil {
		return nil, fmt.Errorf("find uncounted items: %w", err)
	}
	if limit < 1 {
		return nil, nil
	}
	var out []schemas.Record
	err := i.driver.Scan(ctx, s.Tenant(), Uncounted, func(r *schemas.Record) bool {
		out = append(out, *r)
		return len(out) < limit
	})
	return out, err
}

// CountTokens stores what count says of at most limit records whose Tokens is 0, and returns
// them with it. A count below 1 is ignored. As long as there is room, the records are kept
// in memory: what was just written is likely to be asked for.
func (i *Items) CountTokens(ctx context.Context, s scope.Scope, limit int, count func(*schemas.Record) int) ([]schemas.Record, error) {
	state := i.records.readState()
	found, err := i.Uncounted(ctx, s, limit)
	if err != nil || len(found) == 0 {
		return nil, err
	}
	counts := make(map[string]int, len(found))
	for j := range found {
		found[j].Tokens = max(0, count(&found[j]))
		counts[found[j].ID] = found[j].Tokens
	}
	if err := i.driver.SetTokens(ctx, s.Tenant(), counts); err != nil {
		i.records.dropRecords(s.Tenant(), slices.Collect(maps.Keys(counts))) // it may have been committed
		return nil, err
	}
	i.records.keepCountedRecords(s.Tenant(), state, found)
	return found, nil
}
