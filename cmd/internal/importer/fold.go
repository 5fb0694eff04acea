package importer

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"satchel/cmd/internal/app"
	"satchel/cmd/internal/config"
	"satchel/pipeline/scope"
	"satchel/pipeline/store/eventlog"
	"satchel/pipeline/write"
	"satchel/schemas"
)

// heldItem is an item as the log has it now.
type heldItem struct {
	item     schemas.MemoryItem
	position int64
	current  bool // neither superseded nor ended
}

// foldLog adds every entry of the tenant's log, if use takes the log.
func foldLog(ctx context.Context, a *app.App, f fold, use func(log *app.Reading, s scope.Scope) bool) (err error) {
	s, err := scope.System(a.Tenant)
	if err != nil {
		return &config.UsageError{Err: err}
	}
	log, err := a.ReadLog(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, log.Close()) }()
	if use != nil && !use(log, s) {
		return nil
	}
	for at := int64(0); ; {
		entries, err := log.Read(ctx, s, at, 500)
		if err != nil {
			return fmt.Errorf("read log: %w", err)
		}
		if len(entries) == 0 {
			return nil
		}
		for i := range entries {
			if err := f.add(&entries[i]); err != nil {
				return err
			}
		}
		at = entries[len(entries)-1].Position
	}
}

// fold is the state of some items.
type fold struct {
	items map[string]heldItem
	of    func(id string) bool // ids that they may have; nil: any
	wants func(*schemas.MemoryItem) bool
}

func (f fold) add(e *eventlog.Entry) error {
	switch e.Type {
	case schemas.TypeMemoryRecorded:
		if f.of != nil && !f.of(e.Subject) {
			return nil
		}
		delete(f.items, e.Subject)
		if e.Erased {
			return nil
		}
		item, err := write.Item(*e)
		if err != nil {
			return err
		}
		if f.wants(&item) {
			f.items[item.ID] = heldItem{item: item, position: e.Position, current: item.ValidTo.IsZero()}
		}
		for _, l := range item.Links {
			if l.Rel == schemas.RelSupersedes {
				f.retire(l.To)
			}
		}
	case schemas.TypeMemorySuperseded:
		var s schemas.MemorySuperseded
		if err := json.Unmarshal(e.Data, &s); err != nil {
			return fmt.Errorf("read supersession of position %d: %w", e.Position, err)
		}
		f.retire(s.Item)
	case schemas.TypeMemoryErased:
		var gone schemas.MemoryErased
		if err := json.Unmarshal(e.Data, &gone); err != nil {
			return fmt.Errorf("read erasure of position %d: %w", e.Position, err)
		}
		for _, id := range gone.Items {
			delete(f.items, id)
		}
	}
	return nil
}

// retire notes that something has taken the place of an item.
func (f fold) retire(id string) {
	if v, ok := f.items[id]; ok {
		v.current = false
		f.items[id] = v
	}
}
