package observe

import (
	"context"
	"database/sql"
	"fmt"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	js "github.com/nats-io/nats.go/jetstream"
	_ "modernc.org/sqlite" // the driver, to lock the log and to change a row of it

	"satchel/jetstream"
	"satchel/jetstream/embedded"
	"satchel/pipeline/meter/alert"
	"satchel/test/testenv"
)

// hurried are the rules as they are shipped, but for their times: seconds in place of minutes, so
// that a fault fires and falls silent within a test.
func hurried() string {
	const limit, over = 2, 15 * time.Second
	var b strings.Builder
	b.WriteString("groups:\n- name: alerts\n  rules:\n")
	for _, r := range alert.Rules() {
		if c := &r.When; c.Kind == alert.Above && c.Metric.Family().Unit == "s" {
			c.Limit = limit
		} else if c.Kind == alert.Grew {
			c.Over = over
		}
		fmt.Fprintf(&b, "  - alert: %s\n    expr: %q\n    for: 1s\n", alert.Prefix+r.Name, r.PromQL())
	}
	return b.String()
}

// watched is a process that a Prometheus scrapes.
type watched struct {
	*testenv.Satchel
	p *prometheus
}

func (p *prometheus) watch(t *testing.T, dir string, args ...string) *watched {
	t.Helper()
	w := &watched{p: p}
	var err error
	if w.Satchel, err = testenv.Start(binary(t), dir, args...); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.Stop() })
	p.scrape(t, w.HTTP)
	return w
}

// again starts the process anew, under the same address.
func (w *watched) again(t *testing.T) {
	t.Helper()
	next, err := testenv.Start(w.Binary, w.Dir, "--http-addr", w.HTTP)
	if err != nil {
		t.Fatal(err)
	}
	w.Satchel = next
}

func (w *watched) fires(t *testing.T, name string, does bool) {
	t.Helper()
	what := map[bool]string{true: "fires", false: "is silent"}[does]
	poll(t, 90*time.Second, fmt.Sprintf("%s of %s %s", name, w.HTTP, what), func() bool {
		list := w.p.query(t, fmt.Sprintf(`ALERTS{alertname=%q,alertstate="firing",instance=%q}`, alert.Prefix+name, w.HTTP))
		return len(list) > 0 == does
	})
}

// log opens the database of the process's log.
func (w *watched) log(t *testing.T) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite", filepath.Join(w.Dir, "log.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// TestAlerts causes the faults of eight alerts on real processes. Each alert is silent, fires for
// the fault, and falls silent when the fault is over.
func TestAlerts(t *testing.T) {
	t.Parallel()
	p := startPrometheus(t, hurried())
	t.Run("a process that stands still, bad events, a locked log", func(t *testing.T) {
		t.Parallel()
		w := p.watch(t, t.TempDir())
		w.Must(t, "emit", "--text", "the quetzal sleeps at noon", "--wait", "indexed")
		for _, name := range []string{"Down", "DeadLetters", "InboxStuck", "NotReady", "LogDamaged"} {
			w.fires(t, name, false)
		}
		must(t, w.Process.Process.Signal(syscall.SIGSTOP))
		w.fires(t, "Down", true)
		must(t, w.Process.Process.Signal(syscall.SIGCONT))
		w.fires(t, "Down", false)

		nc, err := nats.Connect(w.URL)
		must(t, err)
		defer nc.Close()
		for range 12 {
			must(t, nc.Publish("mem.v1.main.evt.writer", []byte("no event")))
		}
		must(t, nc.Flush())
		w.fires(t, "DeadLetters", true)
		w.fires(t, "DeadLetters", false)

		lock, err := w.log(t).Conn(t.Context())
		must(t, err)
		defer lock.Close()
		_, err = lock.ExecContext(t.Context(), "PRAGMA busy_timeout = 5000; BEGIN IMMEDIATE")
		must(t, err)
		w.Must(t, "emit", "--text", "nobody logs this at first", "--wait", "accepted")
		w.fires(t, "InboxStuck", true)
		_, err = lock.ExecContext(t.Context(), "ROLLBACK")
		must(t, err)
		w.fires(t, "InboxStuck", false)
	})
	t.Run("an index server that is away", func(t *testing.T) {
		t.Parallel()
		server := testenv.StartQdrantStandIn(t)
		w := p.watch(t, t.TempDir(), "--qdrant-url", server.URL)
		w.Must(t, "emit", "--id", "n1", "--text", "the quetzal sleeps at noon", "--wait", "indexed")
		w.fires(t, "IndexBehind", false)
		server.Stop()
		w.Run(t, "forget", "n1") // begun, and not finished
		w.fires(t, "IndexBehind", true)
		w.fires(t, "ErasureLate", true)
		server.Start(t)
		w.fires(t, "IndexBehind", false)
		w.fires(t, "ErasureLate", false)
	})
	t.Run("a stream that was made anew", func(t *testing.T) {
		t.Parallel()
		w := p.watch(t, t.TempDir())
		w.Must(t, "emit", "--text", "the quetzal sleeps at noon", "--wait", "indexed")
		w.fires(t, "PartitionStopped", false)
		recreate(t, w)
		w.fires(t, "PartitionStopped", true)
		w.fires(t, "NotReady", true)
		w.Stop()
		if out, code := w.Run(t, "rollback", "--stream", "--accept"); code != 0 {
			t.Fatalf("exit code %d\n%s", code, out)
		}
		w.again(t)
		w.fires(t, "PartitionStopped", false)
		w.fires(t, "NotReady", false)
	})
	t.Run("a log of which a row was changed", func(t *testing.T) {
		t.Parallel()
		w := p.watch(t, t.TempDir())
		w.Must(t, "emit", "--text", "the quetzal sleeps at noon", "--wait", "indexed")
		w.fires(t, "LogDamaged", false)
		w.Stop()
		db := w.log(t)
		for _, change := range []struct {
			by     string
			damage bool
		}{{"time + 1", true}, {"time - 1", false}} {
			_, err := db.ExecContext(t.Context(), "UPDATE entries SET time = "+change.by+" WHERE id = (SELECT id << 40 FROM tenants WHERE name = 'main') + 1")
			must(t, err)
			w.again(t)
			w.fires(t, "LogDamaged", change.damage)
			w.Stop()
		}
	})
}

// recreate deletes the stream MEMORY of a running process and makes it anew.
func recreate(t *testing.T, w *watched) {
	t.Helper()
	operator, err := embedded.Operator(filepath.Join(w.Dir, "streams"))
	must(t, err)
	nc, err := nats.Connect(w.URL, operator, nats.CustomInboxPrefix("_SATCHEL"))
	must(t, err)
	defer nc.Close()
	streams, err := js.New(nc)
	must(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	memory, err := streams.Stream(ctx, jetstream.MemoryStream)
	must(t, err)
	must(t, streams.DeleteStream(ctx, jetstream.MemoryStream))
	_, err = streams.CreateStream(ctx, memory.CachedInfo().Config)
	must(t, err)
}
