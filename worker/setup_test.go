package worker_test

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"path/filepath"
	"runtime/pprof"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"
	"github.com/nats-io/nats.go"
	natsjs "github.com/nats-io/nats.go/jetstream"
	"golang.org/x/mod/sumdb/note"

	"satchel/jetstream"
	"satchel/jetstream/embedded"
	"satchel/pipeline"
	"satchel/pipeline/model/static"
	"satchel/pipeline/op"
	"satchel/pipeline/scope"
	"satchel/pipeline/store/eventlog"
	"satchel/pipeline/store/graph"
	"satchel/pipeline/store/items"
	inmemory "satchel/pipeline/store/memory"
	"satchel/pipeline/store/sqlite"
	"satchel/pipeline/store/vector"
	"satchel/pipeline/write"
	"satchel/policies/opa"
	"satchel/schemas"
	"satchel/worker"
	"satchel/worker/erasure"
	"satchel/worker/projection"
	"satchel/worker/service"
)

// What takes long to make and keeps no state is made once.
var (
	pdpOnce      = sync.OnceValues(func() (*opa.PDP, error) { return opa.New(context.Background(), opa.Config{}) })
	embedderOnce = sync.OnceValues(static.New)
)

// world is a worker over real engines in a folder of its own. What takes the whole worker is tested in
// this folder, whichever part it is about; what takes one part alone, beside that part.
type world struct {
	dir     string
	signer  note.Signer
	key     string
	change  func(*worker.Config) // applied before every start
	server  *embedded.Server
	nc      *nats.Conn
	js      natsjs.JetStream
	log     *eventlog.Log
	items   *items.Items
	keyword *inmemory.Keyword
	private *inmemory.Keyword
	vector  *vector.Vectors
	graph   *graph.Graph
	embed   *static.Embedder
	dead    *jetstream.DeadLetters
	cfg     worker.Config
	worker  *worker.Worker
	engine  service.Engine // nil: the real one
	close   []func() error
	evict   []func(context.Context, scope.Scope) error

	cancel  context.CancelFunc
	done    chan error
	inboxes []*jetstream.Inbox
	leave   func() // the other workers, where they share the work
}

// setup returns a running worker over a fresh folder.
func setup(t *testing.T) *world {
	t.Helper()
	w := prepare(t)
	w.start(t)
	return w
}

// prepare is setup without a running worker: everything is open, nothing runs.
func prepare(t *testing.T) *world {
	t.Helper()
	w := &world{dir: t.TempDir()}
	private, public, err := note.GenerateKey(rand.Reader, "satchel-test")
	must(t, err)
	w.signer, err = note.NewSigner(private)
	must(t, err)
	w.key = public
	w.open(t)
	t.Cleanup(func() { w.shut(t) })
	return w
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// within returns a context that ends before the test does.
func within(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// open opens the server, the streams and the stores.
func (w *world) open(t *testing.T) {
	t.Helper()
	ctx := within(t)
	var err error
	w.server, err = embedded.Start(embedded.Config{Dir: filepath.Join(w.dir, "streams"), NoListen: true})
	must(t, err)
	w.nc, err = jetstream.Connect(ctx, jetstream.ConnectConfig{InProcess: w.server.InProcess()}, nil)
	must(t, err)
	w.js, err = jetstream.Open(ctx, w.nc)
	must(t, err)
	must(t, jetstream.EnsureStreams(ctx, w.js, jetstream.Config{}))
	w.openStores(t)
	w.dead, err = jetstream.OpenDeadLetters(ctx, w.js)
	must(t, err)
	w.configure(t)
}

func (w *world) openStores(t *testing.T) {
	t.Helper()
	ctx := within(t)
	driver, err := sqlite.OpenLog(ctx, sqlite.LogConfig{Path: filepath.Join(w.dir, "log.db")})
	must(t, err)
	w.log, err = eventlog.New(eventlog.Config{Driver: driver, Signer: w.signer, VerifierKey: w.key, Erasures: filepath.Join(w.dir, "erased")})
	must(t, err)
	w.embed, err = embedderOnce()
	must(t, err)
	itemDB, err := sqlite.OpenItems(ctx, sqlite.IndexConfig{Path: filepath.Join(w.dir, "items.db")})
	must(t, err)
	w.items = items.New(itemDB)
	graphDB, err := sqlite.OpenGraph(ctx, sqlite.IndexConfig{Path: filepath.Join(w.dir, "graph.db")})
	must(t, err)
	w.graph = graph.New(graphDB)
	w.keyword, err = inmemory.OpenKeyword(inmemory.KeywordConfig{Dir: filepath.Join(w.dir, "keyword")})
	must(t, err)
	w.private, err = inmemory.OpenKeyword(inmemory.KeywordConfig{Dir: filepath.Join(w.dir, "private")})
	must(t, err)
	vectors, err := inmemory.OpenVector(inmemory.VectorConfig{Dir: filepath.Join(w.dir, "vector"), Model: w.embed.Model().String(), Dimensions: w.embed.Model().Dimensions})
	must(t, err)
	w.vector = vector.New(vectors)
	w.close = []func() error{w.log.Close, itemDB.Close, graphDB.Close, w.keyword.Close, w.private.Close, vectors.Close}
	w.evict = []func(context.Context, scope.Scope) error{itemDB.Evict, graphDB.Evict, w.keyword.Evict, w.private.Evict, vectors.Evict}
	all := func(scrub func(context.Context) error) func(context.Context, scope.Scope) error {
		return func(ctx context.Context, _ scope.Scope) error { return scrub(ctx) }
	}
	w.cfg.Scrubbers = []erasure.Scrubber{
		{Store: "log", Scrub: all(w.log.Scrub)},
		{Store: "items", Scrub: all(itemDB.Scrub), Remaining: func(ctx context.Context, s scope.Scope, ids []string) (int, error) {
			left, err := w.items.Get(ctx, s, ids)
			return len(left), err
		}},
		{Store: "keyword", Scrub: w.keyword.Scrub, Remaining: w.keyword.Remaining},
		{Store: "private keyword", Scrub: w.private.Scrub, Remaining: w.private.Remaining},
		{Store: "vector", Scrub: vectors.Scrub, Remaining: vectors.Remaining},
		{Store: "graph", Scrub: all(graphDB.Scrub), Remaining: func(ctx context.Context, s scope.Scope, ids []string) (int, error) {
			return graphDB.Remaining(ctx, s.Tenant(), ids)
		}},
	}
}

// configure makes the worker's configuration from what is open.
func (w *world) configure(t *testing.T) {
	t.Helper()
	ctx := within(t)
	pdp, err := pdpOnce()
	must(t, err)
	writer, err := write.New(write.Config{})
	must(t, err)
	w.cfg = worker.Config{Partition: jetstream.PartitionOf, Log: w.log, Embedder: w.embed, Writer: writer, PDP: pdp, Loopback: true, DeadLetters: w.dead,
		Stores:    projection.Stores{Items: w.items, Tokens: w.items, Novelty: w.items, Keyword: w.keyword, Private: w.private, Vector: w.vector, Graph: w.graph},
		Scrubbers: w.cfg.Scrubbers, Outbox: jetstream.NewOutbox(w.nc, w.js)}
	w.cfg.Ledger, err = jetstream.OpenLedger(ctx, w.nc, w.js, jetstream.LedgerConfig{})
	must(t, err)
	w.cfg.Streams = jetstream.NewScrubber(w.js, w.committed)
}

func (w *world) committed(ctx context.Context, epoch string) (map[string]uint64, error) {
	return w.worker.Committed(ctx, epoch)
}

// start runs a worker over what is open.
func (w *world) start(t *testing.T) {
	t.Helper()
	ctx := within(t)
	cfg := w.cfg
	cfg.Inboxes = nil
	for partition := range jetstream.Partitions {
		inbox, err := jetstream.OpenInbox(ctx, w.nc, w.js, jetstream.InboxConfig{Partition: partition})
		must(t, err)
		w.inboxes = append(w.inboxes, inbox)
		cfg.Inboxes = append(cfg.Inboxes, inbox)
	}
	if w.change != nil {
		w.change(&cfg)
	}
	cfg.Projector = worker.NewProjector(cfg)
	var err error
	cfg.Engine, err = op.New(op.Config{Config: pipeline.Config{
		Stores: pipeline.Stores{Log: eventlog.Answers{Log: w.log}, Items: w.items, Keyword: w.keyword, Private: w.private, Vector: w.vector, Graph: w.graph, Indexed: cfg.Projector},
		Policy: pipeline.Policy{PDP: cfg.PDP}, Models: pipeline.Models{Embedder: w.embed}, Proofs: pipeline.Proofs{Prover: w.log, Leaves: w.log},
	}})
	must(t, err)
	if w.engine != nil {
		cfg.Engine = w.engine
	}
	w.worker, err = worker.New(cfg)
	must(t, err)
	run, cancel := context.WithCancel(context.Background())
	w.cancel, w.done = cancel, make(chan error, 1)
	go func() { w.done <- w.worker.Run(run) }()
}

// stop stops the worker, if it runs, and returns what Run returned.
func (w *world) stop() error {
	if w.cancel == nil {
		return nil
	}
	w.cancel()
	w.cancel = nil
	err := <-w.done
	for _, inbox := range w.inboxes {
		inbox.Close()
	}
	w.inboxes = nil
	return err
}

// halt makes the worker end as far as that can be had from within it.
func (w *world) halt() { w.cancel() }

// receipt waits until the erasure id has its receipt and returns it.
func (w *world) receipt(t *testing.T, tenant, id string) schemas.ErasureReceipt {
	t.Helper()
	var er schemas.MemoryErased
	poll(t, "the receipt of erasure "+id, func() bool {
		e, err := w.log.Find(within(t), system(t, tenant), source, id+".receipt")
		if errors.Is(err, eventlog.ErrNotFound) {
			return false
		}
		must(t, err)
		must(t, json.Unmarshal(e.Data, &er))
		return er.Receipt != nil
	})
	return *er.Receipt
}

// shut stops the worker and closes everything.
func (w *world) shut(t *testing.T) {
	t.Helper()
	if err := w.stop(); err != nil && !errors.Is(err, context.Canceled) {
		t.Logf("worker ended with %v", err)
	}
	for _, c := range w.close {
		must(t, c())
	}
	w.close = nil
	if w.server != nil {
		w.nc.Close()
		must(t, w.server.Stop())
		w.server = nil
	}
}

// reopen closes everything and opens it again, as a new process would.
func (w *world) reopen(t *testing.T) {
	t.Helper()
	w.shut(t)
	w.open(t)
	w.start(t)
}

func system(t *testing.T, tenant string) scope.Scope {
	t.Helper()
	s, err := scope.System(tenant)
	must(t, err)
	return s
}

const source = "urn:agent:planner"

// recorded is the event that remembers text as item id.
func recorded(t *testing.T, id, text string, change ...func(map[string]any)) event.Event {
	t.Helper()
	data := map[string]any{
		"id": id, "scope": map[string]any{"tenant": "acme"}, "type": "episodic", "kind": "memory", "content": text,
		"created_at": "2026-01-02T03:04:05Z", "security_label": []string{"level:internal"}, "provenance": map[string]any{"source_uri": source},
	}
	for _, c := range change {
		c(data)
	}
	return memory(t, schemas.TypeMemoryRecorded, "e-"+id, data)
}

// memory is a memory event with data.
func memory(t *testing.T, eventType, id string, data any) event.Event {
	t.Helper()
	ev := event.New()
	ev.SetID(id)
	ev.SetSource(source)
	ev.SetType(eventType)
	ev.SetTime(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
	must(t, ev.SetData(event.ApplicationJSON, data))
	return ev
}

func forgetting(t *testing.T, id string, items ...string) event.Event {
	t.Helper()
	ev := memory(t, schemas.TypeMemoryErased, id, schemas.MemoryErased{Scope: schemas.MemoryScope{Tenant: "acme"}, Items: items, Reason: "asked for"})
	ev.SetExtension(schemas.ExtensionRoles, "eraser")
	return ev
}

// publish stores events of agent planner in MEMORY, one after the other.
func (w *world) publish(t *testing.T, tenant string, events ...event.Event) {
	t.Helper()
	for _, ev := range events {
		_, _, err := jetstream.NewOutbox(w.nc, w.js).PublishMemory(within(t), tenant, "planner", ev)
		must(t, err)
	}
}

// entries waits until the tenant's log has n entries and returns them.
func (w *world) entries(t *testing.T, tenant string, n int) []eventlog.Entry {
	t.Helper()
	s := system(t, tenant)
	if n > 0 {
		if _, err := w.log.Await(within(t), s, int64(n-1)); err != nil {
			t.Fatalf("wait for %d entries: %v", n, err)
		}
	}
	entries, err := w.log.Read(within(t), s, 0, 0)
	must(t, err)
	return entries
}

// letters waits until the DLQ has n letters and returns them as "id reason".
func (w *world) letters(t *testing.T, n int) []string {
	t.Helper()
	var out []string
	poll(t, "dead letters", func() bool {
		list, err := w.dead.List(within(t), "", 0, 1000)
		must(t, err)
		out = nil
		for _, l := range list {
			out = append(out, strings.TrimSpace(l.ID+" "+l.Reason+" "+l.Pointer))
		}
		return len(out) >= n
	})
	return out
}

// poll calls ok until it holds.
func poll(t *testing.T, what string, ok func() bool) {
	t.Helper()
	ctx := within(t)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			var stacks strings.Builder
			must(t, pprof.Lookup("goroutine").WriteTo(&stacks, 1))
			t.Fatalf("waited too long: %s\n%s", what, &stacks)
		}
	}
}

// ids lists the ids of entries.
func ids(entries []eventlog.Entry) []string {
	out := make([]string, len(entries))
	for i := range entries {
		out[i] = entries[i].ID
	}
	return out
}

// digests are those of every index of the tenant.
func (w *world) digests(t *testing.T, tenant string) map[string][32]byte {
	t.Helper()
	s, all := system(t, tenant), map[string][32]byte{}
	for name, digest := range map[string]func(context.Context, scope.Scope) ([32]byte, error){
		"items": w.items.Digest, "keyword": w.keyword.Digest, "private": w.private.Digest, "vector": w.vector.Digest, "graph": w.graph.Digest} {
		d, err := digest(within(t), s)
		must(t, err)
		all[name] = d
	}
	return all
}

// summarise logs a summary of items as the engine does and returns its position.
func (w *world) summarise(t *testing.T, id string, items ...string) int64 {
	t.Helper()
	ev := recorded(t, id, "in short: "+id, summaryOf(items...))
	out, err := w.log.Append(within(t), eventlog.Batch{Drafts: []eventlog.Draft{{Tenant: "acme", Agent: "satchel", Type: schemas.TypeMemoryRecorded,
		Source: schemas.SourceCompaction, ID: id, Subject: id, Time: ev.Time(), Item: eventlog.Derive(items, ev.Data())}}})
	must(t, err)
	return out[0].Position
}
