package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"satchel/jetstream/embedded"
	"satchel/pipeline/lockfile"
	"satchel/pipeline/scope"
	"satchel/worker"
)

// drainLimit is how long stopping may take.
const drainLimit = 30 * time.Second

type upCmd struct{}

type workerCmd struct{}

// Help shows how it is called.
func (workerCmd) Help() string {
	return `Examples:
  NATS_URL=nats://a:4222,nats://b:4222,nats://c:4222 DATABASE_URL=postgres://… satchel worker
  satchel worker --dir /var/lib/satchel-2 --http-addr 127.0.0.1:8223

Any number of workers share the streams and the database. Each needs a data folder of its
own, which it locks, with the same keys/log.key and keys/log.pub: a worker with another key
is refused. They may join, leave and be killed at any time; SIGTERM finishes what is under way
and hands the rest over.`
}

// Run runs a worker until ctx is done.
func (c *workerCmd) Run(ctx context.Context, a *app) error {
	switch {
	case a.NATSURL == "":
		return usagef("workers share a NATS of your own: set NATS_URL")
	case a.DatabaseURL == "":
		return usagef("workers share a database: set DATABASE_URL")
	}
	return (&upCmd{}).Run(ctx, a)
}

// Help shows how it is called.
func (upCmd) Help() string {
	return `Examples:
  satchel up
  satchel up --dir /var/lib/satchel --nats-port 4333
  NATS_URL=nats://nats:4222 satchel up

Ctrl-C drains: requests under way are answered, events under way are committed.`
}

// Run runs a node until ctx is done.
func (c *upCmd) Run(ctx context.Context, a *app) error {
	if err := a.requireFolder(); err != nil {
		return err
	}
	logger := a.logger(a.err)
	for _, what := range a.settingWarnings() {
		logger.Warn(what)
	}
	observed, err := a.openTelemetry(ctx, logger)
	if err != nil {
		return err
	}
	n, err := a.start(ctx, nodeOptions{port: freePort(a.NATSPort), telemetry: observed})
	if err != nil {
		return errors.Join(a.explainStart(err), observed.stop(context.WithoutCancel(ctx)))
	}
	var web *webServer
	stopped := func(err error) error {
		if web != nil {
			err = errors.Join(err, web.stop(context.WithoutCancel(ctx)))
		}
		limit, cancel := context.WithTimeout(context.WithoutCancel(ctx), drainLimit)
		defer cancel()
		err = errors.Join(err, n.stop(limit))
		if lost := observed.stop(limit); lost != nil {
			n.logger.Warn("telemetry was not sent to its end", "error", lost)
		}
		return err
	}
	if web, err = a.serveHTTP(ctx, n, observed.metrics); err != nil {
		return stopped(err)
	}
	n.awaitResumed(ctx)
	unready := n.ready()
	if unready != nil && ctx.Err() == nil {
		n.logger.Warn("not ready", "why", unready)
	}
	url := a.NATSURL
	hide := func() error { return nil }
	if n.server != nil {
		url = n.server.ClientURL()
		if hide, err = a.showAddress(url); err != nil {
			return stopped(err)
		}
	}
	fmt.Fprintf(a.out, "satchel is up: data %s, NATS %s", a.place(), mask(url))
	if web != nil {
		fmt.Fprintf(a.out, ", health http://%s/readyz", web.addr)
	}
	if unready != nil {
		fmt.Fprintln(a.out, " (not ready, see above)")
	} else {
		fmt.Fprintf(a.out, " (ready in %d ms)\n", n.started.Milliseconds())
	}
	select {
	case <-ctx.Done():
		fmt.Fprintln(a.out, "draining…")
	case err = <-n.done:
		n.done <- nil
	}
	if err = stopped(errors.Join(err, hide())); err == nil {
		fmt.Fprintln(a.out, "stopped")
	}
	return err
}

func freePort(port int) int {
	if port <= 0 {
		return embedded.RandomPort
	}
	return port
}

// explainStart says who holds the folder or the port and what to do.
func (a *app) explainStart(err error) error {
	var held *lockfile.HeldError
	if errors.As(err, &held) {
		return usagef("%w; stop it first, or name another folder with --dir", held)
	}
	if !errors.Is(err, embedded.ErrStart) || a.NATSPort <= 0 {
		return err
	}
	listener, taken := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", a.NATSPort))
	if taken != nil {
		return usagef("port %d is in use; choose another with --nats-port", a.NATSPort)
	}
	return errors.Join(err, listener.Close())
}

type webServer struct {
	addr   string
	server *http.Server
	done   chan error
}

func (w *webServer) stop(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	err := w.server.Shutdown(ctx)
	if served := <-w.done; !errors.Is(served, http.ErrServerClosed) {
		err = errors.Join(err, served)
	}
	return err
}

// serveHTTP answers health, readiness, metrics and rebuild on HTTPAddr; nil when there is
// none.
func (a *app) serveHTTP(ctx context.Context, n *node, metrics http.Handler) (*webServer, error) {
	if a.HTTPAddr == "" {
		return nil, nil
	}
	listener, err := net.Listen("tcp", a.HTTPAddr)
	if err != nil {
		return nil, usagef("listen on %s: %v; choose another with --http-addr", a.HTTPAddr, err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		if err := n.ready(); err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
			return
		}
		fmt.Fprintln(w, "ready")
	})
	mux.HandleFunc("GET /status", n.handleStatus)
	if metrics != nil {
		mux.Handle("GET /metrics", metrics)
	}
	mux.HandleFunc("GET /artifacts/{handle}", within(15*time.Minute, n.handleArtifact))
	mux.HandleFunc("POST /rebuild", within(24*time.Hour, n.handleRebuild))
	web := &webServer{addr: listener.Addr().String(), done: make(chan error, 1),
		server: &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 10 * time.Second, WriteTimeout: 30 * time.Second, IdleTimeout: time.Minute}}
	go func() { web.done <- web.server.Serve(listener) }()
	return web, nil
}

// within gives a handler whose answer is long its own limit in place of the server's.
func within(limit time.Duration, handle http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		c, until := http.NewResponseController(w), time.Now().Add(limit)
		// When the time to read ends, the request's context does, too.
		if err := errors.Join(c.SetReadDeadline(until), c.SetWriteDeadline(until)); err != nil {
			http.Error(w, "the connection has no deadlines", http.StatusInternalServerError)
			return
		}
		handle(w, r)
	}
}

// awaitResumed waits until every partition has resumed, one has failed or ctx is done.
func (n *node) awaitResumed(ctx context.Context) {
	begun := time.Now()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for errors.Is(n.ready(), worker.ErrStarting) {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
	n.started += time.Since(begun)
}

func (n *node) ready() error {
	if n.server != nil {
		if err := n.server.Err(); err != nil {
			return err
		}
	}
	if !n.nc.IsConnected() || !n.front.IsConnected() {
		return errors.New("NATS is not connected")
	}
	if err := n.denials.Err(); err != nil {
		return err
	}
	return n.worker.Ready()
}

// rebuildProgress is a line of the answer to POST /rebuild.
type rebuildProgress struct {
	Tenant string `json:"tenant"`
	Done   int64  `json:"done"`
	Total  int64  `json:"total"`
	Digest string `json:"digest,omitempty"` // in the last line
	Error  string `json:"error,omitempty"`
}

// handleRebuild rebuilds a tenant's indexes and streams progress. It wants a header
// that a web page of another origin can't send.
func (n *node) handleRebuild(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("Satchel-Admin") == "" {
		http.Error(w, "the header Satchel-Admin is missing", http.StatusForbidden)
		return
	}
	s, err := scope.System(r.URL.Query().Get("tenant"))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	head, err := n.log.Head(r.Context(), s)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	if head.Size == 0 {
		http.Error(w, "no such tenant", http.StatusNotFound)
		return
	}
	flush := func() {}
	if f, ok := w.(http.Flusher); ok {
		flush = f.Flush
	}
	enc := json.NewEncoder(w)
	send := func(p rebuildProgress) {
		p.Tenant = s.Tenant()
		if enc.Encode(p) == nil {
			flush()
		}
	}
	err = n.worker.Projector.Rebuild(r.Context(), s, func(done, total int64) { send(rebuildProgress{Done: done, Total: total}) })
	if err != nil {
		send(rebuildProgress{Error: err.Error()})
		return
	}
	digest, err := n.digest(r.Context(), s)
	if err != nil {
		send(rebuildProgress{Error: err.Error()})
		return
	}
	send(rebuildProgress{Done: n.worker.Projector.Position(s.Tenant()), Total: n.worker.Projector.Position(s.Tenant()), Digest: digest})
}
