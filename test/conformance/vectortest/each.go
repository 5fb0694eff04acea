package vectortest

import (
	"errors"
	"fmt"
	"math/rand/v2"

	"github.com/google/go-cmp/cmp"

	"satchel/pipeline/scope"
	"satchel/pipeline/store/vector"
	"satchel/schemas"
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
