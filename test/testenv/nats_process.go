package testenv

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
)

// natsProcessVar holds, in a process that is to be a NATS server, its configuration file.
const natsProcessVar = "SATCHEL_TEST_NATS_SERVER"

// ServeNATS is the whole life of a process that a cluster with NATSConfig.Processes has
// started: a NATS server, until its standard input ends. In any other process it returns at
// once. The TestMain of a package with such clusters MUST call it first.
func ServeNATS() {
	path := os.Getenv(natsProcessVar)
	if path == "" {
		return
	}
	if err := serveNATS(path); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

func serveNATS(path string) error {
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

// natsProcess is a server in a process of its own.
type natsProcess struct {
	cmd  *exec.Cmd
	hold io.Closer // its standard input
}

// launchProcess starts the test's own binary again as the server that the configuration
// file at path describes, and waits until it takes clients.
func (c *NATSCluster) launchProcess(i int, path string) {
	c.t.Helper()
	self, err := os.Executable()
	if err != nil {
		c.t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), natsProcessVar+"="+path)
	hold, err := cmd.StdinPipe()
	if err != nil {
		c.t.Fatal(err)
	}
	log, err := os.OpenFile(filepath.Join(c.dir, NATSName(i)+".log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		c.t.Fatal(err)
	}
	cmd.Stdout, cmd.Stderr = log, log
	if err := errors.Join(cmd.Start(), log.Close()); err != nil {
		c.t.Fatalf("start NATS server %s: %v", NATSName(i), err)
	}
	c.processes[i] = &natsProcess{cmd, hold}
	c.ask("clients of "+NATSName(i), func(context.Context, jetstream.JetStream) (bool, error) { return true, nil }, i)
}

// endProcess ends server i by how, waits for it, and forgets it.
func (c *NATSCluster) endProcess(i int, how func(*natsProcess) error) {
	c.t.Helper()
	p := c.processes[i]
	if p == nil {
		return
	}
	c.processes[i] = nil
	var exit *exec.ExitError
	if err := errors.Join(how(p), p.cmd.Wait()); err != nil && !errors.As(err, &exit) {
		c.t.Errorf("end NATS server %s: %v", NATSName(i), err)
	}
}

// Kill kills server i, a process, as a crash would.
func (c *NATSCluster) Kill(i int) {
	c.t.Helper()
	c.endProcess(i, func(p *natsProcess) error { return p.cmd.Process.Kill() })
}

// ask connects to one of the servers that run, of those of only if there are any, and calls
// yes, until it says yes.
func (c *NATSCluster) ask(what string, yes func(context.Context, jetstream.JetStream) (bool, error), only ...int) {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), startNATSLimit)
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
			c.t.Fatalf("no %s after %s: %v; %s", what, startNATSLimit, err, lastLines(filepath.Join(c.dir, NATSName(i)+".log")))
		case <-tick.C:
		}
	}
}

func (c *NATSCluster) askOne(ctx context.Context, i int, yes func(context.Context, jetstream.JetStream) (bool, error)) (bool, error) {
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
func (c *NATSCluster) streamLeader(stream string) (leader int) {
	c.t.Helper()
	c.ask("a leader of "+stream, func(ctx context.Context, js jetstream.JetStream) (bool, error) {
		s, err := js.Stream(ctx, stream)
		if err != nil {
			return false, err
		}
		for leader = range c.processes {
			if group := s.CachedInfo().Cluster; group == nil || group.Leader == NATSName(leader) {
				return c.processes[leader] != nil, nil
			}
		}
		return false, nil
	})
	return leader
}
