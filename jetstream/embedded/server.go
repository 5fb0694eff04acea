// Package embedded runs a nats-server with JetStream inside the process. It owns one
// folder, which it locks, and promises that a message is on the disk before it is
// acknowledged (SyncAlways). Only cmd and tests may import it: an agent's binary must not
// carry a server.
//
// # Who may do what
//
// The process itself, and processes that can read its folder, are operators: in the account
// that has JetStream they may do everything. Clients are in accounts that have none. Nothing
// but the links of [accountLinks] crosses between an account and Satchel's.
//
// With Config.Principals only those may connect, each with its key, and each has an account
// of its own. There it publishes memories of its tenants under its own agent token, asks
// (mem.v1.<tenant>.put, ctx.v1, log.v1, art.v1 and Config.Own; the service gets the request
// with the principal's id in the subject, see jetstream.IdentifiedPrefix), finds the services
// ($SRV.>), hears and follows its part of the ledger, and fetches large replies whose names it
// knows. Inboxes, consumers and acknowledgements of one account are out of reach for
// the others.
//
// Without Config.Principals every connection without a key joins one account. It may do the
// same for every tenant. Clients that share the account can hear each other's inboxes
// (_INBOX.>), and answer each other's requests that Satchel does not serve.
//
// An account has so many connections, and each connection so many subscriptions; the server
// closes a connection beyond the first, and refuses what goes beyond the second.
//
// The server answers a request with its own rights and checks no permission on the reply
// subject, so a client that could name a subject of Satchel's account there could have any
// stream deleted by an answer. Across accounts the reply subject is always one of the
// client's account. JetStream follows the body of a request, so the proxy of [Server] makes
// each body anew.
package embedded

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"

	"satchel/pipeline/infra/files"
)

// RandomPort makes Start choose a free port.
const RandomPort = -1

// ErrStart is wrapped by Start when the server itself refused to start: a port in
// use, a damaged store.
var ErrStart = errors.New("nats-server did not start")

// Config describes an embedded server. Only Dir is required.
type Config struct {
	Dir           string        // data folder, made when missing; locked while the server runs
	Lock          *files.Lock   // of Dir, when the caller holds it; default: Start takes it and Stop gives it back
	Name          string        // server name, default "satchel"
	Host          string        // listen address, default "127.0.0.1"
	Port          int           // listen port, default 4222; RandomPort for a free one
	NoListen      bool          // in-process connections only
	MaxStore      int64         // bytes all streams may reserve on disk, default 16 GiB
	MaxMemory     int64         // bytes of memory streams, default 256 MiB
	MaxPayload    int32         // bytes of a message, default 1 MiB
	Consumers     int           // consumers of the ledger, and of large replies, beyond which clients make no more, half of which are for those that do not stay, and a quarter of which one principal may have; default 2,000
	Connections   int           // of a principal; default 64. All clients without a key have eight times as many
	Subscriptions int           // of a connection; default 512
	StartLimit    time.Duration // how long recovery of the store may take, default 2 minutes
	Own           []string      // subjects, besides those of every Satchel, that it answers and clients may not
	Others        []string      // subjects that clients without a key answer when Satchel asks; of principals see Member.Roles
	Principals    []Principal   // the only clients; nil: every connection is one. Empty: the operator alone connects
	Log           *slog.Logger  // default: discard; the server's notices are debug records
}

func (c Config) withDefaults() Config {
	if c.Name == "" {
		c.Name = "satchel"
	}
	if c.Host == "" {
		c.Host = "127.0.0.1"
	}
	if c.Port == 0 {
		c.Port = server.DEFAULT_PORT
	}
	if c.MaxStore == 0 {
		c.MaxStore = 16 << 30
	}
	if c.MaxMemory == 0 {
		c.MaxMemory = 256 << 20
	}
	if c.MaxPayload == 0 {
		c.MaxPayload = server.MAX_PAYLOAD_SIZE
	}
	if c.Consumers == 0 {
		c.Consumers = 2000
	}
	if c.Connections == 0 {
		c.Connections = 64
	}
	if c.Subscriptions == 0 {
		c.Subscriptions = 512
	}
	if c.StartLimit == 0 {
		c.StartLimit = 2 * time.Minute
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	return c
}

// Validate reports what in c cannot work.
func (c Config) Validate() error {
	switch {
	case c.Dir == "":
		return errors.New("embedded server: Dir is missing")
	case c.Port < RandomPort || c.Port > 65535:
		return fmt.Errorf("embedded server: port %d is out of range", c.Port)
	case c.Principals != nil && slices.ContainsFunc(c.Principals, func(p Principal) bool { return !nkeys.IsValidPublicUserKey(p.Key) || len(p.Members) == 0 }):
		return errors.New("embedded server: a principal has no public nkey of a user, or is in no tenant")
	case c.MaxStore < 0 || c.MaxMemory < 0 || c.MaxPayload < 0 || c.Consumers < 0 || c.Connections < 0 || c.Subscriptions < 0 || c.StartLimit < 0:
		return errors.New("embedded server: a limit is negative")
	}
	return nil
}

// Server is a running embedded server. It is safe for concurrent use. When it ran out of disk
// and there is room again it starts anew by itself: connections are lost and come back, as with
// any NATS server.
type Server struct {
	cfg      Config
	dir      string
	url      string
	lock     *files.Lock // nil: the caller's
	operator nats.Option
	proxy    *nats.Conn // of the clients' requests to JetStream
	once     sync.Once
	err      error

	quit    chan struct{}      // closed by Stop; nil: nothing watches
	watched chan struct{}      // closed when watch has ended
	refused string             // why it did not start again; watch's alone
	asked   chan *writeFailure // what the server has not answered yet; watch's alone
	stuck   atomic.Bool        // the server does not answer, and may not end

	mu           sync.RWMutex // guards what follows
	server       *server.Server
	writeFailure *writeFailure // why a stream takes nothing; nil: all do
	stalls       chan struct{} // closed when there is a stall
}

// Start locks cfg.Dir and starts the server. It returns a *files.HeldError when another
// process holds the folder, and ErrStart when the server refuses. The caller MUST
// call Stop.
func Start(cfg Config) (*Server, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	cfg = cfg.withDefaults()
	dir, err := filepath.Abs(cfg.Dir)
	if err != nil {
		return nil, fmt.Errorf("resolve folder %q: %w", cfg.Dir, err)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("make folder %q: %w", dir, err)
	}
	s := &Server{cfg: cfg, dir: dir, stalls: make(chan struct{})}
	if cfg.Lock == nil {
		if s.lock, err = files.TakeLock(dir, time.Now()); err != nil {
			return nil, err
		}
	}
	if s.server, err = startServer(cfg, dir); err != nil {
		return nil, errors.Join(err, s.releaseLock())
	}
	if at, ok := s.server.Addr().(*net.TCPAddr); ok { // nil: it does not listen
		s.url = s.server.ClientURL()
		s.cfg.Port = at.Port
	}
	if err := s.openForClients(dir, cfg); err != nil {
		return nil, errors.Join(err, s.Stop())
	}
	s.quit = make(chan struct{})
	s.watched = make(chan struct{})
	go s.watchStreams()
	return s, nil
}

// openForClients lets clients through to what they may use.
func (s *Server) openForClients(dir string, cfg Config) (err error) {
	if s.operator, err = Operator(dir); err != nil {
		return err
	}
	if s.proxy, err = nats.Connect("", s.InProcess(), nats.Name("satchel proxy"), nats.MaxReconnects(-1), nats.ReconnectWait(50*time.Millisecond)); err != nil {
		return fmt.Errorf("open the proxy of JetStream: %w", err)
	}
	return (&apiProxy{nc: s.proxy, ledger: cfg.ledgerSubjects(), consumers: cfg.Consumers, log: cfg.Log}).openProxy()
}

// startServer starts a server over dir. One that could not read the state of a consumer is started
// again without that state, which may have stopped the stream as well.
func startServer(cfg Config, dir string) (*server.Server, error) {
	srv, err := startOnce(cfg, dir)
	if err != nil {
		return nil, err
	}
	removed, err := removeTorn(srv, dir, cfg.Log)
	if removed == 0 && err == nil {
		return srv, nil
	}
	srv.Shutdown()
	srv.WaitForShutdown()
	if err != nil {
		return nil, err
	}
	return startOnce(cfg, dir)
}

func startOnce(cfg Config, dir string) (*server.Server, error) {
	key, err := operatorKey(dir)
	if err != nil {
		return nil, err
	}
	stranger, err := strangerKey()
	if err != nil {
		return nil, err
	}
	links, err := linkAccounts(cfg)
	if err != nil {
		return nil, err
	}
	unknown := stranger // the user of a connection without a key
	if cfg.Principals != nil {
		unknown = ""
	}
	srv, err := server.NewServer(&server.Options{
		ServerName:         cfg.Name,
		Host:               cfg.Host,
		Port:               cfg.Port,
		DontListen:         cfg.NoListen,
		NoSigs:             true,
		MaxPayload:         cfg.MaxPayload,
		Accounts:           links.listAccounts(),
		Nkeys:              listUsers(key, stranger, links, cfg),
		NoAuthUser:         unknown,
		JetStream:          true,
		StoreDir:           dir,
		SyncAlways:         true,
		JetStreamMaxStore:  cfg.MaxStore,
		JetStreamMaxMemory: cfg.MaxMemory,
	})
	if err != nil {
		return nil, fmt.Errorf("configure nats-server: %w", err)
	}
	log := &serverLog{log: cfg.Log}
	srv.SetLoggerV2(log, false, false, false)
	srv.Start()
	refused := log.readFatalCause()
	if refused == "" && srv.ReadyForConnections(cfg.StartLimit) {
		return srv, nil
	}
	srv.Shutdown()
	srv.WaitForShutdown()
	if refused == "" {
		refused = "not ready after " + cfg.StartLimit.String()
	}
	return nil, fmt.Errorf("start nats-server in %q: %w: %s", dir, ErrStart, refused)
}

// ClientURL returns the URL clients connect to, "" when the server does not listen.
func (s *Server) ClientURL() string { return s.url }

// findCurrentServer is the server that runs, or the last one that did.
func (s *Server) findCurrentServer() *server.Server {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.server
}

// pipes makes connections into the server that runs when they are made.
type pipes struct{ s *Server }

// InProcessConn is what [nats.InProcessServer] asks for.
func (p pipes) InProcessConn() (net.Conn, error) { return p.s.findCurrentServer().InProcessConn() }

// InProcess returns the option that makes nats.Connect use a pipe into this server, as
// its operator.
func (s *Server) InProcess() nats.Option {
	return func(o *nats.Options) error {
		return errors.Join(nats.InProcessServer(pipes{s})(o), s.operator(o))
	}
}

// SyncAlways reports whether the running server syncs before it acknowledges.
func (s *Server) SyncAlways() bool {
	cfg := s.findCurrentServer().JetStreamConfig()
	return cfg != nil && cfg.SyncAlways
}

// Stop shuts the server down, waits until its files are closed, and gives the folder
// back unless Config.Lock says that it is the caller's. Clients should be drained before. Calls after the first return the same error.
func (s *Server) Stop() error {
	s.once.Do(func() {
		if s.quit != nil {
			close(s.quit)
			<-s.watched
		}
		if s.proxy != nil {
			s.proxy.Close()
		}
		running := s.findCurrentServer()
		if !s.stuck.Load() {
			running.Shutdown()
			running.WaitForShutdown()
		} else if !endServer(running, lookLimit) {
			s.err = fmt.Errorf("stop nats-server: %w: it does not end", ErrStalled)
		}
		s.err = errors.Join(s.err, s.releaseLock())
	})
	return s.err
}

func (s *Server) releaseLock() error {
	if s.lock == nil {
		return nil
	}
	return s.lock.Release()
}
