package erasure

import "sync"

// openErasures knows of which tenants every erasure has its receipt, so that a growing
// log need not be searched for others. The zero value knows of none. Safe for
// concurrent use.
type openErasures struct {
	mu      sync.Mutex
	tenants map[string]*erasureState
}

type erasureState struct {
	begun   int  // erasures that were begun since the start
	running int  // of them, not known to be in the log yet
	settled bool // every erasure has its receipt
}

func (o *openErasures) obtainState(tenant string) *erasureState {
	if o.tenants == nil {
		o.tenants = map[string]*erasureState{}
	}
	s, ok := o.tenants[tenant]
	if !ok {
		s = &erasureState{}
		o.tenants[tenant] = s
	}
	return s
}

// beginErasure notes that an erasure is about to be appended; end MUST be called after it was.
func (o *openErasures) beginErasure(tenant string) (end func()) {
	o.mu.Lock()
	defer o.mu.Unlock()
	s := o.obtainState(tenant)
	s.begun = s.begun + 1
	s.settled = false
	s.running++
	return func() {
		o.mu.Lock()
		defer o.mu.Unlock()
		s.running--
	}
}

// lookUpSettled returns what to give to settle, and whether there is nothing to do.
func (o *openErasures) lookUpSettled(tenant string) (seen int, settled bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	s := o.obtainState(tenant)
	if s.running > 0 {
		return -1, false
	}
	return s.begun, s.settled
}

// markSettled notes that every erasure that look saw has its receipt.
func (o *openErasures) markSettled(tenant string, seen int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if s := o.obtainState(tenant); s.begun == seen && s.running == 0 {
		s.settled = true
	}
}
