// Package fault breaks the real binary: it kills it, at random and at named points,
// damages its files and fills its disk, and checks with something independent that
// nothing acknowledged is lost, nothing is there twice, and damage is named.
//
// SATCHEL_CRASH_TIME says how long TestKill goes on (default 6s), SATCHEL_CRASH_SEED
// repeats a run.
package fault

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"satchel/jetstream/embedded"
	"satchel/test/testenv/natstest"
)

var binaryOnce = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "satchel-fault-")
	if err != nil {
		return "", err
	}
	out := filepath.Join(dir, "satchel")
	cmd := exec.Command("go", "build", "-o", out, "./cmd/satchel")
	cmd.Dir = "../.."
	if msg, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build: %w\n%s", err, msg)
	}
	return out, nil
})

// binary builds satchel once a test run.
func binary(t *testing.T) string {
	t.Helper()
	bin, err := binaryOnce()
	if err != nil {
		t.Fatal(err)
	}
	return bin
}

// room is the free disk, in bytes, without which these tests do not start: where it runs
// out no store can acknowledge, and a test would fail on its deadline.
const room = 2 << 30

func TestMain(m *testing.M) {
	natstest.Serve()
	if err := roomFor(os.TempDir()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := m.Run()
	if bin, err := binaryOnce(); err == nil {
		os.RemoveAll(filepath.Dir(bin))
	}
	os.Exit(code)
}

// roomFor returns an error where less than room is free on dir's disk.
func roomFor(dir string) error {
	var disk syscall.Statfs_t
	if err := syscall.Statfs(dir, &disk); err != nil {
		return fmt.Errorf("look at the disk of %s: %w", dir, err)
	}
	if free := uint64(disk.Bavail) * uint64(disk.Bsize); free < room {
		return fmt.Errorf("test/fault: %d MiB are free on the disk of %s, and these tests need %d", free>>20, dir, room>>20)
	}
	return nil
}

// node is a satchel up that is started and killed again and again on one folder.
type node struct {
	bin, dir string
	database string   // DATABASE_URL of every process; "" for none
	nats     string   // NATS_URL of a worker; "" for satchel up with its own
	model    string   // of the vectors, in the binary; "" for the table
	people   string   // principal registry; "" for none
	servers  servers  // for graph and vectors
	stderr   *os.File // of every process, one after the other

	mu      sync.Mutex
	url     string // "" while it is down
	http    string
	changed chan struct{}
	cmd     *exec.Cmd
	exited  chan struct{}
}

func newNode(t *testing.T) *node {
	t.Helper()
	return nodeAt(t, filepath.Join(t.TempDir(), "data"))
}

func nodeAt(t *testing.T, dir string) *node {
	t.Helper()
	n := &node{bin: binary(t), dir: dir, changed: make(chan struct{})}
	var err error
	if n.stderr, err = os.Create(filepath.Join(t.TempDir(), "stderr")); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		n.kill()
		if t.Failed() {
			t.Logf("the process said:\n%s", n.said(t))
		}
		n.stderr.Close()
	})
	return n
}

// said returns the end of what the processes wrote to stderr.
func (n *node) said(t *testing.T) string {
	t.Helper()
	raw, err := os.ReadFile(n.stderr.Name())
	if err != nil {
		t.Fatal(err)
	}
	return string(raw[max(0, len(raw)-6000):])
}

var upLine = regexp.MustCompile(`NATS (nats://\S+), health http://(\S+)/readyz`)

// start runs satchel up and waits until it says that it is up. false: it ended before.
func (n *node) start(t *testing.T, env ...string) bool {
	t.Helper()
	command := "up"
	if n.nats != "" {
		command = "worker"
	}
	cmd := exec.Command(n.bin, command, "--dir", n.dir, "--nats-url="+n.nats, "--nats-port=0", "--http-addr", "127.0.0.1:0", "--stream-mb=512")
	cmd.Env = append(n.environment(), env...)
	cmd.Stderr = n.stderr
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	reader := bufio.NewReader(stdout)
	line, err := reader.ReadString('\n')
	found := upLine.FindStringSubmatch(line)
	exited := make(chan struct{})
	go func() {
		defer close(exited)
		for err == nil {
			_, err = reader.ReadString('\n')
		}
		_ = cmd.Wait() // it is killed: an error is what it ends with
	}()
	if found == nil {
		<-exited
		return false
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.cmd, n.exited = cmd, exited
	n.set(found[1], found[2])
	return true
}

// environment is that of every process.
func (n *node) environment() []string {
	return append(append(os.Environ(), "DATABASE_URL="+n.database, "SATCHEL_PRINCIPALS="+n.people, "EMBEDDINGS_MODEL="+cmp.Or(n.model, "table")), n.servers.environment()...)
}

// set tells who waits where the process is now. The caller holds the lock.
func (n *node) set(url, http string) {
	n.url, n.http = url, http
	close(n.changed)
	n.changed = make(chan struct{})
}

// kill kills the process with SIGKILL, if one runs, and waits for its end.
func (n *node) kill() { n.end(os.Kill) }

// stop lets the process drain and waits for its end.
func (n *node) stop() { n.end(os.Interrupt) }

func (n *node) end(sig os.Signal) {
	n.mu.Lock()
	cmd, exited := n.cmd, n.exited
	n.cmd = nil
	n.set("", "")
	n.mu.Unlock()
	if cmd == nil {
		return
	}
	_ = cmd.Process.Signal(sig) // it may have ended by itself
	<-exited
}

// awaitExit waits until the process has ended by itself.
func (n *node) awaitExit(limit time.Duration) bool {
	n.mu.Lock()
	exited := n.exited
	n.mu.Unlock()
	select {
	case <-exited:
		n.end(os.Kill)
		return true
	case <-time.After(limit):
		return false
	}
}

// operator is the option with which the owner of the data folder connects.
func (n *node) operator(t *testing.T) nats.Option {
	t.Helper()
	if n.nats != "" {
		return nats.Name("oracle")
	}
	user, err := embedded.Operator(filepath.Join(n.dir, "streams"))
	must(t, err)
	return user
}

// address waits until the process is up and returns where; "" when ctx is done.
func (n *node) address(ctx context.Context) string {
	for {
		n.mu.Lock()
		url, changed := n.url, n.changed
		n.mu.Unlock()
		if url != "" {
			return url
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ""
		}
	}
}

// exit returns what is closed when the process has ended by itself; nil when there is
// none, because it was not started or was told to end.
func (n *node) exit() <-chan struct{} {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.cmd == nil {
		return nil
	}
	return n.exited
}

// ended reports whether the process has ended by itself.
func (n *node) ended() bool {
	select {
	case <-n.exit():
		return true
	default:
		return false
	}
}

// up reports whether a process was started and not told to end.
func (n *node) up() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.cmd != nil
}

// ready returns the status of /readyz, 0 when nothing answers, and what it says.
func (n *node) ready() (int, string) {
	n.mu.Lock()
	addr := n.http
	n.mu.Unlock()
	resp, err := http.Get("http://" + addr + "/readyz")
	if err != nil {
		return 0, err.Error()
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return 0, err.Error()
	}
	return resp.StatusCode, string(body)
}

// run runs another command of the binary on the folder and returns what it printed,
// to stdout and then to stderr.
func (n *node) run(t *testing.T, args ...string) (out string, code int) {
	t.Helper()
	cmd := exec.Command(n.bin, append(args, "--dir", n.dir)...)
	cmd.Env = n.environment()
	var stdout, stderr strings.Builder
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil && cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return stdout.String() + stderr.String(), cmd.ProcessState.ExitCode()
}

// poll calls ok until it holds, and fails the test after limit.
func poll(t *testing.T, limit time.Duration, what string, ok func() bool) {
	t.Helper()
	deadline := time.After(limit)
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("not in %v: %s", limit, what)
		}
	}
}
