package opa

import (
	"sync"

	"github.com/open-policy-agent/opa/v1/ast"

	"satchel/policies"
	"satchel/schemas"
)

// cache holds what repeats between requests of one revision: item inputs as OPA values,
// verdicts by (who asks, item input), filters and attributes. When limit entries are
// there it starts again from nothing. It is safe for concurrent use.
type cache struct {
	mu         sync.Mutex
	limit      int // 0 keeps nothing
	entries    int
	hits       uint64
	misses     uint64
	values     map[string]*ast.Term
	verdicts   map[string]map[string]policies.Verdict
	filters    map[string]schemas.Filter
	attributes map[string]policies.Attributes
}

func newCache(limit int) *cache {
	c := &cache{limit: limit}
	c.clearEntries()
	return c
}

func (c *cache) clearEntries() {
	c.entries = 0
	c.values = map[string]*ast.Term{}
	c.verdicts = map[string]map[string]policies.Verdict{}
	c.filters = map[string]schemas.Filter{}
	c.attributes = map[string]policies.Attributes{}
}

// takeRoom makes room for n entries; the caller holds mu.
func (c *cache) takeRoom(n int) bool {
	if n > c.limit {
		return false
	}
	c.entries += n
	if c.entries > c.limit {
		c.clearEntries()
		c.entries = n
	}
	return true
}

// lookUpVerdicts fills in what is known of each profile: the verdict or else the value. The asker
// "" has no verdicts.
func (c *cache) lookUpVerdicts(asker string, profiles []profile) {
	c.mu.Lock()
	defer c.mu.Unlock()
	verdicts := c.verdicts[asker]
	for i := range profiles {
		p := &profiles[i]
		p.verdict, p.known = verdicts[p.key]
		if p.known {
			c.hits++
			continue
		}
		c.misses++
		p.value = c.values[p.key]
	}
}

// computeHitRate is hits ÷ (hits + misses), 0 before the first.
func (c *cache) computeHitRate() float64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.hits+c.misses == 0 {
		return 0
	}
	return float64(c.hits) / float64(c.hits+c.misses)
}

// keepVerdicts stores the values and, with an asker, the verdicts of profiles.
func (c *cache) keepVerdicts(asker string, profiles []profile) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.takeRoom(2 * len(profiles)) {
		return
	}
	verdicts := c.verdicts[asker]
	if verdicts == nil && asker != "" {
		verdicts = map[string]policies.Verdict{}
		c.verdicts[asker] = verdicts
	}
	for i := range profiles {
		p := &profiles[i]
		c.values[p.key] = p.value
		if asker != "" {
			verdicts[p.key] = p.verdict
		}
	}
}

func (c *cache) findFilter(asker string) (schemas.Filter, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	f, ok := c.filters[asker]
	return f, ok
}

func (c *cache) keepFilter(asker string, f schemas.Filter) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.takeRoom(1) {
		c.filters[asker] = f
	}
}

func (c *cache) attributesOf(action string) (policies.Attributes, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	a, ok := c.attributes[action]
	return a, ok
}

func (c *cache) keepAttributes(action string, a policies.Attributes) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.takeRoom(1) {
		c.attributes[action] = a
	}
}
