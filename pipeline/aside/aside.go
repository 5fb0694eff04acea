// Package aside does a part of a call's work on another processor while the call goes on.
package aside

import (
	"fmt"
	"runtime/debug"
	"sync/atomic"
)

// Do starts f on a goroutine of its own. The caller MUST call join, once, before it uses
// what f makes; join returns f's error when f has returned. If f has not begun by then,
// because every processor is busy, join runs it: nobody waits for a goroutine that waits
// for its turn. A panic of f on its own goroutine is an error of its type and stack.
func Do(f func() error) (join func() error) {
	var begun atomic.Bool
	var err error
	done := make(chan struct{})
	go func() {
		if begun.Swap(true) {
			return
		}
		defer close(done)
		defer func() {
			if cause := recover(); cause != nil {
				err = fmt.Errorf("panicked with a %T: %s", cause, debug.Stack())
			}
		}()
		err = f()
	}()
	return func() error {
		if !begun.Swap(true) {
			return f()
		}
		<-done
		return err
	}
}
