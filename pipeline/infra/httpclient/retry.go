package httpclient

import (
	"context"
	"math/rand/v2"
	"time"
)

// Retry is how often a request is tried again, and when.
type Retry struct {
	// Max bounds how often; zero and less: never.
	Max int
	// Pause is that before the first repeat. It doubles with each, up to 10 s, and half of
	// it is random.
	Pause time.Duration
	// Random returns a number in [0, 1). Default math/rand/v2.
	Random func() float64
}

const longestPause = 10 * time.Second

// Do calls try until it succeeds, and returns its last error. It gives up when transient
// says that the error will stay, after Max repeats, when ctx ends, and when ctx would end
// before the next try. The time that transient returns, if any, takes the place of a pause.
func (r Retry) Do(ctx context.Context, try func() error, transient func(error) (after time.Duration, again bool)) error {
	random := r.Random
	if random == nil {
		random = rand.Float64
	}
	pause := r.Pause
	for repeats := 0; ; repeats++ {
		err := try()
		if err == nil || ctx.Err() != nil || repeats >= r.Max {
			return err
		}
		wait, again := transient(err)
		if !again {
			return err
		}
		if wait <= 0 {
			wait = pause/2 + time.Duration(random()*float64(pause)/2)
		}
		if until, ok := ctx.Deadline(); ok && time.Until(until) < wait {
			return err // it would be too late
		}
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
			timer.Stop()
			return err
		case <-timer.C:
		}
		pause = min(2*pause, longestPause)
	}
}
