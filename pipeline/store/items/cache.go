package items

import (
	"sync"

	lru "github.com/hashicorp/golang-lru/v2"

	"satchel/schemas"
)

// Bounds of the record cache.
const (
	cachedRecords = 16 << 10
	cachedBytes   = 8 << 10 // content of a record that is kept
)

type recordKey struct{ tenant, id string }

// records keeps what was read lately. A record leaves it before the Apply that changes
// or erases it returns. Safe for concurrent use.
type records struct {
	mu    sync.Mutex
	kept  *lru.Cache[recordKey, schemas.Record]
	moved map[string]uint64 // times a tenant has changed; what was read before is not kept
}

func newRecords() *records {
	kept, err := lru.New[recordKey, schemas.Record](cachedRecords)
	if err != nil {
		return &records{moved: map[string]uint64{}} // only for a size below one
	}
	return &records{kept: kept, moved: map[string]uint64{}}
}

// get fills out with what is kept and returns which ids are missing, and the tenant's
// state to hand to put.
func (c *records) get(tenant string, ids []string, out map[string]schemas.Record) (missing []string, state uint64) {
	c.mu.Lock()
	state = c.moved[tenant]
	c.mu.Unlock()
	for _, id := range ids {
		if r, ok := c.kept.Get(recordKey{tenant, id}); ok {
			out[id] = r
		} else {
			missing = append(missing, id)
		}
	}
	return missing, state
}

// put keeps records that were read in state; when the tenant has changed since, it
// keeps none.
func (c *records) put(tenant string, state uint64, read []schemas.Record) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.moved[tenant] != state {
		return
	}
	for i := range read {
		if len(read[i].Content.Raw())+len(read[i].Attributes) > cachedBytes || len(read[i].Content.Text()) > cachedBytes {
			continue
		}
		c.kept.Add(recordKey{tenant, read[i].ID}, read[i])
	}
}

// drop forgets ids of a tenant, all of them when ids is nil.
func (c *records) drop(tenant string, ids []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.moved[tenant]++
	if ids == nil {
		for _, key := range c.kept.Keys() {
			if key.tenant == tenant {
				c.kept.Remove(key)
			}
		}
		return
	}
	for _, id := range ids {
		c.kept.Remove(recordKey{tenant, id})
	}
}
