package emitters_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"

	"satchel/emitters"
	"satchel/jetstream"
	"satchel/jetstream/embedded"
	"satchel/schemas"
	"satchel/test/testenv"
)

// nodeURL is where the node that the tests share listens; every test has a tenant of
// its own. closedURL is that of a node with a principal registry and signing keys.
var (
	nodeURL   string
	closedURL string
	nodeDir   string // the data folder of the first
)

// key returns the signing key of the tests.
func key() (seed []byte, public string) {
	pair, err := nkeys.FromRawSeed(nkeys.PrefixByteUser, bytes.Repeat([]byte{7}, 32))
	if err == nil {
		if seed, err = pair.Seed(); err == nil {
			public, err = pair.PublicKey()
		}
	}
	if err != nil {
		panic(err)
	}
	return seed, public
}

func TestMain(m *testing.M) { os.Exit(runAll(m)) }

func runAll(m *testing.M) int {
	dir, err := os.MkdirTemp("", "satchel-emitters-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	bin := filepath.Join(dir, "satchel")
	build := exec.Command("go", "build", "-o", bin, "./cmd/satchel")
	build.Dir = ".."
	if msg, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "build satchel: %v\n%s", err, msg)
		return 1
	}
	_, public := key()
	registry, keys := filepath.Join(dir, "principals.yaml"), filepath.Join(dir, "keys.yaml")
	for name, text := range map[string]string{
		registry: "tenants:\n  closed:\n    principals:\n      - {id: planner, level: internal, nkey: " + public + "}\n",
		keys:     "planner-key: " + public + "\n",
	} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
	}
	var stop, stopClosed func()
	nodeDir = filepath.Join(dir, "open")
	if nodeURL, stop, err = startNode(bin, nodeDir); err == nil {
		defer stop()
		closedURL, stopClosed, err = startNode(bin, filepath.Join(dir, "closed"), "--principals", registry, "--signing-keys", keys, "--require-signature")
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer stopClosed()
	return m.Run()
}

// startNode runs satchel up and waits until it says that it is up.
func startNode(bin, data string, args ...string) (url string, stop func(), err error) {
	cmd := exec.Command(bin, append([]string{"up", "--dir", data, "--nats-port", "0", "--http-addr", ""}, args...)...)
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return "", nil, err
	}
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	if err := cmd.Start(); err != nil {
		return "", nil, err
	}
	stop = func() {
		if cmd.Process.Signal(os.Interrupt) == nil {
			cmd.Wait()
		}
	}
	line, err := bufio.NewReader(stdout).ReadString('\n')
	found := regexp.MustCompile(`NATS (nats://[^\s,]+)`).FindStringSubmatch(line)
	if err != nil || found == nil {
		stop()
		return "", nil, fmt.Errorf("satchel up said %q (%v)\n%s", line, err, stderr.String())
	}
	return found[1], stop, nil
}

func dial(t *testing.T, url string) *nats.Conn {
	t.Helper()
	cfg := jetstream.ConnectConfig{URL: url, ReconnectIn: 20 * time.Millisecond}
	if url == closedURL { // its principals have keys
		seed, public := key()
		cfg.User = nats.Nkey(public, func(nonce []byte) ([]byte, error) {
			pair, err := nkeys.FromSeed(seed)
			if err != nil {
				return nil, err
			}
			return pair.Sign(nonce)
		})
	}
	nc, err := jetstream.Connect(t.Context(), cfg, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	return nc
}

// open returns an emitter of a tenant named after the test.
func open(t *testing.T, cfg emitters.Config) *emitters.Emitter {
	t.Helper()
	return openAt(t, nodeURL, cfg)
}

func openAt(t *testing.T, url string, cfg emitters.Config) *emitters.Emitter {
	t.Helper()
	if cfg.Tenant == "" {
		cfg.Tenant = strings.ReplaceAll(t.Name(), "/", "_")
	}
	if cfg.Agent == "" {
		cfg.Agent = "planner"
	}
	if cfg.Labels == nil {
		cfg.Labels = []string{"level:internal"}
	}
	if cfg.Clearance == "" {
		cfg.Clearance = "internal"
	}
	e, err := emitters.New(dial(t, url), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(context.WithoutCancel(t.Context())); err != nil {
			t.Logf("close: %v", err)
		}
	})
	return e
}

func note(id, text string) schemas.MemoryItem {
	return schemas.MemoryItem{ID: id, Content: schemas.TextContent(text)}
}

// within bounds what a test may wait for.
func within(t *testing.T, d time.Duration) context.Context {
	t.Helper()
	const patience = 6 // a busy machine is no failure: the limit only ends what hangs
	ctx, cancel := context.WithTimeout(t.Context(), patience*d)
	t.Cleanup(cancel)
	return ctx
}

// streams is an embedded server with the streams and no worker behind them, which can
// be stopped and started again on its port.
type streams struct {
	dir  string
	port int
	srv  *embedded.Server
}

func startStreams(t *testing.T) *streams {
	t.Helper()
	port, err := testenv.FreePort()
	if err != nil {
		t.Fatal(err)
	}
	s := &streams{dir: t.TempDir(), port: port}
	s.start(t)
	t.Cleanup(func() { s.stop(t) })
	return s
}

func (s *streams) start(t *testing.T) {
	t.Helper()
	srv, err := embedded.Start(embedded.Config{Dir: s.dir, Port: s.port})
	if err != nil {
		t.Fatal(err)
	}
	s.srv = srv
	nc, err := nats.Connect("", srv.InProcess())
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	js, err := jetstream.Open(t.Context(), nc)
	if err != nil {
		t.Fatal(err)
	}
	if err := jetstream.EnsureStreams(t.Context(), js, jetstream.Config{}); err != nil {
		t.Fatal(err)
	}
}

func (s *streams) url() string { return fmt.Sprintf("nats://127.0.0.1:%d", s.port) }

func (s *streams) stop(t *testing.T) {
	t.Helper()
	if err := s.srv.Stop(); err != nil {
		t.Error(err)
	}
}

// stored returns the ids of the events in MEMORY, in order.
func (s *streams) stored(t *testing.T) []string {
	t.Helper()
	nc, err := nats.Connect("", s.srv.InProcess())
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	js, err := jetstream.Open(t.Context(), nc)
	if err != nil {
		t.Fatal(err)
	}
	stream, err := js.Stream(t.Context(), jetstream.MemoryStream)
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	for seq := uint64(1); seq <= stream.CachedInfo().State.LastSeq; seq++ {
		m, err := stream.GetMsg(t.Context(), seq)
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, m.Header.Get("ce-id"))
	}
	return ids
}

// await waits until nc is, or is not, connected.
func await(t *testing.T, nc *nats.Conn, status nats.Status) {
	t.Helper()
	changes := nc.StatusChanged(status)
	defer nc.RemoveStatusListener(changes)
	if nc.Status() == status {
		return
	}
	select {
	case <-changes:
	case <-within(t, time.Minute).Done():
		t.Fatalf("the connection is %v, not %v", nc.Status(), status)
	}
}
