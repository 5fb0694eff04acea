package remote

import (
	"crypto/sha256"
	"sync"
	"time"

	"satchel/policies"
	"satchel/schemas"
)

// key is the SHA-256 over everything the policy is shown.
type key [sha256.Size]byte

// kept is when an answer was given, by the request's time and by the clock.
type kept struct{ asked, at time.Time }

func (k kept) isFreshAnswer(asked, now time.Time, ttl time.Duration) bool {
	age := now.Sub(k.at)
	drift := asked.Sub(k.asked)
	return age >= 0 && age < ttl && drift > -ttl && drift < ttl
}

type keptVerdict struct {
	kept
	policies.Verdict
}

type keptFilter struct {
	kept
	schemas.Filter
}

// cache holds the answers of one revision. When limit entries are there it starts again
// from nothing. It is safe for concurrent use.
type cache struct {
	mu         sync.Mutex
	ttl        time.Duration // 0 keeps nothing
	limit      int
	now        func() time.Time
	revision   string
	generation uint64 // grows with each revision
	verdicts   map[key]keptVerdict
	filters    map[string]keptFilter
	hits       uint64
	misses     uint64
}

func newCache(c *Config) *cache {
	n := &cache{ttl: c.CacheTTL, limit: c.CacheEntries, now: c.Clock, revision: noRevision}
	n.clearAnswers()
	return n
}

// clearAnswers forgets all answers; the caller holds mu.
func (c *cache) clearAnswers() {
	c.verdicts = map[key]keptVerdict{}
	c.filters = map[string]keptFilter{}
}

// state names the revision in force.
type state struct {
	revision   string
	generation uint64
}

func (c *cache) readState() state {
	c.mu.Lock()
	defer c.mu.Unlock()
	return state{c.revision, c.generation}
}

// lookUpVerdicts fills in the verdicts that are known and returns the revision they are of.
func (c *cache) lookUpVerdicts(asked time.Time, questions []question) state {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.now()
	for i := range questions {
		q := &questions[i]
		v, ok := c.verdicts[q.key]
		q.known = ok && v.isFreshAnswer(asked, now, c.ttl)
		if q.known {
			q.verdict = v.Verdict
			c.hits++
		} else {
			c.misses++
		}
	}
	return state{c.revision, c.generation}
}

// acceptRevision notes the revision of an answer to a question that was put under before. It
// reports whether the answer may be kept: that of a revision which is
// gone again may not. The caller holds mu.
func (c *cache) acceptRevision(before state, revision string) bool {
	if revision == c.revision {
		return true
	}
	if before.generation != c.generation {
		return false
	}
	c.revision = revision
	c.generation++
	c.clearAnswers()
	return true
}

// keepAnswers stores answers that were asked for under before and came with revision.
func (c *cache) keepAnswers(before state, revision string, asked time.Time, questions []*question) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.acceptRevision(before, revision) || c.ttl <= 0 || len(questions) > c.limit {
		return
	}
	if len(c.verdicts)+len(questions) > c.limit {
		c.clearAnswers()
	}
	k := kept{asked, c.now()}
	for _, q := range questions {
		c.verdicts[q.key] = keptVerdict{k, q.verdict}
	}
}

func (c *cache) findCachedFilter(asker string) (schemas.Filter, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	f, ok := c.filters[asker]
	return f.Filter, ok && f.isFreshAnswer(f.asked, c.now(), c.ttl)
}

func (c *cache) keepFilter(before state, revision, asker string, f schemas.Filter) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.acceptRevision(before, revision) || c.ttl <= 0 {
		return
	}
	if len(c.filters) >= c.limit {
		c.clearAnswers()
	}
	c.filters[asker] = keptFilter{kept{at: c.now()}, f}
}
