package parallel

import (
	"iter"
	"runtime"
	"sync/atomic"
)

// Parts calls f on each processor with other parts of n, from and to, that together are
// the whole, and returns when all are done. A part has at most size. They are given out one
// by one, so that the caller does them all when every other processor is busy. f MUST bear to
// be called again for what it did: when it panics beside, the caller does all of it, and the
// panic is the caller's.
func Parts(n, size int, f func(parts iter.Seq2[int, int])) {
	var next atomic.Int64
	parts := func(yield func(from, to int) bool) {
		for {
			to := int(next.Add(int64(size)))
			if from := to - size; from >= n || !yield(from, min(to, n)) {
				return
			}
		}
	}
	for beside := min(runtime.GOMAXPROCS(0), (n+size-1)/size) - 1; beside > 0; beside-- {
		join := Start(func() error { f(parts); return nil })
		defer func() {
			if join() != nil {
				f(func(yield func(from, to int) bool) { yield(0, n) })
			}
		}()
	}
	f(parts)
}
