// Package natstest runs clusters of NATS servers for tests, in the process or in others.
package natstest

import (
	"cmp"
	"context"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go/jetstream"

	"satchel/test/must"
	"satchel/test/testenv"
	"satchel/test/testenv/internal/process"
)

// Config says what a cluster is like. The zero value has three servers that sync
// always and let everybody in.
type Config struct {
	Servers int  // default 3
	Lazy    bool // sync every two minutes, as NATS does by default
	Monitor bool // each server answers on HTTP
	// Accounts makes the accounts APP, with the users "app" and "limited", who may not make
	// streams, and SYS, the system account, with the user "sys"; a password is the name.
	Accounts bool
	// Secure asks everybody for TLS with a certificate and for credentials of an operator's
	// user; with NKeys for a user's key instead. See Cluster.User.
	Secure, NKeys bool
	// Processes has each server run in a process of its own, which Kill and Pause are for:
	// the test's binary again, see Serve. With Accounts and Secure it does not go.
	Processes bool
}

// Cluster is a cluster of real servers on loopback, in this process or, with
// Config.Processes, in others. It is stopped
// when the test ends.
type Cluster struct {
	User User // of a secure one

	t       testing.TB
	cfg     Config
	dir     string
	ports   []int // of clients
	routes  []int
	monitor []int

	security string // of each server's configuration

	mu        sync.Mutex
	servers   []*server.Server // nil: down
	processes []*serverProcess // in their place; nil: down. One goroutine at a time may change them
}

// startLimit is how long servers may take to find each other.
const startLimit = 30 * time.Second

// Start starts a cluster and waits until JetStream has a leader that knows all servers.
func Start(t testing.TB, cfg Config) *Cluster {
	t.Helper()
	cfg.Servers = cmp.Or(cfg.Servers, 3)
	c := &Cluster{t: t, cfg: cfg, dir: t.TempDir(), servers: make([]*server.Server, cfg.Servers)}
	if cfg.Processes {
		c.processes = make([]*serverProcess, cfg.Servers)
	}
	ports := freePorts(t, 3*cfg.Servers)
	c.ports, c.routes, c.monitor = ports[:cfg.Servers], ports[cfg.Servers:2*cfg.Servers], ports[2*cfg.Servers:]
	if cfg.Secure {
		c.security = c.secure(t)
	}
	t.Cleanup(func() {
		for i := range c.servers {
			if cfg.Processes {
				c.Kill(i) // it may stand still
				if t.Failed() {
					t.Logf("NATS server %s said:\n%s", Name(i), process.LastLines(filepath.Join(c.dir, Name(i)+".log")))
				}
			} else {
				c.Stop(i)
			}
		}
	})
	for i := range c.servers {
		c.launch(i)
	}
	c.AwaitLeader()
	return c
}

// freePorts returns n ports that are free now.
func freePorts(t testing.TB, n int) []int {
	t.Helper()
	var ports []int
	for range n {
		port := must.Get(testenv.FreePort())(t)
		ports = append(ports, port)
	}
	return ports
}

// Name is the name of server i.
func Name(i int) string { return fmt.Sprintf("n%d", i+1) }

// config is the configuration file of server i.
func (c *Cluster) config(i int) string {
	var b strings.Builder
	sync := "always"
	if c.cfg.Lazy {
		sync = `"2m"` // without the quotes m is a million
	}
	fmt.Fprintf(&b, "server_name: %s\nlisten: 127.0.0.1:%d\njetstream { store_dir: %q, max_file_store: 16GB, max_memory_store: 256MB, sync_interval: %s }\nping_interval: \"10s\"\nping_max: 2\n",
		Name(i), c.ports[i], filepath.Join(c.dir, Name(i)), sync)
	if c.cfg.Servers > 1 {
		fmt.Fprintf(&b, "cluster { name: test, listen: 127.0.0.1:%d, routes: [", c.routes[i])
		for j, port := range c.routes {
			if j != i {
				fmt.Fprintf(&b, "\n  \"nats://127.0.0.1:%d\"", port)
			}
		}
		b.WriteString("\n] }\n")
	}
	b.WriteString(c.security)
	if c.cfg.Monitor {
		fmt.Fprintf(&b, "http: 127.0.0.1:%d\n", c.monitor[i])
	}
	if c.cfg.Accounts {
		b.WriteString(`accounts {
  SYS { users: [ { user: sys, password: sys } ] }
  APP { jetstream: enabled, users: [
    { user: app, password: app }
    { user: nobeat, password: nobeat, permissions { publish { deny: "wrk.v1.>" }, subscribe { deny: "wrk.v1.>" } } }
    { user: nohear, password: nohear, permissions { subscribe { deny: "wrk.v1.>" } } }
    { user: noput, password: noput, permissions { subscribe { deny: "mem.v1.>" } } }
    { user: limited, password: limited, permissions { publish { deny: "$JS.API.STREAM.CREATE.>" } } }
  ] }
}
system_account: SYS
`)
	}
	return b.String()
}

func (c *Cluster) launch(i int) {
	c.t.Helper()
	path := filepath.Join(c.dir, Name(i)+".conf")
	if err := os.WriteFile(path, []byte(c.config(i)), 0o600); err != nil {
		c.t.Fatal(err)
	}
	if c.processes != nil {
		c.launchProcess(i, path)
		return
	}
	o, err := server.ProcessConfigFile(path)
	if err != nil {
		c.t.Fatalf("read configuration of NATS server %s: %v", Name(i), err)
	}
	o.NoSigs, o.NoLog = true, true
	s, err := server.NewServer(o)
	if err != nil {
		c.t.Fatalf("configure NATS server %s: %v", Name(i), err)
	}
	s.Start()
	c.mu.Lock()
	c.servers[i] = s
	c.mu.Unlock()
	if !s.ReadyForConnections(startLimit) {
		c.t.Fatalf("NATS server %s is not ready", Name(i))
	}
}

// URL names every server, for a client.
func (c *Cluster) URL() string { return c.URLAs("") }

// URLAs is URL with a user whose password is its name.
func (c *Cluster) URLAs(user string) string {
	var list []string
	for _, port := range c.ports {
		u := url.URL{Scheme: "nats", Host: fmt.Sprintf("127.0.0.1:%d", port)}
		if user != "" {
			u.User = url.UserPassword(user, user)
		}
		list = append(list, u.String())
	}
	return strings.Join(list, ",")
}

// MonitorURLs names the HTTP address of every server.
func (c *Cluster) MonitorURLs() string {
	var list []string
	for _, port := range c.monitor {
		list = append(list, fmt.Sprintf("http://127.0.0.1:%d", port))
	}
	return strings.Join(list, ",")
}

// Stop stops server i and waits until its files are closed.
func (c *Cluster) Stop(i int) {
	if c.processes != nil {
		c.endProcess(i, func(p *serverProcess) error { return p.hold.Close() })
		return
	}
	c.mu.Lock()
	s := c.servers[i]
	c.servers[i] = nil
	c.mu.Unlock()
	if s != nil {
		s.Shutdown()
		s.WaitForShutdown()
	}
}

// Start starts server i again, over its files.
func (c *Cluster) Start(i int) {
	c.t.Helper()
	c.launch(i)
}

// AwaitLeader waits until one of the running servers leads JetStream and knows the others.
func (c *Cluster) AwaitLeader() {
	c.t.Helper()
	if c.processes != nil {
		c.ask("a JetStream leader", func(ctx context.Context, js jetstream.JetStream) (bool, error) {
			_, err := js.AccountInfo(ctx)
			return err == nil, err
		})
		return
	}
	c.await("a JetStream leader", func(s *server.Server) bool {
		return c.cfg.Servers == 1 || s.JetStreamIsLeader() && len(s.JetStreamClusterPeers()) == c.cfg.Servers
	})
}

// StreamLeader returns the index of the server that leads a stream of the account, "" or
// "$G" for the global one.
func (c *Cluster) StreamLeader(account, stream string) int {
	c.t.Helper()
	if c.processes != nil {
		return c.streamLeader(stream)
	}
	account = cmp.Or(account, "$G")
	return c.await("a leader of "+stream, func(s *server.Server) bool { return s.JetStreamIsStreamLeader(account, stream) })
}

// await asks the running servers until one says yes, and returns its index.
func (c *Cluster) await(what string, yes func(*server.Server) bool) int {
	c.t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	limit := time.After(startLimit)
	for {
		c.mu.Lock()
		for i, s := range c.servers {
			if s != nil && yes(s) {
				c.mu.Unlock()
				return i
			}
		}
		c.mu.Unlock()
		select {
		case <-limit:
			c.t.Fatalf("no %s after %s", what, startLimit)
		case <-tick.C:
		}
	}
}
