// Package aside does a part of a call's work on another processor while the call goes on.
package aside

import (
	"fmt"
	"runtime/debug"
	"sync/atomic"
)

// Do starts f on a goroutine of its own. The caller MUST call join before it uses what f
// makes and before it returns; join returns f's error when f has returned, however often it
// is called. If f has not begun by then, because every processor is busy, join runs it:
// nobody waits for a goroutine that waits for its turn. When f panicked, join panics with a
// *Panic.
func Do(f func() error) (join func() error) {
	var begun atomic.Bool
	var err error
	var panicked *Panic
	done := make(chan struct{})
	run := func() {
		defer close(done)
		defer func() {
			switch cause := recover().(type) {
			case nil:
			case *Panic: // of what was aside of f
				panicked = cause
			default:
				panicked = &Panic{kind: fmt.Sprintf("%T", cause), stack: string(debug.Stack())}
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
		if panicked != nil {
			panic(panicked)
		}
		return err
	}
}

// Panic is what join panics with. It says nothing of the cause but its type, since the cause
// may hold content.
type Panic struct{ kind, stack string }

// Error makes a Panic an error.
func (p *Panic) Error() string { return "panicked aside with a " + p.kind }

// Trace is the stack of where f panicked.
func (p *Panic) Trace() string { return p.stack }
