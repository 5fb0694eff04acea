package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	js "github.com/nats-io/nats.go/jetstream"
	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/propagation"

	"satchel/cmd/internal/config"
	"satchel/jetstream"
	"satchel/jetstream/embedded"
	"satchel/pipeline"
	"satchel/pipeline/infra/files"
	"satchel/pipeline/meter"
	"satchel/pipeline/meter/alert"
	"satchel/pipeline/op"
	"satchel/pipeline/pack/template"
	"satchel/pipeline/scope"
	"satchel/pipeline/store/eventlog"
	"satchel/pipeline/token"
	"satchel/policies"
	"satchel/policies/exception"
	"satchel/schemas"
	"satchel/worker"
	"satchel/worker/erasure"
	"satchel/worker/projection"
	"satchel/worker/service"
	"satchel/worker/transport"
)

// Node is a running Satchel: server, stores, engine, worker and services.
type Node struct {
	*Stores
	lock       *files.Lock                // of the data folder
	Server     *embedded.Server           // nil with an external NATS
	NC         *nats.Conn                 // of what the worker reads and writes
	front      *nats.Conn                 // of requests and their replies, which do not wait behind the streams
	denials    jetstream.PermissionErrors // of both connections
	JetStream  js.JetStream
	Dead       *jetstream.DeadLetters
	replies    *jetstream.Replies
	Engine     *op.Operations
	PDP        policies.PDP // with the governed exceptions
	exceptions *exception.Registry
	Worker     *worker.Worker
	artifacts  *service.Artifacts
	logger     *slog.Logger
	services   *jetstream.Service
	policy     *DecisionPoint
	meters     *meter.Set
	monitor    *alert.Monitor
	registry   *policies.Registry    // nil: none
	retention  *erasure.Retention    // nil: none
	membership *jetstream.Membership // nil: all the work is this process's
	started    time.Duration
	limited    limited

	reembed    atomic.Pointer[reembedding] // nil: the configured model serves
	background sync.WaitGroup

	cancel   context.CancelFunc
	Draining chan struct{} // closed when stop begins
	Done     chan error
}

// NodeOptions steer start.
type NodeOptions struct {
	Fixed
	Port     int             // of the embedded server
	NoListen bool            // in-process connections only
	removed  []*damagedError // indexes that were damaged and are gone

	telemetry *telemetry // nil: none
}

// Start opens everything and runs it. The caller must stop the node.
func (a *App) Start(ctx context.Context, o NodeOptions) (_ *Node, err error) {
	defer func() { err = a.noRoom(err) }()
	begun := time.Now()
	logger := a.Logger(a.Err)
	n := &Node{Draining: make(chan struct{}), Done: make(chan error, 1), logger: logger}
	if o.telemetry == nil {
		if o.telemetry, err = a.noTelemetry(); err != nil {
			return nil, err
		}
	}
	if n.registry, err = a.OpenRegistry(); err != nil {
		return nil, err
	}
	if n.retention, err = a.OpenRetention(); err != nil {
		return nil, err
	}
	if err := a.OpenTransport(ctx, n, o, logger); err != nil {
		return nil, errors.Join(err, n.Stop(ctx))
	}
	if n.JetStream, err = jetstream.Open(ctx, n.NC); err != nil {
		return nil, errors.Join(err, n.Stop(ctx))
	}
	if err := jetstream.EnsureStreams(ctx, n.JetStream, a.StreamConfig(n.NC)); err != nil {
		return nil, errors.Join(fmt.Errorf("open streams: %w", err), n.Stop(ctx))
	}
	if a.NATSURL != "" {
		a.warnOfPromises(ctx, n.JetStream, logger)
	}
	if n.Stores, err = a.OpenStores(ctx, o.Fixed, logger); err != nil {
		return nil, errors.Join(err, n.Stop(ctx))
	}
	for _, one := range o.removed {
		n.damages.add(one.index, "", one.cause, false)
	}
	if err := a.refuseRolledBack(ctx, n.Log); err != nil {
		return nil, errors.Join(err, n.Stop(ctx))
	}
	if err := a.eraseAgain(ctx, n.Stores, o.Clock, logger); err != nil {
		return nil, errors.Join(err, n.Stop(ctx))
	}
	if err := a.openWorker(ctx, n, o); err != nil {
		return nil, errors.Join(err, n.Stop(ctx))
	}
	n.started = time.Since(begun)
	return n, nil
}

// OpenTransport locks the data folder and starts the embedded server, or connects to the one
// that is named.
func (a *App) OpenTransport(ctx context.Context, n *Node, o NodeOptions, logger *slog.Logger) (err error) {
	if n.lock, err = a.LockFolder(); err != nil {
		return err
	}
	cfg := a.Connection(a.NATSURL, "satchel worker")
	if a.NATSURL == "" {
		own, others := a.roleSubjects()
		server, err := embedded.Start(embedded.Config{Dir: a.Path("streams"), Lock: n.lock, Port: o.Port, NoListen: o.NoListen, MaxStore: int64(a.StreamMB+a.ArtifactMB+bucketsMB) << 20,
			Own: own, Others: others, Principals: embeddedPrincipals(n.registry, others), Connections: a.Connections, Subscriptions: a.Subscriptions, Log: logger})
		if err != nil {
			return fmt.Errorf("start the embedded NATS server: %w", err)
		}
		n.Server, cfg.InProcess, cfg.ReconnectIn = server, server.InProcess(), 50*time.Millisecond
	}
	cfg.PermissionErrors = &n.denials
	if n.NC, err = jetstream.Connect(ctx, cfg, logger); err == nil {
		cfg.Name = "satchel service"
		n.front, err = jetstream.Connect(ctx, cfg, logger)
	}
	if err != nil {
		if err = ExplainNATS(a.NATSURL, err); errors.Is(err, ErrNobody) {
			return fmt.Errorf("NATS at %s: %w", config.Mask(a.NATSURL), ErrAbsent)
		}
		return err
	}
	return nil
}

// guard says when the embedded server takes nothing; nil without one.
func (n *Node) guard() jetstream.Guard {
	if n.Server == nil {
		return nil
	}
	return n.Server.Guard
}

// openWorker makes policy, engine, worker and services, each of what was made before it, and runs them.
func (a *App) openWorker(ctx context.Context, n *Node, o NodeOptions) error {
	n.meters = o.telemetry.meters
	if err := a.openDecision(ctx, n, o); err != nil {
		return err
	}
	gate, err := a.OpenGate(n.logger)
	if err != nil {
		return err
	}
	cfg, err := a.workerConfig(ctx, n, o)
	if err != nil {
		return err
	}
	engine, err := a.engineConfig(n, &cfg, gate, o)
	if err != nil {
		return err
	}
	engine.Background = n.runInBackground(ctx)
	if n.Engine, err = op.New(engine); err != nil {
		return err
	}
	cfg.Engine = n.Engine
	cfg.Projector.OnIndexed(n.Engine.Warm)
	cfg.Scrubbers = append(cfg.Scrubbers, erasure.Scrubber{Store: "engine", Scrub: func(context.Context, scope.Scope) error {
		n.Engine.InvalidateCaches()
		return nil
	}})
	n.replies = jetstream.NewReplies(n.JetStream, a.StreamConfig(n.NC))
	if err := n.openFlows(ctx, &cfg); err != nil {
		return err
	}
	if n.Worker, err = worker.New(cfg); err != nil {
		return err
	}
	if n.artifacts, err = a.openArtifacts(n, &engine.Config, cfg.Artifacts, o); err != nil {
		return err
	}
	if err := a.serve(ctx, n, gate, o); err != nil {
		return err
	}
	n.Embedder.measure(n.meters)
	n.policy.measure(n.meters)
	a.measure(n, n.meters)
	if n.monitor, err = alert.NewMonitor(n.meters, time.Now()); err != nil {
		return fmt.Errorf("read metrics: %w", err)
	}
	a.runBeside(ctx, n, cfg.Projector)
	return nil
}

// openDecision opens the policy and the governed exceptions from it.
func (a *App) openDecision(ctx context.Context, n *Node, o NodeOptions) (err error) {
	if n.policy, err = a.OpenPolicy(ctx, n.logger); err != nil {
		return err
	}
	if n.registry == nil && a.NATSURL != "" {
		n.logger.Warn("no principal registry, and a NATS server that others reach: everybody counts as public and finds what is public; name one with SATCHEL_PRINCIPALS")
	}
	n.exceptions, err = exception.New(exception.Config{Log: countedLog{n.Log, n.Log, n.meters}, PDP: n.policy.PDP, Principals: n.registry, Denies: n.policy.denies(), Clock: o.Clock, IDs: o.NewID, Logger: n.logger})
	if err != nil {
		return err
	}
	n.PDP = exception.NewGuard(n.policy.PDP, n.exceptions)
	return nil
}

// workerConfig is what the worker is made of, but for the engine and what it reads from and writes to on NATS.
func (a *App) workerConfig(ctx context.Context, n *Node, o NodeOptions) (worker.Config, error) {
	artifacts := jetstream.NewArtifacts(n.JetStream).Guarded(n.guard())
	cfg := worker.Config{Log: n.Log, Stores: n.projections(), Embedder: n.Embedder.now.Load(), Sanitizer: n.public, PDP: n.PDP, Exceptions: n.exceptions, Registry: n.registry,
		Retention: n.retention, Holds: worker.NewHolds(n.Log, n.policy.PDP, o.Clock, o.NewID),
		Loopback: a.NATSURL == "", Scrubbers: n.scrub, Clock: o.Clock, Logger: n.logger, Meter: n.meters, Tracer: meter.Tracer{Tracer: o.telemetry.tracer(), Content: a.TraceContent},
		MaxTenants: a.MaxTenants, Evict: n.evict, TenantIdle: time.Duration(a.TenantIdle) * time.Second,
		Quota:     service.Quota{Events: a.EventRate, Bytes: a.ByteRate << 20},
		Artifacts: artifacts, Uploads: artifacts, Outbox: jetstream.NewOutbox(n.NC, n.JetStream).Guarded(n.guard()),
		Failpoint: failpoint(os.Getenv("SATCHEL_FAILPOINT"))}
	var err error
	if cfg.Writer, err = a.openWriter(); err != nil {
		return cfg, err
	}
	if cfg.Counter, err = n.tokens.Counter(""); err != nil {
		return cfg, fmt.Errorf("open tokenizer: %w", err)
	}
	if cfg.Membership, err = a.join(ctx, n, n.logger); err != nil {
		return cfg, err
	}
	if cfg.Witnesses, err = a.openWitnesses(n, o); err != nil {
		return cfg, err
	}
	cfg.Projector = worker.NewProjector(cfg)
	return cfg, nil
}

// engineConfig is what the engine is made of; it shares stores and projector with the worker.
func (a *App) engineConfig(n *Node, w *worker.Config, gate *gate, o NodeOptions) (op.Config, error) {
	var log eventlog.Appender = eventlog.Answers{Log: n.Log}
	if w.Failpoint != nil {
		log = failingLog{log, w.Failpoint}
	}
	zone, err := a.Zone()
	if err != nil {
		return op.Config{}, err
	}
	cfg := op.Config{Config: pipeline.Config{
		Stores:  pipeline.Stores{Log: log, Items: n.Items, Keyword: n.Keyword, Private: n.Private, Vector: n.Vector, Graph: n.Graph, Indexed: w.Projector},
		Policy:  pipeline.Policy{PDP: n.PDP, Registry: n.registry},
		Models:  pipeline.Models{Embedder: n.Embedder, Tokens: n.Counter},
		Ranking: pipeline.Ranking{Defend: a.Defend()},
		Proofs:  pipeline.Proofs{Prover: n.Log, Leaves: n.Log},
		Bounds:  pipeline.Bounds{Retrieval: a.retrieval()},
		Process: pipeline.Process{Zone: zone, Clock: o.Clock, IDs: o.NewID, Logger: n.logger, Tracer: o.telemetry.tracer(), TraceContent: a.TraceContent, Meter: n.meters},
	}}
	cfg.Mode, cfg.Relevance, cfg.Templates = a.Compaction, gate, &template.Store{Dir: a.Path("templates")}
	n.Encode(&cfg.Config)
	if err := a.applyRerank(&cfg.Config); err != nil {
		return cfg, err
	}
	if err := a.openIsolation(n, &cfg.Config, o); err != nil {
		return cfg, err
	}
	notes, err := a.rank(&cfg)
	if err != nil {
		return cfg, err
	}
	for _, note := range notes {
		n.logger.Info("ranking weights", "rescaled", note)
	}
	return cfg, a.applyPack(&cfg)
}

// serve answers requests.
func (a *App) serve(ctx context.Context, n *Node, gate *gate, o NodeOptions) error {
	runner, played, err := a.openRoles(n, o, n.logger)
	if err != nil {
		return err
	}
	cost := meter.ByTenant(n.meters, func(m *meter.Set) prometheus.Counter { return m.Counter(schemas.MetricCost) })
	all := slices.Concat(endpoints(n.Worker.Service, n.artifacts, n.Engine, gate, n.Draining), []jetstream.Endpoint{n.storeEndpoint()}, roleEndpoints(n.Worker.Service, runner, played, cost))
	n.services, err = jetstream.Serve(ctx, n.front, n.JetStream, jetstream.ServiceConfig{Version: serviceVersion(), Description: "Governed memory and context for agents",
		Workers: a.Pool, Identified: n.registry != nil, Vouched: n.registry != nil && n.Server != nil, Share: a.Share, Replies: n.replies, Log: n.logger, Answered: countRequests(n.meters, &n.limited),
		Extract: func(ctx context.Context, carrier jetstream.HeaderCarrier) context.Context {
			return propagation.TraceContext{}.Extract(ctx, carrier)
		}}, withCallers(all))
	if err != nil {
		return fmt.Errorf("serve requests: %w", err)
	}
	return nil
}

// runInBackground returns how work is run that no request waits for. It ends soon after the node
// begins to drain.
func (n *Node) runInBackground(ctx context.Context) func(work func(context.Context)) {
	return func(work func(context.Context)) {
		n.background.Go(func() {
			working, done := untilDrained(context.WithoutCancel(ctx), n.Draining)
			defer done()
			work(working)
		})
	}
}

// runBeside runs what works beside the requests.
func (a *App) runBeside(ctx context.Context, n *Node, projector *projection.Projector) {
	run, cancel := context.WithCancel(context.WithoutCancel(ctx))
	n.cancel = cancel
	a.reembed(run, n, n.logger)
	n.encode(run)
	n.background.Go(func() { giveBack(run) })
	n.background.Go(func() { n.damages.mend(run, projector, n.Log.Tenants) })
	n.background.Go(func() { n.examine(run) })
	n.background.Go(func() { n.watch(run) })
	go func() { n.Done <- n.work(run) }()
}

// examine looks for damage in the files of the indexes. What it finds goes where damage that
// shows otherwise goes.
func (n *Node) examine(ctx context.Context) {
	for _, check := range n.checks {
		if err := check(ctx); err != nil && ctx.Err() == nil {
			n.logger.Warn("examine index", "error", err)
		}
	}
}

// openFlows opens what the worker reads from and writes to on NATS.
func (n *Node) openFlows(ctx context.Context, cfg *worker.Config) (err error) {
	for partition := range jetstream.Partitions {
		inbox, err := jetstream.OpenInbox(ctx, n.NC, n.JetStream, jetstream.InboxConfig{Partition: partition})
		if err != nil {
			return err
		}
		cfg.Inboxes = append(cfg.Inboxes, inbox)
	}
	if cfg.Ledger, err = jetstream.OpenLedger(ctx, n.NC, n.JetStream, jetstream.LedgerConfig{Remove: true, Log: cfg.Logger, Found: func(count int) { n.meters.Counter(schemas.MetricLedgerForeign).Add(float64(count)) }}); err != nil {
		return err
	}
	if n.Dead, err = jetstream.OpenDeadLetters(ctx, n.JetStream); err != nil {
		return err
	}
	cfg.Partition = jetstream.PartitionOf
	cfg.DeadLetters = n.Dead
	scrubber := jetstream.NewScrubber(n.JetStream, func(ctx context.Context, epoch string) (map[string]uint64, error) {
		return n.Worker.Committed(ctx, epoch)
	})
	scrubber.Replies = n.replies
	scrubber.Still = func() []string { return n.Worker.Still() }
	cfg.Streams = scrubber
	return nil
}

// join shares the work with the other processes over the same NATS and database; nil
// when there can be none.
func (a *App) join(ctx context.Context, n *Node, logger *slog.Logger) (transport.Membership, error) {
	if a.NATSURL == "" || !a.drivers().log.shared {
		return nil, nil
	}
	m, err := jetstream.Join(ctx, n.NC, jetstream.MembershipConfig{Log: logger})
	if err != nil {
		return nil, err
	}
	n.membership = m
	return m, nil
}

// work runs the worker and then leaves the other workers, so that the others take over when
// everything that was under way here is done.
func (n *Node) work(ctx context.Context) error {
	if n.membership == nil {
		return n.Worker.Run(ctx)
	}
	present, leave := context.WithCancel(context.WithoutCancel(ctx))
	left := make(chan error, 1)
	go func() { left <- n.membership.Run(present, n.Log.WatchOwn(present), n.Log.NotifyGrowth) }()
	err := n.Worker.Run(ctx)
	leave()
	return errors.Join(err, <-left)
}

// Counter returns the counter of a model's tokenizer.
func (s *Stores) Counter(model string) token.Counter {
	c, err := s.tokens.Counter(model)
	if err != nil {
		return token.Estimate{}
	}
	return c
}

// endpoints are the subjects the service answers.
func endpoints(v *service.Service, d *service.Artifacts, e *op.Operations, g *gate, draining <-chan struct{}) []jetstream.Endpoint {
	answers := operations(v, e)
	type handler = func(ctx context.Context, tenant string, body []byte) (any, error)
	list := []struct {
		name, subject string
		handle        handler
		workers       int // a pool of its own, and how many requests wait for it; 0: the common one
		queue         int
	}{
		{"request", "ctx.v1.*.request", v.Request, 0, 0},
		{"search", "ctx.v1.*.search", answers["search"], 0, 0},
		{"build", "ctx.v1.*.build", answers["build"], 0, 0},
		{"preview", "ctx.v1.*.preview", answers["preview"], 0, 0},
		{"assemble", "ctx.v1.*.assemble", answers["assemble"], 0, 0},
		{"premortem", "ctx.v1.*.premortem", answers["premortem"], 0, 0},
		{"template", "ctx.v1.*.template", answers["template"], 0, 0},
		{"relevance", "ctx.v1.*.relevance", g.answer, 0, 0},
		{"explain", "ctx.v1.*.explain", v.Explain, 0, 0},
		{"compact", "ctx.v1.*.compact", answers["compact"], 0, 0},
		{"recover", "ctx.v1.*.recover", answers["recover"], 0, 0},
		{"items", "ctx.v1.*.items", answers["items"], 0, 0},
		{"status", "ctx.v1.*.status", answers["status"], 0, 0},
		{"exception", "ctx.v1.*.exception", v.Exception, 0, 0},
		{"hold", "ctx.v1.*.hold", v.Hold, 0, 0},
		{"put", "mem.v1.*.put", v.Put, 64, 4096},
		{"plan", "mem.v1.*.plan", v.Plan, 0, 0},
		{"head", "log.v1.*.head", v.Head, 0, 0},
		{"prove", "log.v1.*.prove", v.Prove, 0, 0},
		{"receipt", "log.v1.*.receipt", v.Receipt, 8, 4096},
		{"pack", "log.v1.*.pack", v.Pack, 0, 0},
		{"entries", "log.v1.*.entries", v.Entries, 0, 0},
		{"open", "art.v1.*.open", d.Open, 0, 0},
		{"revoke", "art.v1.*.revoke", d.Revoke, 0, 0},
	}
	var all []jetstream.Endpoint
	for _, e := range list {
		all = append(all, jetstream.Endpoint{Name: e.name, Subject: e.subject, Workers: e.workers, Queue: e.queue,
			Handler: func(ctx context.Context, c jetstream.Call) (jetstream.Reply, error) {
				out, err := e.handle(ctx, c.Tenant, c.Data)
				if wait, ok := out.(service.Wait); ok && err == nil {
					return jetstream.Reply{Later: func(ctx context.Context) (jetstream.Reply, error) {
						ctx, done := untilDrained(ctx, draining)
						defer done()
						return replyOf(wait(ctx))
					}}, nil
				}
				return replyOf(out, err)
			}})
	}
	return all
}

// replyOf is what a handler answers, as JSON.
func replyOf(out any, err error) (jetstream.Reply, error) {
	if err != nil {
		return jetstream.Reply{}, err
	}
	if raw, ok := out.(json.RawMessage); ok {
		return jetstream.Reply{Data: raw}, nil
	}
	body, err := json.Marshal(out)
	return jetstream.Reply{Data: body}, err
}

// withCallers has every endpoint know the principal that NATS vouches for, and the one that pays.
func withCallers(list []jetstream.Endpoint) []jetstream.Endpoint {
	for i := range list {
		handle := list[i].Handler
		list[i].Handler = func(ctx context.Context, c jetstream.Call) (jetstream.Reply, error) {
			known := func(ctx context.Context) context.Context {
				return service.WithPayer(service.WithCaller(ctx, c.Principal), c.Payer)
			}
			reply, err := handle(known(ctx), c)
			if later := reply.Later; later != nil {
				reply.Later = func(ctx context.Context) (jetstream.Reply, error) { return later(known(ctx)) }
			}
			return reply, err
		}
	}
	return list
}

// bucketsMB is what the embedded server needs beside the streams and the artifacts.
const bucketsMB = 64

// drainGrace is how long a call that waits for others may go on when the node stops.
const drainGrace = 2 * time.Second

// untilDrained returns a context that ends drainGrace after draining is closed. The
// caller must call done.
func untilDrained(ctx context.Context, draining <-chan struct{}) (_ context.Context, done context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		select {
		case <-ctx.Done():
			return
		case <-draining:
		}
		select {
		case <-ctx.Done():
		case <-time.After(drainGrace):
			cancel()
		}
	}()
	return ctx, cancel
}

// Stop drains: no new requests, what is under way is finished, everything is closed.
func (n *Node) Stop(ctx context.Context) error {
	var errs []error
	close(n.Draining)
	if n.NC != nil && jetstream.Ping(ctx, n.NC, pingLimit) != nil {
		n.logger.Warn("NATS is away: nothing is drained, what was not acknowledged is sent again at the next start")
		if n.cancel != nil {
			n.cancel() // before what follows the connections finds them closed
		}
		for _, nc := range []*nats.Conn{n.front, n.NC} {
			if nc != nil {
				nc.Close()
			}
		}
	}
	if n.services != nil {
		errs = append(errs, n.services.Stop(ctx))
	}
	if n.cancel != nil {
		n.cancel()
		errs = append(errs, <-n.Done)
		n.background.Wait()
	}
	if n.policy != nil {
		n.policy.Stop()
	}
	for _, nc := range []*nats.Conn{n.front, n.NC} {
		if nc != nil {
			errs = append(errs, jetstream.Drain(ctx, nc))
		}
	}
	if n.Stores != nil {
		errs = append(errs, n.Stores.Close())
	}
	if n.Server != nil {
		errs = append(errs, n.Server.Stop())
	}
	if n.lock != nil {
		errs = append(errs, n.lock.Release())
	}
	return errors.Join(errs...)
}
