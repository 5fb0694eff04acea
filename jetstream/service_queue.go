package jetstream

import (
	"slices"
	"sync"
)

// queue holds the requests of one pool, a line for each tenant, and shares the pool's
// workers among the tenants: a worker that is free goes to the tenant that holds the
// fewest of those with something waiting, in turn among equals. So a tenant takes one more
// worker than another that waits at most. A tenant's requests are taken in order.
//
// All tenants together have as many places as there are workers and waiting requests; a
// tenant alone may have them all. When they are taken, the tenant with the longest line
// loses its newest request. It is safe for concurrent use.
type queue struct {
	mu     sync.Mutex
	filled sync.Cond // a request is in line, or the queue is closed
	free   int       // places
	closed bool
	lines  map[string]*line // of tenants that wait or hold a worker
	turns  []*line          // with something waiting, in the order of their turns
}

// line is what one tenant has in a queue.
type line struct {
	waiting []job // oldest first
	held    int   // workers
}

func newQueue(places int) *queue {
	q := &queue{free: places, lines: map[string]*line{}}
	q.filled.L = &q.mu
	return q
}

// put takes a request in. It returns the request that has no place for it: another
// tenant's newest, or j itself; false when there is none.
func (q *queue) put(j job) (lost job, full bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	l := q.lines[j.request.Tenant]
	if l == nil {
		l = &line{}
	}
	if full = q.free == 0; full {
		long := q.longest(l)
		if len(long.waiting) <= len(l.waiting)+1 {
			return j, true
		}
		last := len(long.waiting) - 1
		lost, long.waiting[last] = long.waiting[last], job{}
		long.waiting = long.waiting[:last]
		q.free++
	}
	q.lines[j.request.Tenant] = l
	if len(l.waiting) == 0 {
		q.turns = append(q.turns, l)
	}
	l.waiting = append(l.waiting, j)
	q.free--
	q.filled.Signal()
	return lost, full
}

// longest returns the longest line, own when none is longer.
func (q *queue) longest(own *line) *line {
	long := own
	for _, l := range q.turns {
		if len(l.waiting) > len(long.waiting) {
			long = l
		}
	}
	return long
}

// take waits for a request and gives it a worker of the pool, which is the tenant's until
// release. It returns false when the queue is closed and empty.
func (q *queue) take() (job, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for len(q.turns) == 0 {
		if q.closed {
			return job{}, false
		}
		q.filled.Wait()
	}
	at := 0
	for i := 1; i < len(q.turns) && q.turns[at].held > 0; i++ {
		if q.turns[i].held < q.turns[at].held {
			at = i
		}
	}
	l := q.turns[at]
	q.turns = slices.Delete(q.turns, at, at+1)
	j := l.waiting[0]
	l.waiting[0] = job{} // let go of its data
	l.waiting = l.waiting[1:]
	if len(l.waiting) > 0 {
		q.turns = append(q.turns, l)
	}
	l.held++
	return j, true
}

// release gives back the worker that took a request of the tenant.
func (q *queue) release(tenant string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	l := q.lines[tenant]
	l.held--
	q.free++
	if l.held == 0 && len(l.waiting) == 0 {
		delete(q.lines, tenant)
	}
}

// close lets the workers end when everything in line is taken. Nothing may be put after.
func (q *queue) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	q.filled.Broadcast()
}
