// Package parallel does a part of a call's work on another processor while the call goes on.
package parallel

import (
	"fmt"
	"runtime/debug"
	"sync/atomic"
)

// Start starts f on a goroutine of its own. The caller MUST call join before it uses what f
// makes and before it returns; join returns f's error when f has returned, however often it
// is called. If f has not begun by then, because every processor is busy, join runs it:
// no one waits for a goroutine that waits for its turn. When f panicked, the error is a *Panic.
func Start(f func() error) (join func() error) {
	var begun atomic.Bool
	var err error
	done := make(chan struct{})
	run := func() {
		defer close(done)
		defer func() {
			if cause := recover(); cause != nil {
				err = &Panic{Type: fmt.Sprintf("%T", cause), Stack: string(debug.Stack())}
			}
		}()
		err = f()
	}
	go func() {
		if !begun.Swap(true) {
			run()
		}
	}()
	return func() error {
		if !begun.Swap(true) {
			run()
		}
		<-done
		return err
	}
}

// Panic says where f panicked, and of what type the cause was: not more, as it may quote.
type Panic struct{ Type, Stack string }

func (p *Panic) Error() string { return "panicked with a " + p.Type }
