package e2e

import (
	"errors"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"satchel/test/testenv"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// keyed registers principals as tenant/id and returns the arguments for up.
func keyed(t *testing.T, data string, principals ...string) []string {
	t.Helper()
	registry := filepath.Join(data, "principals.yaml")
	for _, p := range principals {
		tenant, id, _ := strings.Cut(p, "/")
		out, err := exec.Command(binary("satchel"), "principal", "add", id, "--tenant", tenant, "--dir", data, "--principals", registry).CombinedOutput()
		if err != nil {
			t.Fatalf("principal add %s: %v\n%s", p, err, out)
		}
	}
	return []string{"--principals", registry}
}

func seed(data, tenant, id string) string {
	return filepath.Join(data, "keys", "principals", tenant, id+".nk")
}

func connect(t *testing.T, i *testenv.Satchel, tenant, id string) *nats.Conn {
	t.Helper()
	key, err := nats.NkeyOptionFromSeed(seed(i.Dir, tenant, id))
	if err != nil {
		t.Fatal(err)
	}
	nc, err := nats.Connect(i.URL, key)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	return nc
}

// A client of its own code works with a key, and without one does not connect.
func TestIndependentClientWithAKey(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	i := testenv.Up(t, binary("satchel"), data, keyed(t, data, "main/example")...)
	cmd := exec.Command(binary("client"), i.URL)
	cmd.Env = append(os.Environ(), "NATS_NKEY="+seed(data, "main", "example"))
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "proved: position 1 of") {
		t.Errorf("client: %v\n%s", err, out)
	}
	out, err = exec.Command(binary("client"), i.URL).CombinedOutput()
	if err == nil || !strings.Contains(string(out), "Authorization Violation") {
		t.Errorf("client without a key: %v\n%s", err, out)
	}
}

// What a principal has is its own after a restart and a new key, too.
func TestKeysAndConsumersAfterARestart(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	args := keyed(t, data, "bank/boss", "main/guest")
	i := testenv.Up(t, binary("satchel"), data, args...)
	i.Must(t, "emit", "--tenant", "bank", "--agent", "boss", "--text", "the vault is blue")
	create := func(nc *nats.Conn, name string) error {
		js, err := jetstream.New(nc)
		if err != nil {
			return err
		}
		_, err = js.CreateConsumer(t.Context(), "LEDGER", jetstream.ConsumerConfig{Durable: name, AckPolicy: jetstream.AckExplicitPolicy})
		return err
	}
	if err := errors.Join(create(connect(t, i, "bank", "boss"), "audit"), create(connect(t, i, "main", "guest"), "own")); err != nil {
		t.Fatal(err)
	}
	former, err := os.ReadFile(seed(data, "main", "guest"))
	if err != nil {
		t.Fatal(err)
	}
	if out := i.Must(t, "principal", "key", "guest", args[0], args[1]); !strings.Contains(out, "guest of tenant main") {
		t.Errorf("principal key: %s", out)
	}
	if err := i.Process.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = i.Process.Wait()
	i = testenv.Up(t, binary("satchel"), data, args...)
	gone := filepath.Join(t.TempDir(), "former.nk")
	if err := os.WriteFile(gone, former, 0o600); err != nil {
		t.Fatal(err)
	}
	key, err := nats.NkeyOptionFromSeed(gone)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := nats.Connect(i.URL, key); !errors.Is(err, nats.ErrAuthorization) {
		t.Errorf("the former key: %v", err)
	}
	guest, err := jetstream.New(connect(t, i, "main", "guest"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := guest.Consumer(t.Context(), "LEDGER", "own"); err != nil {
		t.Errorf("the guest's consumer, with a new key: %v", err)
	}
	if _, err := guest.Consumer(t.Context(), "LEDGER", "audit"); !errors.Is(err, jetstream.ErrConsumerNotFound) {
		t.Errorf("the guest and another's consumer: %v", err)
	}
	boss, err := jetstream.New(connect(t, i, "bank", "boss"))
	if err != nil {
		t.Fatal(err)
	}
	audit, err := boss.Consumer(t.Context(), "LEDGER", "audit")
	if err != nil {
		t.Fatal(err)
	}
	if m, err := audit.Next(jetstream.FetchMaxWait(time.Minute)); err != nil || m.Subject() != "prov.v1.bank.memory.boss" {
		t.Errorf("the boss's consumer: %v, %v", m, err)
	}
}

// Nothing can be changed over HTTP, and a foreign host is refused; the folder's owner rebuilds.
func TestHTTPChangesNothing(t *testing.T) {
	t.Parallel()
	i := testenv.Up(t, binary("satchel"), t.TempDir())
	i.Must(t, "emit", "--text", "the kiln is fired on Mondays")
	for _, c := range []struct {
		method, path, host string
		want               int
	}{{"POST", "/rebuild?tenant=main", "", 404}, {"GET", "/readyz", "", 200}, {"GET", "/readyz", "evil.example", 403}, {"POST", "/rebuild?tenant=main", "evil.example", 403}} {
		req, err := http.NewRequestWithContext(t.Context(), c.method, "http://"+i.HTTP+c.path, nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Host = c.host
		req.Header.Set("Satchel-Admin", "1")
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		if res.StatusCode != c.want {
			t.Errorf("%s %s of host %q: %d, want %d", c.method, c.path, c.host, res.StatusCode, c.want)
		}
	}
	if out := i.Must(t, "rebuild"); !strings.Contains(out, "rebuilt from 1 log entry") {
		t.Errorf("rebuild: %s", out)
	}
}
