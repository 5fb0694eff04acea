package memory

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"satchel/pipeline/store/vector"
	"satchel/schemas"
)

// A search by way of coarse rows finds what one over the whole rows does, with the same scores
// and spans: items of no, one and several chunks, near and far, hidden, replaced and removed,
// under one filter and several.
func TestCoarseSearchIsTheExactOne(t *testing.T) {
	t.Parallel()
	const n, dims = 6000, 256
	rng := rand.New(rand.NewPCG(5, 5))
	centres := make([][]float32, 20)
	around := func(centre []float32, spread float64) []float32 {
		v := make([]float32, dims)
		for i := range v {
			v[i] = float32(spread * rng.NormFloat64())
			if centre != nil {
				v[i] += centre[i]
			}
		}
		return v
	}
	for i := range centres {
		centres[i] = around(nil, 1)
	}
	var changes []vector.Change
	for i := range n {
		doc := &vector.Doc{ID: fmt.Sprint("item-", rng.IntN(n)), Position: int64(i + 1), Facets: schemas.Facets{Level: schemas.Level(rng.IntN(3))}}
		for c := range []int{0, 1, 1, 1, 1, 3}[rng.IntN(6)] {
			doc.Chunks = append(doc.Chunks, vector.Chunk{Span: schemas.Span{Start: c, End: c + 1}, Vector: around(centres[rng.IntN(len(centres))], 1)})
		}
		changes = append(changes, vector.Change{Position: int64(i + 1), Put: doc})
	}
	changes = append(changes, vector.Change{Position: n + 1, Remove: []string{changes[7].Put.ID, changes[4100].Put.ID}})
	s := tenantScope(t, "acme")
	index := func(cfg VectorConfig) *Vector {
		x := mustOpen(t, cfg)
		if err := x.Apply(t.Context(), s, changes, n+1); err != nil {
			t.Fatal(err)
		}
		return x
	}
	exact := index(VectorConfig{CoarseFrom: -1})
	ways := map[string]*Vector{"one scan": index(VectorConfig{CoarseFrom: 1}), "two scans": index(VectorConfig{CoarseFrom: 1, ParallelFrom: 1})}
	filters := []schemas.Filter{schemas.MatchAll(), schemas.Where(schemas.Cond{Field: schemas.FieldLevel, Op: schemas.AtMost, Number: 1})}
	missed, all := 0, 0
	for round := range 30 {
		q := vector.Query{Vector: around(centres[round%len(centres)], []float64{0, 1, 30}[round%3]), Limit: []int{1, 50, 2 * n}[round%3]}
		want, err := exact.SearchEach(t.Context(), s, q, filters)
		if err != nil {
			t.Fatal(err)
		}
		for name, x := range ways {
			got, err := x.SearchEach(t.Context(), s, q, filters)
			if err != nil {
				t.Fatal(err)
			}
			for f := range filters {
				w, g := want[f], got[f]
				if g.N != w.N || len(g.Hits) != len(w.Hits) || math.Abs(g.Mean-w.Mean) > .002 || math.Abs(g.SD/w.SD-1) > .02 {
					t.Errorf("%s: %d hits of %d, mean %.4f, deviation %.4f; want %d of %d, %.4f, %.4f", name, len(g.Hits), g.N, g.Mean, g.SD, len(w.Hits), w.N, w.Mean, w.SD)
				}
				known := map[string]vector.Hit{}
				for _, h := range w.Hits {
					known[h.ID] = h
				}
				for _, h := range g.Hits {
					if all++; known[h.ID] != h {
						missed++
					}
				}
			}
		}
	}
	if missed > all/2000 {
		t.Errorf("%d of %d hits differ", missed, all)
	}
}

// Where 4 bits lose nothing, of zero vectors, what scores alike is found all the same.
func TestCoarseSearchOfZeroVectors(t *testing.T) {
	t.Parallel()
	x, s := mustOpen(t, VectorConfig{Dimensions: 8, CoarseFrom: 1}), tenantScope(t, "acme")
	var changes []vector.Change
	for i, id := range []string{"a", "b", "c"} {
		changes = append(changes, vector.Change{Position: int64(i + 1), Put: &vector.Doc{ID: id, Position: int64(i + 1), Chunks: []vector.Chunk{{Vector: make([]float32, 8)}}}})
	}
	if err := x.Apply(t.Context(), s, changes, 3); err != nil {
		t.Fatal(err)
	}
	r, err := x.Search(t.Context(), s, vector.Query{Vector: []float32{1, 0, 0, 0, 0, 0, 0, 0}, Limit: 2, Filter: schemas.MatchAll()})
	if err != nil || len(r.Hits) != 2 || r.Hits[0].ID != "a" || r.Hits[1].ID != "b" || r.N != 3 {
		t.Errorf("%+v, %v", r, err)
	}
}

// The zero vector finds nothing, however it is searched for.
func TestCoarseSearchForNothing(t *testing.T) {
	t.Parallel()
	x, s := mustOpen(t, VectorConfig{Dimensions: 8, CoarseFrom: 1}), tenantScope(t, "acme")
	if err := x.Apply(t.Context(), s, []vector.Change{canaryDoc("a", 1, 8, 1)}, 1); err != nil {
		t.Fatal(err)
	}
	r, err := x.Search(t.Context(), s, vector.Query{Vector: make([]float32, 8), Limit: 3, Filter: schemas.MatchAll()})
	if err != nil || len(r.Hits) != 0 || r.N != 1 || r.Mean != 0 {
		t.Errorf("%+v, %v", r, err)
	}
}
