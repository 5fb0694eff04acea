package jetstream

import (
	"sync"
	"time"
)

// A principal hears of refusalsAtOnce refusals for want of room at once, and then of
// refusalsASecond; further ones reach it later. So a client that asks again when it is refused
// waits, and its refusals cost little.
const (
	refusalsAtOnce  = 100
	refusalsASecond = 20
)

// How many refusals are held at a time, of one principal and of all. Others are not sent: the
// caller waits until its own deadline.
const (
	maxPrincipalHeld = 2048
	maxHeld          = 8192
)

// refusals holds refusals until their principal may hear of them. The zero value is ready. It
// is safe for concurrent use.
type refusals struct {
	mu     sync.Mutex
	closed bool
	quit   chan struct{} // closed by close; nil before the first is held
	held   int
	of     map[[2]string]*pace // by tenant and principal
	wait   sync.WaitGroup      // for those that are held
}

// pace is when the next refusal of a principal is due.
type pace struct {
	next time.Time // of refusalsASecond, none at once
	held int
}

// holdRefusal calls send when a refusal of j is due. It returns false when it is due now.
func (r *refusals) holdRefusal(j *job, now time.Time, send func()) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return false
	}
	key := [2]string{j.request.Tenant, j.request.Payer}
	p := r.of[key]
	if p == nil {
		r.forgetPrincipals(now)
		p = &pace{}
		if r.of == nil {
			r.of = map[[2]string]*pace{}
			r.quit = make(chan struct{})
		}
		r.of[key] = p
	}
	wait, next := p.findDueTime(now)
	p.next = next
	switch {
	case wait == 0:
		return false
	case p.held >= maxPrincipalHeld || r.held >= maxHeld:
		return true
	}
	wait = min(wait, beforeEnd(j.deadline.Sub(now)))
	p.held++
	r.held++
	r.wait.Go(func() {
		timer := time.NewTimer(wait)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-r.quit:
		}
		send()
		r.mu.Lock()
		defer r.mu.Unlock()
		p.held--
		r.held--
	})
	return true
}

// findDueTime returns how long the next refusal waits, and when the one behind it is due.
func (p *pace) findDueTime(now time.Time) (wait time.Duration, next time.Time) {
	const (
		between = time.Second / refusalsASecond
		atOnce  = refusalsAtOnce * between
		longest = time.Minute // that one waits, so that what went on before is forgotten soon
	)
	ahead := min(max(p.next.Sub(now), 0)+between, atOnce+longest)
	return max(0, ahead-atOnce), now.Add(ahead)
}

// beforeEnd is how long an answer may wait that has so much time left, so that it comes before its
// caller has gone.
func beforeEnd(left time.Duration) time.Duration { return left - min(left/5, time.Second) }

// forgetPrincipals drops the principals that may hear of refusalsAtOnce again.
func (r *refusals) forgetPrincipals(now time.Time) {
	for key, p := range r.of {
		if p.held == 0 && p.next.Before(now) {
			delete(r.of, key)
		}
	}
}

// closeRefusals sends what is held, and has later refusals sent at once.
func (r *refusals) closeRefusals() {
	r.mu.Lock()
	if !r.closed && r.quit != nil {
		close(r.quit)
	}
	r.closed = true
	r.mu.Unlock()
	r.wait.Wait()
}
