package httpclient

import (
	"errors"
	"sync"
	"time"
)

// ErrOpen is what Breaker.Do returns instead of asking a server that failed too often.
var ErrOpen = errors.New("the server failed too often and is left alone for now")

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

// BreakerConfig says when a breaker opens. All of it is required.
type BreakerConfig struct {
	Failures int              // in a row open it
	Cooldown time.Duration    // how long it stays open
	Clock    func() time.Time // tells when that is over
}

// Breaker keeps callers from a server that fails: while it is open, calls fail at once. It
// is closed while the server answers. Failures in a row open it for the cooldown; then one
// trial at a time goes through, and its outcome closes or opens it again. It is safe for
// concurrent use.
type Breaker struct {
	cfg BreakerConfig

	mu       sync.Mutex
	failures int
	until    time.Time // open before this
	trial    bool      // one is under way
}

// NewBreaker returns a closed breaker.
func NewBreaker(cfg BreakerConfig) *Breaker { return &Breaker{cfg: cfg} }

// Do calls ask and tells the breaker the outcome of its error. It calls nothing and
// returns ErrOpen while the server is left alone.
func (b *Breaker) Do(ask func() error, outcome func(error) Outcome) error {
	trial, ok := b.startCall()
	if !ok {
		return ErrOpen
	}
	err := ask()
	b.finishCall(trial, outcome(err))
	return err
}

func (b *Breaker) startCall() (trial, ok bool) {
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

func (b *Breaker) finishCall(trial bool, o Outcome) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if trial {
		b.trial = false
	}
	switch o {
	case Answered:
		b.failures = 0
	case Failed:
		b.failures++
		if b.failures >= b.cfg.Failures {
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
