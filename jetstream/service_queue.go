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
// loses its newest requests. It is safe for concurrent use.
type queue struct {
	unit int // bytes of a request that take one place; 0: each request takes one

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
	places  int   // that those waiting take
	held    int   // workers
}

func newQueue(places int) *queue {
	q := &queue{free: places, lines: map[string]*line{}}
	q.filled.L = &q.mu
	return q
}

// cost is how many places a request takes.
func (q *queue) cost(j *job) int {
	if q.unit == 0 {
		return 1
	}
	return 1 + (len(j.request.Data)-1)/q.unit
}

// put takes a request in. It returns the requests that have no place for it: other tenants'
// newest, or j itself.
func (q *queue) put(j job) (lost []job) {
	j.places = q.cost(&j)
	q.mu.Lock()
	defer q.mu.Unlock()
	l := q.lines[j.request.Tenant]
	if l == nil {
		l = &line{}
	}
	if q.free < j.places && q.longest(l).places <= l.places+j.places {
		return []job{j}
	}
	for q.free < j.places {
		lost = append(lost, q.drop(q.longest(l)))
	}
	q.lines[j.request.Tenant] = l
	if len(l.waiting) == 0 {
		q.turns = append(q.turns, l)
	}
	l.waiting = append(l.waiting, j)
	l.places += j.places
	q.free -= j.places
	q.filled.Signal()
	return lost
}

// longest returns the line whose requests take the most places, own when none takes more.
func (q *queue) longest(own *line) *line {
	long := own
	for _, l := range q.turns {
		if l.places > long.places {
			long = l
		}
	}
	return long
}

// drop takes the newest request out of a line.
func (q *queue) drop(l *line) job {
	last := len(l.waiting) - 1
	j := l.waiting[last]
	l.waiting[last] = job{}
	l.waiting = l.waiting[:last]
	l.places -= j.places
	q.free += j.places
	if last == 0 { // it was a large one
		q.turns = slices.DeleteFunc(q.turns, func(t *line) bool { return t == l })
		if l.held == 0 {
			delete(q.lines, j.request.Tenant)
		}
	}
	return j
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
	l.places -= j.places
	if len(l.waiting) > 0 {
		q.turns = append(q.turns, l)
	}
	l.held++
	return j, true
}

// release gives back the worker that took a request.
func (q *queue) release(j job) {
	q.mu.Lock()
	defer q.mu.Unlock()
	l := q.lines[j.request.Tenant]
	l.held--
	q.free += j.places
	if l.held == 0 && len(l.waiting) == 0 {
		delete(q.lines, j.request.Tenant)
	}
}

// close lets the workers end when everything in line is taken. Nothing may be put after.
func (q *queue) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	q.filled.Broadcast()
}
