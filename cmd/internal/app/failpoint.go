package app

import (
	"context"
	"os"
	"strconv"
	"strings"
	"sync/atomic"

	"satchel/pipeline/store/eventlog"
)

// failpoint reads "name" or "name:n", the value of SATCHEL_FAILPOINT, and returns a hook
// that kills this process, as kill -9 does, when the point is passed for the n-th time.
// It returns nil for "". For fault tests.
func failpoint(spec string) func(point string) {
	name, times, _ := strings.Cut(spec, ":")
	if name == "" {
		return nil
	}
	left := new(atomic.Int64)
	left.Store(1)
	if n, err := strconv.ParseInt(times, 10, 64); err == nil {
		left.Store(n)
	}
	return func(point string) {
		if point != name || left.Add(-1) != 0 {
			return
		}
		if self, err := os.FindProcess(os.Getpid()); err == nil && self.Kill() == nil {
			select {} // until the signal arrives
		}
	}
}

// Failpoint returns the hook that SATCHEL_FAILPOINT asks for; nil: none.
func Failpoint() func(point string) { return failpoint(os.Getenv("SATCHEL_FAILPOINT")) }

// failingLog passes the points around the commit of a context request.
type failingLog struct {
	eventlog.Appender
	hit func(point string)
}

// Append appends between two points.
func (l failingLog) Append(ctx context.Context, b eventlog.Batch) ([]eventlog.Outcome, error) {
	l.hit("context.before_commit")
	outcomes, err := l.Appender.Append(ctx, b)
	l.hit("context.after_commit")
	return outcomes, err
}
