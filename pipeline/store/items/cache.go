package items

import (
	"sync"

	lru "github.com/hashicorp/golang-lru/v2"

	"satchel/schemas"
)

// Bounds of the record cache.
const (
	cachedBytes   = 160 << 20 // of all records that are kept, about; see NewKeeping
	cachedContent = 16 << 10  // what sizeOf may be of a record that is kept, beyond cachedRecord
	cachedRecord  = 1 << 10   // bytes of a record without what its writer may make long, about
	recentChanges = 16 << 10

	stringSize, linkSize, spanSize = 16, 32, 16
)

type recordKey struct{ tenant, id string }

// records keeps what was read lately. A record leaves it, or stands as it is stored,
// before the Apply that changes or erases it returns. Safe for concurrent use. A nil
// *records keeps nothing.
type records struct {
	kept *lru.Cache[recordKey, *schemas.Record] // what a pointer leads to is never changed

	mu      sync.Mutex           // held while kept changes
	most    int                  // bytes that may be kept
	bytes   int                  // of what is kept
	state   uint64               // number of the last change
	known   uint64               // of changes up to it, the ids are not known any more
	changed map[recordKey]uint64 // ids of later ones
	applied map[string]int64     // by tenant: UpTo of the last batch
}

func newRecords(most int) *records {
	c := &records{most: most, changed: map[recordKey]uint64{}, applied: map[string]int64{}}
	kept, err := lru.New[recordKey, *schemas.Record](max(1, most/cachedRecord))
	if err == nil { // it fails for a size below one only
		c.kept = kept
	}
	return c
}

// sizeOf is about what memory a record takes.
func sizeOf(r *schemas.Record) int {
	n := cachedRecord + len(r.Content.Raw()) + len(r.Content.Text()) + len(r.Attributes)
	if r.Summary != nil {
		n += len(r.Summary.Text) + spanSize*len(r.Summary.DroppedSpans)
	}
	for _, list := range [][]string{r.SecurityLabel, r.PIIFlags, r.GraphRefs, r.Provenance.PolicyTags} {
		for _, s := range list {
			n += stringSize + len(s)
		}
	}
	for i := range r.Links {
		n += linkSize + len(r.Links[i].Rel) + len(r.Links[i].To)
	}
	return n
}

// add keeps a record, in the place of those used longest ago. The caller holds mu.
func (c *records) add(key recordKey, r *schemas.Record) {
	c.remove(key)
	for c.bytes+sizeOf(r) > c.most {
		_, old, ok := c.kept.RemoveOldest()
		if !ok {
			break
		}
		c.bytes -= sizeOf(old)
	}
	c.bytes += sizeOf(r)
	c.kept.Add(key, r)
}

// remove drops a record, if it is kept. The caller holds mu.
func (c *records) remove(key recordKey) {
	if r, ok := c.kept.Peek(key); ok {
		c.bytes -= sizeOf(r)
		c.kept.Remove(key)
	}
}

// get sets in out what is kept, by the index of its id, and returns which ids are
// missing, and the state to hand to put.
func (c *records) get(tenant string, ids []string, out []*schemas.Record) (missing []string, state uint64) {
	if c == nil {
		return ids, 0
	}
	state = c.now()
	for i, id := range ids {
		if r, ok := c.kept.Get(recordKey{tenant, id}); ok {
			out[i] = r
		} else {
			missing = append(missing, id)
		}
	}
	return missing, state
}

// now is the state to hand to put or counted with what is read after it.
func (c *records) now() uint64 {
	if c == nil {
		return 0
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.state
}

// put keeps records that were read at a state, unless they have changed since.
func (c *records) put(tenant string, state uint64, read []schemas.Record) {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if state < c.known {
		return
	}
	for i := range read {
		r := read[i]
		if sizeOf(&r) > cachedRecord+cachedContent {
			continue
		}
		key := recordKey{tenant, r.ID}
		if c.changed[key] <= state {
			c.add(key, &r)
		}
	}
}

// counted takes over that records got their token counts, as they are given, read at a
// state. It keeps what there is room for, in the place of nothing else.
func (c *records) counted(tenant string, state uint64, read []schemas.Record) {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.begin()
	for i := range read {
		r := read[i]
		key := recordKey{tenant, r.ID}
		current := state >= c.known && c.changed[key] <= state
		c.changed[key] = c.state
		c.remove(key)
		if n := sizeOf(&r); current && n <= cachedRecord+cachedContent && c.bytes+n <= c.most {
			c.add(key, &r)
		}
	}
}

// apply takes over what a committed batch has changed.
func (c *records) apply(tenant string, b *Batch) {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	inOrder := b.UpTo > c.applied[tenant]
	if inOrder {
		c.applied[tenant] = b.UpTo
	}
	c.begin()
	for _, id := range b.IDs() {
		key := recordKey{tenant, id}
		c.changed[key] = c.state
		u, ok := b.used[id]
		if !ok || !inOrder {
			c.remove(key)
			continue
		}
		if old, ok := c.kept.Peek(key); ok {
			r := *old
			r.AccessCount, r.LastAccess = u.count, u.last.UTC()
			c.add(key, &r)
		}
	}
}

// begin numbers a change.
func (c *records) begin() {
	if len(c.changed) > recentChanges {
		clear(c.changed)
		c.known = c.state + 1
	}
	c.state++
}

// drop forgets records whose ids are given, all of the tenant's for nil.
func (c *records) drop(tenant string, ids []string) {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.begin()
	if ids == nil {
		c.known = c.state
		delete(c.applied, tenant)
		for _, key := range c.kept.Keys() {
			if key.tenant == tenant {
				c.remove(key)
			}
		}
		return
	}
	for _, id := range ids {
		key := recordKey{tenant, id}
		c.changed[key] = c.state
		c.remove(key)
	}
}
