package worker

import (
	"fmt"
	"slices"
	"strings"
	"sync"
)

// troubling is how often in a row something has to fail before the worker is not ready:
// a hiccup is no reason to take it out of service.
const troubling = 3

// health keeps what fails at present. Safe for concurrent use.
type health struct {
	mu      sync.Mutex
	failing map[string]error
}

func (h *health) failed(what string, tries int, err error) {
	if h == nil || tries < troubling {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.failing == nil {
		h.failing = map[string]error{}
	}
	h.failing[what] = err
}

func (h *health) well(what string) {
	if h == nil {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.failing, what)
}

// fails reports whether anything fails at present whose name ends so.
func (h *health) fails(suffix string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	for what := range h.failing {
		if strings.HasSuffix(what, suffix) {
			return true
		}
	}
	return false
}

// of says that state is so of something, and why where that fails at present.
func (h *health) of(what string, state error) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if why := h.failing[what]; why != nil {
		return fmt.Errorf("%s: %w: %w", what, state, why)
	}
	return fmt.Errorf("%s: %w", what, state)
}

// err says what fails at present, nil for nothing.
func (h *health) err() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.failing) == 0 {
		return nil
	}
	all := make([]string, 0, len(h.failing))
	var last error
	for what, err := range h.failing {
		all = append(all, what)
		last = err
	}
	slices.Sort(all)
	if len(all) == 1 {
		return fmt.Errorf("%s: %w", all[0], last)
	}
	return fmt.Errorf("%s: at last: %w", strings.Join(all, ", "), last)
}
