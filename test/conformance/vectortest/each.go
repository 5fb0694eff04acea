package vectortest

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/google/go-cmp/cmp"

	"satchel/pipeline/scope"
	"satchel/pipeline/store/vector"
	"satchel/schemas"
	"satchel/test/must"
)

// each holds SearchEach to Search: the same results, to the last bit, filter by filter,
// with filters that overlap, that pass nothing and that there are many of.
func each(t *suite) {
	s, rng := t.scope("acme"), rand.New(rand.NewPCG(5, 6))
	kinds := []schemas.Kind{schemas.KindMemory, schemas.KindCode, schemas.KindCommit}
	changes := make([]vector.Change, 60)
	for i := range changes {
		c := doc(int64(i+1), fmt.Sprintf("i-%02d", (i*7)%60))
		for j := range 1 + i%2 {
			v := t.unit(1, float64(rng.IntN(4)), float64(rng.IntN(3))) // few directions: many ties
			c.Put.Chunks = append(c.Put.Chunks, vector.Chunk{Axis: []string{"", "strategy"}[i%7/6], Span: schemas.Span{Start: j, End: j + 9}, Vector: v})
		}
		c.Put.Facets.Kind, c.Put.Facets.Level = kinds[rng.IntN(3)], schemas.Level(rng.IntN(4))
		changes[i] = c
	}
	t.apply(s, 60, changes...)
	t.apply(s, 61, vector.Change{Position: 61, Remove: []string{"i-07", "i-30"}})
	var filters []schemas.Filter
	for _, k := range kinds {
		of := schemas.Where(schemas.Cond{Field: schemas.FieldKind, Op: schemas.In, Values: []string{string(k)}})
		filters = append(filters, of, of.And(schemas.Where(schemas.Cond{Field: schemas.FieldLevel, Op: schemas.AtMost, Number: 1})), schemas.MatchNone(), schemas.MatchAll())
	}
	for _, q := range []vector.Query{
		{Vector: t.unit(1), Limit: 5}, {Vector: t.unit(1, 2, 1), Limit: 100}, {Vector: t.unit(0, 1), Limit: 0},
		{Vector: t.unit(1, 1), Limit: 3, Axis: "strategy"}, {Vector: t.unit(), Limit: 3}, {Vector: t.unit(1), Limit: 3, Axis: "none"},
	} {
		for _, n := range []int{0, 1, 2, 5, len(filters)} {
			got, err := t.x.SearchEach(t.Context(), s, q, filters[:n])
			if err != nil || len(got) != n {
				t.Fatalf("%d results for %d filters, error %v", len(got), n, err)
			}
			for i := range got {
				one := q
				one.Filter = filters[i]
				if diff := cmp.Diff(resultOf(t.search(s, one)), resultOf(got[i])); diff != "" {
					t.Errorf("filter %d of %d, limit %d (-alone +together):\n%s", i, n, q.Limit, diff)
				}
			}
		}
	}
	_, noScope := t.x.SearchEach(t.Context(), scope.Scope{}, vector.Query{Vector: t.unit(1)}, filters)
	_, tooMany := t.x.SearchEach(t.Context(), s, vector.Query{Vector: t.unit(1), Limit: vector.MaxLimit + 1}, filters)
	if _, short := t.x.SearchEach(t.Context(), s, vector.Query{Vector: t.unit(1)[1:], Limit: 1}, filters); noScope == nil || tooMany == nil || !errors.Is(short, vector.ErrDimension) {
		t.Errorf("accepted: %v, %v, %v", noScope, tooMany, short)
	}
}

// resultOf is a result whose empty list of hits is nil.
func resultOf(r vector.Result) vector.Result {
	if len(r.Hits) == 0 {
		r.Hits = nil
	}
	return r
}

// chunkByChunk holds ScoreChunks to the chunks that were put and to Score.
func chunkByChunk(t *suite) {
	s, rng := t.scope("acme"), rand.New(rand.NewPCG(7, 8))
	changes := make([]vector.Change, 40)
	var ids []string
	for i := range changes {
		c := doc(int64(i+1), fmt.Sprintf("i-%02d", i))
		for j := range i % 4 {
			v := t.unit(rng.Float64()-.5, rng.Float64()-.5, rng.Float64()-.5)
			c.Put.Chunks = append(c.Put.Chunks, vector.Chunk{Axis: vector.AxisPassage, Span: schemas.Span{Start: 70_000 * j, End: 70_000*j + i}, Vector: v},
				vector.Chunk{Span: schemas.Span{End: 1}, Vector: t.unit(1)})
		}
		c.Put.Facets.Level = schemas.Level(i % 2)
		changes[i], ids = c, append(ids, c.Put.ID)
	}
	t.apply(s, 40, changes...)
	t.apply(s, 41, vector.Change{Position: 41, Remove: []string{"i-07"}})
	q := vector.Query{Vector: t.unit(.2, -.7, .4), Axis: vector.AxisPassage, Exclude: []string{"i-11"},
		Filter: schemas.Where(schemas.Cond{Field: schemas.FieldLevel, Op: schemas.AtLeast, Number: 1})}
	ids = append([]string{"nobody"}, ids...)
	got, err := t.x.ScoreChunks(t.Context(), s, q, ids)
	if err != nil || len(got) != len(ids) {
		t.Fatalf("%d scores of %d ids, error %v", len(got), len(ids), err)
	}
	best := must.Get(t.x.Score(t.Context(), s, q, ids))(t)
	there := 0
	for i, list := range got {
		most := 0.0
		for j, c := range list {
			there++
			put := changes[i-1].Put.Chunks[2*j]
			if want := product(put.Vector, q.Vector); c.Span != put.Span || c.Score < want-t.Tolerance || c.Score > want+t.Tolerance {
				t.Errorf("%s chunk %d: %v, want %v %.3f", ids[i], j, c, put.Span, want)
			}
			if j == 0 || c.Score > most {
				most = c.Score
			}
		}
		if most < best[i]-t.Tolerance || most > best[i]+t.Tolerance {
			t.Errorf("%s: the best chunk has %.4f, Score says %.4f", ids[i], most, best[i])
		}
	}
	if want := 40 - 3 - 3; there != want {
		t.Errorf("%d chunks, want %d", there, want)
	}
	zero, err := t.x.ScoreChunks(t.Context(), s, vector.Query{Vector: t.unit(), Axis: vector.AxisPassage, Filter: schemas.MatchAll()}, ids)
	if err != nil || len(zero) != len(ids) || slices.ContainsFunc(zero, func(l []vector.ChunkScore) bool { return l != nil }) {
		t.Errorf("the zero vector scores %v, error %v", zero, err)
	}
	other, err := t.x.ScoreChunks(t.Context(), t.scope("other"), q, ids)
	if err != nil || slices.ContainsFunc(other, func(l []vector.ChunkScore) bool { return l != nil }) {
		t.Errorf("another tenant reads %v, error %v", other, err)
	}
	_, noScope := t.x.ScoreChunks(t.Context(), scope.Scope{}, q, ids)
	q.Vector = q.Vector[1:]
	if _, short := t.x.ScoreChunks(t.Context(), s, q, ids); noScope == nil || !errors.Is(short, vector.ErrDimension) {
		t.Errorf("accepted: %v, %v", noScope, short)
	}
}

func product(a, b []float32) (sum float64) {
	for i := range a {
		sum += float64(a[i]) * float64(b[i])
	}
	return sum
}
