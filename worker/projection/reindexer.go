package projection

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"satchel/pipeline/model"
	"satchel/pipeline/pii"
	"satchel/pipeline/scope"
	"satchel/pipeline/store/eventlog"
	"satchel/pipeline/store/vector"
	"satchel/policies"
	"satchel/schemas"
	"satchel/worker/erasure"
	"satchel/worker/follow"
)

// ReindexerIndex is an index that can be rid of what a log erases further on.
type ReindexerIndex interface {
	vector.Index
	Remove(ctx context.Context, s scope.Scope, ids []string, upTo int64) error
}

// ReindexerConfig is what a Reindexer works with. Log, Index and Embedder are required.
type ReindexerConfig struct {
	Log       *eventlog.Log
	Index     ReindexerIndex // to be filled; it may hold a part already
	Embedder  model.Embedder
	Sanitizer *pii.Sanitizer // as Config has it
	Registry  *policies.Registry
	Batch     int          // log entries a step; default 256
	Logger    *slog.Logger // default discards
	Passages  bool         // embed the passages of documents, code and commits, too
	// Owns says whether this process fills the tenant; others do when it does not, and
	// Run waits for them. nil: all of them.
	Owns func(tenant string) bool
	// Busy says whether there is something at the moment to give way to, as requests; nil: never.
	Busy func() bool
	// Percent of a core is what the model takes at most, while Busy a text in a quarter of a second; 0: what there
	// is. Above 100 the model has to use more than one core itself.
	Percent int
}

// Reindexer fills a vector index by another model from the log, while the projector feeds the
// one that serves. It follows the index's own checkpoint, so that it goes on where an
// earlier one ended. Safe for concurrent use.
type Reindexer struct {
	cfg   ReindexerConfig
	paced model.Embedder
	again chan struct{} // capacity 1: Follow is to look at every tenant

	mu    sync.Mutex
	turns map[string]*turn // by tenant, as the next two
	heads map[string]int64
	done  map[string]int64
}

// turn is whose turn it is to change a tenant's index: it is held while a batch or an erasure is applied.
type turn struct {
	sync.Mutex
	cancel context.CancelFunc // of the batch; under Reindexer.mu, as the next
	wanted int                // those that interrupt, want it or have it; no batch begins meanwhile
	batch  int                // log entries of the next one, fewer after an interruption; under its own lock
}

// NewReindexer returns a Reindexer; nothing runs before Run.
func NewReindexer(cfg ReindexerConfig) *Reindexer {
	if cfg.Batch <= 0 {
		cfg.Batch = 256
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	if cfg.Sanitizer == nil {
		cfg.Sanitizer = pii.Marks(nil)
	}
	if cfg.Owns == nil {
		cfg.Owns = func(string) bool { return true }
	}
	if cfg.Busy == nil {
		cfg.Busy = func() bool { return false }
	}
	h := &Reindexer{cfg: cfg, paced: cfg.Embedder, again: make(chan struct{}, 1),
		turns: map[string]*turn{}, heads: map[string]int64{}, done: map[string]int64{}}
	if cfg.Percent > 0 {
		h.paced = &pacedEmbedder{Embedder: cfg.Embedder, percent: cfg.Percent, busy: cfg.Busy, turn: make(chan struct{}, 1)}
	}
	return h
}

// Follow keeps the index at the log's end until ctx is done. A model or an index that fails is tried again. Tenants
// take turns, a batch at a time.
func (h *Reindexer) Follow(ctx context.Context) error {
	var watching sync.WaitGroup
	defer watching.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	grown := h.cfg.Log.Watch(ctx)
	watching.Go(func() {
		for tenant := range grown {
			if err := h.noteHead(ctx, tenant); err != nil && ctx.Err() == nil {
				h.cfg.Logger.WarnContext(ctx, "how far the new vectors are behind", "tenant", tenant, "error", err)
			}
		}
	})
	pace := follow.Pacing{Busy: func() bool { return false }, Again: h.again}
	return follow.Run(ctx, h.cfg.Log, follow.Retry{}, h.cfg.Logger, "embed anew", pace, func(ctx context.Context, tenant string) error {
		if !h.cfg.Owns(tenant) {
			return h.measureProgress(ctx, tenant)
		}
		s, err := scope.System(tenant)
		if err != nil {
			return err
		}
		more, err := h.takeStep(ctx, s)
		if more && err == nil {
			h.cfg.Log.NotifyGrowth(tenant)
		}
		return err
	})
}

// LookAtAll notes how much there is to do, before Follow has begun.
func (h *Reindexer) LookAtAll(ctx context.Context) error {
	tenants, err := h.cfg.Log.Tenants(ctx)
	if err != nil {
		return err
	}
	for _, tenant := range tenants {
		if err := h.noteHead(ctx, tenant); err != nil {
			return err
		}
	}
	return nil
}

// noteHead notes how much there is to do for a tenant, before its turn comes.
func (h *Reindexer) noteHead(ctx context.Context, tenant string) error {
	s, err := scope.System(tenant)
	if err != nil {
		return err
	}
	head, err := h.cfg.Log.Head(ctx, s)
	if err != nil {
		return err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.heads[tenant] = max(h.heads[tenant], head.Size)
	return nil
}

// LookAgain has Follow look at every tenant, as after an index was damaged.
func (h *Reindexer) LookAgain() {
	select {
	case h.again <- struct{}{}:
	default:
	}
}

// measureProgress notes how far a tenant is.
func (h *Reindexer) measureProgress(ctx context.Context, tenant string) error {
	s, err := scope.System(tenant)
	if err != nil {
		return err
	}
	at, err := h.readCheckpoint(ctx, s)
	if err != nil {
		return err
	}
	head, err := h.cfg.Log.Head(ctx, s)
	if err != nil {
		return err
	}
	h.noteProgress(tenant, min(at, head.Size), head.Size)
	return nil
}

func (h *Reindexer) readCheckpoint(ctx context.Context, s scope.Scope) (int64, error) {
	at, err := h.cfg.Index.Checkpoint(ctx, s)
	if err != nil {
		return 0, fmt.Errorf("read checkpoint of the new vectors: %w", err)
	}
	return at, nil
}

// Await waits until the index has a tenant's log up to a position, or ctx is done.
func (h *Reindexer) Await(ctx context.Context, s scope.Scope, position int64) error {
	for {
		at, err := h.readCheckpoint(ctx, s)
		if err != nil {
			return err
		}
		if at >= position {
			return nil
		}
		const often = 20 * time.Millisecond
		if err := follow.Pause(ctx, often); err != nil {
			return err
		}
	}
}

// Run returns nil when the index has every tenant's log. A model or an index that fails is
// tried again until ctx is done.
func (h *Reindexer) Run(ctx context.Context) error {
	retry := follow.Retry{}
	for {
		behind := false
		tenants, err := h.cfg.Log.Tenants(ctx)
		if err != nil {
			return err
		}
		for _, tenant := range tenants {
			s, err := scope.System(tenant)
			if err != nil {
				return err
			}
			err = retry.Do(ctx, h.cfg.Logger, "embed tenant "+tenant+" anew", func(err error) bool { return !errors.Is(err, eventlog.ErrCorrupt) }, func() error {
				moved, err := h.catchUp(ctx, s)
				behind = behind || moved
				return err
			})
			if err != nil {
				return err
			}
		}
		if !behind {
			return nil
		}
		if err := follow.Pause(ctx, follow.GiveWay); err != nil {
			return err
		}
	}
}

// Fill brings one tenant to its log's end, reporting progress, and fails where Run would
// try again.
func (h *Reindexer) Fill(ctx context.Context, s scope.Scope, report eventlog.Progress) error {
	if err := s.Check(); err != nil {
		return err
	}
	for more := true; more; {
		var err error
		if more, err = h.takeStep(ctx, s); err != nil {
			return err
		}
		report(h.Progress())
	}
	return nil
}

// catchUp brings a tenant to its log's end and reports whether it had been behind.
func (h *Reindexer) catchUp(ctx context.Context, s scope.Scope) (moved bool, err error) {
	for {
		more, err := h.takeStep(ctx, s)
		if err != nil || !more {
			return moved, err
		}
		moved = true
		if !h.cfg.Owns(s.Tenant()) || h.cfg.Busy() {
			const others = 20 * time.Millisecond
			if err := follow.Pause(ctx, others); err != nil {
				return moved, err
			}
		}
	}
}

// takeStep applies one batch of a tenant, unless Forget wants to go first.
func (h *Reindexer) takeStep(ctx context.Context, s scope.Scope) (more bool, err error) {
	turn := h.obtainTurn(s.Tenant())
	turn.Lock()
	defer turn.Unlock()
	interruptible, cancel := context.WithCancel(ctx)
	defer cancel()
	h.mu.Lock()
	turn.cancel = cancel
	wanted := turn.wanted > 0
	h.mu.Unlock()
	if wanted {
		return true, nil
	}
	more, err = h.applyNextBatch(ctx, interruptible, s, turn.batch)
	if interrupted := interruptible.Err() != nil && ctx.Err() == nil; err != nil && interrupted || errors.Is(err, errOvertaken) {
		turn.batch = max(1, turn.batch/2) // so that one ends between two interruptions
		return true, nil
	}
	turn.batch = min(h.cfg.Batch, 2*turn.batch)
	return more, err
}

func (h *Reindexer) obtainTurn(tenant string) *turn {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.turns[tenant] == nil {
		h.turns[tenant] = &turn{batch: h.cfg.Batch}
	}
	return h.turns[tenant]
}

// errOvertaken says that another worker has filled the index, or erased something, while a batch was embedded.
var errOvertaken = errors.New("another worker was faster")

// erasedOf counts the entries whose content is gone.
func erasedOf(entries []eventlog.Entry) (n int) {
	for i := range entries {
		if entries[i].Erased {
			n++
		}
	}
	return n
}

// applyNextBatch applies at most batch entries; false when the index was at the log's end. Embedding is interruptible; what a
// server was asked to write is waited for. The caller has the tenant's turn.
func (h *Reindexer) applyNextBatch(ctx, interruptible context.Context, s scope.Scope, batch int) (more bool, err error) {
	at, err := h.readCheckpoint(ctx, s)
	if err != nil {
		return false, err
	}
	head, err := h.cfg.Log.Head(ctx, s)
	if err != nil {
		return false, err
	}
	h.noteProgress(s.Tenant(), min(at, head.Size), head.Size)
	switch {
	case at > head.Size:
		return true, h.cfg.Index.Reset(ctx, s) // it is of another log, or of an older copy
	case at == head.Size:
		return false, nil
	case !h.cfg.Owns(s.Tenant()):
		return true, nil
	}
	entries, err := h.cfg.Log.Read(ctx, s, at, batch)
	if err != nil {
		return false, err
	}
	if len(entries) == 0 {
		return false, fmt.Errorf("read log of tenant %q after position %d: no entries before the head: %w", s.Tenant(), at, eventlog.ErrCorrupt)
	}
	erased := erasedOf(entries)
	if err := erasure.RestoreSupersessions(ctx, h.cfg.Log, s, entries); err != nil {
		return false, err
	}
	changes, err := projectEntries(interruptible, h.paced, rules{h.cfg.Sanitizer, h.cfg.Registry}, h.cfg.Passages, entries)
	if err != nil {
		return false, err
	}
	switch now, err := h.readCheckpoint(ctx, s); {
	case err != nil:
		return false, err
	case now != at || interruptible.Err() != nil || !h.cfg.Owns(s.Tenant()):
		return false, errOvertaken
	}
	switch now, err := h.cfg.Log.Read(ctx, s, at, len(entries)); {
	case err != nil:
		return false, err
	case erasedOf(now) != erased: // and removed from the index already
		return false, errOvertaken
	}
	upTo := entries[len(entries)-1].Position
	if err := h.cfg.Index.Apply(ctx, s, changes.vector, upTo); err != nil {
		return false, fmt.Errorf("apply to the new vectors up to %d: %w", upTo, err)
	}
	h.noteProgress(s.Tenant(), upTo, head.Size)
	return true, nil
}

func (h *Reindexer) noteProgress(tenant string, done, head int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.done[tenant] = done
	h.heads[tenant] = head
}

// Progress returns how many log entries are done, and of how many, in the tenants that
// have been looked at.
func (h *Reindexer) Progress() (done, total int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for tenant, head := range h.heads {
		done = done + h.done[tenant]
		total = total + head
	}
	return done, total
}

// Forget leaves nothing of what a tenant's log has erased in the new vectors, however far
// they are. The caller then scrubs the index.
func (h *Reindexer) Forget(ctx context.Context, s scope.Scope) error {
	defer h.interruptStep(s.Tenant())()
	at, err := h.readCheckpoint(ctx, s)
	if err != nil {
		return err
	}
	var gone []string
	err = erasuresAfter(ctx, h.cfg.Log, s, at, func(_ *eventlog.Entry, er *schemas.MemoryErased) { gone = append(gone, er.Items...) })
	if err != nil || len(gone) == 0 {
		return err
	}
	return h.cfg.Index.Remove(ctx, s, gone, at) // what comes after is of the log without them, or remembered anew
}

// interruptStep ends a tenant's step, which may wait for the model, and keeps the next one from beginning until resume
// is called.
func (h *Reindexer) interruptStep(tenant string) (resume func()) {
	turn := h.obtainTurn(tenant)
	h.mu.Lock()
	turn.wanted++
	if turn.cancel != nil {
		turn.cancel()
	}
	h.mu.Unlock()
	turn.Lock()
	return func() {
		h.mu.Lock()
		turn.wanted--
		h.mu.Unlock()
		turn.Unlock()
	}
}

// Interrupt ends a tenant's step, which may have read what is erased meanwhile. The next one begins anew.
func (h *Reindexer) Interrupt(tenant string) { h.interruptStep(tenant)() }

// Reset empties the index of a tenant, which Follow then fills again.
func (h *Reindexer) Reset(ctx context.Context, s scope.Scope) error {
	defer h.LookAgain()
	defer h.interruptStep(s.Tenant())()
	if err := h.cfg.Index.Reset(ctx, s); err != nil {
		return err
	}
	return h.measureProgress(ctx, s.Tenant())
}
