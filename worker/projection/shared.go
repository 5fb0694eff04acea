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

// noteErased keeps the erasures among entries that the tenant's owner carries out.
func (p *Projector) noteErased(t *progress, tenant string, entries []eventlog.Entry) {
	if p.remote.Load() == nil || p.cfg.Share.OwnsTenant(tenant) {
		return
	}
	for i := range entries {
		var er schemas.MemoryErased
		if e := &entries[i]; e.Type == schemas.TypeMemoryErased && !e.Erased && json.Unmarshal(e.Data, &er) == nil && er.Receipt == nil {
			t.erased = append(t.erased, erasure.LoggedBy(e, &er))
		}
	}
}

func (p *Projector) applyRemote(ctx context.Context, s scope.Scope, t *progress) error {
	apply := p.remote.Load()
	if len(t.erased) == 0 || apply == nil {
		return nil
	}
	if err := (*apply)(ctx, s, t.erased); err != nil {
		return err
	}
	t.erased = nil
	return nil
}
