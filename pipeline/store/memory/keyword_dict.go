package memory

import (
	"hash/maphash"
	"math"
)

// dict numbers terms from 0. It holds no pointers per term: an arena of the terms'
// bytes, an offset each, and an open-addressing hash table.
type dict struct {
	seed  maphash.Seed
	arena []byte
	ends  []uint32
	slots []uint64 // upper 32 bits of the hash | number+1; 0 is free
}

func newDict() dict { return dict{seed: maphash.MakeSeed()} }

func (d *dict) countTerms() int { return len(d.ends) }

// readTerm returns the bytes of term n. They MUST NOT be changed.
func (d *dict) readTerm(n uint32) []byte {
	start := uint32(0)
	if n > 0 {
		start = d.ends[n-1]
	}
	return d.arena[start:d.ends[n]:d.ends[n]]
}

// findTerm returns the number of term, and false when it is not there.
func (d *dict) findTerm(term []byte) (uint32, bool) {
	if len(d.slots) == 0 {
		return 0, false
	}
	n, _, ok := d.probeSlots(maphash.Bytes(d.seed, term), term)
	return n, ok
}

// probeSlots returns the number of term or the free slot where it belongs.
func (d *dict) probeSlots(h uint64, term []byte) (n uint32, slot uint64, ok bool) {
	mask := uint64(len(d.slots) - 1)
	for i := h & mask; ; i = (i + 1) & mask {
		s := d.slots[i]
		if s == 0 {
			return 0, i, false
		}
		if s>>32 == h>>32 && string(d.readTerm(uint32(s)-1)) == string(term) {
			return uint32(s) - 1, i, true
		}
	}
}

// internTerm returns the number of term, giving it the next one when it is new. It reports
// false when the arena is full (4 GiB).
func (d *dict) internTerm(term []byte) (uint32, bool) {
	if (len(d.ends)+1)*4 > len(d.slots)*3 {
		d.rehashTerms()
	}
	h := maphash.Bytes(d.seed, term)
	n, slot, ok := d.probeSlots(h, term)
	if ok {
		return n, true
	}
	if len(d.arena)+len(term) > math.MaxUint32 {
		return 0, false
	}
	n = uint32(len(d.ends))
	d.arena = append(d.arena, term...)
	d.ends = append(d.ends, uint32(len(d.arena)))
	d.slots[slot] = h&^math.MaxUint32 | uint64(n+1)
	return n, true
}

func (d *dict) rehashTerms() {
	old := d.slots
	d.slots = make([]uint64, max(64, 2*len(old)))
	mask := uint64(len(d.slots) - 1)
	for _, s := range old {
		if s == 0 {
			continue
		}
		h := maphash.Bytes(d.seed, d.readTerm(uint32(s)-1))
		i := h & mask
		for d.slots[i] != 0 {
			i = (i + 1) & mask
		}
		d.slots[i] = s
	}
}

func (d *dict) countTermBytes() int { return cap(d.arena) + 4*cap(d.ends) + 8*cap(d.slots) }
