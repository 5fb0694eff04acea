package inproc_test

import (
	"fmt"
	"os"
	"runtime"
	"slices"
	"strconv"
	"testing"
	"time"

	"satchel/pipeline/scope"
	"satchel/pipeline/store/keyword"
	"satchel/pipeline/store/keyword/inproc"
	"satchel/schemas"
)

func heapBytes() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// TestFigures prints what the package is measured by. SATCHEL_BENCH_DOCS sets the size.
func TestFigures(t *testing.T) {
	n, err := strconv.Atoi(os.Getenv("SATCHEL_BENCH_DOCS"))
	if err != nil {
		t.Skip("set SATCHEL_BENCH_DOCS to measure")
	}
	ctx, dir := t.Context(), t.TempDir()
	s, err := scope.System("bench")
	if err != nil {
		t.Fatal(err)
	}
	x, err := inproc.Open(inproc.Config{Dir: dir, SnapshotEvery: -1})
	if err != nil {
		t.Fatal(err)
	}
	before, c := heapBytes(), newCorpus(1)
	var spent time.Duration
	for at := 1; at <= n; at += 1000 {
		changes := c.changes(int64(at), min(1000, n-at+1))
		start := time.Now()
		if err := x.Apply(ctx, s, changes, changes[len(changes)-1].Position); err != nil {
			t.Fatal(err)
		}
		spent += time.Since(start)
	}
	t.Logf("index: %.0f docs/s, %.0f B/doc", float64(n)/spent.Seconds(), float64(heapBytes()-before)/float64(n))
	for _, kind := range []string{"terms", "prose"} {
		for _, filter := range []schemas.Filter{schemas.MatchAll(), schemas.Where(schemas.Cond{Field: schemas.FieldLevel, Op: schemas.AtMost, Number: 1})} {
			measure(t, x, s, c, kind, filter)
		}
	}
	loaded(t, x, s, c, int64(n))
	start := time.Now()
	if _, err := x.Digest(ctx, s); err != nil {
		t.Fatal(err)
	}
	t.Logf("digest: %v", time.Since(start))
	start = time.Now()
	if err := x.Close(); err != nil {
		t.Fatal(err)
	}
	t.Logf("snapshot: %v", time.Since(start))
	start = time.Now()
	if x, err = inproc.Open(inproc.Config{Dir: dir}); err != nil {
		t.Fatal(err)
	}
	if at, err := x.Checkpoint(ctx, s); err != nil || at < int64(n) {
		t.Fatal(at, err)
	}
	t.Logf("load: %v", time.Since(start))
}

// loaded measures searches while documents are added as fast as they can be.
func loaded(t *testing.T, x *inproc.Index, s scope.Scope, c *corpus, n int64) {
	t.Helper()
	stop, done := make(chan struct{}), make(chan int64)
	feed := newCorpus(2)
	batches := make([][]keyword.Change, 20)
	for i := range batches {
		batches[i] = feed.changes(n+1+int64(i)*256, 256)
	}
	go func() {
		defer close(done)
		for i := int64(0); ; i++ {
			select {
			case <-stop:
				done <- i * 256
				return
			default:
			}
			batch := batches[i%20]
			for j := range batch {
				batch[j].Position = n + 1 + i*256 + int64(j)
			}
			if err := x.Apply(t.Context(), s, batch, batch[255].Position); err != nil {
				t.Error(err)
				return
			}
		}
	}()
	start := time.Now()
	measure(t, x, s, c, "terms beside ingest", schemas.MatchAll())
	close(stop)
	t.Logf("ingest beside searches: %.0f docs/s", float64(<-done)/time.Since(start).Seconds())
}

func measure(t *testing.T, x *inproc.Index, s scope.Scope, c *corpus, kind string, f schemas.Filter) {
	t.Helper()
	times := make([]time.Duration, 300)
	var ids []string
	var q keyword.Query
	for i := range times {
		q = keyword.Query{Text: c.terms(), Limit: 100, Filter: f}
		if kind == "prose" {
			q.Text = c.text(8 + c.rng.IntN(7))
		}
		start := time.Now()
		res, err := x.Search(t.Context(), s, q)
		times[i] = time.Since(start)
		if err != nil {
			t.Fatal(err)
		}
		for _, h := range res.Hits {
			ids = append(ids, h.ID)
		}
	}
	slices.Sort(times)
	start := time.Now()
	if _, err := x.Score(t.Context(), s, q, ids[:min(400, len(ids))]); err != nil {
		t.Fatal(err)
	}
	t.Logf("%s, %d conditions: p50 %v p95 %v; score of 400: %v", kind, len(f.Conds()), times[150], times[285], time.Since(start))
}

func BenchmarkSearch(b *testing.B) {
	for _, n := range []int{1_000, 100_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			s, err := scope.System("bench")
			if err != nil {
				b.Fatal(err)
			}
			x, err := inproc.Open(inproc.Config{})
			if err != nil {
				b.Fatal(err)
			}
			c := newCorpus(1)
			if err := x.Apply(b.Context(), s, c.changes(1, n), int64(n)); err != nil {
				b.Fatal(err)
			}
			for b.Loop() {
				if _, err := x.Search(b.Context(), s, keyword.Query{Text: c.terms(), Limit: 100, Filter: schemas.MatchAll()}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkApply(b *testing.B) {
	s, err := scope.System("bench")
	if err != nil {
		b.Fatal(err)
	}
	c := newCorpus(1)
	changes := c.changes(1, 10_000)
	for b.Loop() {
		x, err := inproc.Open(inproc.Config{})
		if err != nil {
			b.Fatal(err)
		}
		if err := x.Apply(b.Context(), s, changes, 10_000); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.N)*10_000/b.Elapsed().Seconds(), "docs/s")
}
