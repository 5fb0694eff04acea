package keywordtest

import (
	"fmt"
	"math/rand/v2"

	"github.com/google/go-cmp/cmp"

	"satchel/pipeline/scope"
	"satchel/pipeline/store/keyword"
	"satchel/schemas"
)

// each holds the SearchEach of a driver that has it to Search: the same results, to the
// last bit, filter by filter, with filters that overlap, that pass nothing and that there
// are many of.
func each(s *suite) {
	x, ok := s.x.(keyword.Batch)
	if ok != s.features.Batch {
		s.Fatalf("a keyword.Batch: %v", ok)
	}
	if !ok {
		return
	}
	rng := rand.New(rand.NewPCG(5, 6))
	kinds := []schemas.Kind{schemas.KindMemory, schemas.KindCode, schemas.KindCommit}
	words := []string{"copper", "wire", "walnut", "table", "copper copper", "glass"}
	docs := make([]keyword.Doc, 60)
	for i := range docs {
		docs[i] = doc(fmt.Sprintf("i-%02d", (i*7)%60), words[rng.IntN(6)]+" "+words[rng.IntN(6)])
		docs[i].Facets.Kind, docs[i].Facets.Level = kinds[rng.IntN(3)], schemas.Level(rng.IntN(4))
	}
	s.put(s.s, docs...)
	s.remove(s.s, "i-07", "i-30")
	var filters []schemas.Filter
	for _, k := range kinds {
		of := schemas.Where(schemas.Cond{Field: schemas.FieldKind, Op: schemas.In, Values: []string{string(k)}})
		filters = append(filters, of, of.And(upTo(1)), schemas.MatchNone(), schemas.MatchAll())
	}
	for _, q := range []keyword.Query{
		{Text: "copper wire", Limit: 5}, {Text: "walnut", Limit: 100}, {Text: "copper copper glass", Limit: 0}, {Text: "unknown", Limit: 3}, {Limit: 3},
	} {
		q.Population = schemas.MatchAll()
		for _, n := range []int{0, 1, 2, 5, len(filters)} {
			got, err := x.SearchEach(s.Context(), s.s, q, filters[:n])
			if err != nil || len(got) != n {
				s.Fatalf("%d results for %d filters, error %v", len(got), n, err)
			}
			for i := range got {
				one := q
				one.Filter = filters[i]
				if diff := cmp.Diff(s.search(s.s, one), got[i]); diff != "" {
					s.Errorf("%q, filter %d of %d, limit %d (-alone +together):\n%s", q.Text, i, n, q.Limit, diff)
				}
			}
		}
	}
	_, noScope := x.SearchEach(s.Context(), scope.Scope{}, all("copper"), filters)
	_, tooMany := x.SearchEach(s.Context(), s.s, keyword.Query{Population: schemas.MatchAll(), Text: "copper", Limit: 1_000_000}, filters)
	if noScope == nil || tooMany == nil {
		s.Errorf("accepted: %v, %v", noScope, tooMany)
	}
}
