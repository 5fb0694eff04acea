package memory_test

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
	"satchel/pipeline/store/memory"
	"satchel/schemas"
)

func heapBytes() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// BenchmarkFigures measures everything the package is judged by on one index of
// SATCHEL_BENCH_DOCS documents (10,000 when unset), with a fresh index each time.
func BenchmarkFigures(b *testing.B) {
	n, err := strconv.Atoi(os.Getenv("SATCHEL_BENCH_DOCS"))
	if err != nil {
		n = 10_000
	}
	for b.Loop() {
		figures(b, n)
	}
}

func figures(b *testing.B, n int) {
	b.Helper()
	ctx, dir, s := b.Context(), b.TempDir(), system(b, "bench")
	before, c := heapBytes(), newCorpus(1)
	x := openKeyword(b, memory.KeywordConfig{Dir: dir, SnapshotEvery: -1})
	var spent time.Duration
	for at := 1; at <= n; at += 1000 {
		changes := c.changes(int64(at), min(1000, n-at+1))
		start := time.Now()
		if err := x.Apply(ctx, s, changes, changes[len(changes)-1].Position); err != nil {
			b.Fatal(err)
		}
		spent += time.Since(start)
	}
	b.ReportMetric(float64(n)/spent.Seconds(), "docs/s")
	b.ReportMetric(float64(heapBytes()-before)/float64(n), "B/doc")
	some := schemas.Where(schemas.Cond{Field: schemas.FieldLevel, Op: schemas.AtMost, Number: 1})
	measure(b, x, s, c, "terms", schemas.MatchAll())
	measure(b, x, s, c, "filtered", some)
	measure(b, x, s, c, "prose", schemas.MatchAll())
	loaded(b, x, s, c, int64(n))
	start := time.Now()
	digestOf(b, x, s)
	b.ReportMetric(time.Since(start).Seconds(), "s-digest")
	start = time.Now()
	closeIndex(b, x)
	b.ReportMetric(time.Since(start).Seconds(), "s-snapshot")
	start = time.Now()
	x = openKeyword(b, memory.KeywordConfig{Dir: dir})
	if at := checkpoint(b, x, s); at < int64(n) {
		b.Fatal(at)
	}
	b.ReportMetric(time.Since(start).Seconds(), "s-load")
}

// loaded measures searches while documents are added as fast as they can be.
func loaded(b *testing.B, x *memory.Keyword, s scope.Scope, c *corpus, n int64) {
	b.Helper()
	feed := newCorpus(2)
	batches := make([][]keyword.Change, 20)
	for i := range batches {
		batches[i] = feed.changes(n+1+int64(i)*256, 256)
	}
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for i := int64(0); ; i++ {
			select {
			case <-stop:
				return
			default:
			}
			batch := batches[i%20]
			for j := range batch {
				batch[j].Position = n + 1 + i*256 + int64(j)
			}
			if err := x.Apply(b.Context(), s, batch, batch[255].Position); err != nil {
				b.Error(err)
				return
			}
		}
	}()
	measure(b, x, s, c, "beside-ingest", schemas.MatchAll())
	close(stop)
	<-done
}

// measure reports the median and 95th percentile of 300 searches, and what a look-up by
// id costs.
func measure(b *testing.B, x *memory.Keyword, s scope.Scope, c *corpus, kind string, f schemas.Filter) {
	b.Helper()
	times := make([]time.Duration, 300)
	var ids []string
	var q keyword.Query
	for i := range times {
		q = keyword.Query{Population: schemas.MatchAll(), Text: c.terms(), Limit: 100, Filter: f}
		if kind == "prose" {
			q.Text = c.text(8 + c.rng.IntN(7))
		}
		start := time.Now()
		res, err := x.Search(b.Context(), s, q)
		times[i] = time.Since(start)
		if err != nil {
			b.Fatal(err)
		}
		for _, h := range res.Hits {
			ids = append(ids, h.ID)
		}
	}
	slices.Sort(times)
	b.ReportMetric(float64(times[150])/1e3, "µs-p50-"+kind)
	b.ReportMetric(float64(times[285])/1e3, "µs-p95-"+kind)
	ids = ids[:min(400, len(ids))]
	start := time.Now()
	if _, err := x.Score(b.Context(), s, q, ids); err != nil {
		b.Fatal(err)
	}
	if kind == "terms" {
		b.ReportMetric(float64(time.Since(start).Nanoseconds())/float64(max(1, len(ids))), "ns/score")
	}
}

func BenchmarkKeywordSearch(b *testing.B) {
	for _, n := range []int{1_000, 100_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			s, err := scope.System("bench")
			if err != nil {
				b.Fatal(err)
			}
			x, err := memory.OpenKeyword(memory.KeywordConfig{})
			if err != nil {
				b.Fatal(err)
			}
			c := newCorpus(1)
			if err := x.Apply(b.Context(), s, c.changes(1, n), int64(n)); err != nil {
				b.Fatal(err)
			}
			for b.Loop() {
				if _, err := x.Search(b.Context(), s, keyword.Query{Population: schemas.MatchAll(), Text: c.terms(), Limit: 100, Filter: schemas.MatchAll()}); err != nil {
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
		x, err := memory.OpenKeyword(memory.KeywordConfig{})
		if err != nil {
			b.Fatal(err)
		}
		if err := x.Apply(b.Context(), s, changes, 10_000); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.N)*10_000/b.Elapsed().Seconds(), "docs/s")
}

// BenchmarkKeywordScore scores 600 of 100,000 documents that nothing has in its cache.
func BenchmarkKeywordScore(b *testing.B) {
	s, err := scope.System("bench")
	if err != nil {
		b.Fatal(err)
	}
	x, err := memory.OpenKeyword(memory.KeywordConfig{})
	if err != nil {
		b.Fatal(err)
	}
	c := newCorpus(1)
	changes := c.changes(1, 100_000)
	if err := x.Apply(b.Context(), s, changes, 100_000); err != nil {
		b.Fatal(err)
	}
	q := keyword.Query{Population: schemas.MatchAll(), Text: c.terms(), Filter: schemas.MatchAll()}
	some, other := make([]string, 600), make([]byte, 64<<20)
	for b.Loop() {
		b.StopTimer()
		for i := range some {
			some[i] = changes[c.rng.IntN(len(changes))].Put.ID
		}
		for i := 0; i < len(other); i += 64 {
			other[i]++
		}
		b.StartTimer()
		if _, err := x.Score(b.Context(), s, q, some); err != nil {
			b.Fatal(err)
		}
	}
}
