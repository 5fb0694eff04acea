package encoder

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// threadTime is the processor time of this thread in nanoseconds: beside other processes it
// says more than the time that passes.
func threadTime(b *testing.B) int64 {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t); err != nil {
		b.Fatal(err)
	}
	return t.Nano()
}

func BenchmarkEncode(b *testing.B) {
	for _, k := range listKernels() {
		for _, tokens := range []int{18, 64, 256} {
			b.Run(fmt.Sprintf("%s/%d", strings.ReplaceAll(k.name, " ", "-"), tokens), func(b *testing.B) {
				e := opened(b, Config{})
				e.kernels = k
				if s := newState(k, e.weights, tokens); !e.addTextPieces(s, sized(tokens)) || len(s.pieces) != tokens {
					b.Fatalf("the text has %d tokens, want %d", len(s.pieces), tokens)
				}
				text, vector := []string{sized(tokens)}, [][]float32{make([]float32, Dimensions)}
				runtime.LockOSThread()
				defer runtime.UnlockOSThread()
				var took []int64
				for b.Loop() {
					start := threadTime(b)
					if err := e.EmbedInto(b.Context(), vector, text); err != nil {
						b.Fatal(err)
					}
					took = append(took, threadTime(b)-start)
				}
				slices.Sort(took)
				b.ReportMetric(float64(took[len(took)/2]), "cpu-ns/median")
				b.ReportMetric(float64(took[0]), "cpu-ns/least")
			})
		}
	}
}
