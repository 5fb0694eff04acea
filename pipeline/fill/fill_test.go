package fill_test

import (
	"cmp"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"satchel/pipeline/fill"
)

// TestShelfIsSorted holds what a shelf offers to what a sorted list says is next, whatever rises and falls in between.
func TestShelfIsSorted(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		values := rapid.SliceOfN(rapid.IntRange(0, 4), 0, 16).Draw(t, "values")
		reversed := rapid.Bool().Draw(t, "reversed")
		taken := make([]bool, len(values))
		offered := func() []int { // those that are not taken, best first
			var list []int
			for i := range values {
				if !taken[i] {
					list = append(list, i)
				}
			}
			slices.SortFunc(list, func(a, b int) int {
				tie := cmp.Compare(a, b)
				if reversed {
					tie = -tie
				}
				return cmp.Or(cmp.Compare(values[b], values[a]), tie)
			})
			return list
		}
		shelf := fill.Shelf{
			Value: func(i int) float64 { return float64(values[i]) },
			Take: func(i int, value float64) (risen []int, full bool) {
				if taken[i] {
					return nil, false
				}
				if next := offered()[0]; next != i || value != float64(values[i]) {
					t.Fatalf("%d at %v, want %d at %d", i, value, next, values[next])
				}
				taken[i] = true
				for n := range rapid.IntRange(0, 3).Draw(t, "changes") {
					if len(values) == 0 {
						break
					}
					at := rapid.IntRange(0, len(values)-1).Draw(t, "at")
					if n%2 == 0 {
						values[at]--
					} else {
						values[at] += 2
						risen = append(risen, at)
					}
				}
				return risen, false
			},
		}
		if reversed {
			shelf.Before = func(i, j int) bool { return i > j }
		}
		shelf.Fill(fill.All(len(values)))
		if slices.Contains(taken, false) {
			t.Fatalf("not all are offered: %v", taken)
		}
	})
}

// TestFullShelf takes nothing behind the one that fills it.
func TestFullShelf(t *testing.T) {
	t.Parallel()
	var got []int
	shelf := fill.Shelf{Value: func(i int) float64 { return float64(-i) }, Take: func(i int, _ float64) ([]int, bool) {
		got = append(got, i)
		return nil, i == 1
	}}
	shelf.Fill(fill.All(5))
	if !slices.Equal(got, []int{0, 1}) {
		t.Errorf("%v", got)
	}
}

func TestDivide(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		budget      int
		needs, want []int
	}{
		{900, []int{900, 900, 900, 900, 900}, []int{300, 200, 200, 100, 100}},
		{901, []int{10, 900, 0, 900, 0}, []int{10, 594, 0, 297, 0}},
	} {
		if got := fill.Divide(c.budget, []int{3, 2, 2, 1, 1}, c.needs); !slices.Equal(got, c.want) {
			t.Errorf("%v, want %v", got, c.want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 6).Draw(t, "n")
		budget := rapid.IntRange(-10, 5000).Draw(t, "budget")
		weights := rapid.SliceOfN(rapid.IntRange(0, 5), n, n).Draw(t, "weights")
		needs := rapid.SliceOfN(rapid.IntRange(0, 3000), n, n).Draw(t, "needs")
		shares, sum, hungry := fill.Divide(budget, weights, needs), 0, false
		for g, s := range shares {
			if s < 0 || s > needs[g] || weights[g] == 0 && s > 0 {
				t.Fatalf("group %d gets %d", g, s)
			}
			hungry = hungry || weights[g] > 0 && s < needs[g]
			sum += s
		}
		if sum > max(budget, 0) || hungry && sum < budget-n {
			t.Fatalf("%v of %d", shares, budget)
		}
	})
}
