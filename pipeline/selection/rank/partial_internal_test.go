package rank

import (
	"cmp"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// What is returned is the head of the sorted list, and nothing is lost.
func TestSortFirstIsTheHeadOfSorted(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		numbers := rapid.IntRange(0, rapid.SampledFrom([]int{2, 20, 1e6}).Draw(t, "range"))
		s := rapid.SliceOfN(numbers, 0, 300).Draw(t, "s")
		if rapid.Bool().Draw(t, "ordered") {
			slices.Sort(s)
		}
		n := rapid.IntRange(0, len(s)+1).Draw(t, "n")
		want := slices.Sorted(slices.Values(s))
		if got := sortFirst(s, n, cmp.Compare[int]); !slices.Equal(got, want[:min(n, len(s))]) {
			t.Fatalf("the first %d are %v, want %v", n, got, want[:min(n, len(s))])
		}
		if slices.Sort(s); !slices.Equal(s, want) {
			t.Fatalf("elements became %v, were %v", s, want)
		}
	})
}
