package memory_test

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"satchel/pipeline/scope"
	"satchel/pipeline/store/memory"
	"satchel/pipeline/store/vector"
	"satchel/schemas"
)

// Random directions are the hard case: everything is about equally far.
func TestRecallAgainstExactCosines(t *testing.T) {
	t.Parallel()
	const n, queries, k = 3000, 8, 50
	rng := rand.New(rand.NewPCG(7, 7))
	s, err := scope.System("acme")
	if err != nil {
		t.Fatal(err)
	}
	x := openVector(t, memory.VectorConfig{})
	vectors := make([][]float32, n)
	changes := make([]vector.Change, n)
	for i := range vectors {
		vectors[i] = randomVector(rng)
		changes[i] = vector.Change{Position: int64(i + 1), Put: &vector.Doc{
			ID: fmt.Sprint(i), Position: int64(i + 1), Chunks: []vector.Chunk{{Vector: vectors[i]}}}}
	}
	if err := x.Apply(t.Context(), s, changes, n); err != nil {
		t.Fatal(err)
	}
	found, worst := 0, 0.0
	for range queries {
		q := randomVector(rng)
		exact := make(map[string]float64, n)
		names := make([]string, n)
		for i, v := range vectors {
			names[i] = fmt.Sprint(i)
			exact[names[i]] = cosine(q, v)
		}
		slices.SortFunc(names, func(a, b string) int { return cmp.Compare(exact[b], exact[a]) })
		r, err := x.Search(t.Context(), s, vector.Query{Vector: q, Limit: k, Filter: schemas.MatchAll()})
		if err != nil {
			t.Fatal(err)
		}
		for _, h := range r.Hits {
			if slices.Contains(names[:k], h.ID) {
				found++
			}
			worst = max(worst, math.Abs(h.Score-exact[h.ID]))
		}
	}
	recall := float64(found) / (queries * k)
	t.Logf("recall@%d %.3f, worst error %.4f", k, recall, worst)
	if recall < .97 || worst > .01 {
		t.Errorf("recall@%d %.3f, worst error %.4f", k, recall, worst)
	}
}

func cosine(a, b []float32) float64 {
	var dot, aa, bb float64
	for i := range a {
		dot += float64(a[i]) * float64(b[i])
		aa += float64(a[i]) * float64(a[i])
		bb += float64(b[i]) * float64(b[i])
	}
	return dot / math.Sqrt(aa*bb)
}
