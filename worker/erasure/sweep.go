package erasure

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"time"

	"satchel/pipeline/isolation"
	"satchel/pipeline/scope"
	"satchel/pipeline/store/eventlog"
	"satchel/schemas"
	"satchel/worker/follow"
	"satchel/worker/transport"
)

// Sweeper removes heavy contents that were stored and that no item ever had. The
// log knows nothing of them, so their end is no entry of it; it is logged.
type Sweeper struct {
	Artifacts transport.ArtifactSweeper
	Log       *eventlog.Log
	Share     follow.Share
	Every     time.Duration
	Clock     func() time.Time
	Logger    *slog.Logger
}

// Run sweeps at once and then now and again, until ctx is done.
func (w *Sweeper) Run(ctx context.Context) error {
	tick := time.NewTicker(w.Every)
	defer tick.Stop()
	for {
		removed, err := w.Artifacts.Sweep(ctx, w.Clock(), w.isClaimed)
		if err != nil && ctx.Err() == nil {
			w.Logger.Warn("sweep artifacts", "error", err)
		}
		if removed > 0 {
			w.Logger.Info("artifacts that no item has are removed", "contents", removed)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// isClaimed reports whether an item was ever recorded with the content. What another worker
// sweeps counts as claimed.
func (w *Sweeper) isClaimed(ctx context.Context, tenant, sum string) (bool, error) {
	if !w.Share.OwnsTenant(tenant) {
		return true, nil
	}
	s, err := scope.System(tenant)
	if err != nil {
		return true, nil //nolint:nilerr // it is no tenant of ours
	}
	entries, err := w.Log.BySubject(ctx, s, isolation.ArtifactSubject(sum), schemas.TypeArtifactStored)
	if err != nil {
		return false, fmt.Errorf("find items of an artifact: %w", err)
	}
	return len(entries) > 0, nil
}

// ArtifactErased reports whether items were recorded with the content and each of them was erased. It
// asks the log alone, so it may be called before there are indexes.
func ArtifactErased(ctx context.Context, log *eventlog.Log, s scope.Scope, sum string) (bool, error) {
	entries, err := log.BySubject(ctx, s, isolation.ArtifactSubject(sum), schemas.TypeArtifactStored)
	if err != nil {
		return false, fmt.Errorf("find items of an artifact: %w", err)
	}
	for i := range entries {
		var a schemas.Artifact
		if err := json.Unmarshal(entries[i].Data, &a); err != nil {
			return false, fmt.Errorf("read artifact of position %d: %w", entries[i].Position, err)
		}
		versions, err := log.BySubject(ctx, s, a.ItemID, schemas.TypeMemoryRecorded)
		if err != nil {
			return false, fmt.Errorf("find items of an artifact: %w", err)
		}
		for j := range versions {
			var m schemas.MemoryItem
			if versions[j].Erased || schemas.UnmarshalMemoryItem(versions[j].Data, &m) != nil {
				continue
			}
			if got, ok := m.Artifact(); ok && got.SHA256 == sum {
				return false, nil
			}
		}
	}
	return len(entries) > 0, nil
}
