package terminal

import (
	"context"
	"errors"
	"io"
	"sync/atomic"
	"syscall"
)

// Pipe is standard output. When its reader has gone it stops the command, which then
// cleans up as after Ctrl-C.
type Pipe struct {
	W      io.Writer
	Stop   context.CancelFunc
	Broken atomic.Bool
}

// Write writes p, and stops the command when nobody reads any more.
func (o *Pipe) Write(p []byte) (int, error) {
	n, err := o.W.Write(p)
	if errors.Is(err, syscall.EPIPE) && !o.Broken.Swap(true) {
		o.Stop()
	}
	return n, err
}
