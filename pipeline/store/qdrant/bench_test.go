package qdrant_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"satchel/pipeline/store/vector"
	"satchel/schemas"
	"satchel/test/testenv/qdranttest"
)

// BenchmarkQdrant loads 10,000 items in batches of 500 and searches them with a filter of
// two conditions. Against the stand-in it measures the driver and the stand-in, not
// Qdrant. One round is enough: go test -run '^$' -bench Qdrant -benchtime 1x.
func BenchmarkQdrant(b *testing.B) {
	const items, batch, searches = 10_000, 500, 100
	x, s, r := vector.New(open(b, config(qdranttest.Open(b)))), system(b), rand.New(rand.NewPCG(1, 1))
	filter := schemas.Where(schemas.Cond{Field: schemas.FieldLevel, Op: schemas.AtMost, Number: 2}, schemas.Cond{Field: schemas.FieldGroups, Op: schemas.EmptyOrIn, Values: []string{"g1"}})
	for range b.N {
		begun := time.Now()
		for from := 0; from < items; from += batch {
			log := make([]vector.Change, batch)
			for i := range log {
				at := int64(from + i + 1)
				log[i] = vector.Change{Position: at, Put: &vector.Doc{ID: fmt.Sprint("i", at), Position: at,
					Facets: schemas.Facets{Kind: schemas.KindMemory, Level: schemas.Level(r.IntN(4))}, Chunks: []vector.Chunk{{Vector: random(r)}}}}
			}
			if err := x.Apply(b.Context(), s, log, int64(from+batch)); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(items/time.Since(begun).Seconds(), "upserts/s")
		took := make([]time.Duration, searches)
		for i := range took {
			one := time.Now()
			if _, err := x.Search(b.Context(), s, vector.Query{Vector: random(r), Limit: 50, Filter: filter}); err != nil {
				b.Fatal(err)
			}
			took[i] = time.Since(one)
		}
		slices.Sort(took)
		b.ReportMetric(float64(took[searches/2].Microseconds())/1000, "search-p50-ms")
		b.ReportMetric(float64(took[searches*95/100].Microseconds())/1000, "search-p95-ms")
	}
}
