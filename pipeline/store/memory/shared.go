// It keeps an in-process index of every tenant: loaded from its snapshot when
// it is first asked for, evicted by Evict and, the one used longest ago first, when all of
// them together take too much memory, and written back then, at Close, every so many changes
// and by Scrub.
//
// It owns the files of Config.Dir, one a tenant: see [Folder]. A tenant whose file is missing
// or cannot be used begins empty, at checkpoint 0, and the caller that applies changes replays the
// log. Of a tenant without a file and without changes nothing is kept. Files of less than 4 MiB are
// written without waiting for the disk, except by Scrub: a power cut may undo or damage such a file.
//
// It promises that a tenant is loaded once however many ask at a time, that none is evicted
// while it is in use, that a batch at or below the checkpoint changes nothing, that a tenant
// whose file cannot be used answers nothing until its checkpoint was asked for, and that a
// reader waits for a writer only while that adds a few documents or swaps in a compacted
// copy. Drivers may import it.

package memory

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"sync"

	"satchel/pipeline/scope"
	"satchel/pipeline/store/internal/columns"
)

// batch is how many changes are applied in one hold of the lock.
const batch = 64

// baseState is what every index holds of a tenant. Documents are numbered in the order they
// came; a replaced one gets a new number. A driver's state embeds it.
type baseState struct {
	Checkpoint int64
	IDs        *columns.IDs
	Facets     *columns.Dict
	Live       []uint32 // live documents by profile
	Docs       int      // live documents
}

// newBaseState returns a Base with room for about n documents.
func newBaseState(n int) baseState {
	return baseState{IDs: columns.NewIDs(n), Facets: columns.NewDict()}
}

// Head returns the Base itself.
func (b *baseState) Head() *baseState { return b }

// Count notes one more document of a profile, or one fewer.
func (b *baseState) Count(profile uint32, by int) {
	for len(b.Live) <= int(profile) {
		b.Live = append(b.Live, 0)
	}
	b.Live[profile] += uint32(by)
	b.Docs += by
}

// LiveFacets returns a dictionary of the profiles that live documents have, and the number
// in it of each profile.
func (b *baseState) LiveFacets() (*columns.Dict, []uint32) {
	dict := columns.NewDict()
	numbers := make([]uint32, b.Facets.Len())
	for p, live := range b.Live {
		if live > 0 {
			numbers[p] = dict.Intern(b.Facets.Facets(uint32(p)))
		}
	}
	return dict, numbers
}

// isWasteful reports whether so many documents are gone that compaction pays.
func (b *baseState) isWasteful() bool {
	dead := b.IDs.Len() - b.Docs
	return dead > 1024 && dead > b.Docs/4
}

// sharedState is all that an index holds of one tenant: a pointer to a driver's type that embeds
// Base. Compact, Prepare and Digest only read, and run while readers do.
type sharedState[S, C any] interface {
	Head() *baseState
	// Bytes returns roughly what memory the state holds.
	Bytes() int64
	// Compact returns a copy without what is gone: it holds nothing that only removed
	// documents had.
	Compact() (S, error)
	// Prepare does what changes need before readers are kept out, and returns what applies
	// them while readers are.
	Prepare(changes []C) (apply func() error)
	// Digest returns the SHA-256 of the live documents.
	Digest(ctx context.Context) ([32]byte, error)
}

// sharedConfig of an Index. Every field but Dir, MemoryBytes and SnapshotEvery is required.
type sharedConfig[S, C any] struct {
	Name          string // of the index, for errors
	Named         bool   // an error of every call says the name; vector.Vectors names those of its driver
	Dir           string // folder of the snapshots; "": none, and no tenant is evicted
	Ext           string // of the snapshots' names, with its dot
	Kind          string // what the snapshots are read as: the checkpoint of one of another kind is 0
	MemoryBytes   int64  // beyond which tenants are evicted; 0: never
	SnapshotEvery int    // changes between snapshots of a tenant, or a quarter of its documents if that is more; not above 0: never
	New           func() S
	Position      func(*C) int64 // of a change
	Encode        func(w *bufio.Writer, tenant string, s S) error
	// Decode reads what Encode wrote. An error leaves the tenant empty; OnError is told of
	// it unless it is ErrForeign.
	Decode  func(r io.Reader, size int64, tenant string) (S, error)
	OnError func(tenant string, err error)
	Closed  error // what calls return after Close
	Lost    error // what calls return whose tenant's snapshot could not be used, until Checkpoint or Reset
}

// sharedIndex keeps tenants. Use Open. It is safe for concurrent use.
type sharedIndex[S sharedState[S, C], C any] struct {
	cfg   sharedConfig[S, C]
	files snapshotFolder

	mu      sync.Mutex
	tenants map[string]*tenantIndex[S, C]
	bytes   int64 // of every loaded tenant
	clock   uint64
	closed  bool
	active  sync.WaitGroup // calls between acquire and release
}

// openShared returns an index over the snapshots in cfg.Dir, which it creates.
func openShared[S sharedState[S, C], C any](cfg sharedConfig[S, C]) (*sharedIndex[S, C], error) {
	if cfg.Dir == "" {
		cfg.MemoryBytes = 0
	}
	x := &sharedIndex[S, C]{cfg: cfg, files: snapshotFolder{Dir: cfg.Dir, Ext: cfg.Ext, Kind: cfg.Kind}, tenants: map[string]*tenantIndex[S, C]{}}
	return x, x.files.Prepare()
}

// Apply applies the changes above the checkpoint and moves it to upTo. Changes MUST be in
// order of position.
func (x *sharedIndex[S, C]) Apply(ctx context.Context, s scope.Scope, changes []C, upTo int64) error {
	return x.named("apply "+x.cfg.Name+" changes", x.changeTenant(ctx, s, func(t *tenantIndex[S, C]) error {
		if err := t.applyChanges(ctx, changes, upTo); err != nil {
			return err
		}
		if err := t.maintainState(); err != nil {
			x.cfg.OnError(t.name, err)
		}
		return nil
	}))
}

// named is the error of a call.
func (x *sharedIndex[S, C]) named(call string, err error) error {
	if !x.cfg.Named {
		return err
	}
	return wrapError(call, err)
}

func wrapError(call string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", call, err)
}

// amend has fn change what is held of a tenant, at the checkpoint it is at.
func (x *sharedIndex[S, C]) amend(ctx context.Context, s scope.Scope, fn func(S)) error {
	return x.changeTenant(ctx, s, func(t *tenantIndex[S, C]) error {
		t.changed++ // no snapshot has it
		return t.reachCheckpoint(t.state.Head().Checkpoint, func() error { fn(t.state); return nil })
	})
}

// Checkpoint returns the position up to which changes are in the index, 0 for none. A tenant
// that is not in memory stays out of it where its snapshot tells. After Config.Lost it MUST be
// called before Apply.
func (x *sharedIndex[S, C]) Checkpoint(ctx context.Context, s scope.Scope) (int64, error) {
	if at, ok := x.peekCheckpoint(ctx, s); ok {
		return at, nil
	}
	t, err := x.pinLoaded(ctx, s)
	if err != nil {
		return 0, x.named("read "+x.cfg.Name+" checkpoint", err)
	}
	defer x.release(t)
	t.lost.Store(false)
	defer t.RUnlock()
	return t.RLock().Head().Checkpoint, nil
}

// Remaining counts which of the items the tenant holds; an erasure asks it.
func (x *sharedIndex[S, C]) Remaining(ctx context.Context, s scope.Scope, ids []string) (int, error) {
	t, err := x.acquireTenant(ctx, s)
	if err != nil {
		return 0, fmt.Errorf("count what is left of %d items: %w", len(ids), err)
	}
	defer x.release(t)
	defer t.RUnlock()
	return t.RLock().Head().IDs.Count(ids), nil
}

// Digest returns the SHA-256 of the tenant's documents: see the Digest of its state for its preimage.
func (x *sharedIndex[S, C]) Digest(ctx context.Context, s scope.Scope) (sum [32]byte, err error) {
	err = x.changeTenant(ctx, s, func(t *tenantIndex[S, C]) (err error) { // readers go on; what they may see cannot change
		sum, err = t.state.Digest(ctx)
		return err
	})
	return sum, x.named("digest "+x.cfg.Name+"s", err)
}

// Reset empties the tenant, removes its snapshot and puts its checkpoint to 0.
func (x *sharedIndex[S, C]) Reset(ctx context.Context, s scope.Scope) error {
	return x.named("reset "+x.cfg.Name+"s", x.reset(ctx, s))
}

func (x *sharedIndex[S, C]) reset(ctx context.Context, s scope.Scope) error {
	t, err := x.pinLoaded(ctx, s)
	if err != nil {
		return err
	}
	defer x.release(t)
	t.write.Lock()
	defer t.write.Unlock()
	if err := x.files.Drop(t.name); err != nil {
		return err
	}
	t.changed = 0
	t.saved = 0
	t.durable = 0
	t.stale = false
	t.synced = true
	t.lost.Store(false)
	t.swapState(x.cfg.New())
	return nil
}

// Scrub leaves no trace of removed documents: it compacts the tenant in memory and replaces
// its snapshot. Erasure calls it after the removal was taken.
func (x *sharedIndex[S, C]) Scrub(ctx context.Context, s scope.Scope) error {
	return wrapError("scrub "+x.cfg.Name+"s", x.changeTenant(ctx, s, func(t *tenantIndex[S, C]) error {
		if err := t.compactState(); err != nil {
			return err
		}
		return t.saveSnapshot(true)
	}))
}

// changeTenant calls fn while no other writer works on the scope's tenant.
func (x *sharedIndex[S, C]) changeTenant(ctx context.Context, s scope.Scope, fn func(*tenantIndex[S, C]) error) error {
	t, err := x.acquireTenant(ctx, s)
	if err != nil {
		return err
	}
	defer x.release(t)
	t.write.Lock()
	defer t.write.Unlock()
	return fn(t)
}
