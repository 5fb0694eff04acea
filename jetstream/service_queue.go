package jetstream

import (
	"math"
	"slices"
	"sync"
	"time"
)

// queue holds the requests of one pool, a line for each principal of each tenant, and shares
// the pool's workers among the tenants, and a tenant's among its principals: a worker that is
// free goes to the tenant, and within it to the principal, that holds the fewest of those with
// something waiting, in turn among equals. A principal's requests are taken in order. While
// others ask as well, none holds more than most workers, and one that has many requests waiting
// leaves those idle for some of the time, where calls take the processor, so that it is free when
// another asks.
//
// All lines together have as many places as there are workers and waiting requests; one line
// may have them all. When they are taken, the longest line of the tenant that has the most
// loses its newest requests. It is safe for concurrent use.
type queue struct {
	unit   int    // bytes of a request that take one place; 0: each request takes one
	most   int    // workers that a principal may hold while others ask; 0: any number
	rest   bool   // one that has many waiting rests between two requests; for calls that take the processor
	beside *queue // of which the askers count, too; nil: none

	mu     sync.Mutex
	filled sync.Cond // a request may be taken, or the queue is closed
	free   int       // places
	closed bool
	shares      // of the tenants
	asked  asks // of all
	light  asks // of those that had few waiting
}

// shares are lines that have a whole between them.
type shares struct {
	lines map[string]*line // of those that wait or hold a worker, by name
	turns []*line          // with something waiting, in the order of their turns
}

// line is what one tenant or one principal has in a queue.
type line struct {
	name    string
	waiting []job     // of a principal, oldest first
	shares            // of a tenant's principals
	places  int       // that those waiting take
	held    int       // workers
	rests   time.Time // until when a principal is given no worker while others ask
}

// asker is a principal that asked, and when.
type asker struct {
	tenant, payer string
	at            time.Time
}

// contended is how long a principal that asked keeps others from holding all workers.
const contended = 10 * time.Second

// A principal that has few requests waiting for each worker that it may hold is light. Another rests
// after a request for as long as that took, once for each few that it has waiting, and at most
// restful times.
const (
	few     = 4
	restful = 7
)

// asks are the two principals that asked last, the last one first.
type asks [2]asker

// noteAsker keeps who asks.
func (a *asks) noteAsker(now asker) {
	if !a[0].isSameAsker(now) {
		a[1] = a[0]
	}
	a[0] = now
}

// findOtherTime returns when another than who last asked.
func (a *asks) findOtherTime(who asker) time.Time {
	if a[0].isSameAsker(who) {
		return a[1].at
	}
	return a[0].at
}

func (a asker) isSameAsker(b asker) bool { return a.tenant == b.tenant && a.payer == b.payer }

func newQueue(places int) *queue {
	q := &queue{free: places}
	q.filled.L = &q.mu
	return q
}

// countPlaces is how many places a request takes.
func (q *queue) countPlaces(j *job) int {
	if q.unit == 0 {
		return 1
	}
	return 1 + (len(j.request.Data)-1)/q.unit
}

// enqueueJob takes a request in. It returns the requests that have no place for it: others' newest,
// or j itself.
func (q *queue) enqueueJob(j job) (lost []job) {
	j.places = q.countPlaces(&j)
	q.mu.Lock()
	defer q.mu.Unlock()
	t := q.findLine(j.request.Tenant)
	p := t.findLine(j.request.Payer)
	who := asker{j.request.Tenant, j.request.Payer, j.arrived}
	q.asked.noteAsker(who)
	if p.places < few*q.most {
		q.light.noteAsker(who)
	}
	within := q.findLongestLine(t).places <= t.places+j.places // its own tenant's requests have to go
	if q.free < j.places && within && t.findLongestLine(p).places <= p.places+j.places {
		return []job{j}
	}
	for q.free < j.places {
		from := t
		of := p
		if !within {
			from = q.findLongestLine(t)
			of = nil
		}
		lost = append(lost, q.dropNewest(from, from.findLongestLine(of)))
	}
	q.insertLine(t)
	t.insertLine(p)
	p.waiting = append(p.waiting, j)
	p.places += j.places
	t.places += j.places
	q.free -= j.places
	q.filled.Signal()
	return lost
}

// findWorkerLimit is how many workers a principal may hold now. It is math.MaxInt, and nobody rests, while
// nobody else asks.
func (q *queue) findWorkerLimit() int {
	if q.most == 0 || q.closed || time.Since(q.asked[1].at) > contended && !q.beside.isContended() {
		return math.MaxInt
	}
	return q.most
}

// isContended reports whether two principals ask.
func (q *queue) isContended() bool {
	if q == nil {
		return false
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	return time.Since(q.asked[1].at) <= contended
}

// restPrincipal has a principal rest after a request that took so long, when it has many waiting and a light one
// asks as well.
func (q *queue) restPrincipal(t, p *line, took time.Duration) {
	now := time.Now()
	if !q.rest || p.places < few*q.most || now.Sub(q.light.findOtherTime(asker{tenant: t.name, payer: p.name})) > contended {
		return
	}
	if p.rests.Before(now) {
		p.rests = now
	}
	times := min(restful, p.places/(few*q.most))
	p.rests = p.rests.Add(min(time.Duration(times)*took/time.Duration(q.most), contended))
	time.AfterFunc(p.rests.Sub(now), q.filled.Signal)
}

// findLine returns the line of a name, a new one where there is none.
func (s *shares) findLine(name string) *line {
	if l := s.lines[name]; l != nil {
		return l
	}
	return &line{name: name}
}

// insertLine has a line among the others, before something waits in it.
func (s *shares) insertLine(l *line) {
	if s.lines == nil {
		s.lines = map[string]*line{}
	}
	s.lines[l.name] = l
	if l.places == 0 {
		s.turns = append(s.turns, l)
	}
}

// findLongestLine returns the line whose requests take the most places, own when none takes more.
func (s *shares) findLongestLine(own *line) *line {
	long := own
	for _, l := range s.turns {
		if long == nil || l.places > long.places {
			long = l
		}
	}
	return long
}

// settleLine takes a line out of the turns when nothing waits in it, and forgets it when it holds
// nothing either.
func (s *shares) settleLine(l *line) {
	if l.places > 0 {
		return
	}
	s.turns = slices.DeleteFunc(s.turns, func(t *line) bool { return t == l })
	if l.held == 0 {
		delete(s.lines, l.name)
	}
}

// dropNewest takes the newest request out of the line of a tenant's principal.
func (q *queue) dropNewest(t, p *line) job {
	last := len(p.waiting) - 1
	j := p.waiting[last]
	p.waiting[last] = job{}
	p.waiting = p.waiting[:last]
	p.places -= j.places
	t.places -= j.places
	q.free += j.places
	t.settleLine(p)
	q.settleLine(t)
	return j
}

// chooseNextLine returns the line that a free worker goes to, nil for none.
func (q *queue) chooseNextLine() (t, p *line) {
	limit := q.findWorkerLimit()
	now := time.Now()
	for _, l := range q.turns {
		if t != nil && l.held >= t.held {
			continue
		}
		if fewest := l.findIdlestLine(limit, now); fewest != nil {
			t = l
			p = fewest
		}
	}
	return t, p
}

// findIdlestLine returns the line that holds the fewest workers, of those that hold less than limit and
// do not rest.
func (s *shares) findIdlestLine(limit int, now time.Time) (least *line) {
	for _, l := range s.turns {
		if l.held < limit && (limit == math.MaxInt || !l.rests.After(now)) && (least == nil || l.held < least.held) {
			least = l
		}
	}
	return least
}

// moveLineBack puts a line behind the others.
func (s *shares) moveLineBack(l *line) {
	at := slices.Index(s.turns, l)
	s.turns = append(slices.Delete(s.turns, at, at+1), l)
}

// takeRequest waits for a request and gives it a worker of the pool, which is the principal's until
// release. It returns false when the queue is closed and empty.
func (q *queue) takeRequest() (job, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	t, p := q.chooseNextLine()
	for ; t == nil; t, p = q.chooseNextLine() {
		if q.closed {
			return job{}, false
		}
		q.filled.Wait()
	}
	q.moveLineBack(t)
	t.moveLineBack(p)
	j := p.waiting[0]
	p.waiting[0] = job{} // let go of its data
	p.waiting = p.waiting[1:]
	p.places -= j.places
	t.places -= j.places
	j.taken = time.Now()
	p.held++
	t.held++
	t.settleLine(p)
	q.settleLine(t)
	return j, true
}

// releaseWorker gives back the worker that took a request.
func (q *queue) releaseWorker(j job) {
	q.mu.Lock()
	defer q.mu.Unlock()
	t := q.lines[j.request.Tenant]
	p := t.lines[j.request.Payer]
	p.held--
	t.held--
	q.free += j.places
	q.restPrincipal(t, p, time.Since(j.taken))
	t.settleLine(p)
	q.settleLine(t)
	if len(q.turns) > 0 {
		q.filled.Signal() // for one that held as many as it may
	}
}

// closeQueue lets the workers end when everything in line is taken. Nothing may be put after.
func (q *queue) closeQueue() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	q.filled.Broadcast()
}
