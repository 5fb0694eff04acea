package rank

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"satchel/pipeline/candidate"
	"satchel/pipeline/language"
	"satchel/pipeline/selection/retrieve"
	"satchel/pipeline/store/items"
	"satchel/schemas"
)

// An item of the day that is asked for fits best, one near it less, and one of another year not at all.
func TestTimely(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, time.November, 28, 12, 0, 0, 0, time.UTC)
	for _, tc := range []struct {
		text        string
		best, worse string // days
	}{
		{"What happened on 7 May 2023?", "2023-05-07", "2023-05-09"}, {"notes of 2023-05-07", "2023-05-07", "2022-05-07"},
		{"What did she do in June 2022?", "2022-06-15", "2022-07-03"}, {"What did she do yesterday?", "2026-11-27", "2026-11-25"},
		{"What happened on 18 March?", "2026-03-18", "2025-03-18"}, {"Who won in 2021?", "2021-08-01", "2022-08-01"},
	} {
		asked := language.FindTimes(tc.text, now)
		fits := func(day string) float64 {
			at, err := time.Parse(time.DateOnly, day)
			if err != nil {
				t.Fatal(err)
			}
			return scoreTimeliness(&Question{days: asked}, &candidate.Visible{MemoryItem: schemas.MemoryItem{CreatedAt: at.Add(9 * time.Hour)}}, nil)
		}
		if fits(tc.best) <= fits(tc.worse) {
			t.Errorf("%q: %s fits %.2f, %s %.2f", tc.text, tc.best, fits(tc.best), tc.worse, fits(tc.worse))
		}
	}
	for _, text := range []string{"May I march in?", "42 items"} {
		if found := language.FindTimes(text, now); len(found) > 0 {
			t.Errorf("%q names %v", text, found)
		}
	}
}

// The fused order does not change when a channel's scores are shifted or scaled, and
// a channel without spread changes nothing.
func TestFusionIsInvariant(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 30).Draw(t, "n")
		number := rapid.Map(rapid.IntRange(0, 99), func(i int) float64 { return float64(i) / 10 })
		raw := rapid.SliceOfN(number, n, n).Draw(t, "raw")
		other := rapid.SliceOfN(number, n, n).Draw(t, "other")
		shift, scale := rapid.Float64Range(-3, 3).Draw(t, "shift"), rapid.Float64Range(.5, 4).Draw(t, "scale")
		moved := make([]float64, n)
		for i, v := range raw {
			moved[i] = shift + scale*v
		}
		a := fusedScores(raw, other)
		b := fusedScores(moved, other)
		for i := range a {
			if math.Abs((a[i]-a[0])-(b[i]-b[0])) > 1e-6 {
				t.Fatalf("differences change with shift and scale: %v %v", a, b)
			}
		}
		if c := fusedScores(raw, make([]float64, n)); n > 1 {
			by := func(s []float64) []int {
				order := make([]int, n)
				for i := range order {
					order[i] = i
				}
				slices.SortStableFunc(order, func(x, y int) int {
					switch {
					case s[x] > s[y]:
						return -1
					case s[x] < s[y]:
						return 1
					}
					return 0
				})
				return order
			}
			if !slices.Equal(by(c), by(raw)) {
				t.Fatalf("a channel without spread changes the order of the other")
			}
		}
	})
}

func fusedScores(a, b []float64) []float64 {
	p := newPool(len(a))
	for k, raw := range [][]float64{a, b} {
		f := retrieve.Result{Complete: true, N: len(raw)}
		var square float64
		for i, v := range raw {
			f.Hits = append(f.Hits, retrieve.Hit{ID: fmt.Sprint(i), Score: v})
			f.Mean += v / float64(len(raw))
		}
		for _, v := range raw {
			square += (v - f.Mean) * (v - f.Mean)
		}
		f.SD = math.Sqrt(square / float64(len(raw)))
		p.Take([]string{retrieve.NameKeyword, retrieve.NameVector}[k], .5, f)
	}
	p.Grow()
	flat := evenWeights()
	p.fuseChannels(kernel{near: .5, far: .3, damping: 40}, &flat)
	return p.fused
}

// What link derives from ±4 neighbourhoods are the true ±2 neighbourhoods.
func TestLink(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 14).Draw(t, "turns")
		best := rapid.SliceOfNDistinct(rapid.IntRange(0, n-1), 1, n, rapid.ID).Draw(t, "best")
		p := newPool(n)
		near := map[string][]items.Neighbour{}
		var at []int32
		for _, i := range best {
			at = append(at, p.Add(fmt.Sprint(i)))
			for d := -4; d <= 4; d++ {
				if j := i + d; d != 0 && j >= 0 && j < n {
					near[fmt.Sprint(i)] = append(near[fmt.Sprint(i)], items.Neighbour{ID: fmt.Sprint(j), Offset: d, Terms: 5})
				}
			}
		}
		p.Grow()
		p.Around(near, at)
		p.linkNeighbours(p.rows)
		for _, i := range best {
			for c := max(0, i-2); c <= min(n-1, i+2); c++ {
				got := map[string]int8{}
				for _, nb := range p.near[p.index[fmt.Sprint(c)]] {
					got[p.ids[nb.at]] = nb.offset
				}
				want := map[string]int8{}
				for d := -2; d <= 2; d++ {
					if j := c + d; d != 0 && j >= 0 && j < n {
						want[fmt.Sprint(j)] = int8(d)
					}
				}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Fatalf("neighbours of %d (-want +got):\n%s", c, diff)
				}
			}
		}
	})
}

func TestProfiles(t *testing.T) {
	t.Parallel()
	for _, p := range Profiles() {
		if err := p.Validate(); err != nil {
			t.Error(err)
		}
	}
	bad := Profile{Name: "bad", Relevance: .7}
	if err := bad.Validate(); err == nil || !strings.Contains(err.Error(), "0.7") {
		t.Errorf("a sum of 0.7: %v", err)
	}
}

func TestAsksOrder(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"In which order did I bring up the topics?": true, "list the order in which it happened": true, "in order": true,
		"What is the timeline of the project": true, "in order to win": false, "who placed the order": false, "the order in the shop": false,
	} {
		if got := asksOrder(language.Words(text)); got != want {
			t.Errorf("%q asks for an order: %t", text, got)
		}
	}
}
