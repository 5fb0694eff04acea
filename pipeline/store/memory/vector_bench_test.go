package memory_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	"satchel/pipeline/scope"
	"satchel/pipeline/store/memory"
	"satchel/pipeline/store/vector"
	"satchel/schemas"
)

const benchDims = 256

func randomVector(rng *rand.Rand) []float32 {
	v := make([]float32, benchDims)
	for i := range v {
		v[i] = float32(rng.NormFloat64()) / 16
	}
	return v
}

func randomID(rng *rand.Rand) string {
	a, b := rng.Uint64(), rng.Uint64()
	return fmt.Sprintf("%08x-%04x-7%03x-8%03x-%012x", uint32(a>>32), uint16(a>>16), a&0xfff, b>>52, b&0xffffffffffff)
}

// fill indexes n items of one chunk and returns some of their ids.
func fill(tb testing.TB, x vector.Index, s scope.Scope, rng *rand.Rand, n int) (ids []string, spent time.Duration) {
	for at := 1; at <= n; at += 1000 {
		var changes []vector.Change
		for i := at; i < at+1000 && i <= n; i++ {
			changes = append(changes, vector.Change{Position: int64(i), Put: &vector.Doc{
				ID: randomID(rng), Position: int64(i),
				Chunks: []vector.Chunk{{Span: schemas.Span{End: 200}, Vector: randomVector(rng)}},
				Facets: schemas.Facets{Kind: schemas.KindMemory, Level: schemas.Level(i % 4), Session: fmt.Sprint("s", i/200), Trust: .5},
			}})
		}
		if len(ids) < 400 {
			ids = append(ids, changes[0].Put.ID, changes[len(changes)-1].Put.ID)
		}
		start := time.Now()
		if err := x.Apply(context.Background(), s, changes, changes[len(changes)-1].Position); err != nil {
			tb.Fatal(err)
		}
		spent += time.Since(start)
	}
	return ids, spent
}

// TestFigures prints what the package is measured by. SATCHEL_BENCH_DOCS sets the size.
func TestFigures(t *testing.T) {
	n, err := strconv.Atoi(os.Getenv("SATCHEL_BENCH_DOCS"))
	if err != nil {
		t.Skip("set SATCHEL_BENCH_DOCS to measure")
	}
	s, err := scope.System("bench")
	if err != nil {
		t.Fatal(err)
	}
	rng, dir, before := rand.New(rand.NewPCG(1, 1)), t.TempDir(), heapBytes()
	x := openVector(t, memory.VectorConfig{Dir: dir, SnapshotEvery: -1, ParallelFrom: -1})
	ids, spent := fill(t, x, s, rng, n)
	t.Logf("index: %.0f vectors/s, %.0f B/vector", float64(n)/spent.Seconds(), float64(heapBytes()-before)/float64(n))
	measure := func(name string, x *memory.Vector) {
		for _, f := range []schemas.Filter{schemas.MatchAll(), schemas.Where(schemas.Cond{Field: schemas.FieldLevel, Op: schemas.AtMost, Number: 1})} {
			times := make([]time.Duration, 101)
			for i := range times {
				q := vector.Query{Vector: randomVector(rng), Limit: 100, Filter: f}
				start := time.Now()
				if _, err := x.Search(t.Context(), s, q); err != nil {
					t.Fatal(err)
				}
				times[i] = time.Since(start)
			}
			slices.Sort(times)
			t.Logf("%s, %d conditions: min %v p50 %v p95 %v", name, len(f.Conds()), times[0], times[50], times[95])
		}
	}
	measure("one goroutine", x)
	start := time.Now()
	if _, err := x.Score(t.Context(), s, vector.Query{Vector: randomVector(rng), Filter: schemas.MatchAll()}, ids); err != nil {
		t.Fatal(err)
	}
	t.Logf("score of %d: %v", len(ids), time.Since(start))
	for _, step := range []struct {
		name string
		run  func() error
	}{
		{"digest", func() error { _, err := x.Digest(t.Context(), s); return err }},
		{"scrub with snapshot", func() error { return x.Scrub(t.Context(), s) }},
		{"close", x.Close},
	} {
		start := time.Now()
		if err := step.run(); err != nil {
			t.Fatal(err)
		}
		t.Logf("%s: %v", step.name, time.Since(start))
	}
	x = openVector(t, memory.VectorConfig{Dir: dir, SnapshotEvery: -1})
	start = time.Now()
	if at, err := x.Checkpoint(t.Context(), s); err != nil || at != int64(n) {
		t.Fatal(at, err)
	}
	t.Logf("load: %v", time.Since(start))
	measure("two goroutines", x)
}

func BenchmarkVectorSearch(b *testing.B) {
	for _, n := range []int{1_000, 10_000, 100_000, 1_000_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			s, err := scope.System("bench")
			if err != nil {
				b.Fatal(err)
			}
			x, rng := openVector(b, memory.VectorConfig{ParallelFrom: -1}), rand.New(rand.NewPCG(1, 1))
			fill(b, x, s, rng, n)
			q := vector.Query{Vector: randomVector(rng), Limit: 100, Filter: schemas.MatchAll()}
			for b.Loop() {
				if _, err := x.Search(b.Context(), s, q); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkFiltered searches 100,000 items, of which a filter lets every other through, in no
// order.
func BenchmarkFiltered(b *testing.B) {
	s, err := scope.System("bench")
	if err != nil {
		b.Fatal(err)
	}
	x, rng := openVector(b, memory.VectorConfig{ParallelFrom: -1}), rand.New(rand.NewPCG(1, 1))
	for i := range 100_000 {
		doc := &vector.Doc{ID: fmt.Sprintf("item-%09d", i), Chunks: []vector.Chunk{{Vector: randomVector(rng)}},
			Facets: schemas.Facets{Session: fmt.Sprint("s", i/50), Trust: float64(rng.IntN(10)) / 10}}
		if err := x.Apply(b.Context(), s, []vector.Change{{Position: int64(i + 1), Put: doc}}, int64(i+1)); err != nil {
			b.Fatal(err)
		}
	}
	half := schemas.Where(schemas.Cond{Field: schemas.FieldTrust, Op: schemas.AtMost, Number: .45})
	q := vector.Query{Vector: randomVector(rng), Limit: 100, Filter: half}
	for b.Loop() {
		if _, err := x.Search(b.Context(), s, q); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkVectorScore scores 600 of 100,000 items that nothing has in its cache.
func BenchmarkVectorScore(b *testing.B) {
	for _, chunks := range []int{1, 3} {
		b.Run(fmt.Sprint(chunks), func(b *testing.B) {
			s, err := scope.System("bench")
			if err != nil {
				b.Fatal(err)
			}
			x, rng := openVector(b, memory.VectorConfig{}), rand.New(rand.NewPCG(1, 1))
			ids := make([]string, 100_000)
			for i := range ids {
				doc := &vector.Doc{ID: fmt.Sprintf("item-%09d", i), Facets: schemas.Facets{Session: fmt.Sprint("s", i/50)}}
				for range 1 + rng.IntN(chunks) {
					doc.Chunks = append(doc.Chunks, vector.Chunk{Vector: randomVector(rng)})
				}
				ids[i] = doc.ID
				if err := x.Apply(b.Context(), s, []vector.Change{{Position: int64(i + 1), Put: doc}}, int64(i+1)); err != nil {
					b.Fatal(err)
				}
			}
			q := vector.Query{Vector: randomVector(rng), Limit: 100, Filter: schemas.MatchAll()}
			some, other := make([]string, 600), make([]byte, 64<<20)
			for b.Loop() {
				b.StopTimer()
				for i := range some {
					some[i] = ids[rng.IntN(len(ids))]
				}
				for i := 0; i < len(other); i += 64 {
					other[i]++
				}
				b.StartTimer()
				if _, err := x.Score(b.Context(), s, q, some); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkCold searches 100,000 items that nothing has in its cache.
func BenchmarkCold(b *testing.B) {
	s, err := scope.System("bench")
	if err != nil {
		b.Fatal(err)
	}
	x, rng := openVector(b, memory.VectorConfig{ParallelFrom: -1}), rand.New(rand.NewPCG(1, 1))
	for i := range 100_000 {
		if err := x.Apply(b.Context(), s, []vector.Change{{Position: int64(i + 1), Put: &vector.Doc{
			ID: fmt.Sprintf("item-%09d", i), Facets: schemas.Facets{Session: fmt.Sprint("s", i/50), Trust: rng.Float64()},
			Chunks: []vector.Chunk{{Vector: randomVector(rng)}},
		}}}, int64(i+1)); err != nil {
			b.Fatal(err)
		}
	}
	q := vector.Query{Vector: randomVector(rng), Limit: 100, Filter: schemas.MatchAll()}
	other := make([]byte, 64<<20)
	for b.Loop() {
		b.StopTimer()
		for i := 0; i < len(other); i += 64 {
			other[i]++
		}
		b.StartTimer()
		if _, err := x.Search(b.Context(), s, q); err != nil {
			b.Fatal(err)
		}
	}
}
