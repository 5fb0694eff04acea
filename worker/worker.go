package worker

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"golang.org/x/sync/errgroup"

	"satchel/pipeline/meter"
	"satchel/pipeline/model"
	"satchel/pipeline/pii"
	"satchel/pipeline/scope"
	"satchel/pipeline/store/eventlog"
	"satchel/pipeline/token"
	"satchel/pipeline/write"
	"satchel/policies"
	"satchel/policies/exception"
	"satchel/policies/hold"
	"satchel/worker/authorship"
	"satchel/worker/erasure"
	"satchel/worker/follow"
	"satchel/worker/ingest"
	"satchel/worker/metrics"
	"satchel/worker/projection"
	"satchel/worker/relay"
	"satchel/worker/service"
	"satchel/worker/transport"
	"satchel/worker/witness"
)

// Config is what a worker is made of. Log, Stores, Embedder, Writer, PDP and Engine
// are required; a part of the transport that is nil is not run.
type Config struct {
	Log      *eventlog.Log
	Stores   projection.Stores
	Embedder model.Embedder
	Counter  token.Counter // counts stored items; nil: they are counted when shown
	// Sanitizer takes from an item what only some readers may see, before the item is
	// indexed. Default: marks alone.
	Sanitizer *pii.Sanitizer
	Writer    *write.Writer
	PDP       policies.PDP
	Registry  *policies.Registry // nil: claims count on loopback only
	Loopback  bool               // the transport is reachable from this machine only
	Engine    service.Engine
	// Exceptions are the governed ones; nil: there are none and none can be added.
	Exceptions *exception.Registry
	// Holds are the legal holds; default: a registry over Log and PDP.
	Holds *hold.Registry
	// Projector is one made by NewProjector over the same stores, when the engine needs
	// it first; nil: a new one.
	Projector *projection.Projector

	Inboxes []transport.Inbox
	// Partition returns the place in Inboxes of a tenant's events, so that writes are refused
	// while that partition stands still; nil: they wait.
	Partition   func(tenant string) int
	DeadLetters transport.DeadLetters
	Ledger      transport.Ledger
	Outbox      transport.Outbox
	Streams     transport.StreamScrubber
	Artifacts   transport.Artifacts // heavy contents, which an erasure takes along; nil: none are kept
	Scrubbers   []erasure.Scrubber
	// Uploads are the artifacts of which what nobody claims is removed; nil: nothing is.
	Uploads transport.ArtifactSweeper
	// Membership shares the work with other processes; the partition of an inbox is its place in
	// Inboxes. nil: all of it is this one's.
	Membership transport.Membership

	// Witnesses cosign the signed heads; nil: none do.
	Witnesses *witness.Client

	// Retention says which items are erased when they are old; nil: none.
	Retention *erasure.Retention

	BatchSize int           // events a transaction at most; default 512
	Sweep     time.Duration // between looks for artifacts that nobody claims; default 6 h
	// MaxTenants is how many tenants may have a log; events of others are refused. 0: any number.
	MaxTenants int
	// Quota is how much of events one principal may put.
	Quota service.Quota
	// Evict puts what a store has of a tenant out of memory, of those that nobody has used for
	// TenantIdle, but for the 64 that were used last.
	Evict      []func(ctx context.Context, s scope.Scope) error
	TenantIdle time.Duration // 0: never

	Tracer meter.Tracer     // of writes; default: none is traced
	Meter  *meter.Set       // default: one of its own
	Clock  func() time.Time // default time.Now
	Logger *slog.Logger     // default discards
	// Failpoint is called with the name of every point at which a crash is worth trying;
	// nil: nothing is. For fault tests.
	Failpoint func(point string)
}

// Worker runs the followers and answers requests. Make one with New.
type Worker struct {
	Service   *service.Service
	Projector *projection.Projector

	log        *eventlog.Log
	appender   *ingest.Appender
	relay      *relay.Relay // nil: there is no ledger
	eraser     *erasure.Eraser
	witnesses  *witness.Client   // nil: none
	heads      *relay.Heads      // nil: there are no inboxes, and nothing is erased either
	exceptions *exceptionSweeper // nil: there are none
	uploads    *erasure.Sweeper  // nil: nothing is swept
	retainer   *erasure.Retainer // nil: nothing is erased for its age
	idle       time.Duration     // after which a tenant is put out of memory; 0: never
	evict      []func(ctx context.Context, s scope.Scope) error
	stopped    atomic.Pointer[error]
	logger     *slog.Logger
	share      follow.Share
}

// checkConfig fails for a config that lacks a part, and sets the defaults.
func (cfg *Config) checkConfig() error {
	if cfg.Log == nil || cfg.Embedder == nil || cfg.Writer == nil || cfg.PDP == nil || cfg.Engine == nil ||
		cfg.Stores.Items == nil || cfg.Stores.Keyword == nil || cfg.Stores.Vector == nil || cfg.Stores.Graph == nil {
		return errors.New("worker config: log, stores, embedder, writer, policy decision point and engine are required")
	}
	if len(cfg.Inboxes) > 0 && (cfg.DeadLetters == nil || cfg.Streams == nil) {
		return errors.New("worker config: inboxes need dead letters and a stream scrubber")
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
	if cfg.Holds == nil {
		cfg.Holds = NewHolds(cfg.Log, cfg.PDP, cfg.Clock, nil)
	}
	if cfg.Failpoint == nil {
		cfg.Failpoint = func(string) {}
	}
	if cfg.Projector == nil {
		cfg.Projector = NewProjector(*cfg)
	}
	return nil
}

// New returns a worker over cfg; nothing runs before Run.
func New(cfg Config) (*Worker, error) {
	if err := cfg.checkConfig(); err != nil {
		return nil, err
	}
	p := cfg.Projector
	share := follow.Share{Membership: cfg.Membership}
	w := &Worker{Projector: p, log: cfg.Log, witnesses: cfg.Witnesses, idle: cfg.TenantIdle, evict: cfg.Evict, logger: cfg.Logger, share: share}
	reviewer := authorship.New(authorship.Config{Log: cfg.Log, PDP: cfg.PDP, Registry: cfg.Registry,
		Loopback: cfg.Loopback, Clock: cfg.Clock})
	w.eraser = erasure.New(erasure.Config{Log: cfg.Log, Indexes: p, Items: cfg.Stores.Items, Graph: cfg.Stores.Graph,
		PDP: cfg.PDP, Registry: cfg.Registry, Loopback: cfg.Loopback,
		Scrubbers: cfg.Scrubbers, Streams: cfg.Streams, Artifacts: cfg.Artifacts, Reviewer: reviewer, Holds: cfg.Holds,
		Failpoint: cfg.Failpoint, Clock: cfg.Clock, Logger: cfg.Logger, Share: share, Metrics: p.Metrics()})
	w.appender = ingest.New(ingest.Config{Inboxes: cfg.Inboxes, PartitionOf: cfg.Partition, Log: cfg.Log,
		Writer: cfg.Writer, DeadLetters: cfg.DeadLetters, Eraser: w.eraser, Reviewer: reviewer,
		Registry: cfg.Registry, MaxTenants: cfg.MaxTenants, BatchSize: cfg.BatchSize, Health: p.Health(),
		Failpoint: cfg.Failpoint, Clock: cfg.Clock, Logger: cfg.Logger, Share: share, Metrics: p.Metrics()})
	var witnesses service.Witnesses
	if cfg.Witnesses != nil {
		witnesses = cfg.Witnesses
	}
	w.Service = service.New(service.Config{Quota: cfg.Quota, Witnesses: witnesses, Engine: cfg.Engine, Log: cfg.Log, Writer: cfg.Writer, Outbox: cfg.Outbox,
		Indexes: p, Items: cfg.Stores.Items, PDP: cfg.PDP, Registry: cfg.Registry, Loopback: cfg.Loopback,
		Exceptions: cfg.Exceptions, Holds: cfg.Holds, Eraser: w.eraser, Reviewer: reviewer, Ingest: w.appender,
		Metrics: p.Metrics(), Tracer: cfg.Tracer, Clock: cfg.Clock})
	if len(cfg.Inboxes) > 0 {
		w.heads = &relay.Heads{Log: cfg.Log, Logger: cfg.Logger, Share: share, Metrics: p.Metrics()}
	}
	if w.heads != nil && w.witnesses != nil {
		w.heads.Offer = w.witnesses.Offer
	}
	if cfg.Exceptions != nil {
		w.exceptions = &exceptionSweeper{log: cfg.Log, exceptions: cfg.Exceptions, logger: cfg.Logger}
	}
	if cfg.Uploads != nil {
		w.uploads = &erasure.Sweeper{Artifacts: cfg.Uploads, Log: cfg.Log, Share: share, Every: cfg.Sweep,
			Clock: cfg.Clock, Logger: cfg.Logger}
	}
	if cfg.Retention != nil {
		w.retainer = &erasure.Retainer{Eraser: w.eraser, Retention: cfg.Retention, Every: time.Hour}
	}
	if cfg.Ledger != nil {
		w.relay = relay.New(relay.Config{Log: cfg.Log, Ledger: cfg.Ledger, Batch: cfg.BatchSize, Busy: p.LatelyBusy,
			Failpoint: cfg.Failpoint, Logger: cfg.Logger, Share: share, Metrics: p.Metrics()})
	}
	return w, nil
}

// NewHolds returns the registry of the legal holds in log; pdp decides who may place and release them.
// The clock is the system's and ids are UUIDv7, when they are nil.
func NewHolds(log *eventlog.Log, pdp policies.PDP, clock func() time.Time, ids func() string) *hold.Registry {
	if ids == nil {
		ids = func() string { return uuid.Must(uuid.NewV7()).String() }
	}
	office := &exception.Office{Log: log, PDP: pdp, Source: hold.Source, IDs: ids}
	return hold.New(hold.Config{Log: log, Office: office, Clock: clock, IDs: ids})
}

// NewProjector returns the projector of cfg alone, for an engine that needs it before the worker is
// there. It needs Log, Stores and Embedder.
func NewProjector(cfg Config) *projection.Projector {
	if cfg.Meter == nil {
		cfg.Meter = meter.New()
	}
	return projection.New(projection.Config{Log: cfg.Log, Stores: cfg.Stores, Embedder: cfg.Embedder,
		Counter: cfg.Counter, Sanitizer: cfg.Sanitizer, Registry: cfg.Registry, BatchSize: cfg.BatchSize,
		Share: follow.Share{Membership: cfg.Membership}, Metrics: metrics.New(cfg.Meter),
		Failpoint: cfg.Failpoint, Logger: cfg.Logger})
}

// Run runs until ctx is done or a follower fails for good, then stops the rest and
// waits for what is under way: a transaction that has begun is committed and
// acknowledged or left for redelivery.
func (w *Worker) Run(ctx context.Context) error {
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return w.appender.Run(ctx, w.noteFailure) })
	if w.share.Shared() {
		g.Go(func() error { return w.share.NotifyGrowth(ctx, w.log) })
	}
	g.Go(func() error { return w.noteFailure(w.Projector.Run(ctx)) })
	if w.relay != nil {
		g.Go(func() error { return w.noteFailure(w.relay.Run(ctx, follow.Retry{Health: w.Projector.Health()})) })
	}
	g.Go(func() error { return w.noteFailure(w.examineLogs(ctx)) })
	if w.exceptions != nil {
		g.Go(func() error { return w.exceptions.sweepExceptions(ctx) })
	}
	if w.idle > 0 {
		g.Go(func() error { return w.Projector.EvictIdle(ctx, w.idle, w.evict) })
	}
	if w.uploads != nil {
		g.Go(func() error { return w.uploads.Run(ctx) })
	}
	if w.heads != nil {
		g.Go(func() error { return w.noteFailure(w.eraser.Run(ctx)) })
		g.Go(func() error { return w.heads.Run(ctx) })
		if w.witnesses != nil {
			g.Go(func() error { return w.witnesses.Run(ctx) })
		}
		if w.retainer != nil {
			g.Go(func() error { return w.retainer.Run(ctx) })
		}
	}
	return g.Wait()
}

// noteFailure keeps a follower's failure for Ready. A partition whose stream or log is not what it
// was must not take the others with it: that error is kept and logged, not returned. Any
// other ends the worker, so that whoever runs it starts it anew.
func (w *Worker) noteFailure(err error) error {
	if err == nil {
		return nil
	}
	w.stopped.Store(&err)
	if errors.Is(err, eventlog.ErrCorrupt) {
		w.Projector.Metrics().Damaged.Set(1)
	}
	w.logger.Error("follower stopped", "error", err)
	var changed *ingest.StreamChangedError
	if errors.As(err, &changed) || errors.Is(err, eventlog.ErrFenced) || errors.Is(err, eventlog.ErrCorrupt) {
		return nil
	}
	return err
}

// Committed returns, by partition, the sequence up to which the log holds all of the stream
// that was created at epoch; no partition whose checkpoint is on another stream.
func (w *Worker) Committed(ctx context.Context, epoch string) (map[string]uint64, error) {
	return w.appender.Committed(ctx, epoch)
}

// Still returns the names of the partitions that stand still though events wait in them.
func (w *Worker) Still() []string { return w.appender.Still() }

// Ready returns nil while everything runs and nothing fails again and again, else why
// not: an error that wraps [transport.ErrStarting] while partitions are not resumed yet. An erasure
// that is not finished yet is no reason.
func (w *Worker) Ready() error {
	if err := w.stopped.Load(); err != nil {
		return *err
	}
	if w.share.Shared() {
		if err := w.share.Membership.Ready(); err != nil {
			return err
		}
	}
	if err := w.appender.Ready(); err != nil {
		return err
	}
	if w.witnesses != nil {
		if err := w.witnesses.Err(); err != nil {
			return err
		}
	}
	if err := w.Projector.Health().Err(); err != nil {
		return err
	}
	return w.appender.Stands()
}
