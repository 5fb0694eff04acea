package worker

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"satchel/pipeline/embed"
	"satchel/pipeline/pii"
	"satchel/pipeline/scope"
	"satchel/pipeline/store/eventlog"
	"satchel/pipeline/store/graph"
	"satchel/pipeline/store/items"
	"satchel/pipeline/store/keyword"
	"satchel/pipeline/store/vector"
	"satchel/pipeline/token"
	"satchel/schemas"
	"satchel/worker/follow"
	"satchel/worker/metrics"
	"satchel/worker/novelty"
	"satchel/worker/ownership"
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

// Projector keeps the indexes up with the log, one run a tenant at a time.
// Safe for concurrent use.
type Projector struct {
	log       *eventlog.Log
	stores    Stores
	targets   atomic.Pointer[targets] // what is fed at present; see SwitchIndex
	counter   token.Counter
	sanitizer *pii.Sanitizer // leaves of an item what everybody may see
	batch     int
	busy      func() bool                                         // whether requests are answered at the moment
	fails     func(tenant string, since time.Time) error          // why the indexes take nothing at present, nil when they do
	learn     atomic.Pointer[func(scope.Scope, []schemas.Record)] // see Teach
	hit       func(point string)
	logger    *slog.Logger
	share     ownership.Share
	metrics   *metrics.Metrics
	novelty   *novelty.Scorer                                                // nil: no novelty is computed
	echo      func(ctx context.Context, s scope.Scope, erased []begun) error // nil: nobody else erases

	drain   func(ctx context.Context) error // waits for the requests that are under way; nil: there are none
	settled sync.Map                        // *progress of tenants whose requests need not wait; see settle

	mu      sync.Mutex
	tenants map[string]*progress
}

// SwitchIndex makes the projector feed another vector index by another model from now on. A
// run that is under way ends with the old ones.
func (p *Projector) SwitchIndex(index vector.Index, embedder embed.Embedder) {
	p.targets.Store(newTargets(&p.stores, index, embedder))
	p.mu.Lock()
	defer p.mu.Unlock()
	for name, t := range p.tenants {
		p.unsettle(name, t)
		t.put(unknown, unknown)
	}
}

// Teach has learn called with new items, once they are in every index and counted, in the
// background and one call at a time for a tenant. After an erasure that follows, what has
// learnt MUST be told to forget.
func (p *Projector) Teach(learn func(scope.Scope, []schemas.Record)) { p.learn.Store(&learn) }

// progress is how far a tenant's projections have come.
type progress struct {
	run      chan struct{} // capacity 1: holds a token while somebody projects this tenant
	position int64         // every store is at least here, or unknown
	reached  int64         // every store that answers is at least here, or unknown
	floor    int64         // where every store has to be before anyone searches; unknown: the log's next head
	moved    chan struct{} // closed when position changes
	wanted   chan struct{} // capacity 1: holds a token when somebody waits for it to change
	erased   []begun       // erasures that were applied and not echoed, of whoever runs
	used     atomic.Int64  // Unix nanoseconds of the last request or step
}

// unknown is the position of a tenant that nobody has projected since the start.
const unknown = -1

func (t *progress) begin(ctx context.Context) error {
	select {
	case t.run <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (t *progress) end() { <-t.run }

func (p *Projector) tenant(name string) *progress {
	p.mu.Lock()
	defer p.mu.Unlock()
	t, ok := p.tenants[name]
	if !ok {
		t = &progress{run: make(chan struct{}, 1), position: unknown, reached: unknown, floor: unknown, moved: make(chan struct{}), wanted: make(chan struct{}, 1)}
		p.tenants[name] = t
	}
	t.touch()
	return t
}

// place sets how far a tenant has come and tells those who wait.
func (p *Projector) place(t *progress, position int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	t.put(position, position)
}

// placeOf is place for a run over targets. A run over targets that serve no more does not
// say where the tenant is.
func (p *Projector) placeOf(t *progress, now *targets, position, reached int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.targets.Load() == now {
		t.put(position, reached)
	}
}

// put is place for who holds the projector's lock.
func (t *progress) put(position, reached int64) {
	if position != t.position || reached != t.reached {
		t.position, t.reached = position, reached
		close(t.moved)
		t.moved = make(chan struct{})
	}
}

// Await blocks until every index has applied position, or ctx is done. It brings the
// tenant up itself when nobody has done so since the start, and returns an error while an index
// fails again and again.
func (p *Projector) Await(ctx context.Context, s scope.Scope, position int64) error {
	if err := s.Check(); err != nil {
		return err
	}
	t := p.tenant(s.Tenant())
	began := time.Now()
	look := time.NewTicker(askAgain)
	defer look.Stop()
	for {
		p.mu.Lock()
		at, moved := t.position, t.moved
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
		if err := p.await(ctx, s.Tenant(), moved, look.C, began); err != nil {
			return err
		}
	}
}

// await blocks until moved is closed. Neither the next step nor the log is left to come later
// than somebody waits for it. When look fires and an index fails again and again it returns an
// error; a nil look never does.
func (p *Projector) await(ctx context.Context, tenant string, moved <-chan struct{}, look <-chan time.Time, since time.Time) error {
	select {
	case p.tenant(tenant).wanted <- struct{}{}:
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
			p.log.NotifyGrowth(tenant)
		case <-look:
			if err := p.fails(tenant, since); err != nil {
				return err
			}
		}
	}
}

// CatchUp brings the tenant's indexes up to the end of the log and reports progress.
func (p *Projector) CatchUp(ctx context.Context, s scope.Scope, report eventlog.Progress) error {
	if err := s.Check(); err != nil {
		return err
	}
	return p.catchUp(ctx, s.Tenant(), report)
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

// projecting names what the projector does, of a tenant, where it fails.
const projecting = "project"

// run follows the log until ctx is done.
func (p *Projector) run(ctx context.Context, retry follow.Retry) error {
	pace := follow.Pacing{Busy: p.busy, Beside: projectEvery, Wanted: func(tenant string) <-chan struct{} { return p.tenant(tenant).wanted }}
	return follow.Run(ctx, p.log, retry, p.logger, projecting, pace, func(ctx context.Context, tenant string) error {
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
	t := p.tenant(tenant)
	if err := t.begin(ctx); err != nil {
		return err
	}
	defer t.end()
	now, owned := p.targets.Load(), p.share.Owns(tenant)
	run := now.steps(ctx, s, owned, p.Position(tenant))
	defer func() {
		if err == nil {
			err = p.sendEcho(ctx, s, t)
		}
	}()
	for {
		head, err := p.log.Head(ctx, s)
		if err != nil {
			return err
		}
		if ahead := run.max(); ahead > head.Size {
			return fmt.Errorf("project tenant %q: an index is at position %d, beyond the log's end %d; run rebuild: %w", tenant, ahead, head.Size, follow.ErrAhead)
		}
		p.placeOf(t, now, min(run.min(), head.Size), min(run.answering(), head.Size))
		p.metrics.Projected(tenant, run.positions(), head.Size)
		if report != nil {
			report(min(run.min(), head.Size), head.Size)
		}
		from, working := run.from()
		if !working || from >= head.Size {
			return run.failures()
		}
		entries, err := p.log.Read(ctx, s, from, p.batch)
		if err != nil {
			return err
		}
		if len(entries) == 0 {
			return fmt.Errorf("read log of tenant %q after position %d: no entries before the head: %w", tenant, from, eventlog.ErrCorrupt)
		}
		if err := p.apply(ctx, s, now.embedder, run, entries); err != nil {
			return err
		}
		p.noteErased(t, s.Tenant(), entries)
	}
}

// apply projects the entries and brings every target that works and is behind to the last one.
func (p *Projector) apply(ctx context.Context, s scope.Scope, embedder embed.Embedder, run steps, entries []eventlog.Entry) error {
	if err := restore(ctx, p.log, s, entries); err != nil {
		return err
	}
	upTo := entries[len(entries)-1].Position
	items, vectors := &run[itemsTarget], &run[vectorTarget]
	scored := p.novelty != nil && items.at < upTo && items.err == nil
	if (vectors.at >= upTo || vectors.err != nil) && !scored || errors.Is(vectors.err, novelty.ErrEmbed) {
		embedder = nil
	}
	changes, err := project(ctx, embedder, p.sanitizer, entries)
	if errors.Is(err, novelty.ErrEmbed) && ctx.Err() == nil { // the others need not wait for the model
		vectors.err, embedder = err, nil
		changes, err = project(ctx, nil, p.sanitizer, entries)
	}
	if err != nil {
		return err
	}
	if err := p.assess(ctx, s, embedder, &changes, items, vectors, upTo); err != nil {
		return err
	}
	p.hit("project.before_apply")
	run.apply(ctx, s, &changes, upTo, func() { p.hit("project.store_applied") })
	p.hit("project.after_apply")
	return nil
}

// countTokens gives items their exact token counts while there is nothing to project.
func (p *Projector) countTokens(ctx context.Context, tenant string) error {
	if p.stores.Tokens == nil || p.counter == nil || p.stores.Shared.Items && !p.share.Owns(tenant) {
		return nil
	}
	s, err := scope.System(tenant)
	if err != nil {
		return err
	}
	const slice = 64 // items between two looks at the log: about 4 ms
	for ctx.Err() == nil {
		n, err := p.countSome(ctx, s, slice)
		if err != nil || n == 0 {
			return err
		}
		head, err := p.log.Head(ctx, s)
		if err != nil {
			return err
		}
		if head.Size > p.Position(tenant) {
			return nil // new entries first; the next run goes on counting
		}
	}
	return ctx.Err()
}

// countSome counts some items, and has them learnt, while no change is applied: what is
// erased next is then forgotten by whoever has learnt it.
func (p *Projector) countSome(ctx context.Context, s scope.Scope, most int) (int, error) {
	t := p.tenant(s.Tenant())
	if err := t.begin(ctx); err != nil {
		return 0, err
	}
	defer t.end()
	records, err := p.stores.Tokens.CountTokens(ctx, s, most, func(r *schemas.Record) int { return p.counter.Count(shownText(r)) })
	if err != nil {
		return 0, fmt.Errorf("count tokens: %w", err)
	}
	if learn := p.learn.Load(); learn != nil {
		(*learn)(s, records)
	}
	return len(records), nil
}

// shownText is what an item's stored token count is of: "speaker: text" and a newline.
func shownText(r *schemas.Record) string {
	if r.Speaker == "" {
		return r.Content.Text() + "\n"
	}
	return r.Speaker + ": " + r.Content.Text() + "\n"
}
