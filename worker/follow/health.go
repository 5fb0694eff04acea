package follow

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
)

// troubling is how often in a row something has to fail before the worker is not ready:
// a hiccup is no reason to take it out of service.
const troubling = 3

// Health keeps what fails at present. Safe for concurrent use.
type Health struct {
	mu      sync.Mutex
	failing map[string]*failure
}

// failure is the last failed try of something that fails at present.
type failure struct {
	err   error
	began time.Time     // when that try began
	again chan struct{} // capacity 1: has something when a caller waits for the next try
}

// noteFailure notes a failed try. It returns a channel that has something when the next try should
// not wait; nil for a failure that is not kept.
func (h *Health) noteFailure(what string, tries int, began time.Time, err error) (again <-chan struct{}) {
	if h == nil || tries < troubling {
		return nil
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.failing == nil {
		h.failing = map[string]*failure{}
	}
	f := h.failing[what]
	if f == nil {
		f = &failure{again: make(chan struct{}, 1)}
		h.failing[what] = f
	}
	f.err = err
	f.began = began
	return f.again
}

func (h *Health) noteSuccess(what string) {
	if h == nil {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.failing, what)
}

// newVerdict is how long a caller that waits is not told of an older failure.
const newVerdict = 3 * time.Second

// Fails reports whether something fails at present, to a caller that has waited since a moment.
// The cause of an older failure may have passed, so the next try is made at once.
func (h *Health) Fails(what string, since time.Time) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	f := h.failing[what]
	if f == nil {
		return false
	}
	if f.began.Before(since) && time.Since(since) < newVerdict {
		select {
		case f.again <- struct{}{}:
		default:
		}
		return false
	}
	return true
}

// Of says that state is so of something, and why where that fails at present.
func (h *Health) Of(what string, state error) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if f := h.failing[what]; f != nil {
		return fmt.Errorf("%s: %w: %w", what, state, f.err)
	}
	return fmt.Errorf("%s: %w", what, state)
}

// Err says what fails at present, nil for nothing.
func (h *Health) Err() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.failing) == 0 {
		return nil
	}
	all := make([]string, 0, len(h.failing))
	var last error
	for what, f := range h.failing {
		all = append(all, what)
		last = f.err
	}
	slices.Sort(all)
	if len(all) == 1 {
		return fmt.Errorf("%s: %w", all[0], last)
	}
	return fmt.Errorf("%s: at last: %w", strings.Join(all, ", "), last)
}
