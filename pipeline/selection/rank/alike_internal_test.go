package rank

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// Two lists are alike exactly when each lacks few words of the other, none of which was asked for.
func TestAlikeIsFewWordsApart(t *testing.T) {
	r, yes := rand.New(rand.NewPCG(1, 2)), 0
	for range 20000 {
		a := make([]uint64, 4+r.IntN(40))
		for i := range a {
			a[i] = r.Uint64N(60)
		}
		b := slices.Clone(a)
		for range r.IntN(6) {
			b[r.IntN(len(b))] = r.Uint64N(60)
		}
		b = b[r.IntN(3):]
		slices.Sort(a)
		slices.Sort(b)
		asked := []uint64{r.Uint64N(60), r.Uint64N(60)}
		one, other := without(a, b), without(b, a)
		want := min(len(a), len(b)) >= alikeWords && max(len(one), len(other)) <= max(len(a), len(b))/alikeDiffer
		for _, w := range asked {
			want = want && !slices.Contains(one, w) && !slices.Contains(other, w)
		}
		if hasSimilarWords(a, b, asked) != want || hasSimilarWords(b, a, asked) != want {
			t.Fatalf("alike(%v, %v, %v) is not %v", a, b, asked, want)
		}
		if want {
			yes++
		}
	}
	if yes < 1000 {
		t.Errorf("only %d were alike: the test shows nothing", yes)
	}
}

// without returns the words of a, as often as b lacks them.
func without(a, b []uint64) []uint64 {
	rest := slices.Clone(a)
	for _, w := range b {
		if i := slices.Index(rest, w); i >= 0 {
			rest = slices.Delete(rest, i, i+1)
		}
	}
	return rest
}
