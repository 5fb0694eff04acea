package follow

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"
)

func TestRetryBacksOffAndTellsHealth(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var h Health
		p := Retry{Health: &h}
		start, tries := time.Now(), 0
		err := p.Do(t.Context(), slog.New(slog.DiscardHandler), "do it", func(error) bool { return true }, func() error {
			tries++
			if got := h.Err() != nil; got != (tries > troubling) {
				t.Errorf("try %d: health = %v", tries, h.Err())
			}
			if tries == 10 {
				return nil
			}
			return errors.New("not yet")
		})
		// 50 + 100 + 200 + 400 + 800 + 1600 + 3200 + 5000 + 5000 ms
		if took := time.Since(start); err != nil || took != 16350*time.Millisecond {
			t.Errorf("took %v, %v", took, err)
		}
		if h.Err() != nil {
			t.Errorf("health afterwards: %v", h.Err())
		}
	})
}

// Who waits while something fails is told of a try that began after the wait, made at once.
func TestRetryIsHurriedByAWaitingCaller(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var h Health
		healed, done := false, make(chan error, 1)
		go func() {
			done <- Retry{Health: &h}.Do(t.Context(), slog.New(slog.DiscardHandler), "do it", func(error) bool { return true }, func() error {
				if healed {
					return nil
				}
				return errors.New("not yet")
			})
		}()
		<-time.After(5 * time.Second) // the tries are seconds apart
		since := time.Now()
		if h.Fails("do it", since) {
			t.Error("an older failure counts")
		}
		<-time.After(shortest)
		if !h.Fails("do it", since) {
			t.Error("no new try was made, or its failure does not count")
		}
		healed = true
		since = time.Now()
		if h.Fails("do it", since) {
			t.Error("the last failure counts for a caller that came after it")
		}
		<-time.After(shortest)
		select {
		case err := <-done:
			if err != nil {
				t.Error(err)
			}
		default:
			t.Error("the next try was not made at once")
		}
		if h.Fails("do it", since) {
			t.Error("what has succeeded fails")
		}
	})
}

func TestRetryGivesUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		final := errors.New("never")
		var p Retry
		silent := slog.New(slog.DiscardHandler)
		if err := p.Do(t.Context(), silent, "x", func(error) bool { return false }, func() error { return final }); !errors.Is(err, final) {
			t.Errorf("error = %v", err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := p.Do(ctx, silent, "x", func(error) bool { return true }, func() error { return final }); err == nil {
			t.Error("no error although the time is up")
		}
	})
}

// A step begins at once when the last one is long ago, is held back otherwise, longer while
// requests are answered, and no more once somebody waits for it.
func TestPacing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		busy, wanted := false, make(chan struct{}, 1)
		p := Pacing{Busy: func() bool { return busy }, Every: 50 * time.Millisecond, Beside: 80 * time.Millisecond,
			Wanted: func(tenant string) <-chan struct{} {
				if tenant == "acme" {
					return wanted
				}
				return nil
			}}
		waits := func(last time.Time) time.Duration {
			start := time.Now()
			p.awaitTurn(t.Context(), "acme", last)
			return time.Since(start)
		}
		if got := waits(time.Time{}); got != 0 {
			t.Errorf("the first step waits %v", got)
		}
		if got := waits(time.Now().Add(-20 * time.Millisecond)); got != 30*time.Millisecond {
			t.Errorf("20 ms after the last one a step waits %v", got)
		}
		busy = true
		if got := waits(time.Now().Add(-time.Second)); got != GiveWay {
			t.Errorf("while requests are answered a step waits %v", got)
		}
		if got := waits(time.Now().Add(-20 * time.Millisecond)); got != 60*time.Millisecond {
			t.Errorf("20 ms after the last one, while requests are answered, a step waits %v", got)
		}
		wanted <- struct{}{}
		if got := waits(time.Now()); got != 0 {
			t.Errorf("a step that somebody waits for waits %v", got)
		}
		time.AfterFunc(5*time.Millisecond, func() { wanted <- struct{}{} })
		if got := waits(time.Now()); got != 5*time.Millisecond {
			t.Errorf("a step that somebody waits for from 5 ms on waits %v", got)
		}
		wanted <- struct{}{}
		start := time.Now()
		if p.awaitTurn(t.Context(), "globex", start); time.Since(start) != 80*time.Millisecond {
			t.Errorf("a step waits %v where another tenant's is waited for", time.Since(start))
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		start = time.Now()
		if p.awaitTurn(ctx, "globex", start); time.Since(start) != 0 {
			t.Error("waits though it is over")
		}
	})
}
