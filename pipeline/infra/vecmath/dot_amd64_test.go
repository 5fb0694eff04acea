package vecmath

import (
	"math/rand/v2"
	"slices"
	"testing"

	"golang.org/x/sys/cpu"
)

// Each kernel that the processor has gives what the generic one does, not only the one that
// Rows picks.
func TestEveryKernelIsTheGenericOne(t *testing.T) {
	t.Parallel()
	const most = 13
	rng := rand.New(rand.NewPCG(1, 2))
	for dims := 2 * Lane; dims <= 640; dims += 2 * Lane {
		query, rows := make([]int16, dims), make([]int8, dims*most)
		for i := range query {
			query[i] = int16(rng.IntN(2*int(queryMax(dims))+1)) - queryMax(dims)
		}
		for i := range rows {
			rows[i] = int8(rng.IntN(255) - 127)
		}
		for n := range most + 1 {
			want := make([]int32, most)
			dotGeneric(query, rows, want[:n])
			if got := make([]int32, most); cpu.X86.HasAVX2 {
				if dotAVX2(&query[0], &rows[0], dims, n, &got[0]); !slices.Equal(want, got) {
					t.Fatalf("%d dimensions: generic %v, AVX2 %v", dims, want, got)
				}
			}
			if got := make([]int32, most); hasVNNI() {
				if dotVNNI(&query[0], &rows[0], dims, n, &got[0]); !slices.Equal(want, got) {
					t.Fatalf("%d dimensions: generic %v, VNNI %v", dims, want, got)
				}
			}
		}
	}
}
