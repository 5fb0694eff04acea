package roles_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"satchel/pipeline"
	"satchel/pipeline/isolation/roles"
	"satchel/pipeline/model/static"
	"satchel/pipeline/op"
	"satchel/pipeline/scope"
	"satchel/pipeline/store/eventlog"
	"satchel/pipeline/store/graph"
	"satchel/pipeline/store/items"
	"satchel/pipeline/store/memory"
	"satchel/pipeline/store/sqlite"
	"satchel/pipeline/store/vector"
	"satchel/pipeline/write"
	"satchel/policies"
	"satchel/policies/opa"
	"satchel/schemas"
	"satchel/worker"
	"satchel/worker/projection"
)

// world is a runner over real stores, engine, policy and service.
type world struct {
	log    *eventlog.Log
	cfg    roles.Config
	runner *roles.Runner
	worker *worker.Worker
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

var compiled = sync.OnceValues(func() (*opa.PDP, error) {
	return opa.New(context.Background(), opa.Config{})
})

var table = sync.OnceValues(static.New)

func builtin(t testing.TB) policies.PDP {
	t.Helper()
	pdp, err := compiled()
	must(t, err)
	return pdp
}

func open(t testing.TB, change func(*roles.Config)) *world {
	t.Helper()
	ctx, dir := context.Background(), t.TempDir()
	w := &world{}
	db, err := sqlite.OpenLog(ctx, sqlite.LogConfig{Path: filepath.Join(dir, "log.db")})
	must(t, err)
	w.log, err = eventlog.New(eventlog.Config{Driver: db, Tail: 16 << 20})
	must(t, err)
	t.Cleanup(func() { must(t, w.log.Close()) })
	stores := openIndexes(t, dir)
	embedder, err := table()
	must(t, err)
	writer, err := write.New(write.Config{})
	must(t, err)
	pdp := builtin(t)
	cfg := worker.Config{Log: w.log, Stores: stores, Embedder: embedder, Writer: writer, PDP: pdp, Loopback: true}
	cfg.Projector = worker.NewProjector(cfg)
	engine, err := op.New(op.Config{Config: pipeline.Config{
		Stores: pipeline.Stores{Log: w.log, Items: stores.Items, Keyword: stores.Keyword, Vector: stores.Vector, Graph: stores.Graph, Indexed: cfg.Projector},
		Policy: pipeline.Policy{PDP: pdp}, Models: pipeline.Models{Embedder: embedder},
	}})
	must(t, err)
	cfg.Engine = engine
	w.worker, err = worker.New(cfg)
	must(t, err)
	w.cfg = roles.Config{Assembler: engine, Packs: w.worker.Service, Log: w.log, Items: stores.Items, PDP: pdp, Embedder: embedder}
	if change != nil {
		change(&w.cfg)
	}
	w.runner, err = roles.New(w.cfg)
	must(t, err)
	return w
}

func openIndexes(t testing.TB, dir string) projection.Stores {
	t.Helper()
	ctx := context.Background()
	idb, err := sqlite.OpenItems(ctx, sqlite.IndexConfig{Path: filepath.Join(dir, "items.db")})
	must(t, err)
	t.Cleanup(func() { must(t, idb.Close()) })
	kw, err := memory.OpenKeyword(memory.KeywordConfig{})
	must(t, err)
	t.Cleanup(func() { must(t, kw.Close()) })
	embedder, err := table()
	must(t, err)
	vec, err := memory.OpenVector(memory.VectorConfig{Model: embedder.Model().String()})
	must(t, err)
	t.Cleanup(func() { must(t, vec.Close()) })
	gdb, err := sqlite.OpenGraph(ctx, sqlite.IndexConfig{Path: filepath.Join(dir, "graph.db")})
	must(t, err)
	t.Cleanup(func() { must(t, gdb.Close()) })
	return projection.Stores{Items: items.New(idb), Keyword: kw, Vector: vector.New(vec), Graph: graph.New(gdb)}
}

// remember puts items into the log and waits until they can be found.
func (w *world) remember(t testing.TB, list ...schemas.MemoryItem) {
	t.Helper()
	s := system(t)
	var batch eventlog.Batch
	for i := range list {
		m := list[i]
		m.Scope.Tenant = "acme"
		if m.CreatedAt.IsZero() {
			m.CreatedAt = time.Now().Add(-time.Hour).UTC()
		}
		raw, err := json.Marshal(&m)
		must(t, err)
		batch.Drafts = append(batch.Drafts, eventlog.Draft{Tenant: "acme", Agent: "writer", Type: schemas.TypeMemoryRecorded, Source: "test", ID: "e-" + m.ID,
			Subject: m.ID, Time: m.CreatedAt, Data: raw})
	}
	_, err := w.log.Append(t.Context(), batch)
	must(t, err)
	head, err := w.log.Head(t.Context(), s)
	must(t, err)
	must(t, w.worker.Projector.Await(t.Context(), s, head.Size))
}

func system(t testing.TB) scope.Scope {
	t.Helper()
	s, err := scope.System("acme")
	must(t, err)
	return s
}

func as(t testing.TB, id string, level schemas.Level, groups ...string) scope.Scope {
	t.Helper()
	return asWith(t, scope.Principal{Kind: "agent", ID: id, Level: int(level), Groups: groups})
}

func asWith(t testing.TB, p scope.Principal) scope.Scope {
	t.Helper()
	s, err := scope.New("acme", p, "")
	must(t, err)
	return s
}

func note(id, speaker, text string, labels ...string) schemas.MemoryItem {
	if labels == nil {
		labels = []string{"level:internal"}
	}
	return schemas.MemoryItem{ID: id, Type: schemas.Episodic, Kind: schemas.KindMemory, Session: "s1", Speaker: speaker, SecurityLabel: labels, Content: schemas.TextContent(text)}
}

func tool(id, name, text string, tags ...string) schemas.MemoryItem {
	raw, err := json.Marshal(schemas.ToolAttributes{Name: name, Signature: name + "()", Description: text, SafetyTags: tags})
	if err != nil {
		panic(err)
	}
	return schemas.MemoryItem{ID: id, Type: schemas.Procedural, Kind: schemas.KindTool, SecurityLabel: []string{"level:internal"}, Content: schemas.TextContent(text), Attributes: raw}
}

// outage is a small story with something for everybody to see, and something not.
func outage() []schemas.MemoryItem {
	return []schemas.MemoryItem{
		note("n1", "Mara", "Card payments fail at checkout with error 502."),
		note("n2", "Jonas", "The TLS certificate of the gateway expired at 09:00 because nobody renewed it."),
		note("n3", "Jonas", "I renewed the gateway certificate and restarted both proxies."),
		note("n4", "Ines", "The outage cost 61,480 EUR; the figure is secret and nicknamed Heliotrope.", "level:restricted"),
		tool("t1", "cert_check", "Shows the gateway certificate of a host.", "read_only"),
		tool("t2", "refund_charge", "Refunds a failed card payment.", "moves_money"),
	}
}

func (w *world) entries(t testing.TB, request string) []eventlog.Entry {
	t.Helper()
	list, err := w.log.BySubject(t.Context(), system(t), request)
	must(t, err)
	return list
}

func hash(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

func code(err error) string {
	if e, ok := err.(*schemas.Error); ok {
		return fmt.Sprintf("%s %s", e.Code, e.Field)
	}
	return fmt.Sprint(err)
}
