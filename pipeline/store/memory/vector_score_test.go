package memory

import (
	"fmt"
	"math/rand/v2"
	"sort"
	"testing"

	"pgregory.net/rapid"

	"satchel/pipeline/store/vector"
	"satchel/schemas"
)

// Many ids at once score what search gives each, whatever lies between them: items without
// rows, with several, removed, hidden, unknown, asked for twice.
func TestScoreIsWhatSearchGives(t *testing.T) {
	t.Parallel()
	const n = 3 * pageSize / 2
	rng := rand.New(rand.NewPCG(3, 3))
	some := func() []float32 {
		v := make([]float32, 32)
		for i := range v {
			v[i] = float32(rng.NormFloat64())
		}
		return v
	}
	x, s := mustOpen(t, VectorConfig{Dimensions: 32}), tenantScope(t, "acme")
	var changes []vector.Change
	for i := range n {
		doc := &vector.Doc{ID: fmt.Sprint("item-", i), Position: int64(i + 1), Facets: schemas.Facets{Level: schemas.Level(rng.IntN(3))}}
		for range []int{0, 1, 1, 1, 2, 5}[rng.IntN(6)] {
			doc.Chunks = append(doc.Chunks, vector.Chunk{Vector: some()})
		}
		changes = append(changes, vector.Change{Position: int64(i + 1), Put: doc})
	}
	changes = append(changes, vector.Change{Position: n + 1, Remove: []string{"item-7", "item-4100"}})
	if err := x.Apply(t.Context(), s, changes, n+1); err != nil {
		t.Fatal(err)
	}
	q := vector.Query{Vector: some(), Limit: n, Filter: schemas.Where(schemas.Cond{Field: schemas.FieldLevel, Op: schemas.AtMost, Number: 1})}
	found, err := x.Search(t.Context(), s, q)
	if err != nil || len(found.Hits) < n/3 {
		t.Fatal(len(found.Hits), err)
	}
	want := map[string]float64{}
	for _, h := range found.Hits {
		want[h.ID] = h.Score
	}
	ids := []string{"absent", "", "item-5", "item-5"}
	for range n {
		ids = append(ids, fmt.Sprint("item-", rng.IntN(n+5)))
	}
	for _, some := range [][]string{nil, ids[:1], ids[:vectorTogether], ids[:vectorTogether+1], ids} {
		scores, err := x.Score(t.Context(), s, q, some)
		if err != nil || len(scores) != len(some) {
			t.Fatal(len(scores), err)
		}
		for i, id := range some {
			if scores[i] != want[id] {
				t.Errorf("%s scores %v, want %v", id, scores[i], want[id])
			}
		}
	}
}

func TestFirstRow(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		rows := rapid.OneOf(rapid.IntRange(0, 40), rapid.IntRange(pageSize-2, 3*pageSize)).Draw(t, "rows")
		gap, same := rapid.SampledFrom([]int{1, 2, 9, 1000}).Draw(t, "gap"), rapid.IntRange(0, 9).Draw(t, "same")
		ax, ord := axis{}, uint32(rng.IntN(3))
		for range rows {
			if !ax.addChunk(ord, &chunk{}, 0) {
				t.Fatal("full")
			}
			if rng.IntN(10) >= same {
				ord += 1 + uint32(rng.IntN(gap))
			}
		}
		for range 500 {
			ord := uint32(rng.IntN(int(ord) + 3))
			want := sort.Search(rows, func(n int) bool { return ax.pages[n/pageSize].items[n%pageSize] >= ord })
			if got := ax.findFirstRow(ord); got != want {
				t.Fatalf("%d begins at row %d, want %d", ord, got, want)
			}
		}
	})
}
