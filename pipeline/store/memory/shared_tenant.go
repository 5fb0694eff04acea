package memory

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
)

// ErrForeign says that a snapshot is whole, but of another kind of index. It is replaced
// without a word.
var ErrForeign = errors.New("snapshot is of another index")

// tenantIndex is the index of one tenant. Writers hold write for as long as they work, and lock
// only while they change what readers see.
type tenantIndex[S sharedState[S, C], C any] struct {
	x    *sharedIndex[S, C]
	name string

	load   sync.Mutex // held while it is loaded or evicted
	loaded bool       // under load, unlike state, which writers replace
	pins   int        // calls that use it; under Index.mu, as the next two
	used   uint64     // Index.clock when it was last acquired
	size   int64

	write          sync.Mutex
	changed, saved int   // changes since it was loaded, and those the snapshot has
	durable        int64 // checkpoint of the snapshot on disk, 0 for none
	stale          bool  // the snapshot on disk could not be used: it is to be replaced
	synced         bool  // the snapshot on disk stays there after a power cut

	lost atomic.Bool // the snapshot could not be used, and no one has asked for the checkpoint since

	lock  sync.RWMutex
	state S
}

// RLock returns the state, which stays as it is until RUnlock. A state that was returned
// earlier stays readable, as its driver says.
func (t *tenantIndex[S, C]) RLock() S {
	t.lock.RLock()
	return t.state
}

// RUnlock ends what RLock began.
func (t *tenantIndex[S, C]) RUnlock() { t.lock.RUnlock() }

// loadSnapshot loads the tenant from its snapshot. What cannot be read begins again at checkpoint 0.
func (t *tenantIndex[S, C]) loadSnapshot() int64 {
	cfg := &t.x.cfg
	found, err := t.x.files.Read(t.name, func(r io.Reader, size int64) (err error) {
		t.state, err = cfg.Decode(r, size, t.name)
		return err
	})
	if err != nil && !errors.Is(err, ErrForeign) {
		cfg.OnError(t.name, err)
	}
	if err != nil || !found {
		t.state = cfg.New()
	}
	t.durable = t.state.Head().Checkpoint
	t.stale = err != nil
	t.changed = 0
	t.saved = 0
	t.loaded = true
	t.synced = !found // it may have been written by a process that did not wait for the disk
	t.lost.Store(err != nil)
	return t.measureMemory()
}

// measureMemory returns what memory the tenant takes, 0 when there is nothing of it.
func (t *tenantIndex[S, C]) measureMemory() int64 {
	if t.state.Head().Checkpoint == 0 && !t.stale {
		return 0
	}
	return t.state.Bytes()
}

// evictState saves and drops what is loaded; when it fails, all is as before.
func (t *tenantIndex[S, C]) evictState() error {
	t.write.Lock()
	defer t.write.Unlock()
	if err := t.saveSnapshot(t.worthSyncing()); err != nil {
		return err
	}
	var none S
	t.state = none
	t.loaded = false
	return nil
}

// worthSyncing reports whether it takes long to replay what the snapshot holds. A small one is written
// without waiting for the disk: a power cut may lose it, and the log has all of it.
func (t *tenantIndex[S, C]) worthSyncing() bool { return t.state.Bytes() > 4<<20 }

// saveSnapshot writes the snapshot unless the one on disk is current, or is all that tells that the
// tenant is lost. The caller holds write.
func (t *tenantIndex[S, C]) saveSnapshot(durable bool) error {
	at := t.state.Head().Checkpoint
	if clean := t.durable == at && t.changed == t.saved && !t.stale && (t.synced || !durable); clean || t.lost.Load() || t.x.files.Dir == "" {
		t.saved = t.changed
		return nil
	}
	if err := t.x.files.Write(t.name, at, durable, func(w *bufio.Writer) error { return t.x.cfg.Encode(w, t.name, t.state) }); err != nil {
		return fmt.Errorf("write %s snapshot of tenant %q: %w", t.x.cfg.Name, t.name, err)
	}
	t.saved = t.changed
	t.durable = at
	t.stale = false
	t.synced = durable
	return nil
}

// applyChanges takes the changes above the checkpoint, a few at a time. The caller holds write.
func (t *tenantIndex[S, C]) applyChanges(ctx context.Context, changes []C, upTo int64) error {
	position := t.x.cfg.Position
	head := t.state.Head()
	for len(changes) > 0 && position(&changes[0]) <= head.Checkpoint {
		changes = changes[1:]
	}
	for len(changes) > 0 {
		if err := ctx.Err(); err != nil {
			return err
		}
		n := min(batch, len(changes))
		for n < len(changes) && position(&changes[n]) == position(&changes[n-1]) {
			n++
		}
		if err := t.reachCheckpoint(position(&changes[n-1]), t.state.Prepare(changes[:n])); err != nil {
			return err
		}
		t.changed += n
		changes = changes[n:]
	}
	if upTo <= head.Checkpoint {
		return nil
	}
	return t.reachCheckpoint(upTo, func() error { return nil })
}

// reachCheckpoint applies what leads to a checkpoint, in one hold of the lock.
func (t *tenantIndex[S, C]) reachCheckpoint(checkpoint int64, apply func() error) error {
	t.lock.Lock()
	defer t.lock.Unlock()
	if err := apply(); err != nil {
		return err
	}
	t.state.Head().Checkpoint = checkpoint
	return nil
}

// compactState swaps in a copy without what is gone. The caller holds write.
func (t *tenantIndex[S, C]) compactState() error {
	n, err := t.state.Compact()
	if err != nil {
		return fmt.Errorf("compact %s index of tenant %q: %w", t.x.cfg.Name, t.name, err)
	}
	t.swapState(n)
	return nil
}

// swapState makes n the state that readers see.
func (t *tenantIndex[S, C]) swapState(n S) {
	t.lock.Lock()
	t.state = n
	t.lock.Unlock()
	t.x.noteMemory(t, t.measureMemory())
}

// maintainState compacts and writes a snapshot when it is time. The caller holds write.
func (t *tenantIndex[S, C]) maintainState() error {
	if t.state.Head().isWasteful() {
		if err := t.compactState(); err != nil {
			return err
		}
	}
	t.x.noteMemory(t, t.measureMemory())
	if every := t.x.cfg.SnapshotEvery; every > 0 && t.changed-t.saved >= max(every, t.state.Head().Docs/4) {
		if err := t.saveSnapshot(t.worthSyncing()); err != nil {
			t.saved = t.changed // it is tried again after as many changes
			return err
		}
	}
	return nil
}
