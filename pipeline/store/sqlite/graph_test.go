package sqlite_test

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"satchel/pipeline/scope"
	"satchel/pipeline/store/graph"
	"satchel/pipeline/store/sqlite"
	"satchel/schemas"
	"satchel/test/conformance/graphtest"
)

func TestGraphConformance(t *testing.T) {
	t.Parallel()
	for name, memory := range map[string]int64{"roomy": 0, "evicting": 1} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			graphtest.Run(t, graphtest.Harness{
				Open: func(ctx context.Context, name string) (graph.Driver, func() error, error) {
					db, err := sqlite.OpenGraph(ctx, sqlite.IndexConfig{Path: filepath.Join(dir, name+" %41?.db"), MemoryBytes: memory})
					if err != nil {
						return nil, nil, err
					}
					return db, db.Close, nil
				},
			})
		})
	}
}

func setup(tb testing.TB) (*sqlite.Graph, *graph.Graph, scope.Scope, string) {
	tb.Helper()
	dir := tb.TempDir()
	db, err := sqlite.OpenGraph(tb.Context(), sqlite.IndexConfig{Path: filepath.Join(dir, "graph.db")})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := db.Close(); err != nil {
			tb.Error(err)
		}
	})
	s, err := scope.System("t1")
	if err != nil {
		tb.Fatal(err)
	}
	return db, graph.New(db), s, dir
}

func TestRemovedNodesAreInNoFile(t *testing.T) {
	t.Parallel()
	db, g, s, dir := setup(t)
	canary := "zq-canary-7713"
	var log []graph.Change
	for i := range 300 {
		n := &graph.Node{ID: fmt.Sprintf("i%d", i), Position: int64(i + 1), Entities: []string{"a", "b"}}
		if i%100 == 50 {
			n.ID, n.Entities = fmt.Sprint(canary, i), []string{canary, canary + " again"}
		}
		log = append(log, graph.Change{Position: int64(i + 1), Put: n})
	}
	apply := func(changes ...graph.Change) {
		t.Helper()
		if err := g.Apply(t.Context(), s, changes, 0); err != nil {
			t.Fatal(err)
		}
	}
	apply(log...)
	if found(t, dir, canary) == 0 {
		t.Fatal("the canary was never there: the test shows nothing")
	}
	apply(graph.Change{Position: 301, Remove: []string{log[50].Put.ID, log[150].Put.ID, log[250].Put.ID}})
	if err := db.Scrub(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := found(t, dir, canary); n != 0 {
		t.Errorf("%d files still hold what was removed", n)
	}
}

// found counts the files under dir that hold text.
func found(t *testing.T, dir, text string) (n int) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		raw, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Contains(raw, []byte(text)) {
			n++
		}
	}
	return n
}

func TestGraphReadersAndWritersTogether(t *testing.T) {
	t.Parallel()
	_, g, s, _ := setup(t)
	var wg sync.WaitGroup
	wg.Go(func() {
		for i := range 60 {
			n := &graph.Node{ID: fmt.Sprintf("i%d", i%40), Position: int64(i + 1), Entities: []string{fmt.Sprint(i % 7)}}
			if err := g.Apply(t.Context(), s, []graph.Change{{Position: int64(i + 1), Put: n}}, 0); err != nil {
				t.Error(err)
			}
		}
	})
	for range 3 {
		wg.Go(func() {
			for i := range 60 {
				if _, err := g.Walk(t.Context(), s, graph.Walk{From: []string{fmt.Sprintf("i%d", i%40)}, Hops: 3, Filter: schemas.MatchAll()}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
}

func Benchmark100k(b *testing.B) {
	_, g, s, _ := setup(b)
	const n = 100_000
	rng := rand.New(rand.NewPCG(1, 2))
	zipf := rand.NewZipf(rng, 1.2, 20, n-1)
	ids := make([]string, n)
	var batch []graph.Change
	var spent time.Duration
	for i := range n {
		ids[i] = uuid.NewSHA1(uuid.Nil, fmt.Append(nil, i)).String()
		node := &graph.Node{ID: ids[i], Position: int64(i + 1), Facets: schemas.Facets{Kind: schemas.KindMemory, Session: fmt.Sprint(i / 20)}}
		for j := range 5 {
			if to := int(zipf.Uint64()); j < 3 && to < i {
				node.Links = append(node.Links, schemas.Link{Rel: schemas.RelFollows, To: ids[to]})
			} else {
				node.Entities = append(node.Entities, fmt.Sprint("name ", rng.IntN(20_000)))
			}
		}
		batch = append(batch, graph.Change{Position: int64(i + 1), Put: node})
		if len(batch) == 500 || i == n-1 {
			start := time.Now()
			if err := g.Apply(b.Context(), s, batch, 0); err != nil {
				b.Fatal(err)
			}
			spent += time.Since(start)
			batch = batch[:0]
		}
	}
	b.Logf("%.0f nodes/s", n/spent.Seconds())
	start := time.Now()
	if _, err := g.Walk(b.Context(), s, graph.Walk{From: ids[:1], Filter: schemas.MatchAll()}); err != nil {
		b.Fatal(err)
	}
	b.Logf("loaded in %v", time.Since(start))
	b.Run("walk2from10", func(b *testing.B) {
		i, visits := 0, 0
		for b.Loop() {
			from := make([]string, 10)
			for j := range from {
				i++
				from[j] = ids[i*7919%n]
			}
			got, err := g.Walk(b.Context(), s, graph.Walk{From: from, Hops: 2, Filter: schemas.MatchAll()})
			if err != nil {
				b.Fatal(err)
			}
			visits += len(got)
		}
		b.ReportMetric(float64(visits)/float64(b.N), "visits")
	})
}
