package memory_test

import (
	"sync"
	"testing"

	"satchel/pipeline/store/keyword"
	"satchel/pipeline/store/memory"
	"satchel/schemas"
)

// Searches begin while a writer replaces the state: the race detector watches.
func TestSearchesDuringCompaction(t *testing.T) {
	t.Parallel()
	x, s := openKeyword(t, memory.KeywordConfig{}), system(t, "acme")
	applyKeyword(t, x, s, put(1, "a", "word"))
	var all sync.WaitGroup
	all.Go(func() {
		for range 300 {
			if err := x.Scrub(t.Context(), s); err != nil {
				t.Error(err)
			}
		}
	})
	for range 3 {
		all.Go(func() {
			for range 300 {
				res, err := x.Search(t.Context(), s, keyword.Query{Population: schemas.MatchAll(), Text: "word", Limit: 3, Filter: schemas.MatchAll()})
				if err != nil || len(res.Hits) != 1 {
					t.Errorf("%d hits, %v", len(res.Hits), err)
				}
			}
		})
	}
	all.Wait()
}
