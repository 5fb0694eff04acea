package vecmath

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func TestKernelIsTheGenericOne(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		dims := Lane * rapid.IntRange(0, 40).Draw(t, "lanes")
		n := rapid.IntRange(0, 23).Draw(t, "rows")
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		extreme := rapid.Bool().Draw(t, "extreme")
		query, rows := make([]int16, dims), make([]int8, dims*n)
		top := int(queryMax(dims))
		for i := range query {
			if query[i] = int16(rng.IntN(2*top+1) - top); extreme {
				query[i] = int16(top * (rng.IntN(2)*2 - 1))
			}
		}
		for i := range rows {
			if rows[i] = int8(rng.IntN(255) - 127); extreme {
				rows[i] = int8(127 * (rng.IntN(2)*2 - 1))
			}
		}
		want, got := make([]int32, n), make([]int32, n)
		dotGeneric(query, rows, want)
		Rows(query, rows, got)
		if !slices.Equal(want, got) {
			t.Fatalf("generic %v, kernel %v", want, got)
		}
	})
}

func TestSumsDoNotOverflow(t *testing.T) {
	t.Parallel()
	for _, dims := range []int{16, 256, 384, 1024, 4096, 65536} {
		if top := int64(queryMax(dims)); top*127*int64(dims) > math.MaxInt32 || top < 1 {
			t.Errorf("%d dimensions: query numbers up to %d", dims, top)
		}
	}
}

func BenchmarkKernel(b *testing.B) {
	for _, k := range []struct {
		name string
		dot  func([]int16, []int8, []int32)
	}{{"generic", dotGeneric}, {"best", Rows}} {
		for _, n := range []int{64, 1_000_000} {
			b.Run(fmt.Sprintf("%s/%d", k.name, n), func(b *testing.B) {
				query, rows, out := make([]int16, 256), make([]int8, 256*n), make([]int32, n)
				for i := range rows {
					rows[i] = int8(i) // memory that was never written costs nothing to read
				}
				for b.Loop() {
					k.dot(query, rows, out)
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/row")
			})
		}
	}
}
