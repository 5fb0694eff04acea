package items

import (
	"sync"
	"unsafe"

	"satchel/schemas"
)

// readyHead is what a decoded record and what is derived from it take beside their texts, about.
const readyHead = 3 * int(unsafe.Sizeof(schemas.Record{}))

// ready keeps decoded records that were asked for lately. No one may change them. It is safe
// for concurrent use.
//
// It has two generations. A record that is asked for moves into the young one. When that has
// half of the bytes it becomes the old one, and the old one goes.
type ready struct {
	mu         sync.Mutex
	most       int // bytes of a generation
	bytes      int // of the young one
	young, old generation
}

// generation has records by tenant and id.
type generation map[string]map[string]sized

// sized is a record and about what it takes.
type sized struct {
	record *Lent
	bytes  int
}

func newReady(bytes int) *ready {
	return &ready{most: bytes / 2, young: generation{}, old: generation{}}
}

// findLentRecords sets in out the records that are there, by the index of their ids.
func (c *ready) findLentRecords(tenant string, ids []string, out []*Lent) {
	c.mu.Lock()
	defer c.mu.Unlock()
	young := c.young[tenant]
	old := c.old[tenant]
	for i, id := range ids {
		if kept, ok := young[id]; ok {
			out[i] = kept.record
		} else if kept, ok := old[id]; ok {
			out[i] = kept.record
			delete(old, id)
			c.addToYoung(tenant, kept)
			young = c.young[tenant]
			old = c.old[tenant]
		}
	}
}

// keepLentRecords keeps records, which take so many bytes encoded.
func (c *ready) keepLentRecords(tenant string, read []*Lent, encoded []int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i, r := range read {
		c.removeFromGenerations(tenant, r.ID)
		c.addToYoung(tenant, sized{r, readyHead + encoded[i]})
	}
}

func (c *ready) addToYoung(tenant string, s sized) {
	if c.bytes+s.bytes > c.most {
		c.young, c.old, c.bytes = generation{}, c.young, 0
	}
	if s.bytes > c.most {
		return
	}
	list := c.young[tenant]
	if list == nil {
		list = map[string]sized{}
		c.young[tenant] = list
	}
	list[s.record.ID] = s
	c.bytes += s.bytes
}

// dropLentRecord forgets a record.
func (c *ready) dropLentRecord(tenant, id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.removeFromGenerations(tenant, id)
}

func (c *ready) removeFromGenerations(tenant, id string) {
	if kept, ok := c.young[tenant][id]; ok {
		c.bytes -= kept.bytes
		delete(c.young[tenant], id)
	}
	delete(c.old[tenant], id)
}

// clearTenant forgets all records of a tenant.
func (c *ready) clearTenant(tenant string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, kept := range c.young[tenant] {
		c.bytes -= kept.bytes
	}
	delete(c.young, tenant)
	delete(c.old, tenant)
}
