package parallel

import (
	"iter"
	"sync/atomic"
	"testing"
)

// Parts are the whole, once each, and a panic beside is the caller's.
func TestParts(t *testing.T) {
	t.Parallel()
	for _, n := range []int{0, 1, 7, 8, 9, 100} {
		times := make([]atomic.Int32, n)
		Parts(n, 8, func(parts iter.Seq2[int, int]) {
			for from, to := range parts {
				for i := from; i < to; i++ {
					times[i].Add(1)
				}
			}
		})
		for i := range times {
			if got := times[i].Load(); got != 1 {
				t.Errorf("%d of %d was done %d times", i, n, got)
			}
		}
	}
	defer func() {
		if recover() == nil {
			t.Error("nobody heard of a panic")
		}
	}()
	Parts(100, 1, func(parts iter.Seq2[int, int]) {
		for from, to := range parts {
			if from <= 70 && 70 < to {
				into := make([]bool, 1)
				into[70] = true
			}
		}
	})
}
