package graph

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"

	"satchel/pipeline/scope"
	"satchel/schemas"
)

// EntityPrefix starts the name of an entity node in an edge.
const EntityPrefix = "entity:"

// Bounds of a walk, and what zero means.
const (
	MaxHops       = 3
	MaxPath       = 16 // hops of Distances
	DefaultFanOut = 50
	DefaultLimit  = 1000
	MaxLimit      = 10_000
)

// Graph implements Store over a Driver. It is safe for concurrent use.
type Graph struct{ driver Driver }

var _ Store = (*Graph)(nil)

// New returns the graph kept by d.
func New(d Driver) *Graph { return &Graph{driver: d} }

// Apply folds changes into the graph and moves the checkpoint to upTo, or to the last
// change's position when that is greater. Changes MUST be in order of position.
func (g *Graph) Apply(ctx context.Context, s scope.Scope, changes []Change, upTo int64) error {
	if err := s.Check(); err != nil {
		return fmt.Errorf("apply to graph: %w", err)
	}
	b, err := NewBatch(changes, upTo)
	if err != nil {
		return fmt.Errorf("apply to graph: %w", err)
	}
	if err := g.driver.Apply(ctx, s.Tenant(), b); err != nil {
		return fmt.Errorf("apply to graph up to %d: %w", b.UpTo, err)
	}
	return nil
}

// Checkpoint returns the position up to which the log is folded, 0 for none.
func (g *Graph) Checkpoint(ctx context.Context, s scope.Scope) (int64, error) {
	if err := s.Check(); err != nil {
		return 0, fmt.Errorf("read graph checkpoint: %w", err)
	}
	return g.driver.Checkpoint(ctx, s.Tenant())
}

// Walk returns the items reached, nearest first, then by id. The items it starts from
// are not returned.
func (g *Graph) Walk(ctx context.Context, s scope.Scope, w Walk) ([]Visit, error) {
	if err := s.Check(); err != nil {
		return nil, fmt.Errorf("walk graph: %w", err)
	}
	w.Hops = min(max(w.Hops, 1), MaxHops)
	return g.walkLinks(ctx, s, w)
}

func (g *Graph) walkLinks(ctx context.Context, s scope.Scope, w Walk) ([]Visit, error) {
	if w.Filter.IsNone() || len(w.From)+len(w.Entities) == 0 {
		return nil, nil
	}
	if w.Population.IsNone() {
		w.Population = w.Filter
	}
	if w.FanOut < 1 {
		w.FanOut = DefaultFanOut
	}
	if w.Limit < 1 {
		w.Limit = DefaultLimit
	}
	w.Limit = min(w.Limit, MaxLimit)
	return g.driver.Walk(ctx, s.Tenant(), w)
}

// Between returns the links among ids that pass f, by from, rel and to.
func (g *Graph) Between(ctx context.Context, s scope.Scope, ids []string, f schemas.Filter) ([]schemas.Edge, error) {
	if err := s.Check(); err != nil {
		return nil, fmt.Errorf("find edges: %w", err)
	}
	if f.IsNone() || len(ids) == 0 {
		return nil, nil
	}
	edges, err := g.driver.Between(ctx, s.Tenant(), ids, f)
	slices.SortFunc(edges, func(a, b schemas.Edge) int {
		return cmp.Or(strings.Compare(a.From, b.From), strings.Compare(string(a.Rel), string(b.Rel)), strings.Compare(a.To, b.To))
	})
	return edges, err
}

// Distances returns how many causal edges (caused_by, derived_from, follows; either
// direction) lie between the nearest of from and each of targets, along nodes that pass
// f. A target that is in from has distance 0; one farther than maxHops has no entry.
func (g *Graph) Distances(ctx context.Context, s scope.Scope, from, targets []string, maxHops int, f schemas.Filter) (map[string]int, error) {
	if err := s.Check(); err != nil {
		return nil, fmt.Errorf("measure distances: %w", err)
	}
	out := map[string]int{}
	want := make(map[string]bool, len(targets))
	for _, id := range targets {
		want[id] = true
	}
	for _, id := range from {
		if want[id] {
			out[id] = 0
		}
	}
	if maxHops < 1 || len(out) == len(want) {
		return out, nil
	}
	visits, err := g.walkLinks(ctx, s, Walk{
		From: from, Hops: min(maxHops, MaxPath), Limit: MaxLimit, Filter: f,
		Rels: []schemas.Rel{schemas.RelCausedBy, schemas.RelDerivedFrom, schemas.RelFollows},
	})
	for _, v := range visits {
		if want[v.ID] {
			out[v.ID] = v.Distance
		}
	}
	return out, err
}

// Digest returns the SHA-256 over every node with its links and entities, in byte order
// of the ids: two stores that folded the same log have the same digest, however the log
// was cut into batches.
func (g *Graph) Digest(ctx context.Context, s scope.Scope) ([32]byte, error) {
	if err := s.Check(); err != nil {
		return [32]byte{}, fmt.Errorf("digest graph: %w", err)
	}
	sum := sha256.New()
	buf := []byte(nil)
	err := g.driver.Scan(ctx, s.Tenant(), func(id string, n *Row) {
		buf = append(append(buf[:0], id...), 0)
		buf = n.Append(buf)
		var size [8]byte
		binary.LittleEndian.PutUint64(size[:], uint64(len(buf)))
		sum.Write(size[:])
		sum.Write(buf)
	})
	if err != nil {
		return [32]byte{}, err
	}
	return [32]byte(sum.Sum(nil)), nil
}

// Reset removes the tenant's graph and checkpoint.
func (g *Graph) Reset(ctx context.Context, s scope.Scope) error {
	if err := s.Check(); err != nil {
		return fmt.Errorf("reset graph: %w", err)
	}
	return g.driver.Reset(ctx, s.Tenant())
}
