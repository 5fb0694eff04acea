// Package embedded runs a nats-server with JetStream inside the process. It owns one
// folder, which it locks, and promises that a message is on the disk before it is
// acknowledged (SyncAlways). Who connects over the network may publish memories and
// requests and follow streams, but not write to the ledger or the dead letters, nor
// change streams: that is for the process itself and for who can read its folder. Only cmd and tests may import it: an agent's binary must
// not carry a server.
package embedded

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
)

// RandomPort makes Start choose a free port.
const RandomPort = -1

// ErrStart is wrapped by Start when the server itself refused to start: a port in
// use, a damaged store.
var ErrStart = errors.New("nats-server did not start")

// Config describes an embedded server. Only Dir is required.
type Config struct {
	Dir        string        // data folder, made when missing; locked while the server runs
	Name       string        // server name, default "satchel"
	Host       string        // listen address, default "127.0.0.1"
	Port       int           // listen port, default 4222; RandomPort for a free one
	NoListen   bool          // in-process connections only
	MaxStore   int64         // bytes all streams may reserve on disk, default 16 GiB
	MaxMemory  int64         // bytes of memory streams, default 256 MiB
	MaxPayload int32         // bytes of a message, default 1 MiB
	StartLimit time.Duration // how long recovery of the store may take, default 2 minutes
	Own        []string      // subjects, besides those of every Satchel, that clients may not answer
	Log        *slog.Logger  // default: discard; the server's notices are debug records
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
	case c.MaxStore < 0 || c.MaxMemory < 0 || c.MaxPayload < 0 || c.StartLimit < 0:
		return errors.New("embedded server: a limit is negative")
	}
	return nil
}

// Server is a running embedded server. It is safe for concurrent use.
type Server struct {
	server   *server.Server
	lock     *folderLock
	operator nats.Option
	once     sync.Once
	err      error
}

// Start locks cfg.Dir and starts the server. It returns a *LockedError when another
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
	lock, err := lockFolder(dir, time.Now())
	if err != nil {
		return nil, err
	}
	srv, err := start(cfg, dir)
	if err != nil {
		return nil, errors.Join(err, lock.release())
	}
	operator, err := Operator(dir)
	if err != nil {
		srv.Shutdown()
		srv.WaitForShutdown()
		return nil, errors.Join(err, lock.release())
	}
	return &Server{server: srv, lock: lock, operator: operator}, nil
}

func start(cfg Config, dir string) (*server.Server, error) {
	key, err := operatorKey(dir)
	if err != nil {
		return nil, err
	}
	client, err := clientKey()
	if err != nil {
		return nil, err
	}
	srv, err := server.NewServer(&server.Options{
		ServerName:         cfg.Name,
		Host:               cfg.Host,
		Port:               cfg.Port,
		DontListen:         cfg.NoListen,
		NoSigs:             true,
		MaxPayload:         cfg.MaxPayload,
		Nkeys:              access(key, client, cfg.Own),
		NoAuthUser:         client,
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
	refused := log.refusal()
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
func (s *Server) ClientURL() string {
	if s.server.Addr() == nil {
		return ""
	}
	return s.server.ClientURL()
}

// InProcess returns the option that makes nats.Connect use a pipe into this server, as
// its operator.
func (s *Server) InProcess() nats.Option {
	return func(o *nats.Options) error {
		return errors.Join(nats.InProcessServer(s.server)(o), s.operator(o))
	}
}

// SyncAlways reports whether the running server syncs before it acknowledges.
func (s *Server) SyncAlways() bool {
	cfg := s.server.JetStreamConfig()
	return cfg != nil && cfg.SyncAlways
}

// Stop shuts the server down, waits until its files are closed, and gives the folder
// back. Clients should be drained before. Calls after the first return the same error.
func (s *Server) Stop() error {
	s.once.Do(func() {
		s.server.Shutdown()
		s.server.WaitForShutdown()
		s.err = s.lock.release()
	})
	return s.err
}
