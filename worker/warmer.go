package worker

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"satchel/pipeline/scope"
	"satchel/pipeline/store/eventlog"
	"satchel/pipeline/store/items"
	"satchel/schemas"
)

// warmable is an engine that can be shown items before it is asked about them.
type warmable interface {
	// Warm reports whether there is room for more. What was read before the last of forgets
	// is not kept.
	Warm(s scope.Scope, forgets uint64, records []schemas.Record) (room bool)
	Forgets() uint64
}

// latest is an items store that knows the order of its items.
type latest interface {
	Between(ctx context.Context, s scope.Scope, from, to int64, limit int) ([]items.Member, []schemas.Record, error)
}

// Pace of the warmer.
const (
	warmSlice   = 32                     // items between two looks at what else there is to do: about 1 ms
	warmLook    = 200 * time.Millisecond // how long it looks at what arrives: some batches
	warmFew     = 2000                   // entries a second beside which it works
	warmGiveWay = 20 * time.Millisecond  // how long it leaves all to a request
	warmRest    = 3                      // times as long as old items took, it rests
)

// warmer shows the engine what was indexed, latest first: new items once few are left to index,
// and those that were there at the start, or before an erasure made the engine forget, while
// there is room for them. It keeps a place a tenant and queues nothing.
type warmer struct {
	engine    warmable
	items     latest
	log       *eventlog.Log
	projector *Projector
	busy      func() bool // whether requests are answered at the moment
	logger    *slog.Logger
	share     share

	mu      sync.Mutex
	tenants map[string]*warmth
}

// warmth says which items of a tenant the engine was shown: those whose rank is at least low
// and below high.
type warmth struct {
	begun     bool
	forgets   uint64 // of the engine, when it began
	low, high int64

	looked   time.Time // when the tenant's indexes were at position
	position int64
	few      bool // entries arrived then

	done atomic.Int64 // position up to which all was shown, or there was no room
}

// newWarmer returns nil where there is nothing to warm, or no way to.
func newWarmer(cfg Config, w *Worker) *warmer {
	engine, ok := cfg.Engine.(warmable)
	store, ordered := cfg.Stores.Items.(latest)
	if !ok || !ordered {
		return nil
	}
	return &warmer{engine: engine, items: store, log: cfg.Log, projector: w.Projector, busy: w.Service.requests.busy,
		logger: cfg.Logger, share: w.share, tenants: map[string]*warmth{}}
}

func (w *warmer) run(ctx context.Context, retry retryPolicy) error {
	return follow(ctx, w.log, retry, w.logger, "warm", pacing{busy: w.busy}, w.warm)
}

// warm shows the engine the tenant's new items, and then older ones.
func (w *warmer) warm(ctx context.Context, tenant string) error {
	if !w.share.owns(tenant) {
		return nil
	}
	s, err := scope.System(tenant)
	if err != nil {
		return err
	}
	if err := w.projector.Await(ctx, s, 0); err != nil {
		return err
	}
	at := w.tenant(tenant)
	at.few, at.looked, at.position = false, time.Now(), w.projector.Position(tenant)
	if err := w.quiet(ctx, s, at); err != nil {
		return err
	}
	position := w.projector.Position(tenant)
	if forgets := w.engine.Forgets(); !at.begun || at.forgets != forgets {
		last, _, err := w.items.Between(ctx, s, 0, items.LastRank, 1)
		if err != nil {
			return err
		}
		at.done.Store(0)
		at.begun, at.forgets, at.low, at.high = true, forgets, 0, 0
		if len(last) > 0 {
			at.low, at.high = last[0].Rank+1, last[0].Rank+1
		}
	}
	if err := w.fresh(ctx, s, at); err != nil {
		return err
	}
	// When the log has grown, this is called again at once.
	for at.low > 0 && w.engine.Forgets() == at.forgets && w.projector.Position(tenant) == position {
		begun := time.Now()
		members, room, err := w.show(ctx, s, at, 0, at.low)
		if err != nil {
			return err
		}
		if at.low = 0; room && len(members) > 0 {
			at.low = members[len(members)-1].Rank
		}
		if err := pause(ctx, warmRest*time.Since(begun)); err != nil {
			return err
		}
	}
	if at.low == 0 {
		at.done.Store(position)
	}
	return nil
}

// Warmed reports whether the engine was shown what the tenant's log has up to a position, as
// far as it has room.
func (w *Worker) Warmed(tenant string, position int64) bool {
	return w.warmer == nil || !w.share.owns(tenant) || w.warmer.tenant(tenant).done.Load() >= position
}

// fresh shows the engine what is above high, and moves it.
func (w *warmer) fresh(ctx context.Context, s scope.Scope, at *warmth) error {
	high := at.high
	for to := int64(items.LastRank); to > at.high; {
		members, _, err := w.show(ctx, s, at, at.high, to)
		if err != nil {
			return err
		}
		if len(members) == 0 {
			break
		}
		high, to = max(high, members[0].Rank+1), members[len(members)-1].Rank
		if err := w.quiet(ctx, s, at); err != nil {
			return err
		}
	}
	at.high = high
	return nil
}

// show shows the engine the last few items between two ranks.
func (w *warmer) show(ctx context.Context, s scope.Scope, at *warmth, from, to int64) (members []items.Member, room bool, err error) {
	members, records, err := w.items.Between(ctx, s, from, to, warmSlice)
	if err != nil {
		return nil, false, err
	}
	return members, w.engine.Warm(s, at.forgets, records), nil
}

func (w *warmer) tenant(name string) *warmth {
	w.mu.Lock()
	defer w.mu.Unlock()
	at, ok := w.tenants[name]
	if !ok {
		at = &warmth{}
		w.tenants[name] = at
	}
	return at
}

// quiet waits until few entries are projected for the tenant, and gives way to requests that
// are answered.
func (w *warmer) quiet(ctx context.Context, s scope.Scope, at *warmth) error {
	if at.few && w.busy() {
		if err := pause(ctx, warmGiveWay); err != nil {
			return err
		}
	}
	for {
		if d := time.Since(at.looked); d >= warmLook {
			position := w.projector.Position(s.Tenant())
			at.few = float64(position-at.position) <= warmFew*d.Seconds()
			at.looked, at.position = at.looked.Add(d), position
		}
		if at.few {
			return nil
		}
		if err := pause(ctx, warmLook); err != nil {
			return err
		}
	}
}
