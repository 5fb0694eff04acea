package main

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
	"go.opentelemetry.io/otel/propagation"

	"satchel/jetstream"
	"satchel/jetstream/embedded"
	"satchel/pipeline"
	"satchel/pipeline/isolation/exception"
	"satchel/pipeline/lockfile"
	"satchel/pipeline/pack/template"
	"satchel/pipeline/scope"
	"satchel/pipeline/store/eventlog"
	"satchel/pipeline/token"
	"satchel/policies"
	"satchel/worker"
)

// node is a running Satchel: server, stores, engine, worker and services.
type node struct {
	*stores
	lock       *lockfile.Lock    // of the data folder
	server     *embedded.Server  // nil with an external NATS
	nc         *nats.Conn        // of what the worker reads and writes
	front      *nats.Conn        // of requests and their replies, which do not wait behind the streams
	denials    jetstream.Denials // of both connections
	conn       js.JetStream
	dead       *jetstream.DeadLetters
	engine     *pipeline.Engine
	pdp        policies.PDP // with the governed exceptions
	exceptions *exception.Registry
	worker     *worker.Worker
	desk       *worker.Desk
	logger     *slog.Logger
	services   *jetstream.Service
	policy     *decisionPoint
	crew       *jetstream.Crew // nil: all the work is this process's
	started    time.Duration

	reembed    atomic.Pointer[reembedding] // nil: the configured model serves
	background sync.WaitGroup

	cancel   context.CancelFunc
	draining chan struct{} // closed when stop begins
	done     chan error
}

// nodeOptions steer start.
type nodeOptions struct {
	fixed
	port     int  // of the embedded server
	noListen bool // in-process connections only

	telemetry *telemetry // nil: none
}

// start opens everything and runs it. The caller must stop the node.
func (a *app) start(ctx context.Context, o nodeOptions) (_ *node, err error) {
	defer func() { err = a.noRoom(err) }()
	begun := time.Now()
	logger := a.logger(a.err)
	n := &node{draining: make(chan struct{}), done: make(chan error, 1)}
	if o.telemetry == nil {
		o.telemetry = noTelemetry()
	}
	if err := a.openTransport(ctx, n, o, logger); err != nil {
		return nil, errors.Join(err, n.stop(ctx))
	}
	conn, err := jetstream.Open(ctx, n.nc)
	if err != nil {
		return nil, errors.Join(err, n.stop(ctx))
	}
	n.conn = conn
	if err := jetstream.EnsureStreams(ctx, conn, a.streamConfig(n.nc)); err != nil {
		return nil, errors.Join(fmt.Errorf("open streams: %w", err), n.stop(ctx))
	}
	if a.NATSURL != "" {
		a.warnOfPromises(ctx, conn, logger)
	}
	if n.stores, err = a.openStores(ctx, o.fixed, logger); err != nil {
		return nil, errors.Join(err, n.stop(ctx))
	}
	if err := a.refuseRolledBack(ctx, n.log); err != nil {
		return nil, errors.Join(err, n.stop(ctx))
	}
	if err := a.openWorker(ctx, n, conn, o, logger); err != nil {
		return nil, errors.Join(err, n.stop(ctx))
	}
	n.started = time.Since(begun)
	return n, nil
}

// openTransport locks the data folder and starts the embedded server, or connects to the one
// that is named.
func (a *app) openTransport(ctx context.Context, n *node, o nodeOptions, logger *slog.Logger) (err error) {
	if n.lock, err = a.lockFolder(); err != nil {
		return err
	}
	cfg := a.connection(a.NATSURL, "satchel worker")
	if a.NATSURL == "" {
		own, others := a.roleSubjects()
		server, err := embedded.Start(embedded.Config{Dir: a.path("streams"), Lock: n.lock, Port: o.port, NoListen: o.noListen, MaxStore: int64(a.StreamMB+a.ArtifactMB+bucketsMB) << 20,
			Own: own, Others: others, Log: logger})
		if err != nil {
			return fmt.Errorf("start the embedded NATS server: %w", err)
		}
		n.server, cfg.InProcess, cfg.ReconnectIn = server, server.InProcess(), 50*time.Millisecond
	}
	cfg.Denials = &n.denials
	if n.nc, err = jetstream.Connect(ctx, cfg, logger); err == nil {
		cfg.Name = "satchel service"
		n.front, err = jetstream.Connect(ctx, cfg, logger)
	}
	if err != nil {
		if err = explainNATS(a.NATSURL, err); errors.Is(err, errNobody) {
			return fmt.Errorf("NATS at %s: %w", mask(a.NATSURL), errAbsent)
		}
		return err
	}
	return nil
}

// guard says when the embedded server takes nothing; nil without one.
func (n *node) guard() jetstream.Guard {
	if n.server == nil {
		return nil
	}
	return n.server.Guard
}

// openWorker wires engine, worker and services, and runs them.
func (a *app) openWorker(ctx context.Context, n *node, conn js.JetStream, o nodeOptions, logger *slog.Logger) error {
	pdp, registry, err := a.openPolicy(ctx, logger)
	if err != nil {
		return err
	}
	if registry == nil && a.NATSURL != "" {
		logger.Warn("no principal registry, and a NATS server that others reach: everybody counts as public and finds what is public; name one with SATCHEL_PRINCIPALS")
	}
	n.policy = pdp
	writer, err := a.openWriter()
	if err != nil {
		return err
	}
	gate, err := a.openGate(logger)
	if err != nil {
		return err
	}
	if n.exceptions, err = exception.New(exception.Config{Log: n.log, PDP: pdp.PDP, Principals: registry, Clock: o.clock, IDs: o.newID, Logger: logger}); err != nil {
		return err
	}
	n.pdp = exception.NewGuard(pdp.PDP, pdp.standby, n.exceptions)
	cfg := worker.Config{Log: n.log, Stores: n.projections(), Embedder: n.embedder.now.Load(), Writer: writer, PDP: n.pdp, Exceptions: n.exceptions, Registry: registry,
		Loopback: a.NATSURL == "", Scrubbers: n.scrub, Clock: o.clock, Logger: logger,
		Outbox: jetstream.NewOutbox(n.nc, conn).Guarded(n.guard())}
	if cfg.Counter, err = n.tokens.Counter(""); err != nil {
		return fmt.Errorf("open tokenizer: %w", err)
	}
	var log eventlog.Appender = n.log
	if cfg.Failpoint = failpoint(os.Getenv("SATCHEL_FAILPOINT")); cfg.Failpoint != nil {
		log = failingLog{n.log, cfg.Failpoint}
	}
	if cfg.Crew, err = a.joinCrew(ctx, n, logger); err != nil {
		return err
	}
	projector := worker.NewProjector(cfg)
	cfg.Projector = projector
	engine := pipeline.Config{Compaction: a.Compaction, Log: log, Items: n.items, Keyword: n.keyword, Vector: n.vector, Graph: n.graph,
		PDP: n.pdp, Embedder: n.embedder, Tokens: n.counter, Relevance: gate, Templates: &template.Store{Dir: a.path("templates")}, Indexed: projector, Prover: n.log, Leaves: n.log, Retrieval: a.retrieval(),
		Clock: o.clock, IDs: o.newID, Logger: logger, Tracer: o.telemetry.tracer(), Meter: o.telemetry.meter()}
	if err := a.RerankSettings.apply(&engine); err != nil {
		return err
	}
	if err := a.openIsolation(&engine, o); err != nil {
		return err
	}
	artifacts := jetstream.NewArtifacts(conn).Guarded(n.guard())
	cfg.Artifacts, cfg.Uploads = artifacts, artifacts
	notes, err := a.rank(&engine)
	if err != nil {
		return err
	}
	if err := a.PackSettings.apply(&engine); err != nil {
		return err
	}
	if err := errors.Join(n.embedder.measure(o.telemetry.meter()), pdp.measure(o.telemetry.meter())); err != nil {
		return fmt.Errorf("register metrics: %w", err)
	}
	for _, note := range notes {
		logger.Info("ranking weights", "rescaled", note)
	}
	if n.engine, err = pipeline.New(engine); err != nil {
		return err
	}
	cfg.Engine = n.engine
	projector.Teach(n.engine.Learn)
	cfg.Scrubbers = append(cfg.Scrubbers, worker.Scrubber{Store: "engine", Scrub: func(context.Context, scope.Scope) error {
		n.engine.Forget()
		return nil
	}})
	if err := n.openFlows(ctx, conn, &cfg); err != nil {
		return err
	}
	if n.worker, err = worker.New(cfg); err != nil {
		return err
	}
	n.logger = logger
	if n.desk, err = a.openDesk(n, &engine, cfg.Artifacts, o); err != nil {
		return err
	}
	crew, played, err := a.openCrew(n, o, logger)
	if err != nil {
		return err
	}
	n.services, err = jetstream.Serve(ctx, n.front, conn, jetstream.ServiceConfig{Workers: a.Pool, Streams: a.streamConfig(n.nc), Log: logger,
		Extract: func(ctx context.Context, carrier jetstream.HeaderCarrier) context.Context {
			return propagation.TraceContext{}.Extract(ctx, carrier)
		}}, slices.Concat(endpoints(n.worker.Service, n.desk, n.engine, gate, n.draining), []jetstream.Endpoint{n.storeEndpoint()}, roleEndpoints(n.worker.Service, crew, played)))
	if err != nil {
		return fmt.Errorf("serve requests: %w", err)
	}
	if err := n.measure(o.telemetry.meter()); err != nil {
		return fmt.Errorf("register metrics: %w", err)
	}
	run, cancel := context.WithCancel(context.WithoutCancel(ctx))
	n.cancel = cancel
	a.reembed(run, n, logger)
	go func() { n.done <- n.work(run) }()
	return nil
}

// openFlows opens what the worker reads from and writes to on NATS.
func (n *node) openFlows(ctx context.Context, conn js.JetStream, cfg *worker.Config) (err error) {
	for partition := range jetstream.Partitions {
		inbox, err := jetstream.OpenInbox(ctx, n.nc, conn, jetstream.InboxConfig{Partition: partition})
		if err != nil {
			return err
		}
		cfg.Inboxes = append(cfg.Inboxes, inbox)
	}
	if cfg.Ledger, err = jetstream.OpenLedger(ctx, n.nc, conn, jetstream.LedgerConfig{Remove: true, Log: cfg.Logger}); err != nil {
		return err
	}
	if n.dead, err = jetstream.OpenDeadLetters(ctx, conn); err != nil {
		return err
	}
	cfg.Partition = jetstream.PartitionOf
	cfg.DeadLetters = n.dead
	cfg.Streams = jetstream.NewScrubber(conn, func(ctx context.Context, epoch string) (map[string]uint64, error) {
		return n.worker.Committed(ctx, epoch)
	})
	return nil
}

// joinCrew shares the work with the other processes over the same NATS and database; nil
// when there can be none.
func (a *app) joinCrew(ctx context.Context, n *node, logger *slog.Logger) (worker.Crew, error) {
	if a.NATSURL == "" || a.DatabaseURL == "" {
		return nil, nil
	}
	crew, err := jetstream.JoinCrew(ctx, n.nc, jetstream.CrewConfig{Log: logger})
	if err != nil {
		return nil, err
	}
	n.crew = crew
	return crew, nil
}

// work runs the worker and then leaves the crew, so that the others take over when
// everything that was under way here is done.
func (n *node) work(ctx context.Context) error {
	if n.crew == nil {
		return n.worker.Run(ctx)
	}
	present, leave := context.WithCancel(context.WithoutCancel(ctx))
	left := make(chan error, 1)
	go func() { left <- n.crew.Run(present, n.log.WatchOwn(present), n.log.Grown) }()
	err := n.worker.Run(ctx)
	leave()
	return errors.Join(err, <-left)
}

// counter returns the counter of a model's tokenizer.
func (s *stores) counter(model string) token.Counter {
	c, err := s.tokens.Counter(model)
	if err != nil {
		return token.Estimate{}
	}
	return c
}

// endpoints are the subjects the service answers.
func endpoints(v *worker.Service, d *worker.Desk, e *pipeline.Engine, g *gate, draining <-chan struct{}) []jetstream.Endpoint {
	answers := doors(v, e)
	type handler = func(ctx context.Context, tenant string, body []byte) (any, error)
	list := []struct {
		name, subject string
		handle        handler
		workers       int // a pool of its own for calls that wait for others
	}{
		{"request", "ctx.v1.*.request", v.Request, 0},
		{"search", "ctx.v1.*.search", answers["search"], 0},
		{"build", "ctx.v1.*.build", answers["build"], 0},
		{"preview", "ctx.v1.*.preview", answers["preview"], 0},
		{"assemble", "ctx.v1.*.assemble", answers["assemble"], 0},
		{"premortem", "ctx.v1.*.premortem", answers["premortem"], 0},
		{"template", "ctx.v1.*.template", answers["template"], 0},
		{"relevance", "ctx.v1.*.relevance", g.answer, 0},
		{"explain", "ctx.v1.*.explain", v.Explain, 0},
		{"compact", "ctx.v1.*.compact", answers["compact"], 0},
		{"recover", "ctx.v1.*.recover", answers["recover"], 0},
		{"exception", "ctx.v1.*.exception", v.Exception, 0},
		{"put", "mem.v1.*.put", v.Put, 64},
		{"head", "log.v1.*.head", v.Head, 0},
		{"prove", "log.v1.*.prove", v.Prove, 0},
		{"receipt", "log.v1.*.receipt", v.Receipt, 64},
		{"pack", "log.v1.*.pack", v.Pack, 0},
		{"open", "art.v1.*.open", d.Open, 0},
		{"revoke", "art.v1.*.revoke", d.Revoke, 0},
	}
	var all []jetstream.Endpoint
	for _, e := range list {
		all = append(all, jetstream.Endpoint{Name: e.name, Subject: e.subject,
			Workers: e.workers,
			Handler: func(ctx context.Context, c jetstream.Call) (jetstream.Reply, error) {
				if e.workers > 0 {
					var done context.CancelFunc
					ctx, done = untilDrained(ctx, draining)
					defer done()
				}
				out, err := e.handle(ctx, c.Tenant, c.Data)
				if err != nil {
					return jetstream.Reply{}, err
				}
				if raw, ok := out.(json.RawMessage); ok {
					return jetstream.Reply{Data: raw}, nil
				}
				body, err := json.Marshal(out)
				return jetstream.Reply{Data: body}, err
			}})
	}
	return all
}

// drainGrace is how long a call that waits for others may go on when the node stops.
// bucketsMB is what the embedded server needs beside the streams and the artifacts.
const bucketsMB = 64

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

// stop drains: no new requests, what is under way is finished, everything is closed.
func (n *node) stop(ctx context.Context) error {
	var errs []error
	close(n.draining)
	if n.services != nil {
		errs = append(errs, n.services.Stop(ctx))
	}
	if n.cancel != nil {
		n.cancel()
		errs = append(errs, <-n.done)
		n.background.Wait()
	}
	if n.policy != nil {
		n.policy.stop()
	}
	for _, nc := range []*nats.Conn{n.front, n.nc} {
		if nc != nil {
			errs = append(errs, jetstream.Drain(ctx, nc))
		}
	}
	if n.stores != nil {
		errs = append(errs, n.stores.close())
	}
	if n.server != nil {
		errs = append(errs, n.server.Stop())
	}
	if n.lock != nil {
		errs = append(errs, n.lock.Release())
	}
	return errors.Join(errs...)
}
