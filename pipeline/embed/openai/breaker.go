package openai

import (
	"sync"
	"time"
)

// outcome is what a request says of the endpoint.
type outcome int

const (
	answered outcome = iota
	failed
	unknown // the caller went away first
)

// breaker is closed while the endpoint answers. limit failures in a row open it for
// cooldown; then one trial at a time goes through, and its outcome closes or opens it
// again. It is safe for concurrent use.
type breaker struct {
	mu       sync.Mutex
	limit    int
	cooldown time.Duration
	now      func() time.Time
	failures int
	until    time.Time // open before this
	trial    bool      // one is under way
}

// enter reports whether a request may go out. If so, leave MUST be called with trial.
func (b *breaker) enter() (trial, ok bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.failures < b.limit {
		return false, true
	}
	if b.trial || b.now().Before(b.until) {
		return false, false
	}
	b.trial = true
	return true, true
}

func (b *breaker) leave(trial bool, o outcome) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if trial {
		b.trial = false
	}
	switch o {
	case answered:
		b.failures = 0
	case failed:
		if b.failures++; b.failures >= b.limit {
			b.until = b.now().Add(b.cooldown)
		}
	}
}

// state is "closed", "open" or "half_open".
func (b *breaker) state() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case b.failures < b.limit:
		return "closed"
	case b.now().Before(b.until):
		return "open"
	}
	return "half_open"
}
