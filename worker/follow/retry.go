package follow

import (
	"context"
	"errors"
	"log/slog"
	"time"
)

// Retry waits between tries, doubling from Min to Max. The zero value waits
// 50 ms to 5 s.
type Retry struct {
	Min, Max time.Duration
	Health   *Health // told of what fails; nil: nobody
}

// Do calls f until it succeeds, ctx is done or retryable says that it never will.
func (p Retry) Do(ctx context.Context, logger *slog.Logger, what string, retryable func(error) bool, f func() error) error {
	delay := p.findShortestPause()
	defer p.Health.noteSuccess(what)
	for tries := 1; ; tries++ {
		began := time.Now()
		err := f()
		if err == nil || ctx.Err() != nil || !retryable(err) {
			return err
		}
		again := p.Health.noteFailure(what, tries, began, err)
		logger.WarnContext(ctx, what+": will try again", "error", err, "after", delay)
		if err := pauseUntilWanted(ctx, delay, again); err != nil {
			return err
		}
		delay = min(2*delay, p.findLongestPause())
	}
}

func (p Retry) findShortestPause() time.Duration {
	if p.Min > 0 {
		return p.Min
	}
	return 50 * time.Millisecond
}

func (p Retry) findLongestPause() time.Duration {
	if p.Max > 0 {
		return p.Max
	}
	return 5 * time.Second
}

// shortest is the least time between two tries that a caller waits for.
const shortest = 250 * time.Millisecond

// pauseUntilWanted pauses for d, or less when a caller waits for the next try.
func pauseUntilWanted(ctx context.Context, d time.Duration, again <-chan struct{}) error {
	if err := Pause(ctx, min(d, shortest)); err != nil || d <= shortest {
		return err
	}
	t := time.NewTimer(d - shortest)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-again:
	case <-t.C:
	}
	return nil
}

// Pause waits for d, or until ctx is done.
func Pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}

// IgnoreCanceled leaves out the error of what was under way when ctx ended: also that of a
// try with a time limit of its own.
func IgnoreCanceled(ctx context.Context, err error) error {
	if ctx.Err() != nil && (errors.Is(err, ctx.Err()) || errors.Is(err, context.DeadlineExceeded)) {
		return nil
	}
	return err
}
