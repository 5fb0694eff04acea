package main

import (
	"context"
	"errors"
	"io"
	"sync/atomic"
	"syscall"
)

// pipe is standard output. When its reader has gone it stops the command, which then
// cleans up as after Ctrl-C.
type pipe struct {
	w      io.Writer
	stop   context.CancelFunc
	broken atomic.Bool
}

// Write writes p, and stops the command when nobody reads any more.
func (o *pipe) Write(p []byte) (int, error) {
	n, err := o.w.Write(p)
	if errors.Is(err, syscall.EPIPE) && !o.broken.Swap(true) {
		o.stop()
	}
	return n, err
}
