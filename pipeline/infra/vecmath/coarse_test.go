package vecmath

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func TestCoarseKernelIsTheGenericOne(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		lanes := rapid.IntRange(1, 9).Draw(t, "lanes")
		n := rapid.IntRange(0, 23).Draw(t, "rows")
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		extreme := rapid.Bool().Draw(t, "extreme")
		query, rows := make([]int8, lanes*CoarseLane), make([]uint8, n*lanes*CoarseLane/2)
		for i := range query {
			if query[i] = int8(rng.IntN(255) - 127); extreme {
				query[i] = int8(127 * (rng.IntN(2)*2 - 1))
			}
		}
		for i := range rows {
			if rows[i] = uint8(rng.IntN(256)); extreme {
				rows[i] = 255
			}
		}
		want := make([]int32, n)
		coarseGeneric(query, rows, want)
		for name, kernel := range coarseKernels() {
			got := make([]int32, n)
			kernel(query, rows, got)
			if !slices.Equal(want, got) {
				t.Fatalf("generic %v, %s %v", want, name, got)
			}
		}
	})
}

// A coarse cosine is off by what Error says, whatever the numbers of the rows are like.
func TestCoarseCosinesAreAsFarOffAsTheySay(t *testing.T) {
	t.Parallel()
	const n = 4000
	normal := func(rng *rand.Rand) float32 { return float32(rng.NormFloat64()) }
	for name, number := range map[string]func(rng *rand.Rand) float32{
		"normal": normal,
		"uneven": func(rng *rand.Rand) float32 { x := normal(rng); return x * x * x },
		"flat":   func(rng *rand.Rand) float32 { return rng.Float32() - .4 },
	} {
		for _, dims := range []int{64, 256, 384} {
			t.Run(fmt.Sprint(name, dims), func(t *testing.T) {
				t.Parallel()
				rng := rand.New(rand.NewPCG(1, uint64(dims)))
				vector := func() []float32 {
					v := make([]float32, dims)
					for i := range v {
						v[i] = number(rng)
					}
					return v
				}
				query, scale := QuantiseQuery(vector(), dims)
				coarse := Coarse(query)
				row, small := make([]int8, dims), make([]uint8, CoarseLen(dims))
				var lost, off, worst float64
				offs := make([]float64, n)
				for i := range n {
					rowScale := float64(Quantise(row, vector()))
					lost += Coarsen(small, row)
					var exact, about [1]int32
					Rows(query, row, exact[:])
					coarse.Rows(small, about[:])
					offs[i] = float64(about[0])*rowScale*coarse.Scale() - float64(exact[0])*rowScale*scale
					off += offs[i] * offs[i]
					worst = max(worst, math.Abs(offs[i]))
				}
				said, is := coarse.Error(lost/n), math.Sqrt(off/n)
				t.Logf("error %.4f, said to be %.4f, worst %.4f", is, said, worst)
				if is > 1.5*said || worst > 8*said {
					t.Errorf("error %.4f (worst %.4f), said to be %.4f", is, worst, said)
				}
			})
		}
	}
}

func TestCoarseZero(t *testing.T) {
	t.Parallel()
	q := Coarse(make([]int16, 32))
	out := []int32{7}
	if q.Rows(make([]uint8, CoarseLen(32)), out); out[0] != 0 || q.Scale() != 0 {
		t.Errorf("the zero query: %v, scale %v", out, q.Scale())
	}
	if lost := Coarsen(make([]uint8, CoarseLen(32)), make([]int8, 32)); lost != 0 {
		t.Errorf("a zero row loses %v", lost)
	}
}

func BenchmarkCoarse(b *testing.B) {
	for name, kernel := range coarseKernels() {
		for _, n := range []int{64, 1_000_000} {
			b.Run(fmt.Sprintf("%s/%d", name, n), func(b *testing.B) {
				query, rows, out := make([]int8, 256), make([]uint8, 128*n), make([]int32, n)
				for i := range rows {
					rows[i] = uint8(i) // memory that was never written costs nothing to read
				}
				for b.Loop() {
					kernel(query, rows, out)
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/row")
			})
		}
	}
}
