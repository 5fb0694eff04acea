package erasure

import (
	"context"
	"fmt"

	"satchel/pipeline/scope"
	"satchel/pipeline/store/eventlog"
)

// applyRemote is this worker's part of erasures that another one carries out: requests that
// searched here before are let finish, their packs and summaries go, and what this worker
// keeps for itself is scrubbed. Its own list of erasures gets them, too.
func (e *Eraser) applyRemote(ctx context.Context, s scope.Scope, erased []Logged) error {
	if err := e.cfg.Indexes.Drain(ctx); err != nil {
		return err
	}
	if _, err := e.eraseLate(ctx, s, erased); err != nil {
		return err
	}
	var items []string
	for _, one := range erased {
		items = append(items, one.items...)
	}
	showing, err := e.makePackFinder(ctx, s, items)
	if err != nil {
		return err
	}
	for _, one := range erased {
		p, err := e.planErasure(ctx, s, one.items, showing, one.position)
		if err != nil {
			return err
		}
		if _, err := e.cfg.Log.EraseAttachments(ctx, s, p.packs); err != nil {
			return fmt.Errorf("erase packs: %w", err)
		}
	}
	e.cfg.Reviewer.Forget(s.Tenant())
	for _, sc := range e.cfg.Scrubbers {
		if sc.Shared {
			continue
		}
		if err := sc.Scrub(ctx, s); err != nil {
			return fmt.Errorf("scrub %s: %w", sc.Store, err)
		}
	}
	kept := make([]eventlog.KeptErasure, len(erased))
	for i := range erased {
		kept[i] = erased[i].kept
	}
	return e.cfg.Log.KeepErasures(s, kept)
}
