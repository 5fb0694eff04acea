// Cache keeps byte strings in memory by tenant and id. It keeps them in pages that hold
// no pointers, so that a garbage collection takes no longer for a hundred thousand of them than
// for one; a request that meets a long collection is slow.
//
// It promises that its bytes stay within the given bound, that no one gets what was put under
// another tenant or id, and that what is deleted is wiped. What was put first goes first.
// Any package may import it.

package cache

import (
	"encoding/binary"
	"hash/maphash"
	"math/bits"
)

const (
	pageBytes = 256 << 10
	headBytes = 20 // of an entry: hash, then the lengths of tenant, id and value
	mapBytes  = 32 // that an entry takes beside its page, about
)

// Cache is such a memory. Use New. It is not safe for concurrent use.
type Cache struct {
	seed  maphash.Seed
	page  int // bytes of a page
	most  int
	at    map[uint64]uint64 // by the hash of a name: number of the page << 32 | place in it
	pages [][]byte          // the oldest first
	first uint64            // number of pages[0]
}

// New returns a cache of at most so many bytes; one of less than a page keeps nothing.
func New(most int) *Cache {
	return &Cache{seed: maphash.MakeSeed(), page: max(4096, min(pageBytes, most/16)), most: most, at: map[uint64]uint64{}}
}

// Len is how many values there are.
func (c *Cache) Len() int { return len(c.at) }

// Bytes is about what the cache takes.
func (c *Cache) Bytes() int { return len(c.pages)*c.page + len(c.at)*mapBytes }

// Fits reports whether a value fits beside all that is there.
func (c *Cache) Fits(tenant, id string, value []byte) bool {
	size := bytesEntryBytes(tenant, id, value)
	if n := len(c.pages); n > 0 && len(c.pages[n-1])+size <= c.page {
		return c.Bytes()+mapBytes <= c.most
	}
	return size <= c.page && c.Bytes()+c.page+mapBytes <= c.most
}

// Get returns a value, nil for none. It may be written to, and is valid until the next Put,
// Delete or Clear.
func (c *Cache) Get(tenant, id string) []byte {
	place, ok := c.at[c.hashEntryKey(tenant, id)]
	if !ok {
		return nil
	}
	e := c.findEntry(place)
	if string(e.tenant) != tenant || string(e.id) != id {
		return nil
	}
	return e.value
}

// Put keeps a copy of a value, in the place of the oldest where there is no room. One that is
// longer than a page is not kept.
func (c *Cache) Put(tenant, id string, value []byte) {
	c.Delete(tenant, id)
	size := bytesEntryBytes(tenant, id, value)
	if size > c.page || c.page+mapBytes > c.most {
		return
	}
	for len(c.pages) > 0 && !c.Fits(tenant, id, value) {
		c.evictPage()
	}
	last := len(c.pages) - 1
	if last < 0 || len(c.pages[last])+size > c.page {
		c.pages = append(c.pages, make([]byte, 0, c.page))
		last = last + 1
	}
	hash := c.hashEntryKey(tenant, id)
	if place, taken := c.at[hash]; taken { // by another name
		c.findEntry(place).wipeEntry()
	}
	page := c.pages[last]
	c.at[hash] = (c.first+uint64(last))<<32 | uint64(len(page))
	page = binary.LittleEndian.AppendUint64(page, hash)
	for _, n := range [...]int{len(tenant), len(id), len(value)} {
		page = binary.LittleEndian.AppendUint32(page, uint32(n))
	}
	c.pages[last] = append(append(append(page, tenant...), id...), value...)
}

// Delete wipes a value, if it is there.
func (c *Cache) Delete(tenant, id string) {
	if c.Get(tenant, id) == nil {
		return
	}
	hash := c.hashEntryKey(tenant, id)
	c.findEntry(c.at[hash]).wipeEntry()
	delete(c.at, hash)
	c.releasePages()
}

// Clear wipes all values of a tenant.
func (c *Cache) Clear(tenant string) {
	for n, page := range c.pages {
		for at := 0; at < len(page); {
			e := entryAt(page[at:])
			if place := (c.first+uint64(n))<<32 | uint64(at); string(e.tenant) == tenant && c.at[e.hash] == place {
				delete(c.at, e.hash)
				e.wipeEntry()
			}
			at += e.size
		}
	}
	c.releasePages()
}

// releasePages gives the pages back when nothing is left in them. The room of what was deleted is else
// given back with its page, as the oldest.
func (c *Cache) releasePages() {
	if len(c.at) == 0 {
		c.first = c.first + uint64(len(c.pages))
		c.pages = nil
	}
}

// evictPage drops the oldest page.
func (c *Cache) evictPage() {
	page := c.pages[0]
	for at := 0; at < len(page); {
		e := entryAt(page[at:])
		if c.at[e.hash] == c.first<<32|uint64(at) {
			delete(c.at, e.hash)
		}
		at += e.size
	}
	clear(page)
	c.pages[0] = nil
	c.pages = c.pages[1:]
	c.first = c.first + 1
}

func (c *Cache) hashEntryKey(tenant, id string) uint64 {
	return bits.RotateLeft64(maphash.String(c.seed, tenant), 1) ^ maphash.String(c.seed, id)
}

func (c *Cache) findEntry(place uint64) bytesEntry {
	return entryAt(c.pages[place>>32-c.first][uint32(place):])
}

func bytesEntryBytes(tenant, id string, value []byte) int {
	return headBytes + len(tenant) + len(id) + len(value)
}

// bytesEntry is a value in its page.
type bytesEntry struct {
	hash              uint64
	size              int
	tenant, id, value []byte
}

// entryAt reads the entry at the head of b.
func entryAt(b []byte) bytesEntry {
	tenant := headBytes + int(binary.LittleEndian.Uint32(b[8:]))
	id := tenant + int(binary.LittleEndian.Uint32(b[12:]))
	value := id + int(binary.LittleEndian.Uint32(b[16:]))
	return bytesEntry{hash: binary.LittleEndian.Uint64(b), size: value, tenant: b[headBytes:tenant], id: b[tenant:id], value: b[id:value:value]}
}

func (e bytesEntry) wipeEntry() {
	clear(e.tenant)
	clear(e.id)
	clear(e.value)
}
