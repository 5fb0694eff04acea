package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"satchel/cmd/internal/cli"
	"satchel/jetstream/embedded"
)

const (
	exitFailed  = cli.ExitFailed
	exitUsage   = cli.ExitUsage
	exitFound   = cli.ExitFound
	exitNoReply = cli.ExitNoReply
	exitEmpty   = cli.ExitEmpty
)

// result is what a command did.
type result struct {
	code     int
	out, err string
}

// satchel runs the command line in this process, as a user would, with a clean
// environment.
func satchel(t *testing.T, stdin string, args ...string) result {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	var out, errOut bytes.Buffer
	code := run(ctx, args, strings.NewReader(stdin), &out, &errOut)
	return result{code, out.String(), errOut.String()}
}

// testNode is a running satchel up.
type testNode struct {
	dir, url, http string

	stop context.CancelFunc
	code chan int
	out  *transcript
	err  *transcript
}

// transcript keeps what a command prints while it runs.
type transcript struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (w *transcript) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.buf.Write(p)
}

func (w *transcript) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.buf.String()
}

var upLine = regexp.MustCompile(`NATS (nats://\S+), health http://([^/\s]+)/readyz`)

// startNode runs satchel up in this process until the test ends.
func startNode(t *testing.T, args ...string) *testNode {
	t.Helper()
	n := &testNode{dir: t.TempDir(), code: make(chan int, 1), out: &transcript{}, err: &transcript{}}
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	n.stop = cancel
	read, write := io.Pipe()
	all := append([]string{"up", "--dir", n.dir, "--nats-port", "0", "--http-addr", "127.0.0.1:0", "--embeddings-model", "table"}, args...)
	go func() {
		n.code <- run(ctx, all, strings.NewReader(""), io.MultiWriter(n.out, write), n.err)
		write.Close()
	}()
	lines := bufio.NewReader(read)
	line, err := lines.ReadString('\n')
	found := upLine.FindStringSubmatch(line)
	if err != nil || found == nil {
		cancel()
		t.Fatalf("satchel up said %q (%v)\n%s", line, err, n.err)
	}
	n.url, n.http = found[1], found[2]
	go io.Copy(io.Discard, lines)
	t.Cleanup(func() { n.down(t) })
	return n
}

// down stops the node as Ctrl-C does and returns its exit code.
func (n *testNode) down(t *testing.T) int {
	t.Helper()
	n.stop()
	code := <-n.code
	n.code <- code
	return code
}

// connect returns a connection to the node's server, as anybody may have it or with what
// the options say.
func (n *testNode) connect(t *testing.T, options ...nats.Option) *nats.Conn {
	t.Helper()
	nc, err := nats.Connect(n.url, options...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	return nc
}

// operator returns a connection with the rights of who has the data folder.
func (n *testNode) operator(t *testing.T) *nats.Conn {
	t.Helper()
	user, err := embedded.Operator(filepath.Join(n.dir, "streams"))
	if err != nil {
		t.Fatal(err)
	}
	return n.connect(t, user)
}

// run runs a command against the node.
func (n *testNode) run(t *testing.T, args ...string) result {
	t.Helper()
	return n.runIn(t, "", args...)
}

func (n *testNode) runIn(t *testing.T, stdin string, args ...string) result {
	t.Helper()
	return satchel(t, stdin, append(args, "--dir", n.dir, "--http-addr", n.http)...) // the folder says where the server listens
}

// must is run for a command that has to work; it returns what it printed.
func (n *testNode) must(t *testing.T, args ...string) string {
	t.Helper()
	r := n.run(t, args...)
	if r.code != 0 {
		t.Fatalf("satchel %s: exit code %d\n%s%s", strings.Join(args, " "), r.code, r.out, r.err)
	}
	return r.out
}

// mustJSON is must with --json; it decodes what was printed.
func mustJSON[T any](t *testing.T, n *testNode, args ...string) T {
	t.Helper()
	var v T
	out := n.must(t, append(args, "--json")...)
	if err := json.Unmarshal([]byte(out), &v); err != nil {
		t.Fatalf("satchel %s --json is not JSON: %v\n%s", strings.Join(args, " "), err, out)
	}
	return v
}

// folder makes files below a new folder and returns it.
func folder(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		p := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func contains(t *testing.T, what, text string, parts ...string) {
	t.Helper()
	for _, p := range parts {
		if !strings.Contains(text, p) {
			t.Errorf("%s does not say %q:\n%s", what, p, text)
		}
	}
}
