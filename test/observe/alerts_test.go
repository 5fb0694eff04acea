package observe

import (
	"context"
	"crypto/rand"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
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

// fault is something that goes wrong with real processes, and the alerts that it fires.
type fault struct {
	name   string
	alerts []string // without alert.Prefix
	always bool     // also without SATCHEL_TEST_OBSERVE=all
	cause  func(t *testing.T, tr *trial)
}

// faults lists what is tried. An alert stands in one of them, or in promtoolOnly.
func faults() []fault {
	return []fault{
		{"a process that stands still, bad events, a locked log", []string{"Down", "DeadLetters", "InboxStuck"}, true,
			standStill},
		{"an index server that is away", []string{"IndexBehind", "ErasureLate"}, true, indexAway},
		{"a stream that was made anew", []string{"PartitionStopped", "NotReady"}, true, streamAnew},
		{"a log of which a row was changed", []string{"LogDamaged"}, true, rowChanged},
		{"somebody else publishes to the ledger", []string{"ForeignLedger"}, false, foreignLedger},
		{"a ledger that is gone", []string{"LedgerBehind"}, false, ledgerGone},
		{"a small stream", []string{"StreamNearlyFull"}, false, smallStream},
		{"a check that ends at damage", []string{"VerifyStale"}, false, noCheck},
		{"a backup that is refused, and wrong tokens", []string{"BackupStale", "AuthFailures"}, false, noBackup},
		{"a small disk", []string{"DiskLow"}, false, smallDisk},
		{"a witness that is away, and an older folder", []string{"NotWitnessed", "WitnessConflict"}, false, witnessed},
		{"a flood", []string{"Refusing", "AvailabilityBurn"}, false, flood},
		{"a slow index server", []string{"RetrievalSlow", "LatencyBurn", "LatencyTailBurn", "FreshnessBurn"}, false,
			slowIndex},
		{"a policy server that is slow, then away", []string{"SlicingSlow", "PolicyErrors"}, false, slowPolicy},
		{"large packs of long items", []string{"AssemblySlow", "TokenCreep"}, false, largePacks},
		{"planted instructions", []string{"InjectionBurst"}, false, injections},
		{"a use of an exception", []string{"ExceptionUsed"}, false, exceptionUsed},
		{"a context of duplicates", []string{"ContextRot"}, false, duplicates},
		{"a synthesizer that makes things up", []string{"CitationDrop"}, false, madeUp},
	}
}

// promtoolOnly are alerts that only promtool's tests fire, and why.
var promtoolOnly = map[string]string{
	"DropGap":    "only an error in Satchel makes a report that does not add up",
	"OverBudget": "only an error in Satchel makes a pack over its budget",
}

// trial is a fault that is tried: what its alerts did, in order.
type trial struct {
	p     *prometheus
	rules map[string]int // by alert

	mu   sync.Mutex
	seen map[string][]bool
}

// fires waits until every rule of an alert fires for the instance, or none does.
func (tr *trial) fires(t *testing.T, instance, name string, does bool) {
	t.Helper()
	what, want, began := "is silent", 0, time.Now()
	if does {
		what, want = "fires", tr.rules[alert.Prefix+name]
	}
	poll(t, 3*time.Minute, fmt.Sprintf("%s of %s %s", name, instance, what), func() bool {
		firing := fmt.Sprintf(`ALERTS{alertname=%q,alertstate="firing",instance=%q}`, alert.Prefix+name, instance)
		return len(tr.p.query(t, firing)) == want
	})
	t.Logf("%s %s after %.1f s", name, what, time.Since(began).Seconds())
	tr.mu.Lock()
	defer tr.mu.Unlock()
	tr.seen[name] = append(tr.seen[name], does)
}

// TestAlerts causes faults on real processes. Each alert of a fault is silent, fires for it, and falls silent when
// the fault is over. Without SATCHEL_TEST_OBSERVE=all it causes the first of them alone.
func TestAlerts(t *testing.T) {
	t.Parallel()
	rules, count := hurried(t)
	p := startPrometheus(t, rules)
	for _, f := range faults() {
		t.Run(f.name, func(t *testing.T) {
			if !f.always && os.Getenv("SATCHEL_TEST_OBSERVE") != "all" {
				t.Skip("runs with SATCHEL_TEST_OBSERVE=all")
			}
			t.Parallel()
			tr := &trial{p: p, rules: count, seen: map[string][]bool{}}
			f.cause(t, tr)
			for _, name := range f.alerts {
				if got := slices.Compact(tr.seen[name]); !slices.Equal(got, []bool{false, true, false}) {
					t.Errorf("%s was not seen silent, firing and silent again, but %v", name, got)
				}
			}
		})
	}
}

// TestEveryAlertHasAFault: each shipped alert is fired by one fault, or promtoolOnly says why by none.
func TestEveryAlertHasAFault(t *testing.T) {
	t.Parallel()
	tried := map[string]bool{}
	claim := func(name string) {
		if tried[alert.Prefix+name] {
			t.Errorf("%s is tried twice", name)
		}
		tried[alert.Prefix+name] = true
	}
	for _, f := range faults() {
		for _, name := range f.alerts {
			claim(name)
		}
	}
	for name := range promtoolOnly {
		claim(name)
	}
	_, count := hurried(t)
	for name := range count {
		if !tried[name] {
			t.Errorf("%s has no fault: add it to faults", name)
		}
		delete(tried, name)
	}
	for name := range tried {
		t.Errorf("there is no alert %s", name)
	}
}

// watched is a process that a Prometheus scrapes.
type watched struct {
	*testenv.Satchel
	tr   *trial
	args []string
}

func (tr *trial) watch(t *testing.T, dir string, args ...string) *watched {
	t.Helper()
	w := &watched{tr: tr, args: args}
	var err error
	if w.Satchel, err = testenv.Start(binary(t), dir, args...); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.Stop() })
	tr.p.scrape(t, w.HTTP)
	return w
}

// again starts the process anew, under the same address.
func (w *watched) again(t *testing.T) {
	t.Helper()
	next, err := testenv.Start(w.Binary, w.Dir, append([]string{"--http-addr", w.HTTP}, w.args...)...)
	if err != nil {
		t.Fatal(err)
	}
	w.Satchel = next
}

func (w *watched) fires(t *testing.T, name string, does bool) {
	t.Helper()
	w.tr.fires(t, w.HTTP, name, does)
}

// all waits until every one of the alerts fires, or is silent.
func (w *watched) all(t *testing.T, does bool, names ...string) {
	t.Helper()
	for _, name := range names {
		w.fires(t, name, does)
	}
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

// lock keeps others from writing to the log, until the function that it returns.
func (w *watched) lock(t *testing.T) (unlock func()) {
	t.Helper()
	conn, err := w.log(t).Conn(t.Context())
	must(t, err)
	t.Cleanup(func() { conn.Close() })
	_, err = conn.ExecContext(t.Context(), "PRAGMA busy_timeout = 5000; BEGIN IMMEDIATE")
	must(t, err)
	return func() {
		t.Helper()
		_, err := conn.ExecContext(t.Context(), "ROLLBACK")
		must(t, err)
	}
}

// connect connects to the process's NATS, as any client does.
func (w *watched) connect(t *testing.T) *nats.Conn {
	t.Helper()
	nc, err := nats.Connect(w.URL, nats.Name(rand.Text()))
	must(t, err)
	t.Cleanup(nc.Close)
	return nc
}

// operator connects to the process's NATS with the operator's key.
func (w *watched) operator(t *testing.T) (*nats.Conn, js.JetStream) {
	t.Helper()
	key, err := embedded.Operator(filepath.Join(w.Dir, "streams"))
	must(t, err)
	nc, err := nats.Connect(w.URL, key, nats.CustomInboxPrefix("_SATCHEL"))
	must(t, err)
	t.Cleanup(nc.Close)
	streams, err := js.New(nc)
	must(t, err)
	return nc, streams
}

// within ends with the test, or after a minute.
func within(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// question is a context request.
func question(id, text string, budget int) string {
	return fmt.Sprintf(`{"meta": {"type": "ContextRequest", "id": %q,
		"from": {"type": "user", "id": "tester", "securityLevel": "internal"}},
		"payload": {"query": {"text": %q}, "token_budget": %d}}`, id, text, budget)
}

// repeat calls one until the function that it returns, at most every so often. It does not look at what becomes of it.
func repeat(t *testing.T, every time.Duration, one func(n int)) (stop func()) {
	t.Helper()
	done := make(chan struct{})
	var wait sync.WaitGroup
	wait.Go(func() {
		tick := time.NewTicker(every)
		defer tick.Stop()
		for n := 0; ; n++ {
			select {
			case <-done:
				return
			case <-tick.C:
				one(n)
			}
		}
	})
	stop = sync.OnceFunc(func() { close(done); wait.Wait() })
	t.Cleanup(stop)
	return stop
}

// ask asks a question, which has to be answered, and then every so often, until the function that it returns.
func (w *watched) ask(t *testing.T, every time.Duration, text string, budget int) (stop func()) {
	t.Helper()
	nc := w.connect(t)
	one := func(n int) error {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		id := fmt.Sprintf("%s-%d-%d", nc.Opts.Name, budget, n)
		_, err := jetstream.Request(ctx, nc, "ctx.v1.main.request", []byte(question(id, text, budget)))
		return err
	}
	must(t, one(-1))
	return repeat(t, every, func(n int) { _ = one(n) })
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
