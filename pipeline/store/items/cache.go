package items

import (
	"encoding/binary"
	"sync"
	"time"

	"satchel/pipeline/infra/cache"
	"satchel/schemas"
)

// Bounds of the record cache.
const (
	cachedBytes   = 160 << 20 // of all records that are kept, about; see NewWithCache
	cachedRecord  = 16 << 10  // of one that is kept
	recentChanges = 16 << 10
	readyShare    = 8        // of the bytes, the part that decoded records take at most
	readyMost     = 24 << 20 // and their bytes at most: each collection of garbage visits them
)

type recordKey struct{ tenant, id string }

// records keeps what was read lately, encoded: records are many, and decoded ones would keep
// every garbage collection busy. Those that were asked for last are kept decoded as well. A
// record leaves it, or stands as it is stored, before the Apply that changes or erases it
// returns. Safe for concurrent use. A nil *records keeps nothing.
type records struct {
	mu      sync.RWMutex
	kept    *cache.Cache         // of what appendKept wrote
	ready   *ready               // decoded ones of kept
	state   uint64               // number of the last change
	known   uint64               // of changes up to it, the ids are not known any more
	changed map[recordKey]uint64 // ids of later ones
	applied map[string]int64     // by tenant: UpTo of the last batch
}

func newRecords(most int) *records {
	decoded := min(most/readyShare, readyMost)
	return &records{kept: cache.New(most - decoded), ready: newReady(decoded), changed: map[recordKey]uint64{}, applied: map[string]int64{}}
}

// Places in what appendKept wrote.
const (
	keptSec   = 8 // after the access count
	keptNano  = 16
	keptCount = 20 // tokens
	keptSize  = 24 // length of the metadata, which follows; then the payload
	keptHead  = 28
)

// appendKept appends a record as it is kept. What accesses change of it has a fixed place.
func appendKept(b []byte, r *schemas.Record) []byte {
	h := NewMetadata(r)
	h.First = r.First
	h.SupersededBy = r.SupersededBy
	from := len(b)
	b = append(b, make([]byte, keptHead)...)
	b = h.Append(b)
	at := b[from:]
	setUse(at, r.AccessCount, r.LastAccess)
	binary.LittleEndian.PutUint32(at[keptCount:], uint32(r.Tokens))
	binary.LittleEndian.PutUint32(at[keptSize:], uint32(len(at)-keptHead))
	return AppendPayload(b, r)
}

// setUse sets in what appendKept wrote how often and when the record was accessed.
func setUse(kept []byte, count int64, last time.Time) {
	binary.LittleEndian.PutUint64(kept, uint64(count))
	binary.LittleEndian.PutUint64(kept[keptSec:], uint64(last.Unix()))
	binary.LittleEndian.PutUint32(kept[keptNano:], uint32(last.Nanosecond()))
}

// decodeKept reads what appendKept wrote.
func decodeKept(id string, kept []byte) (schemas.Record, error) {
	body := keptHead + int(binary.LittleEndian.Uint32(kept[keptSize:]))
	r, err := DecodeRecord(id, int(binary.LittleEndian.Uint32(kept[keptCount:])), kept[keptHead:body], kept[body:])
	r.AccessCount = int64(binary.LittleEndian.Uint64(kept))
	r.LastAccess = time.Unix(int64(binary.LittleEndian.Uint64(kept[keptSec:])), int64(binary.LittleEndian.Uint32(kept[keptNano:]))).UTC()
	return r, err
}

// findKeptRecords sets in out what is kept, by the index of its id, and returns which ids are
// missing, and the state to hand to put.
func (c *records) findKeptRecords(tenant string, ids []string, out []*Lent) (missing []string, state uint64) {
	if c == nil {
		return ids, 0
	}
	c.mu.RLock()
	defer c.mu.RUnlock()
	c.ready.findLentRecords(tenant, ids, out)
	var decoded []*Lent
	var encoded []int
	for i, id := range ids {
		if out[i] != nil {
			continue
		}
		kept := c.kept.Get(tenant, id)
		if kept == nil {
			missing = append(missing, id)
			continue
		}
		r, err := decodeKept(id, kept)
		if err != nil { // it is read again
			missing = append(missing, id)
			continue
		}
		out[i] = Lend(&r)
		decoded = append(decoded, out[i])
		encoded = append(encoded, len(kept))
	}
	c.ready.keepLentRecords(tenant, decoded, encoded)
	return missing, c.state
}

// readState is the state to hand to put or counted with what is read after it.
func (c *records) readState() uint64 {
	if c == nil {
		return 0
	}
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.state
}

// keepRecords keeps records that were read at a state, unless they have changed since.
func (c *records) keepRecords(tenant string, state uint64, read []schemas.Record) {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if state < c.known {
		return
	}
	var kept []byte
	for i := range read {
		r := &read[i]
		kept = appendKept(kept[:0], r)
		if len(kept) <= cachedRecord && c.changed[recordKey{tenant, r.ID}] <= state {
			c.kept.Put(tenant, r.ID, kept)
			c.ready.dropLentRecord(tenant, r.ID)
		}
	}
}

// keepCountedRecords takes over that records got their token counts, as they are given, read at a
// state. It keeps what there is room for, in the place of nothing else.
func (c *records) keepCountedRecords(tenant string, state uint64, read []schemas.Record) {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.beginChange()
	var kept []byte
	for i := range read {
		r := &read[i]
		key := recordKey{tenant, r.ID}
		current := state >= c.known && c.changed[key] <= state
		c.changed[key] = c.state
		c.forgetRecord(tenant, r.ID)
		if !current {
			continue
		}
		kept = appendKept(kept[:0], r)
		if len(kept) <= cachedRecord && c.kept.Fits(tenant, r.ID, kept) {
			c.kept.Put(tenant, r.ID, kept)
		}
	}
}

// applyBatch takes over what a committed batch has changed.
func (c *records) applyBatch(tenant string, b *Batch) {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	inOrder := b.UpTo > c.applied[tenant]
	if inOrder {
		c.applied[tenant] = b.UpTo
	}
	c.beginChange()
	for _, id := range b.IDs() {
		c.changed[recordKey{tenant, id}] = c.state
		c.ready.dropLentRecord(tenant, id)
		u, ok := b.used[id]
		if !ok || !inOrder {
			c.kept.Delete(tenant, id)
			continue
		}
		if kept := c.kept.Get(tenant, id); kept != nil {
			setUse(kept, u.count, u.last)
		}
	}
}

// beginChange numbers a change.
func (c *records) beginChange() {
	if len(c.changed) > recentChanges {
		clear(c.changed)
		c.known = c.state + 1
	}
	c.state++
}

// dropRecords forgets records whose ids are given, all of the tenant's for nil.
func (c *records) dropRecords(tenant string, ids []string) {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.beginChange()
	if ids == nil {
		c.known = c.state
		delete(c.applied, tenant)
		c.kept.Clear(tenant)
		c.ready.clearTenant(tenant)
		return
	}
	for _, id := range ids {
		c.changed[recordKey{tenant, id}] = c.state
		c.forgetRecord(tenant, id)
	}
}

// forgetRecord drops a record in either form.
func (c *records) forgetRecord(tenant, id string) {
	c.kept.Delete(tenant, id)
	c.ready.dropLentRecord(tenant, id)
}
