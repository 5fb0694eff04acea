package items

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"satchel/pipeline/scope"
)

// SessionPosition says where an item is among those of its session. Ranks ascend in the
// order in which the items were recorded first; only their order means anything, and only
// until the store is opened again.
type SessionPosition struct {
	Session string // "" for the items without one
	Rank    int64
}

// MaxRank is greater than every rank.
const MaxRank = 1<<63 - 1

// Window asks for the items around a position.
type Window struct {
	SessionPosition
	Before, After int // how many of lower rank at most; how many of that rank or higher
}

// Member is an item of a session.
type Member struct {
	ID   string
	Rank int64
}

// Novelties is what a judge of novelty needs: the order of the items in their sessions, and
// where to put its verdicts. Verdicts of a batch go with it, as Change.Novelty.
type Novelties interface {
	SessionPositions(ctx context.Context, s scope.Scope, ids []string) (map[string]SessionPosition, error) // of those that are there
	Windows(ctx context.Context, s scope.Scope, spots []Window) ([][]Member, error)                        // by rank
	SetNovelties(ctx context.Context, s scope.Scope, novelties map[string]float64) error
}

var _ Novelties = (*Items)(nil)

// SessionPositions returns where the items with ids stand; missing ones have no entry.
func (i *Items) SessionPositions(ctx context.Context, s scope.Scope, ids []string) (map[string]SessionPosition, error) {
	if err := s.Check(); err != nil {
		return nil, fmt.Errorf("find places: %w", err)
	}
	if len(ids) == 0 {
		return nil, nil
	}
	return i.driver.SessionPositions(ctx, s.Tenant(), ids)
}

// Windows returns, for each spot, the items around it in its session, by rank.
func (i *Items) Windows(ctx context.Context, s scope.Scope, spots []Window) ([][]Member, error) {
	if err := s.Check(); err != nil {
		return nil, fmt.Errorf("look around: %w", err)
	}
	if len(spots) == 0 {
		return nil, nil
	}
	return i.driver.Windows(ctx, s.Tenant(), spots)
}

// SetNovelties stores computed novelties beside a batch; unknown ids are ignored.
func (i *Items) SetNovelties(ctx context.Context, s scope.Scope, novelties map[string]float64) error {
	if err := s.Check(); err != nil {
		return fmt.Errorf("set novelties: %w", err)
	}
	if len(novelties) == 0 {
		return nil
	}
	defer i.records.dropRecords(s.Tenant(), slices.Collect(maps.Keys(novelties)))
	return i.driver.SetNovelties(ctx, s.Tenant(), novelties)
}

// noveltySteps is how finely a computed novelty is kept.
const noveltySteps = 1000

// SetNovelty keeps a computed novelty of 0 to 1; one below 0 takes it away.
func (h *Metadata) SetNovelty(n float64) {
	h.novelty = 0
	if n >= 0 {
		h.novelty = 1 + uint64(min(n, 1)*noveltySteps+.5)
	}
}

// Novelty returns the computed novelty, to the nearest thousandth; false when there is none.
func (h *Metadata) Novelty() (float64, bool) {
	if h.novelty == 0 || h.novelty > noveltySteps+1 {
		return 0, false
	}
	return float64(h.novelty-1) / noveltySteps, true
}
