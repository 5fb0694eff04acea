package erasure

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"

	"satchel/pipeline/scope"
	"satchel/pipeline/store/graph"
	"satchel/pipeline/write"
	"satchel/schemas"
)

// erasure is what one memory.erased takes away.
type erasure struct {
	positions []int64  // entries whose content goes
	packs     []int64  // packs whose rendered bytes go
	again     []string // items that were remembered anew afterwards
	by        []superseder
}

// Outline is what an erasure of items would take.
type Outline struct {
	Items     []string // those asked for, then the summaries derived from them
	Position  int64    // of the last entry whose content would go; 0: none
	Packs     int
	Artifacts int
}

// Outline returns what an erasure of items by who, which claims a clearance, would take, or why it
// would be refused. It changes nothing.
func (e *Eraser) Outline(ctx context.Context, s, who scope.Scope, claimed schemas.Level, ids []string) (refused *write.Rejection, o Outline, err error) {
	refused, found, err := e.refusesWhom(ctx, s, who, claimed, ids)
	o.Items = found.Items
	if refused != nil || err != nil {
		return refused, o, err
	}
	showing, err := e.makePackFinder(ctx, s, o.Items)
	if err != nil {
		return nil, o, err
	}
	plan, err := e.planErasure(ctx, s, o.Items, showing, math.MaxInt64)
	if err != nil {
		return nil, o, err
	}
	hashes, err := e.listHashes(ctx, s, plan.positions)
	if err != nil {
		return nil, o, err
	}
	o.Packs = len(plan.packs)
	o.Artifacts = len(hashes)
	if n := len(plan.positions); n > 0 {
		o.Position = plan.positions[n-1]
	}
	return nil, o, nil
}

// addDerivedItems returns ids and the summaries derived from them, or from such a summary, which
// go as well.
func (e *Eraser) addDerivedItems(ctx context.Context, s scope.Scope, ids []string) ([]string, error) {
	all := slices.Clone(ids)
	for level := ids; len(level) > 0; {
		visits, err := e.cfg.Graph.Walk(ctx, s, graph.Walk{From: level, Hops: 1, Rels: []schemas.Rel{schemas.RelDerivedFrom},
			FanOut: graph.MaxLimit, Limit: graph.MaxLimit, Filter: schemas.MatchAll()})
		if err != nil {
			return nil, fmt.Errorf("find derived summaries: %w", err)
		}
		var found []string
		for _, v := range visits {
			if v.Via.From == v.ID && !slices.Contains(all, v.ID) {
				found = append(found, v.ID)
			}
		}
		records, err := e.cfg.Items.Get(ctx, s, found)
		if err != nil {
			return nil, fmt.Errorf("read derived items: %w", err)
		}
		level = nil
		for i := range records {
			if records[i].Kind == schemas.KindSummary {
				level = append(level, records[i].ID)
			}
		}
		all = append(all, level...)
	}
	return all, nil
}

// planErasure finds the entries before position that hold the items' content, and every pack
// that still shows any of the items as it was before position. Entries that only name
// items stay: the other items they speak of are read from them. showing finds the packs
// that show items.
func (e *Eraser) planErasure(ctx context.Context, s scope.Scope, ids []string, showing func(ids []string) ([]int64, error), position int64) (erasure, error) {
	p := erasure{positions: []int64{}}
	for _, id := range ids {
		entries, err := e.cfg.Log.BySubject(ctx, s, id, schemas.TypeMemoryRecorded, schemas.TypeMemoryLinked, schemas.TypeMemorySuperseded)
		if err != nil {
			return erasure{}, fmt.Errorf("find entries of item %q: %w", id, err)
		}
		for _, entry := range entries {
			if entry.Position < position {
				p.positions = append(p.positions, entry.Position)
				var sup schemas.MemorySuperseded
				if entry.Type == schemas.TypeMemorySuperseded && json.Unmarshal(entry.Data, &sup) == nil {
					p.by = append(p.by, superseder{entry.Position, sup.By})
				}
			} else if entry.Type == schemas.TypeMemoryRecorded {
				p.again = append(p.again, id)
			}
		}
	}
	packs, err := showing(ids)
	if err != nil {
		return erasure{}, err
	}
	for _, at := range packs {
		stale := at < position
		if !stale {
			if stale, err = e.searchedBefore(ctx, s, at, position); err != nil {
				return erasure{}, err
			}
		}
		if stale {
			p.packs = append(p.packs, at)
		}
	}
	slices.Sort(p.positions)
	p.positions = slices.Compact(p.positions)
	return p, nil
}

// makePackFinder returns what finds the packs that show any of the ids. The log reads all packs of
// the tenant to find some, so it is asked about all items first: mostly there are none left.
func (e *Eraser) makePackFinder(ctx context.Context, s scope.Scope, all []string) (func(ids []string) ([]int64, error), error) {
	packs, err := e.cfg.Log.Referring(ctx, s, all)
	if err != nil {
		return nil, fmt.Errorf("find packs: %w", err)
	}
	return func(ids []string) ([]int64, error) {
		if len(packs) == 0 || len(ids) == len(all) {
			return packs, nil
		}
		some, err := e.cfg.Log.Referring(ctx, s, ids)
		if err != nil {
			return nil, fmt.Errorf("find packs: %w", err)
		}
		return some, nil
	}, nil
}

// searchedBefore reports whether the pack at a position is made of what the indexes
// held before another one.
func (e *Eraser) searchedBefore(ctx context.Context, s scope.Scope, at, position int64) (bool, error) {
	entry, err := e.cfg.Log.Entry(ctx, s, at)
	if err != nil {
		return false, fmt.Errorf("read pack: %w", err)
	}
	var pack schemas.ContextPack
	if entry.Type != schemas.TypeContextPacked || json.Unmarshal(entry.Data, &pack) != nil {
		return true, nil // whatever it is, it shows the items
	}
	return pack.AsOf < position, nil
}
