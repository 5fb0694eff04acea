package neo4j

import (
	"fmt"
	"sync"
)

// crowds are how many items filters let through, while their tenants stay where they are: to
// count them the server reads them all.
type crowds struct {
	mu sync.Mutex
	by map[string]int64
}

// maxCrowds bounds the counts that are kept.
const maxCrowds = 256

// countPopulation returns how many items the population of a walk has; false for a tenant that has nothing.
func (k *walker) countPopulation() (items int64, ok bool, err error) {
	rows, err := k.runStatement("MATCH (t:SatchelTenant {name: $tenant}) RETURN t.items, t.checkpoint", nil)
	if err != nil || len(rows) == 0 {
		return 0, false, err
	}
	items, _ = rows[0].Values[0].(int64)
	if conds := k.w.Population.Conds(); len(conds) > 0 {
		key := fmt.Sprintf("%q %v %q", k.tenant, rows[0].Values[1], fmt.Sprint(conds))
		if items, err = k.crowds.countOnce(key, func() (int64, error) {
			return k.readCount(k.makeCountStatement())
		}); err != nil {
			return 0, false, err
		}
	}
	if len(k.w.Exclude) > 0 {
		n, err := k.readCount("MATCH (x:SatchelItem {tenant: $tenant}) WHERE x.id IN $exclude AND " + k.among + " RETURN count(x)")
		if err != nil {
			return 0, false, err
		}
		items -= n
	}
	return items, true, nil
}

// makeCountStatement counts the items of the population.
func (k *walker) makeCountStatement() string {
	return "MATCH (x:SatchelItem {tenant: $tenant}) WHERE " + k.among + " RETURN count(x)"
}

// readCount is what a statement returns that counts.
func (k *walker) readCount(statement string) (int64, error) {
	rows, err := k.runStatement(statement, k.params)
	n, _ := findFirstValue(rows).(int64)
	return n, err
}

// countOnce returns what was counted under a key before, or counts.
func (c *crowds) countOnce(key string, count func() (int64, error)) (int64, error) {
	c.mu.Lock()
	n, ok := c.by[key]
	c.mu.Unlock()
	if ok {
		return n, nil
	}
	n, err := count()
	if err != nil {
		return 0, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.by == nil || len(c.by) >= maxCrowds {
		c.by = map[string]int64{}
	}
	c.by[key] = n
	return n, nil
}
