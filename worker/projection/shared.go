package projection

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"satchel/pipeline/scope"
	"satchel/pipeline/store/eventlog"
	"satchel/schemas"
	"satchel/worker/erasure"
	"satchel/worker/follow"
)

// awaitShared waits until the shared stores have applied position, whoever feeds them.
func (p *Projector) awaitShared(ctx context.Context, s scope.Scope, position int64) error {
	if !p.cfg.Share.Shared() {
		return nil
	}
	const first, longest = 2 * time.Millisecond, 50 * time.Millisecond
	for _, one := range p.targets.Load().sharedTargets() {
		for delay := first; ; delay = min(2*delay, longest) {
			at, err := one.checkpoint(ctx, s)
			if err != nil {
				return fmt.Errorf("%w of %s: %w", errAway, one.name, err)
			}
			if at >= position {
				break
			}
			if err := follow.Pause(ctx, delay); err != nil {
				return err
			}
		}
	}
	return nil
}

// applyRemote tells the eraser of the erasures up to a position that the tenant's owner carries out, whether or not
// this worker feeds an index. What it was told before a start is in its own list.
func (p *Projector) applyRemote(ctx context.Context, s scope.Scope, t *progress, owned bool, upTo int64) error {
	apply := p.remote.Load()
	if apply == nil {
		return nil
	}
	if owned { // it carries them out itself, and the next owner those that it leaves
		t.erased = unknown
		return nil
	}
	if t.erased == unknown {
		kept, err := p.cfg.Log.KeptErasures(s)
		if err != nil {
			return err
		}
		t.erased = 0
		for _, e := range kept {
			t.erased = max(t.erased, e.Position)
		}
	}
	var erased []erasure.Logged
	err := erasuresAfter(ctx, p.cfg.Log, s, t.erased, func(e *eventlog.Entry, er *schemas.MemoryErased) {
		if e.Position <= upTo {
			erased = append(erased, erasure.LoggedBy(e, er))
		}
	})
	if err != nil {
		return err
	}
	if len(erased) > 0 {
		if err := (*apply)(ctx, s, erased); err != nil {
			return err
		}
	}
	t.erased = max(t.erased, upTo)
	return nil
}

// erasuresAfter calls each with every erasure that a tenant's log has after a position.
func erasuresAfter(ctx context.Context, log *eventlog.Log, s scope.Scope, after int64, each func(*eventlog.Entry, *schemas.MemoryErased)) error {
	entries, err := log.BySubjectAfter(ctx, s, eventlog.ErasureSubject, after, schemas.TypeMemoryErased)
	if err != nil {
		return fmt.Errorf("look for erasures: %w", err)
	}
	for i := range entries {
		var er schemas.MemoryErased
		if json.Unmarshal(entries[i].Data, &er) == nil && er.Receipt == nil {
			each(&entries[i], &er)
		}
	}
	return nil
}
