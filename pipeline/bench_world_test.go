package pipeline_test

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"satchel/pipeline"
	"satchel/pipeline/embed/static"
	"satchel/pipeline/scope"
	"satchel/pipeline/store/eventlog"
	logsqlite "satchel/pipeline/store/eventlog/sqlite"
	"satchel/pipeline/store/items"
	itemsqlite "satchel/pipeline/store/items/sqlite"
	"satchel/pipeline/store/keyword"
	"satchel/pipeline/store/keyword/inproc"
	"satchel/pipeline/store/vector"
	"satchel/pipeline/token"
	"satchel/policies/opaembed"
	"satchel/schemas"
)

// world is an engine over real stores.
type world struct {
	engine  *pipeline.Engine
	log     *eventlog.Log
	items   *items.Items
	keyword keyword.Index
	vector  vector.Index
	embed   *static.Embedder
	tokens  token.Counter
	at      map[string]int64
}

func openWorld(t testing.TB, change func(*pipeline.Config)) *world {
	t.Helper()
	ctx := context.Background()
	dir := t.TempDir()
	w := &world{at: map[string]int64{}}
	ldb, err := logsqlite.Open(ctx, logsqlite.Config{Path: filepath.Join(dir, "log.db")})
	must(t, err)
	w.log, err = eventlog.New(eventlog.Config{Driver: ldb})
	must(t, err)
	t.Cleanup(func() { must(t, w.log.Close()) })
	idb, err := itemsqlite.Open(ctx, itemsqlite.Config{Path: filepath.Join(dir, "items.db")})
	must(t, err)
	t.Cleanup(func() { must(t, idb.Close()) })
	w.items = items.New(idb)
	kw, err := inproc.Open(inproc.Config{})
	must(t, err)
	t.Cleanup(func() { must(t, kw.Close()) })
	w.keyword = kw
	w.vector = &exact{tenants: map[string]*exactTenant{}}
	w.embed, err = static.New()
	must(t, err)
	pdp, err := opaembed.New(ctx, opaembed.Config{})
	must(t, err)
	w.tokens, err = token.New("cl100k_base")
	must(t, err)
	cfg := pipeline.Config{
		Log: w.log, Items: w.items, Keyword: w.keyword, Vector: w.vector, PDP: pdp, Embedder: w.embed,
		Tokens: func(string) token.Counter { return w.tokens },
	}
	if change != nil {
		change(&cfg)
	}
	w.engine, err = pipeline.New(cfg)
	must(t, err)
	return w
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
	for i := range list {
		m := list[i]
		w.at[tenant]++
		pos := w.at[tenant]
		text := m.Content.Text()
		if m.Speaker != "" {
			text = m.Speaker + ": " + text
		}
		f := m.Facets()
		ic = append(ic, items.Change{Position: pos, At: m.CreatedAt, Put: &schemas.Record{
			MemoryItem: m, Position: pos, RecordedAt: m.CreatedAt, Terms: keyword.Terms(text), Tokens: w.tokens.Count(text + "\n"), Facets: f,
		}})
		kc = append(kc, keyword.Change{Position: pos, Put: &keyword.Doc{ID: m.ID, Position: pos, Text: text, Facets: f}})
		vec, err := w.embed.Embed(ctx, []string{text})
		must(t, err)
		vc = append(vc, vector.Change{Position: pos, Put: &vector.Doc{ID: m.ID, Position: pos, Chunks: []vector.Chunk{{Vector: vec[0]}}, Facets: f}})
	}
	must(t, w.items.Apply(ctx, s, ic, w.at[tenant]))
	must(t, w.keyword.Apply(ctx, s, kc, w.at[tenant]))
	must(t, w.vector.Apply(ctx, s, vc, w.at[tenant]))
}

func as(t testing.TB, tenant string, level schemas.Level) scope.Scope {
	t.Helper()
	s, err := scope.New(tenant, scope.Principal{Kind: "agent", ID: "reader", Level: int(level)}, "")
	must(t, err)
	return s
}

// exact is a vector index that keeps every vector as it is.
type exact struct {
	mu      sync.RWMutex
	tenants map[string]*exactTenant
}

type exactTenant struct {
	at   int64
	ids  []string
	docs map[string]*vector.Doc
}

func (e *exact) Apply(_ context.Context, s scope.Scope, changes []vector.Change, upTo int64) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	x := e.tenants[s.Tenant()]
	if x == nil {
		x = &exactTenant{docs: map[string]*vector.Doc{}}
		e.tenants[s.Tenant()] = x
	}
	for _, c := range changes {
		if c.Put != nil {
			x.docs[c.Put.ID] = c.Put
			x.ids = append(x.ids, c.Put.ID)
		}
	}
	x.at = upTo
	return nil
}

func (e *exact) Checkpoint(_ context.Context, s scope.Scope) (int64, error) {
	e.mu.RLock()
	defer e.mu.RUnlock()
	if x := e.tenants[s.Tenant()]; x != nil {
		return x.at, nil
	}
	return 0, nil
}

func (e *exact) Search(_ context.Context, s scope.Scope, q vector.Query) (vector.Result, error) {
	e.mu.RLock()
	defer e.mu.RUnlock()
	var res vector.Result
	x := e.tenants[s.Tenant()]
	if x == nil {
		return res, nil
	}
	var sum, square float64
	for _, id := range x.ids {
		d := x.docs[id]
		if !q.Filter.Match(&d.Facets) {
			continue
		}
		v := cosine(q.Vector, d.Chunks[0].Vector)
		sum += v
		square += v * v
		res.Hits = append(res.Hits, vector.Hit{ID: id, Score: v})
	}
	res.N = len(res.Hits)
	if res.N > 0 {
		res.Mean = sum / float64(res.N)
		res.SD = math.Sqrt(max(0, square/float64(res.N)-res.Mean*res.Mean))
	}
	slices.SortFunc(res.Hits, func(a, b vector.Hit) int {
		return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(a.ID, b.ID))
	})
	res.Hits = res.Hits[:min(q.Limit, len(res.Hits))]
	return res, nil
}

func (e *exact) Score(_ context.Context, s scope.Scope, q vector.Query, ids []string) ([]float64, error) {
	e.mu.RLock()
	defer e.mu.RUnlock()
	out := make([]float64, len(ids))
	x := e.tenants[s.Tenant()]
	for i, id := range ids {
		if d := x.docs[id]; d != nil && q.Filter.Match(&d.Facets) {
			out[i] = cosine(q.Vector, d.Chunks[0].Vector)
		}
	}
	return out, nil
}

func (e *exact) Digest(context.Context, scope.Scope) ([32]byte, error) { return [32]byte{}, nil }
func (e *exact) Reset(context.Context, scope.Scope) error              { return nil }

func cosine(a, b []float32) float64 {
	var s float32
	for i := range a {
		s += a[i] * b[i]
	}
	return float64(s)
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
