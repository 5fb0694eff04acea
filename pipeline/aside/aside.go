// Package aside does a part of a call's work on another processor while the call goes on.
package aside

import "sync/atomic"

// Do starts f on a goroutine of its own. The caller MUST call join, once, which returns
// when f has. If f has not begun by then, because every processor is busy, join runs it:
// work never waits for a goroutine that waits for its turn. What f panics with, join
// panics with.
func Do(f func()) (join func()) {
	var begun atomic.Bool
	var cause any
	done := make(chan struct{})
	go func() {
		if begun.Swap(true) {
			return
		}
		defer close(done)
		defer func() { cause = recover() }()
		f()
	}()
	return func() {
		if !begun.Swap(true) {
			f()
			return
		}
		if <-done; cause != nil {
			panic(cause)
		}
	}
}
