package projection

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"satchel/pipeline/meter"
	"satchel/pipeline/model"
	"satchel/pipeline/pii"
	"satchel/pipeline/scope"
	"satchel/pipeline/store/eventlog"
	"satchel/pipeline/store/graph"
	"satchel/pipeline/store/items"
	"satchel/pipeline/store/keyword"
	"satchel/pipeline/store/vector"
	"satchel/pipeline/token"
	"satchel/policies"
	"satchel/schemas"
	"satchel/worker/erasure"
	"satchel/worker/follow"
	"satchel/worker/metrics"
)

// Stores are the projections of the log. Each keeps its own checkpoint.
type Stores struct {
	Items   items.Store
	Tokens  items.TokenCounts // nil: counts are made when an item is shown
	Novelty items.Novelties   // nil: none is computed
	Keyword keyword.Index
	Private keyword.Index // whole texts of items that policy shows in part; nil: none, and no words of theirs are found
	Vector  vector.Index
	Graph   graph.Store
	Shared  Shared
}

// Shared says which stores the workers share; the others are each worker's own. What is
// shared is fed by the owner of the tenant.
type Shared struct{ Items, Keyword, Vector, Graph bool }

// Config is what a Projector is made of. Log, Stores and Embedder are required.
type Config struct {
	Log      *eventlog.Log
	Stores   Stores
	Embedder model.Embedder
	Counter  token.Counter // counts stored items; nil: they are counted when shown
	// Sanitizer takes from an item what only some readers may see, before the item is
	// indexed. Default: marks alone.
	Sanitizer *pii.Sanitizer
	Registry  *policies.Registry // grants trust to writers; nil: nobody has more than the default
	BatchSize int                // log entries a step at most; default 512
	Share     follow.Share       // what this process feeds of the shared stores
	Metrics   *metrics.Metrics   // default: in a set of their own
	Failpoint func(point string)
	Logger    *slog.Logger // default discards
}

// Projector keeps the indexes up with the log, one run a tenant at a time. It knows the requests
// that search them: a request enters when the indexes have what was acknowledged, and a rebuild
// waits for those that have entered. Safe for concurrent use.
type Projector struct {
	cfg      Config
	targets  atomic.Pointer[targets] // what is fed at present; see SwitchIndex
	novelty  *NoveltyScorer          // nil: no novelty is computed
	requests barrier                 // those that search
	applying barrier                 // batches of entries
	health   follow.Health

	learn  atomic.Pointer[func(scope.Scope, []schemas.Record)]                                     // see OnIndexed
	remote atomic.Pointer[func(ctx context.Context, s scope.Scope, erased []erasure.Logged) error] // see OnRemoteErasure

	ready sync.Map // *progress of tenants whose requests need not wait; see awaitReady

	unanalysed atomic.Int64 // see Unanalysed

	mu      sync.Mutex
	tenants map[string]*progress
}

// New returns a projector; nothing is projected before it is run or awaited.
func New(cfg Config) *Projector {
	if cfg.BatchSize <= 0 {
		cfg.BatchSize = 512
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	if cfg.Failpoint == nil {
		cfg.Failpoint = func(string) {}
	}
	if cfg.Sanitizer == nil {
		cfg.Sanitizer = pii.Marks(nil)
	}
	if cfg.Metrics == nil {
		cfg.Metrics = metrics.New(meter.New())
	}
	p := &Projector{cfg: cfg, tenants: map[string]*progress{}}
	if cfg.Stores.Novelty != nil {
		p.novelty = NewNovelty(cfg.Stores.Items, cfg.Stores.Novelty, cfg.Sanitizer, NoveltyWindow)
	}
	p.SwitchIndex(cfg.Stores.Vector, cfg.Embedder)
	return p
}

func (p *Projector) makeRules() rules { return rules{p.cfg.Sanitizer, p.cfg.Registry} }

// Metrics returns the metrics that the projector counts in, for the rest of the worker.
func (p *Projector) Metrics() *metrics.Metrics { return p.cfg.Metrics }

// Health returns what knows of the projector's failures, for the rest of the worker.
func (p *Projector) Health() *follow.Health { return &p.health }

// Busy reports whether requests search at the moment.
func (p *Projector) Busy() bool { return p.requests.hasRunningWork() }

// LatelyBusy reports whether requests search or did a moment ago.
func (p *Projector) LatelyBusy() bool { return p.requests.isLatelyBusy() }

// Calm reports whether nobody searches and no entries are applied, and none were a moment ago.
func (p *Projector) Calm() bool { return !p.requests.isLatelyBusy() && !p.applying.isLatelyBusy() }

// Drain waits until the requests that have entered have left, or ctx is done. Others may enter
// meanwhile.
func (p *Projector) Drain(ctx context.Context) error { return p.requests.drainWork(ctx) }

// SwitchIndex makes the projector feed another vector index by another model from now on. A
// run that is under way ends with the old ones.
func (p *Projector) SwitchIndex(index vector.Index, embedder model.Embedder) {
	p.targets.Store(newTargets(&p.cfg.Stores, index, embedder))
	p.mu.Lock()
	defer p.mu.Unlock()
	for name, t := range p.tenants {
		p.markStale(name, t)
		t.advancePosition(unknown, unknown)
	}
}

// OnIndexed has learn called with new items, once they are in every index and counted, in the
// background and one call at a time for a tenant. After an erasure that follows, what has
// learnt MUST be told to forget.
func (p *Projector) OnIndexed(learn func(scope.Scope, []schemas.Record)) { p.learn.Store(&learn) }

// OnRemoteErasure has apply called with the erasures that another worker carries out, once they
// are applied to the indexes here. When apply fails the step is tried again.
func (p *Projector) OnRemoteErasure(apply func(ctx context.Context, s scope.Scope, erased []erasure.Logged) error) {
	p.remote.Store(&apply)
}

// Await blocks until every index has applied position, or ctx is done. It brings the
// tenant up itself when nobody has done so since the start, and returns an error while an index
// fails again and again.
func (p *Projector) Await(ctx context.Context, s scope.Scope, position int64) error {
	if err := s.Check(); err != nil {
		return err
	}
	t := p.obtainProgress(s.Tenant())
	began := time.Now()
	look := time.NewTicker(askAgain)
	defer look.Stop()
	for {
		p.mu.Lock()
		at := t.position
		moved := t.moved
		p.mu.Unlock()
		if at >= position && at != unknown {
			return p.awaitShared(ctx, s, position)
		}
		if at == unknown {
			if err := p.catchUp(ctx, s.Tenant(), nil); err != nil {
				return err
			}
			continue
		}
		if err := p.awaitProgress(ctx, s.Tenant(), moved, look.C, began); err != nil {
			return err
		}
	}
}

// awaitProgress blocks until moved is closed. Neither the next step nor the log is left to come later
// than somebody waits for it. When look fires and an index fails again and again it returns an
// error; a nil look never does.
func (p *Projector) awaitProgress(ctx context.Context, tenant string, moved <-chan struct{}, look <-chan time.Time, since time.Time) error {
	select {
	case p.obtainProgress(tenant).wanted <- struct{}{}:
	default:
	}
	const patience = 10 * time.Millisecond
	hurry := time.NewTimer(patience)
	defer hurry.Stop()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-moved:
			return nil
		case <-hurry.C:
			p.cfg.Log.NotifyGrowth(tenant)
		case <-look:
			if err := p.checkFailing(tenant, since); err != nil {
				return err
			}
		}
	}
}

// checkFailing says that a tenant's indexes take nothing at present, because that fails again and again,
// to a caller that has waited since a moment; nil when it does not.
func (p *Projector) checkFailing(tenant string, since time.Time) error {
	if !p.health.Fails(follow.OfTenant(projecting, tenant), since) {
		return nil
	}
	return &schemas.Error{Code: schemas.CodeStorage, Message: "the indexes cannot be written at present, see /readyz or satchel doctor; they follow the log when they can"}
}

// CatchUp brings the tenant's indexes up to the end of the log and reports progress.
func (p *Projector) CatchUp(ctx context.Context, s scope.Scope, report eventlog.Progress) error {
	if err := s.Check(); err != nil {
		return err
	}
	return p.catchUp(ctx, s.Tenant(), report)
}

// Rebuild empties the tenant's indexes and fills them from the log, reporting
// progress. Requests that are under way end first; whoever asks meanwhile, or awaits a
// position, waits until the indexes have what the log had.
func (p *Projector) Rebuild(ctx context.Context, s scope.Scope, report eventlog.Progress) error {
	if err := s.Check(); err != nil {
		return err
	}
	t := p.obtainProgress(s.Tenant())
	err := p.resetTenant(ctx, s, t)
	if err == nil {
		err = p.catchUp(ctx, s.Tenant(), report)
	}
	if err != nil {
		p.setPosition(t, unknown) // the next Await tries itself
	}
	return err
}

func (p *Projector) resetTenant(ctx context.Context, s scope.Scope, t *progress) error {
	if err := t.acquireRun(ctx); err != nil {
		return err
	}
	defer t.releaseRun()
	p.mu.Lock()
	p.markStale(s.Tenant(), t)
	t.advancePosition(0, 0)
	p.mu.Unlock()
	if err := p.Drain(ctx); err != nil {
		return err
	}
	return p.targets.Load().resetTargets(ctx, s, p.cfg.Share.OwnsTenant(s.Tenant()))
}

// Position returns how far all of the tenant's indexes have come; 0 before the first run.
func (p *Projector) Position(tenant string) int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	if t := p.tenants[tenant]; t != nil {
		return max(0, t.position)
	}
	return 0
}

// InMemory returns how many tenants' indexes may be in memory.
func (p *Projector) InMemory() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := 0
	for _, t := range p.tenants {
		if t.position != unknown {
			n++
		}
	}
	return n
}

// projectEvery is how long a tenant's entries are gathered while requests are answered and
// nobody waits for them: a step costs about as much for one entry as for thirty, and requests
// share the processors with it.
const projectEvery = 25 * time.Millisecond

// askAgain is how often a call that waits looks whether the indexes can be written.
const askAgain = 250 * time.Millisecond

// projecting names what the projector does, of a tenant, where it fails.
const projecting = "project"

// Run follows the log until ctx is done.
func (p *Projector) Run(ctx context.Context) error {
	retry := follow.Retry{Health: &p.health}
	pace := follow.Pacing{Busy: p.LatelyBusy, Beside: projectEvery, Wanted: func(tenant string) <-chan struct{} { return p.obtainProgress(tenant).wanted }}
	return follow.Run(ctx, p.cfg.Log, retry, p.cfg.Logger, projecting, pace, func(ctx context.Context, tenant string) error {
		if err := p.catchUp(ctx, tenant, nil); err != nil {
			return err
		}
		return p.countTokens(ctx, tenant)
	})
}

// catchUp applies what the tenant's log has beyond the checkpoints. A store that fails
// is left where it is while the others go on to the end; the error names it then.
func (p *Projector) catchUp(ctx context.Context, tenant string, report eventlog.Progress) (err error) {
	s, err := scope.System(tenant)
	if err != nil {
		return err
	}
	t := p.obtainProgress(tenant)
	if err := t.acquireRun(ctx); err != nil {
		return err
	}
	defer t.releaseRun()
	now := p.targets.Load()
	owned := p.cfg.Share.OwnsTenant(tenant)
	run := now.collectSteps(ctx, s, owned, p.Position(tenant))
	var head eventlog.Head
	defer func() {
		if err == nil {
			err = p.applyRemote(ctx, s, t, owned, head.Size)
		}
	}()
	for {
		if head, err = p.cfg.Log.Head(ctx, s); err != nil {
			return err
		}
		if ahead := run.findGreatestPosition(); ahead > head.Size {
			return fmt.Errorf("project tenant %q: an index is at position %d, beyond the log's end %d; run rebuild: %w", tenant, ahead, head.Size, follow.ErrAhead)
		}
		p.setProgress(t, now, min(run.findLeastPosition(), head.Size), min(run.findLeastAnswering(), head.Size))
		p.cfg.Metrics.Projected(tenant, run.listPositions(), head.Size)
		if report != nil {
			report(min(run.findLeastPosition(), head.Size), head.Size)
		}
		from, working := run.findLeastWorking()
		if !working || from >= head.Size {
			return run.joinFailures()
		}
		entries, err := p.cfg.Log.Read(ctx, s, from, p.cfg.BatchSize)
		if err != nil {
			return err
		}
		if len(entries) == 0 {
			return fmt.Errorf("read log of tenant %q after position %d: no entries before the head: %w", tenant, from, eventlog.ErrCorrupt)
		}
		if err := p.applyEntries(ctx, s, now.embedder, run, entries); err != nil {
			return err
		}
	}
}

// applyEntries projects the entries and brings every target that works and is behind to the last one.
func (p *Projector) applyEntries(ctx context.Context, s scope.Scope, embedder model.Embedder, run steps, entries []eventlog.Entry) error {
	defer p.applying.enterWork()()
	if err := erasure.RestoreSupersessions(ctx, p.cfg.Log, s, entries); err != nil {
		return err
	}
	upTo := entries[len(entries)-1].Position
	items := &run[itemsTarget]
	vectors := &run[vectorTarget]
	scored := p.novelty != nil && items.at < upTo && items.err == nil
	if (vectors.at >= upTo || vectors.err != nil) && !scored || errors.Is(vectors.err, ErrEmbed) {
		embedder = nil
	}
	changes, err := projectEntries(ctx, embedder, p.makeRules(), false, entries)
	if errors.Is(err, ErrEmbed) && ctx.Err() == nil { // the others need not wait for the model
		vectors.err = err
		embedder = nil
		changes, err = projectEntries(ctx, nil, p.makeRules(), false, entries)
	}
	if err != nil {
		return err
	}
	if err := p.assessNovelty(ctx, s, embedder, &changes, items, vectors, upTo); err != nil {
		return err
	}
	p.noteUnanalysed(s.Tenant(), &changes, items.at)
	p.cfg.Failpoint("project.before_apply")
	run.applyChanges(ctx, s, &changes, upTo, func() { p.cfg.Failpoint("project.store_applied") })
	p.cfg.Failpoint("project.after_apply")
	return nil
}

// noteUnanalysed counts the items after a position that could not be analysed.
func (p *Projector) noteUnanalysed(tenant string, changes *projection, after int64) {
	for _, at := range changes.unanalysed {
		if at > after {
			p.unanalysed.Add(1)
			p.cfg.Metrics.Unanalysed(tenant)
			p.cfg.Logger.Warn("item could not be analysed within its bounds: it is hidden whole", "tenant", tenant, "position", at)
		}
	}
}

// Unanalysed returns how many items were hidden whole since the start, for they could not be analysed.
func (p *Projector) Unanalysed() int64 { return p.unanalysed.Load() }
