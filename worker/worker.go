package worker

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"satchel/pipeline/embed"
	"satchel/pipeline/meter"
	"satchel/pipeline/pii"
	"satchel/pipeline/scope"
	"satchel/pipeline/store/eventlog"
	"satchel/pipeline/token"
	"satchel/pipeline/write"
	"satchel/policies"
	"satchel/policies/exception"
	"satchel/worker/follow"
	"satchel/worker/metrics"
	"satchel/worker/novelty"
	"satchel/worker/ownership"
	"satchel/worker/relay"
	"satchel/worker/transport"
)

// Config is what a worker is made of. Log, Stores, Embedder, Writer, PDP and Engine
// are required; a part of the transport that is nil is not run.
type Config struct {
	Log      *eventlog.Log
	Stores   Stores
	Embedder embed.Embedder
	Counter  token.Counter // counts stored items; nil: they are counted when shown
	// Sanitizer takes from an item what only some readers may see, before the item is
	// indexed. Default: marks alone.
	Sanitizer *pii.Sanitizer
	Writer    *write.Writer
	PDP       policies.PDP
	Registry  *policies.Registry // nil: claims count on loopback only
	Loopback  bool               // the transport is reachable from this machine only
	Engine    Engine
	// Exceptions are the governed ones; nil: there are none and none can be added.
	Exceptions *exception.Registry
	// Projector is one made by NewProjector over the same stores, when the engine needs
	// it first; nil: a new one.
	Projector *Projector

	Inboxes []Inbox
	// Partition returns the place in Inboxes of a tenant's events, so that writes are refused
	// while that partition stands still; nil: they wait.
	Partition   func(tenant string) int
	DeadLetters DeadLetters
	Ledger      Ledger
	Outbox      Outbox
	Streams     StreamScrubber
	Artifacts   Artifacts // heavy contents, which an erasure takes along; nil: none are kept
	Scrubbers   []Scrubber
	// Uploads are the artifacts of which what nobody claims is removed; nil: nothing is.
	Uploads ArtifactSweeper
	// Membership shares the work with other processes; the partition of an inbox is its place in
	// Inboxes. nil: all of it is this one's.
	Membership Membership

	BatchSize int           // events a transaction at most; default 512
	Sweep     time.Duration // between looks for artifacts that nobody claims; default 6 h
	// MaxTenants is how many tenants may have a log; events of others are refused. 0: any number.
	MaxTenants int
	// Evict puts what a store has of a tenant out of memory, of those that nobody has used for
	// TenantIdle, but for the 64 that were used last.
	Evict      []func(ctx context.Context, s scope.Scope) error
	TenantIdle time.Duration // 0: never

	Meter  *meter.Set       // default: one of its own
	Clock  func() time.Time // default time.Now
	Logger *slog.Logger     // default discards
	// Failpoint is called with the name of every point at which a crash is worth trying;
	// nil: nothing is. For fault tests.
	Failpoint func(point string)
}

// Worker runs the followers and answers requests. Make one with New.
type Worker struct {
	Service   *Service
	Projector *Projector

	appenders []*appender
	relay     *relay.Relay
	sweeper   *sweeper
	uploads   *artifactSweeper
	idler     *idler // nil: no tenant is put away
	eraser    *eraser
	partition func(tenant string) int
	stopped   atomic.Pointer[error]
	health    follow.Health
	erasures  follow.Health // apart: one that is not finished is no reason not to be ready
	logger    *slog.Logger
	share     ownership.Share
}

// New returns a worker over cfg; nothing runs before Run.
func New(cfg Config) (*Worker, error) {
	if cfg.Log == nil || cfg.Embedder == nil || cfg.Writer == nil || cfg.PDP == nil || cfg.Engine == nil ||
		cfg.Stores.Items == nil || cfg.Stores.Keyword == nil || cfg.Stores.Vector == nil || cfg.Stores.Graph == nil {
		return nil, errors.New("worker config: log, stores, embedder, writer, policy decision point and engine are required")
	}
	if len(cfg.Inboxes) > 0 && (cfg.DeadLetters == nil || cfg.Streams == nil) {
		return nil, errors.New("worker config: inboxes need dead letters and a stream scrubber")
	}
	if cfg.BatchSize <= 0 {
		cfg.BatchSize = 512
	}
	if cfg.Sweep <= 0 {
		cfg.Sweep = 6 * time.Hour
	}
	if cfg.Clock == nil {
		cfg.Clock = time.Now
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	if cfg.Failpoint == nil {
		cfg.Failpoint = func(string) {}
	}
	p := cfg.Projector
	if p == nil {
		p = NewProjector(cfg)
	}
	w := &Worker{Projector: p, partition: cfg.Partition, logger: cfg.Logger, share: ownership.Share{Membership: cfg.Membership}}
	w.Service = &Service{engine: cfg.Engine, log: cfg.Log, writer: cfg.Writer, outbox: cfg.Outbox, projector: p, exceptions: cfg.Exceptions,
		pdp: policies.Sourced(cfg.PDP, cfg.Stores.Items.Get), registry: cfg.Registry, loopback: cfg.Loopback, stores: cfg.Stores, now: cfg.Clock, waits: entryWaits{log: cfg.Log}}
	w.Service.tenants = &tenants{log: cfg.Log, registry: cfg.Registry, limit: cfg.MaxTenants, now: cfg.Clock}
	if cfg.TenantIdle > 0 {
		w.idler = &idler{projector: p, evict: cfg.Evict, after: cfg.TenantIdle, keep: keptTenants, logger: cfg.Logger}
	}
	p.busy, p.drain, p.fails = w.Service.requests.lately, w.Service.requests.pass, w.indexFails
	changes := &changes{log: cfg.Log, pdp: cfg.PDP, registry: cfg.Registry, loopback: cfg.Loopback, now: cfg.Clock}
	w.eraser = &eraser{changes: changes, log: cfg.Log, projector: p, items: cfg.Stores.Items, graph: cfg.Stores.Graph, pdp: cfg.PDP, registry: cfg.Registry,
		loopback: cfg.Loopback, scrubbers: cfg.Scrubbers, streams: cfg.Streams, artifacts: cfg.Artifacts, requests: &w.Service.requests,
		hit: cfg.Failpoint, now: cfg.Clock, logger: cfg.Logger, share: w.share, metrics: p.metrics}
	w.Service.eraser, w.Service.changes, w.Service.logs, w.Service.fails = w.eraser, changes, w.logs, w.logFails
	if w.share.Shared() {
		p.echo = w.eraser.echo
	}
	for partition, inbox := range cfg.Inboxes {
		w.appenders = append(w.appenders, &appender{inbox: inbox, partition: partition, share: w.share, log: cfg.Log, writer: cfg.Writer, dead: cfg.DeadLetters,
			erase: w.eraser.begin, tenants: w.Service.tenants, changes: changes, tell: w.Service.refusals.tell, batch: cfg.BatchSize, retry: follow.Retry{Health: &w.health}, hit: cfg.Failpoint, now: cfg.Clock, logger: cfg.Logger, metrics: p.metrics})
	}
	if cfg.Exceptions != nil {
		w.sweeper = &sweeper{log: cfg.Log, exceptions: cfg.Exceptions, logger: cfg.Logger}
	}
	if cfg.Uploads != nil {
		w.uploads = &artifactSweeper{artifacts: cfg.Uploads, log: cfg.Log, share: w.share, every: cfg.Sweep, now: cfg.Clock, logger: cfg.Logger}
	}
	if cfg.Ledger != nil {
		w.relay = relay.New(relay.Config{Log: cfg.Log, Ledger: cfg.Ledger, Batch: cfg.BatchSize, Busy: p.busy, Failpoint: cfg.Failpoint,
			Logger: cfg.Logger, Share: w.share, Metrics: p.metrics})
	}
	return w, nil
}

// NewProjector returns the projector of cfg alone, for rebuilding indexes without a
// transport. It needs Log, Stores and Embedder.
func NewProjector(cfg Config) *Projector {
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
	if cfg.Meter == nil {
		cfg.Meter = meter.New()
	}
	p := &Projector{log: cfg.Log, stores: cfg.Stores, counter: cfg.Counter, sanitizer: cfg.Sanitizer,
		batch: cfg.BatchSize, busy: func() bool { return false }, fails: func(string, time.Time) error { return nil }, hit: cfg.Failpoint, logger: cfg.Logger, share: ownership.Share{Membership: cfg.Membership}, tenants: map[string]*progress{}, metrics: metrics.New(cfg.Meter)}
	if cfg.Stores.Novelty != nil {
		p.novelty = novelty.New(cfg.Stores.Items, cfg.Stores.Novelty, cfg.Sanitizer, novelty.Window)
	}
	p.SwitchIndex(cfg.Stores.Vector, cfg.Embedder)
	return p
}

// Rebuild empties the tenant's indexes and fills them from the log, reporting
// progress. Requests that are under way end first; whoever asks meanwhile, or awaits a
// position, waits until the indexes have what the log had.
func (p *Projector) Rebuild(ctx context.Context, s scope.Scope, report eventlog.Progress) error {
	if err := s.Check(); err != nil {
		return err
	}
	t := p.tenant(s.Tenant())
	err := p.reset(ctx, s, t)
	if err == nil {
		err = p.catchUp(ctx, s.Tenant(), report)
	}
	if err != nil {
		p.place(t, unknown) // the next Await tries itself
	}
	return err
}

func (p *Projector) reset(ctx context.Context, s scope.Scope, t *progress) error {
	if err := t.begin(ctx); err != nil {
		return err
	}
	defer t.end()
	p.mu.Lock()
	p.unsettle(s.Tenant(), t)
	t.put(0, 0)
	p.mu.Unlock()
	if p.drain != nil {
		if err := p.drain(ctx); err != nil {
			return err
		}
	}
	return p.targets.Load().reset(ctx, s, p.share.Owns(s.Tenant()))
}

// Run runs until ctx is done or a follower fails for good, then stops the rest and
// waits for what is under way: a transaction that has begun is committed and
// acknowledged or left for redelivery.
func (w *Worker) Run(ctx context.Context) error {
	g, ctx := errgroup.WithContext(ctx)
	retry := follow.Retry{Health: &w.health}
	for _, a := range w.appenders {
		g.Go(func() error {
			err := a.serve(ctx)
			if err != nil {
				w.Projector.metrics.Stopped.Inc()
			}
			return w.note(err)
		})
	}
	if w.share.Shared() {
		g.Go(func() error { return w.share.NotifyGrowth(ctx, w.Service.log) })
	}
	g.Go(func() error { return w.note(w.Projector.run(ctx, retry)) })
	if w.relay != nil {
		g.Go(func() error { return w.note(w.relay.Run(ctx, retry)) })
	}
	g.Go(func() error { return w.note(w.examine(ctx)) })
	if w.sweeper != nil {
		g.Go(func() error { return w.sweeper.run(ctx) })
	}
	if w.idler != nil {
		g.Go(func() error { return w.idler.run(ctx) })
	}
	if w.uploads != nil {
		g.Go(func() error { return w.uploads.run(ctx) })
	}
	if len(w.appenders) > 0 {
		g.Go(func() error { return w.note(w.eraser.run(ctx, follow.Retry{Health: &w.erasures})) })
		g.Go(func() error {
			return (&relay.Heads{Log: w.Service.log, Logger: w.logger, Share: w.share, Metrics: w.Projector.metrics}).Run(ctx)
		})
	}
	return g.Wait()
}

// examineEvery is how long a log that was examined is taken to be in order.
const examineEvery = 24 * time.Hour

// examine looks for damage in the logs' indexes, and then in the logs, until ctx is done or it
// finds some.
func (w *Worker) examine(ctx context.Context) error {
	tick := time.NewTicker(examineEvery)
	defer tick.Stop()
	for {
		err := w.Service.log.Examine(ctx)
		if err == nil {
			err = w.verify(ctx)
		}
		switch {
		case ctx.Err() != nil:
			return nil
		case errors.Is(err, eventlog.ErrCorrupt):
			return fmt.Errorf("examine log: %w", err)
		case err != nil:
			w.logger.WarnContext(ctx, "examine log", "error", err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// verify verifies the logs of all tenants whole. It pauses after each step for some times as long as
// the step took, longer while requests are answered.
func (w *Worker) verify(ctx context.Context) error {
	const (
		idle, busy = 4, 50
		least      = 5 * time.Millisecond // of work between two pauses
	)
	began := time.Now()
	err := w.Service.log.VerifyTenants(ctx, func(int64, int64) {
		took, times := time.Since(began), time.Duration(idle)
		if took < least {
			return
		}
		if w.Projector.busy() {
			times = busy
		}
		_ = follow.Pause(ctx, times*took) // VerifyTenants looks at ctx
		began = time.Now()
	})
	if err == nil {
		w.Projector.metrics.Verified.SetToCurrentTime()
	}
	return err
}

// note keeps a follower's failure for Ready. A partition whose stream or log is not what it
// was must not take the others with it: that error is kept and logged, not returned. Any
// other ends the worker, so that whoever runs it starts it anew.
func (w *Worker) note(err error) error {
	if err == nil {
		return nil
	}
	w.stopped.Store(&err)
	if errors.Is(err, eventlog.ErrCorrupt) {
		w.Projector.metrics.Damaged.Set(1)
	}
	w.logger.Error("follower stopped", "error", err)
	var changed *StreamChangedError
	if errors.As(err, &changed) || errors.Is(err, eventlog.ErrFenced) || errors.Is(err, eventlog.ErrCorrupt) {
		return nil
	}
	return err
}

// Committed returns, by partition, the sequence up to which the log holds all of the stream
// that was created at epoch; no partition whose checkpoint is on another stream.
func (w *Worker) Committed(ctx context.Context, epoch string) (map[string]uint64, error) {
	m := make(map[string]uint64, len(w.appenders))
	for _, a := range w.appenders {
		if !w.share.Shared() {
			if at := a.committed.Load(); at != nil && at.epoch == epoch {
				m[a.inbox.Name()] = at.seq
			}
			continue
		}
		cp, err := a.log.Checkpoint(ctx, a.checkpointName())
		if err != nil {
			return nil, fmt.Errorf("read checkpoint of partition %q: %w", a.inbox.Name(), err)
		}
		if cp.Epoch == epoch {
			m[a.inbox.Name()] = cp.StreamSeq
		}
	}
	return m, nil
}

// ErrStarting is returned by Ready while partitions are not resumed yet.
var ErrStarting = transport.ErrStarting

// Ready returns nil while everything runs and nothing fails again and again, else why
// not. An erasure that is not finished yet is no reason.
func (w *Worker) Ready() error {
	if err := w.stopped.Load(); err != nil {
		return *err
	}
	if w.share.Shared() {
		if err := w.share.Membership.Ready(); err != nil {
			return err
		}
	}
	for _, a := range w.appenders {
		if w.share.Shared() {
			if mine, _ := w.share.Has(a.partition); !mine {
				continue
			}
		}
		if !a.resumed.Load() {
			return w.health.Of(a.resuming(), ErrStarting)
		}
	}
	return w.health.Err()
}
