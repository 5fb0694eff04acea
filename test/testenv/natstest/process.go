package natstest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"satchel/test/testenv/internal/process"
)

// processVar holds, in a process that is to be a NATS server, its configuration file.
const processVar = "SATCHEL_TEST_NATS_SERVER"

// Serve is the whole life of a process that a cluster with Config.Processes has
// started: a NATS server, until its standard input ends. In any other process it returns at
// once. The TestMain of a package with such clusters MUST call it first.
func Serve() {
	path := os.Getenv(processVar)
	if path == "" {
		return
	}
	if err := serveUntilEnd(path); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

func serveUntilEnd(path string) error {
	o, err := server.ProcessConfigFile(path)
	if err != nil {
		return fmt.Errorf("read configuration: %w", err)
	}
	o.NoSigs, o.Logtime = true, true
	s, err := server.NewServer(o)
	if err != nil {
		return fmt.Errorf("configure: %w", err)
	}
	s.ConfigureLogger() // to standard error
	s.Start()
	_, err = io.Copy(io.Discard, os.Stdin) // ends with who started it, too
	s.Shutdown()
	s.WaitForShutdown()
	return err
}

// serverProcess is a server in a process of its own.
type serverProcess struct {
	cmd  *exec.Cmd
	hold io.Closer // its standard input
}

// launchProcess starts the test's own binary again as the server that the configuration
// file at path describes, and waits until it takes clients.
func (c *Cluster) launchProcess(i int, path string) {
	c.t.Helper()
	self, err := os.Executable()
	if err != nil {
		c.t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), processVar+"="+path)
	hold, err := cmd.StdinPipe()
	if err != nil {
		c.t.Fatal(err)
	}
	log, err := os.OpenFile(filepath.Join(c.dir, Name(i)+".log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		c.t.Fatal(err)
	}
	cmd.Stdout, cmd.Stderr = log, log
	if err := errors.Join(cmd.Start(), log.Close()); err != nil {
		c.t.Fatalf("start NATS server %s: %v", Name(i), err)
	}
	c.processes[i] = &serverProcess{cmd, hold}
	c.ask("clients of "+Name(i), func(context.Context, jetstream.JetStream) (bool, error) { return true, nil }, i)
}

// endProcess ends server i by how, waits for it, and forgets it.
func (c *Cluster) endProcess(i int, how func(*serverProcess) error) {
	c.t.Helper()
	p := c.processes[i]
	if p == nil {
		return
	}
	c.processes[i] = nil
	var exit *exec.ExitError
	if err := errors.Join(how(p), p.cmd.Wait()); err != nil && !errors.As(err, &exit) {
		c.t.Errorf("end NATS server %s: %v", Name(i), err)
	}
}

// Kill kills server i, a process, as a crash would.
func (c *Cluster) Kill(i int) {
	c.t.Helper()
	c.endProcess(i, func(p *serverProcess) error { return p.cmd.Process.Kill() })
}

// ask connects to one of the servers that run, of those of only if there are any, and calls
// yes, until it says yes.
func (c *Cluster) ask(what string, yes func(context.Context, jetstream.JetStream) (bool, error), only ...int) {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), startLimit)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for i := 0; ; i = (i + 1) % len(c.processes) {
		var err error
		if c.processes[i] != nil && (len(only) == 0 || slices.Contains(only, i)) {
			var ok bool
			if ok, err = c.askOne(ctx, i, yes); ok {
				return
			}
		}
		select {
		case <-ctx.Done():
			c.t.Fatalf("no %s after %s: %v; %s", what, startLimit, err, process.LastLines(filepath.Join(c.dir, Name(i)+".log")))
		case <-tick.C:
		}
	}
}

func (c *Cluster) askOne(ctx context.Context, i int, yes func(context.Context, jetstream.JetStream) (bool, error)) (bool, error) {
	nc, err := nats.Connect(fmt.Sprintf("nats://127.0.0.1:%d", c.ports[i]), nats.NoReconnect())
	if err != nil {
		return false, err
	}
	defer nc.Close()
	js, err := jetstream.New(nc)
	if err != nil {
		return false, err
	}
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	return yes(ctx, js)
}

// streamLeader is StreamLeader of servers that are processes.
func (c *Cluster) streamLeader(stream string) (leader int) {
	c.t.Helper()
	c.ask("a leader of "+stream, func(ctx context.Context, js jetstream.JetStream) (bool, error) {
		s, err := js.Stream(ctx, stream)
		if err != nil {
			return false, err
		}
		for leader = range c.processes {
			if group := s.CachedInfo().Cluster; group == nil || group.Leader == Name(leader) {
				return c.processes[leader] != nil, nil
			}
		}
		return false, nil
	})
	return leader
}
