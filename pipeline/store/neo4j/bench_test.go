package neo4j_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"satchel/pipeline/scope"
	"satchel/pipeline/store/graph"
	"satchel/schemas"
	"satchel/test/testenv/neo4jtest"
)

// BenchmarkNeo4j loads 10,000 items with 50,000 edges in batches of 500, then walks and
// measures causal distances with a filter of two conditions. One round is enough:
// go test -run '^$' -bench Neo4j -benchtime 1x.
func BenchmarkNeo4j(b *testing.B) {
	const items, batch, walks = 10_000, 500, 200
	db := open(b, config(neo4jtest.Open(b)))
	g, s, r := graph.New(db), systemScope(b), rand.New(rand.NewPCG(1, 1))
	filter := schemas.Where(schemas.Cond{Field: schemas.FieldLevel, Op: schemas.AtMost, Number: 2}, schemas.Cond{Field: schemas.FieldGroups, Op: schemas.EmptyOrIn, Values: []string{"g1"}})
	id := func(i int) string { return fmt.Sprintf("item-%05d", i) }
	for range b.N {
		var took []time.Duration
		begun := time.Now()
		for from := 0; from < items; from += batch {
			log := make([]graph.Change, batch)
			for i := range log {
				n, at := from+i, int64(from+i+1)
				near := func() string { return id(max(0, n-1-r.IntN(200))) }
				log[i] = graph.Change{Position: at, Put: &graph.Node{ID: id(n), Position: at, Facets: facets(r),
					Links:    []schemas.Link{{Rel: schemas.RelFollows, To: near()}, {Rel: schemas.RelCausedBy, To: near()}, {Rel: schemas.RelMentions, To: near()}},
					Entities: []string{fmt.Sprint("name ", r.IntN(2000)), fmt.Sprint("place ", r.IntN(2000))}}}
			}
			one := time.Now()
			if err := g.Apply(b.Context(), s, log, 0); err != nil {
				b.Fatal(err)
			}
			took = append(took, time.Since(one))
		}
		b.ReportMetric(items/time.Since(begun).Seconds(), "items/s")
		report(b, "batch", took)
		for hops := 1; hops <= 3; hops++ {
			took = measure(b, walks, func() error {
				_, err := g.Walk(b.Context(), s, graph.Walk{From: []string{id(r.IntN(items))}, Hops: hops, Filter: filter})
				return err
			})
			report(b, fmt.Sprint("hops", hops), took)
		}
		took = measure(b, walks/4, func() error {
			from := r.IntN(items - 300)
			_, err := g.Distances(b.Context(), s, []string{id(from)}, []string{id(from + 200)}, 5, filter)
			return err
		})
		report(b, "distance5", took)
	}
}

func systemScope(b *testing.B) scope.Scope {
	b.Helper()
	s, err := scope.System("acme")
	if err != nil {
		b.Fatal(err)
	}
	return s
}

// measure times calls, after a few that let the server plan.
func measure(b *testing.B, n int, call func() error) []time.Duration {
	b.Helper()
	took := make([]time.Duration, n)
	for i := -5; i < n; i++ {
		begun := time.Now()
		if err := call(); err != nil {
			b.Fatal(err)
		}
		if i >= 0 {
			took[i] = time.Since(begun)
		}
	}
	return took
}

func report(b *testing.B, what string, took []time.Duration) {
	slices.Sort(took)
	ms := func(q float64) float64 { return float64(took[int(q*float64(len(took)-1))].Microseconds()) / 1000 }
	b.ReportMetric(ms(.5), what+"-p50-ms")
	b.ReportMetric(ms(.95), what+"-p95-ms")
}
