// Package breaker owns the circuit breaker that keeps a driver from a server that fails:
// what waits for an answer that does not come is told at once instead. Drivers of servers
// use it; it knows of none.
package breaker

import (
	"sync"
	"time"
)

// Outcome is what a request says of the server.
type Outcome int

// The outcomes.
const (
	Answered Outcome = iota // if only to refuse
	Failed
	Unknown // the caller went away first
)

// The states.
const (
	Closed   = "closed"
	Open     = "open"
	HalfOpen = "half_open"
)

// Config says when a breaker opens. All of it is required.
type Config struct {
	Failures int              // in a row open it
	Cooldown time.Duration    // how long it stays open
	Clock    func() time.Time // tells when that is over
}

// Breaker is closed while the server answers. Failures in a row open it for the cooldown;
// then one trial at a time goes through, and its outcome closes or opens it again. It is
// safe for concurrent use.
type Breaker struct {
	cfg Config

	mu       sync.Mutex
	failures int
	until    time.Time // open before this
	trial    bool      // one is under way
}

// New returns a closed breaker.
func New(cfg Config) *Breaker { return &Breaker{cfg: cfg} }

// Enter reports whether the server may be asked. If so, Leave MUST be called with trial.
func (b *Breaker) Enter() (trial, ok bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.failures < b.cfg.Failures {
		return false, true
	}
	if b.trial || b.cfg.Clock().Before(b.until) {
		return false, false
	}
	b.trial = true
	return true, true
}

// Leave says how a request ended.
func (b *Breaker) Leave(trial bool, o Outcome) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if trial {
		b.trial = false
	}
	switch o {
	case Answered:
		b.failures = 0
	case Failed:
		if b.failures++; b.failures >= b.cfg.Failures {
			b.until = b.cfg.Clock().Add(b.cfg.Cooldown)
		}
	}
}

// State is Closed, Open or HalfOpen.
func (b *Breaker) State() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case b.failures < b.cfg.Failures:
		return Closed
	case b.cfg.Clock().Before(b.until):
		return Open
	}
	return HalfOpen
}
