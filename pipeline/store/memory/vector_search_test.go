package memory

import (
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"satchel/pipeline/store/vector"
	"satchel/schemas"
)

// Searches begin while a writer replaces the state: the race detector watches.
func TestSearchesDuringCompaction(t *testing.T) {
	t.Parallel()
	x, s := mustOpen(t, VectorConfig{Dimensions: 8}), tenantScope(t, "acme")
	if err := x.Apply(t.Context(), s, []vector.Change{canaryDoc("a", 1, 8, 1)}, 1); err != nil {
		t.Fatal(err)
	}
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
				res, err := x.Search(t.Context(), s, vector.Query{Vector: canary(8, 1), Limit: 3, Filter: schemas.MatchAll()})
				if err != nil || len(res.Hits) != 1 {
					t.Errorf("%d hits, %v", len(res.Hits), err)
				}
			}
		})
	}
	all.Wait()
}

// An item that is removed during a scan takes no place from a live one with its score.
func TestItemsThatGoLoseToLiveOnes(t *testing.T) {
	t.Parallel()
	for _, removed := range []string{"b", "c"} {
		st := newVectorState(8)
		items := map[string]uint32{}
		for _, id := range []string{"b", "c", "a"} {
			if err := st.putVectorItem(id, 1, schemas.Facets{}, nil); err != nil {
				t.Fatal(err)
			}
			items[id], _ = st.IDs.Lookup(id)
		}
		found := &scan{best: []best{{top: topRows{Limit: 2, Before: st.isBefore}}}}
		top := &found.best[0].top
		top.Offer(scoredRow{Doc: items["b"], Score: 0.5})
		top.Offer(scoredRow{Doc: items["c"], Score: 0.5})
		st.removeItem(removed)
		top.Offer(scoredRow{Doc: items["a"], Score: 0.5})
		got := []string{}
		for _, h := range st.collectResult("", 2, []*scan{found}, 0).Hits {
			got = append(got, h.ID)
		}
		// The worse of b and c has made room for a; the other is there if it still lives.
		want := map[string][]string{"b": {"a"}, "c": {"a", "b"}}[removed]
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("without %s (-want +got):\n%s", removed, diff)
		}
	}
}
