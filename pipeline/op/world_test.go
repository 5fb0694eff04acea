package op_test

import (
	"bufio"
	"context"
	"crypto/rand"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/mod/sumdb/note"

	"satchel/pipeline"
	"satchel/pipeline/language"
	"satchel/pipeline/model/static"
	"satchel/pipeline/op"
	"satchel/pipeline/scope"
	"satchel/pipeline/store/eventlog"
	"satchel/pipeline/store/graph"
	"satchel/pipeline/store/items"
	"satchel/pipeline/store/keyword"
	inmemory "satchel/pipeline/store/memory"
	"satchel/pipeline/store/sqlite"
	"satchel/pipeline/store/vector"
	"satchel/pipeline/token"
	"satchel/policies/opa"
	"satchel/schemas"
)

// world is an engine over real stores.
type world struct {
	engine  *op.Operations
	log     *eventlog.Log
	items   *items.Items
	keyword keyword.Index
	vector  vector.Index
	graph   graph.Store
	embed   *static.Embedder
	tokens  token.Counter
	pdp     *opa.PDP
	at      map[string]int64
}

func openWorld(t testing.TB, change func(*op.Config)) *world {
	t.Helper()
	ctx := context.Background()
	dir := t.TempDir()
	w := &world{at: map[string]int64{}}
	ldb, err := sqlite.OpenLog(ctx, sqlite.LogConfig{Path: filepath.Join(dir, "log.db")})
	must(t, err)
	private, public, err := note.GenerateKey(rand.Reader, "test")
	must(t, err)
	signer, err := note.NewSigner(private)
	must(t, err)
	w.log, err = eventlog.New(eventlog.Config{Driver: ldb, Signer: signer, VerifierKey: public})
	must(t, err)
	t.Cleanup(func() { must(t, w.log.Close()) })
	idb, err := sqlite.OpenItems(ctx, sqlite.IndexConfig{Path: filepath.Join(dir, "items.db")})
	must(t, err)
	t.Cleanup(func() { must(t, idb.Close()) })
	w.items = items.New(idb)
	kw, err := inmemory.OpenKeyword(inmemory.KeywordConfig{})
	must(t, err)
	t.Cleanup(func() { must(t, kw.Close()) })
	w.keyword = kw
	w.embed, err = static.New()
	must(t, err)
	vec, err := inmemory.OpenVector(inmemory.VectorConfig{Model: w.embed.Model().String()})
	must(t, err)
	t.Cleanup(func() { must(t, vec.Close()) })
	w.vector = vector.New(vec)
	gdb, err := sqlite.OpenGraph(ctx, sqlite.IndexConfig{Path: filepath.Join(dir, "graph.db")})
	must(t, err)
	t.Cleanup(func() { must(t, gdb.Close()) })
	w.graph = graph.New(gdb)
	w.pdp, err = opa.New(ctx, opa.Config{})
	must(t, err)
	w.tokens, err = token.New("cl100k_base")
	must(t, err)
	cfg := w.config()
	if change != nil {
		change(&cfg)
	}
	w.engine, err = op.New(cfg)
	must(t, err)
	return w
}

// config is of an engine over the world's stores.
func (w *world) config() op.Config {
	return op.Config{Config: pipeline.Config{
		Stores: pipeline.Stores{Log: w.log, Items: w.items, Keyword: w.keyword, Vector: w.vector, Graph: w.graph}, Policy: pipeline.Policy{PDP: w.pdp},
		Models: pipeline.Models{Embedder: w.embed, Tokens: func(string) token.Counter { return w.tokens }},
	}}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// put indexes items as the projector would.
func (w *world) put(t testing.TB, tenant string, list ...schemas.MemoryItem) {
	t.Helper()
	ctx := context.Background()
	s, err := scope.System(tenant)
	must(t, err)
	var ic []items.Change
	var kc []keyword.Change
	var vc []vector.Change
	var gc []graph.Change
	for i := range list {
		m := list[i]
		w.at[tenant]++
		pos := w.at[tenant]
		text := schemas.SearchText(&m)
		f := m.Facets()
		ic = append(ic, items.Change{Position: pos, At: m.CreatedAt, Put: &schemas.Record{
			MemoryItem: m, Position: pos, RecordedAt: m.CreatedAt, Terms: language.CountTerms(text), Tokens: w.tokens.Count(text + "\n"), Facets: f,
		}})
		for _, l := range m.Links {
			if l.Rel == schemas.RelSupersedes {
				w.at[tenant]++
				ic = append(ic, items.Change{Position: w.at[tenant], At: m.CreatedAt, Superseded: &schemas.MemorySuperseded{Item: l.To, By: m.ID}})
			}
		}
		kc = append(kc, keyword.Change{Position: pos, Put: &keyword.Doc{ID: m.ID, Position: pos, Text: text, Facets: f}})
		gc = append(gc, graph.Change{Position: pos, Put: &graph.Node{
			ID: m.ID, Position: pos, Facets: f, Links: m.Links, Entities: language.Mentions(m.Content.Text(), m.Speaker, m.Attributes),
		}})
		vec, err := w.embed.Embed(ctx, []string{text})
		must(t, err)
		vc = append(vc, vector.Change{Position: pos, Put: &vector.Doc{ID: m.ID, Position: pos, Chunks: []vector.Chunk{{Vector: vec[0]}}, Facets: f}})
	}
	must(t, w.items.Apply(ctx, s, ic, w.at[tenant]))
	must(t, w.keyword.Apply(ctx, s, kc, w.at[tenant]))
	must(t, w.vector.Apply(ctx, s, vc, w.at[tenant]))
	must(t, w.graph.Apply(ctx, s, gc, w.at[tenant]))
}

func as(t testing.TB, tenant string, level schemas.Level) scope.Scope {
	t.Helper()
	s, err := scope.New(tenant, scope.Principal{Kind: "agent", ID: "reader", Level: int(level)}, "")
	must(t, err)
	return s
}

// asAuditor is as, of a principal who may know what policy denies.
func asAuditor(t testing.TB, tenant string, level schemas.Level) scope.Scope {
	t.Helper()
	s, err := scope.New(tenant, scope.Principal{Kind: "user", ID: "auditor", Level: int(level), Roles: []string{"auditor"}}, "")
	must(t, err)
	return s
}

// lines decodes a JSONL file.
func lines[T any](t testing.TB, path string) []T {
	t.Helper()
	f, err := os.Open(path)
	must(t, err)
	defer f.Close()
	var out []T
	sc := bufio.NewScanner(f)
	sc.Buffer(nil, 1<<24)
	for sc.Scan() {
		var v T
		must(t, json.Unmarshal(sc.Bytes(), &v))
		out = append(out, v)
	}
	must(t, sc.Err())
	return out
}

var day = time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)
