package memory

import (
	"encoding/binary"
	"math/bits"
)

// Postings of a term are a chain of chunks in pages of bytes. A chunk begins with the
// reference of the next one (4 bytes); then come the entries: uvarint(delta<<1 | more),
// where delta is the step from the document before (the first counts from −1), and
// uvarint(tf) when more is set, else tf is 1. No entry starts with a zero byte, so a
// zero ends a chunk early; an entry never spans two chunks. The first chunk has 16
// bytes, each next one twice as many, up to 1 KiB.
const (
	pageBytes   = 16 << 10
	keywordUnit = 8 // a reference counts units; 0 is none
	firstChunk  = 16
	lastChunk   = 1 << 10
	maxEntry    = 2 * binary.MaxVarintLen32
)

// posting is where a term's entries are and what is needed to add one.
type posting struct {
	head, tail uint32 // first and last chunk
	last       uint32 // document of the last entry, plus one
	df         uint32 // live documents with the term
	used       uint16 // bytes taken in the last chunk
	size       uint16 // bytes of the last chunk
}

// chunks are the pages. The first unit of the first page is never given away.
type chunks struct {
	pages [][]byte
	free  int // bytes taken of the last page
}

func (c *chunks) allocateChunk(size int) uint32 {
	if len(c.pages) == 0 || c.free+size > pageBytes {
		c.pages = append(c.pages, make([]byte, pageBytes))
		c.free = 0
		if len(c.pages) == 1 {
			c.free = keywordUnit
		}
	}
	ref := ((len(c.pages)-1)*pageBytes + c.free) / keywordUnit
	c.free += size
	return uint32(ref)
}

// findPageBytes returns the page's bytes from ref on.
func (c *chunks) findPageBytes(ref uint32) []byte {
	at := int(ref) * keywordUnit
	return c.pages[at/pageBytes][at%pageBytes:]
}

func (c *chunks) countChunkBytes() int { return len(c.pages) * (pageBytes + 24) }

// hasReachedLimit reports whether another page may not be referenced.
func (c *chunks) hasReachedLimit() bool { return len(c.pages) >= (1<<32-1)/(pageBytes/keywordUnit) }

// appendDocument appends document doc, which is above every one before, with tf.
func (c *chunks) appendDocument(p *posting, doc, tf uint32) {
	var buf [maxEntry]byte
	delta := uint64(doc+1-p.last) << 1
	var entry []byte
	if tf == 1 {
		entry = binary.AppendUvarint(buf[:0], delta)
	} else {
		entry = binary.AppendUvarint(binary.AppendUvarint(buf[:0], delta|1), uint64(tf))
	}
	if int(p.used)+len(entry) > int(p.size) {
		c.growPosting(p)
	}
	copy(c.findPageBytes(p.tail)[p.used:], entry)
	p.used += uint16(len(entry))
	p.last = doc + 1
}

func (c *chunks) growPosting(p *posting) {
	size := firstChunk
	if p.size > 0 {
		size = min(2*int(p.size), lastChunk)
	}
	ref := c.allocateChunk(size)
	if p.tail == 0 {
		p.head = ref
	} else {
		binary.LittleEndian.PutUint32(c.findPageBytes(p.tail), ref)
	}
	p.tail = ref
	p.used = 4
	p.size = uint16(size)
}

// cursor reads a posting's entries in order. It is before entries[at].
type cursor struct {
	entries []byte // of the chunk being read
	at      int
	doc     uint32 // of the entry before, −1 at first
	next    uint32 // the chunk after, 0 for none
	size    int    // its bytes
}

func (c *chunks) newCursor(p *posting) cursor {
	return cursor{doc: ^uint32(0), next: p.head, size: firstChunk}
}

// advanceCursor goes to the next chunk and reports whether there is one.
func (c *chunks) advanceCursor(r *cursor) bool {
	if r.next == 0 {
		r.entries = nil
		r.at = 0
		return false
	}
	chunk := c.findPageBytes(r.next)[:r.size]
	r.entries = chunk[4:]
	r.at = 0
	r.next = binary.LittleEndian.Uint32(chunk)
	r.size = min(2*r.size, lastChunk)
	return true
}

// readUvarintRest reads a uvarint of several bytes whose first is not the last.
func readUvarintRest(b []byte, i int) (v uint32, next int) {
	for shift := 0; i < len(b); shift += 7 {
		c := b[i]
		i++
		v |= uint32(c&0x7f) << shift
		if c < 0x80 {
			break
		}
	}
	return v, i
}

func uvarintLen(v uint64) int { return (bits.Len64(v|1) + 6) / 7 }
