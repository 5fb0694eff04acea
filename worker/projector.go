package worker

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"satchel/pipeline/embed"
	"satchel/pipeline/scope"
	"satchel/pipeline/store/eventlog"
	"satchel/pipeline/store/graph"
	"satchel/pipeline/store/items"
	"satchel/pipeline/store/keyword"
	"satchel/pipeline/store/vector"
	"satchel/pipeline/token"
	"satchel/schemas"
)

// Stores are the projections of the log. Each keeps its own checkpoint.
type Stores struct {
	Items   items.Store
	Tokens  items.TokenCounts // nil: counts are made when an item is shown
	Novelty items.Novelties   // nil: none is computed
	Keyword keyword.Index
	Vector  vector.Index
	Graph   graph.Store
	Shared  Shared
}

// Shared says which stores the workers share; the others are each worker's own. What is
// shared is fed by the owner of the tenant.
type Shared struct{ Items, Keyword, Vector, Graph bool }

func (s Shared) list() [4]bool { return [4]bool{s.Items, s.Keyword, s.Vector, s.Graph} }

// checkpoints are the positions of the stores, in a fixed order.
type checkpoints [4]int64

func (c checkpoints) min() int64 { return min(c[0], c[1], c[2], c[3]) }

// max is the greatest position, but for those of foreign stores.
func (c checkpoints) max() int64 {
	most := int64(0)
	for _, at := range c {
		if at != foreign {
			most = max(most, at)
		}
	}
	return most
}

// foreign is the position of a store that another worker feeds: never behind.
const foreign = math.MaxInt64

// Projector keeps the indexes up with the log, one run a tenant at a time.
// Safe for concurrent use.
type Projector struct {
	log     *eventlog.Log
	stores  Stores
	side    atomic.Pointer[side] // what feeds the vectors; see Adopt
	counter token.Counter
	batch   int
	busy    func() bool                                         // whether requests are answered at the moment
	learn   atomic.Pointer[func(scope.Scope, []schemas.Record)] // see Teach
	hit     func(point string)
	logger  *slog.Logger
	share   share
	judge   *judge                                                         // nil: no novelty is computed
	echo    func(ctx context.Context, s scope.Scope, erased []begun) error // nil: nobody else erases

	drain   func(ctx context.Context) error // waits for the requests that are under way; nil: there are none
	settled sync.Map                        // tenants whose requests need not wait; see settle

	mu      sync.Mutex
	tenants map[string]*progress
}

// side is a vector index and the model that fills it. They change together only.
type side struct {
	index    vector.Index
	embedder embed.Embedder
}

// Adopt makes the projector feed another vector index by another model from now on. What
// runs ends with the old ones.
func (p *Projector) Adopt(index vector.Index, embedder embed.Embedder) {
	p.side.Store(&side{index, embedder})
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
	return t
}

// place sets how far a tenant has come and tells those who wait.
func (p *Projector) place(t *progress, position int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	t.put(position, position)
}

// placeOf is place for a pass over a side. What a pass over a side that serves no more has
// found is not where the tenant is.
func (p *Projector) placeOf(t *progress, now *side, position, reached int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.side.Load() == now {
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
// tenant up itself when nobody has done so since the start.
func (p *Projector) Await(ctx context.Context, s scope.Scope, position int64) error {
	if err := s.Check(); err != nil {
		return err
	}
	t := p.tenant(s.Tenant())
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
		if err := p.await(ctx, s.Tenant(), moved); err != nil {
			return err
		}
	}
}

// await blocks until moved is closed. Neither the next step nor the log is left to come later
// than somebody waits for it.
func (p *Projector) await(ctx context.Context, tenant string, moved <-chan struct{}) error {
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
			p.log.Grown(tenant)
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
	t := p.tenant(tenant)
	p.mu.Lock()
	defer p.mu.Unlock()
	return max(0, t.position)
}

// projectEvery is how long a tenant's entries are gathered while requests are answered and
// nobody waits for them: a step costs about as much for one entry as for thirty, and requests
// share the processors with it.
const projectEvery = 25 * time.Millisecond

// run follows the log until ctx is done.
func (p *Projector) run(ctx context.Context, retry retryPolicy) error {
	pace := pacing{busy: p.busy, beside: projectEvery, wanted: func(tenant string) <-chan struct{} { return p.tenant(tenant).wanted }}
	return follow(ctx, p.log, retry, p.logger, "project", pace, func(ctx context.Context, tenant string) error {
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
	now := p.side.Load()
	at, failed := p.read(ctx, s, now)
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
		if ahead := at.max(); ahead > head.Size {
			return fmt.Errorf("project tenant %q: an index is at position %d, beyond the log's end %d; run rebuild: %w", tenant, ahead, head.Size, ErrAhead)
		}
		p.placeOf(t, now, min(at.min(), head.Size), min(failed.reached(at), head.Size))
		if report != nil {
			report(min(at.min(), head.Size), head.Size)
		}
		from, working := failed.from(at)
		if !working || from >= head.Size {
			return errors.Join(failed[:]...)
		}
		entries, err := p.log.Read(ctx, s, from, p.batch)
		if err != nil {
			return err
		}
		if len(entries) == 0 {
			return fmt.Errorf("read log of tenant %q after position %d: no entries before the head: %w", tenant, from, eventlog.ErrCorrupt)
		}
		if err := p.apply(ctx, s, now, &at, &failed, entries); err != nil {
			return err
		}
		p.noteErased(t, s.Tenant(), entries)
	}
}

// failures are the errors of stores, in the order of checkpoints.
type failures [4]error

// from returns the least position of the stores that work; false when none does.
func (f *failures) from(at checkpoints) (int64, bool) {
	from, working := int64(0), false
	for i, err := range f {
		if err == nil && (!working || at[i] < from) {
			from, working = at[i], true
		}
	}
	return from, working
}

// reached is the least position of the stores but those that do not answer: a search says of
// these that they were left out. The items are never left out.
func (f *failures) reached(at checkpoints) int64 {
	for i, err := range f {
		if i > 0 && (errors.Is(err, errAway) || errors.Is(err, errEmbed)) {
			at[i] = foreign
		}
	}
	return at.min()
}

// errAway says that a store did not say how far it is.
var errAway = errors.New("read checkpoint of index")

// ErrAhead is returned when an index has applied more than the log holds: the log was
// restored from an older copy.
var ErrAhead = errors.New("index is ahead of the log")

// read asks the stores for their checkpoints. One that does not say its own has failed,
// and counts as where all of them were known to be.
func (p *Projector) read(ctx context.Context, s scope.Scope, now *side) (at checkpoints, failed failures) {
	skip := p.foreign(s.Tenant())
	for i, read := range []func(context.Context, scope.Scope) (int64, error){
		p.stores.Items.Checkpoint, p.stores.Keyword.Checkpoint, now.index.Checkpoint, p.stores.Graph.Checkpoint} {
		if skip[i] {
			at[i] = foreign
			continue
		}
		position, err := read(ctx, s)
		if err != nil {
			position = p.Position(s.Tenant())
			failed[i] = fmt.Errorf("%w %d: %w", errAway, i, err)
		}
		at[i] = position
	}
	return at, failed
}

// apply brings every store that works and is behind to the last entry, side by side.
func (p *Projector) apply(ctx context.Context, s scope.Scope, now *side, at *checkpoints, failed *failures, entries []eventlog.Entry) error {
	if err := restore(ctx, p.log, s, entries); err != nil {
		return err
	}
	upTo := entries[len(entries)-1].Position
	embedder := now.embedder
	judged := p.judge != nil && at[0] < upTo && failed[0] == nil
	if (at[2] >= upTo || failed[2] != nil) && !judged || errors.Is(failed[2], errEmbed) {
		embedder = nil
	}
	changes, err := project(ctx, embedder, entries)
	if errors.Is(err, errEmbed) && ctx.Err() == nil { // the others need not wait for the model
		failed[2], embedder = err, nil
		changes, err = project(ctx, nil, entries)
	}
	if err != nil {
		return err
	}
	if err := p.assess(ctx, s, embedder, &changes, at, failed, upTo); err != nil {
		return err
	}
	work := [...]struct {
		name  string
		apply func() error
	}{
		{"items", func() error { return p.stores.Items.Apply(ctx, s, changes.items, upTo) }},
		{"keyword index", func() error { return p.stores.Keyword.Apply(ctx, s, changes.keyword, upTo) }},
		{"vector index", func() error { return now.index.Apply(ctx, s, changes.vector, upTo) }},
		{"graph", func() error { return p.stores.Graph.Apply(ctx, s, changes.graph, upTo) }},
	}
	p.hit("project.before_apply")
	var wg sync.WaitGroup
	for i, w := range work {
		if at[i] >= upTo || failed[i] != nil {
			continue
		}
		wg.Go(func() {
			if err := w.apply(); err != nil {
				failed[i] = fmt.Errorf("apply to %s up to %d: %w", w.name, upTo, err)
				return
			}
			at[i] = upTo
			p.hit("project.store_applied")
		})
	}
	wg.Wait()
	p.hit("project.after_apply")
	return nil
}

// countTokens gives items their exact token counts while there is nothing to project.
func (p *Projector) countTokens(ctx context.Context, tenant string) error {
	if p.stores.Tokens == nil || p.counter == nil || p.foreign(tenant)[0] {
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
