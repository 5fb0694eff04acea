// IDs maps ids to dense numbers (ordinals) and back, for in-process
// indexes that keep their per-item data in arrays.
//
// It promises little memory and no work for the garbage collector: a table is three
// pointer-free slices (an arena of the ids' bytes, an offset per ordinal, an open
// addressing hash table). An id that is a canonical lower-case UUID takes 16 bytes in
// the arena. Measured: about 40 bytes a UUID id, all included.
//
// Ordinals are given in the order of interning, from 0, and are never given twice: an
// id that was deleted and comes back gets a new one. The text of a deleted id is wiped.
//
// A table is not locked: callers serialise writers (Intern, Delete) against everything
// else; Lookup, LookupAll, ID, Len, Live, Bytes and AppendTo may run concurrently with each other.
// Stores and their drivers may import it.

package columns

import (
	"bytes"
	"encoding/binary"
	"hash/maphash"
	"math"
	"strings"
)

// NoID is no ordinal. Intern returns it for the empty id and when the table is full
// (4 GiB of id bytes).
const NoID = math.MaxUint32

// IDs is a set of ids with an ordinal each. Use New.
type IDs struct {
	seed  maphash.Seed
	arena []byte   // per ordinal: uvarint(length<<1 | packed), bytes
	offs  []uint32 // by ordinal, into arena
	slots []uint64 // upper 32 bits of the hash | ordinal+1; 0 is free
	used  int      // slots taken, tombstones included
	live  int
}

// deleted marks the slot of a deleted id: it is passed over, never matched.
const deleted = uint64(math.MaxUint32)

// NewIDs returns an empty table with room for about n ids.
func NewIDs(n int) *IDs {
	t := &IDs{seed: maphash.MakeSeed()}
	if n > 0 {
		t.offs = make([]uint32, 0, n)
		t.slots = make([]uint64, slotsFor(n))
	}
	return t
}

func slotsFor(n int) int {
	size := 16
	for size*3 < n*4 {
		size *= 2
	}
	return size
}

// Intern returns the ordinal of id, giving it the next one when it is new.
func (t *IDs) Intern(id string) (ord uint32, isNew bool) {
	if id == "" {
		return NoID, false
	}
	var buf [16]byte
	packed := packUUID(&buf, id)
	h := t.computeIDHash(id, packed, &buf)
	if ord, ok := t.findOrdinal(h, id, packed, &buf); ok {
		return ord, false
	}
	n := len(id)
	if packed {
		n = len(buf)
	}
	if len(t.arena)+n+binary.MaxVarintLen64 > math.MaxUint32 || len(t.offs) >= math.MaxUint32-2 {
		return NoID, false
	}
	if (t.used+1)*4 > len(t.slots)*3 {
		t.rebuildSlots(t.live + 1)
	}
	ord = uint32(len(t.offs))
	t.offs = append(t.offs, uint32(len(t.arena)))
	if packed {
		t.arena = append(binary.AppendUvarint(t.arena, uint64(n)<<1|1), buf[:]...)
	} else {
		t.arena = append(binary.AppendUvarint(t.arena, uint64(n)<<1), id...)
	}
	t.placeOrdinal(h, ord)
	t.live++
	return ord, true
}

// Lookup returns the ordinal of id, and false when it is not there.
func (t *IDs) Lookup(id string) (uint32, bool) {
	if len(t.slots) == 0 {
		return 0, false
	}
	var buf [16]byte
	packed := packUUID(&buf, id)
	return t.findOrdinal(t.computeIDHash(id, packed, &buf), id, packed, &buf)
}

// Count returns how many of the ids are there.
func (t *IDs) Count(ids []string) int {
	n := 0
	for _, id := range ids {
		if _, ok := t.Lookup(id); ok {
			n++
		}
	}
	return n
}

// ID returns the id of ord, "" for one that was deleted or never given.
func (t *IDs) ID(ord uint32) string {
	if int(ord) >= len(t.offs) {
		return ""
	}
	key, packed := t.readStoredKey(ord)
	if packed {
		var text [36]byte
		return string(appendUUID(text[:0], key))
	}
	return string(key)
}

// Compare orders the ids of two ordinals, as strings.Compare does what ID returns, without
// making a string where they are of one form.
func (t *IDs) Compare(a, b uint32) int {
	if int(max(a, b)) < len(t.offs) {
		x, xPacked := t.readStoredKey(a)
		y, yPacked := t.readStoredKey(b)
		if xPacked == yPacked { // the bytes of UUIDs are in the order of their text
			return bytes.Compare(x, y)
		}
	}
	return strings.Compare(t.ID(a), t.ID(b))
}

// AppendID appends the id of ord to dst: many ids can share one allocation.
func (t *IDs) AppendID(dst []byte, ord uint32) []byte {
	if int(ord) >= len(t.offs) {
		return dst
	}
	key, packed := t.readStoredKey(ord)
	if packed {
		return appendUUID(dst, key)
	}
	return append(dst, key...)
}

// Delete removes id and returns the ordinal it had.
func (t *IDs) Delete(id string) (ord uint32, ok bool) {
	if len(t.slots) == 0 {
		return 0, false
	}
	var buf [16]byte
	packed := packUUID(&buf, id)
	h := t.computeIDHash(id, packed, &buf)
	ord, ok = t.findOrdinal(h, id, packed, &buf)
	if !ok {
		return 0, false
	}
	mask := uint64(len(t.slots) - 1)
	want := h&^math.MaxUint32 | uint64(ord+1)
	for i := h & mask; ; i = (i + 1) & mask {
		if t.slots[i] == want {
			t.slots[i] = deleted
			break
		}
	}
	t.wipeEntry(ord)
	t.live--
	return ord, true
}

// wipeEntry turns the entry of ord into an empty one of the same size.
func (t *IDs) wipeEntry(ord uint32) {
	off := t.offs[ord]
	v, n := binary.Uvarint(t.arena[off:])
	clear(t.arena[off : int(off)+n+int(v>>1)])
}

// Len returns how many ordinals were given, deleted ones included: the size of an
// array indexed by ordinal.
func (t *IDs) Len() int { return len(t.offs) }

// Live returns how many ids are in the table.
func (t *IDs) Live() int { return t.live }

// Bytes returns the memory the table holds.
func (t *IDs) Bytes() int { return cap(t.arena) + 4*cap(t.offs) + 8*cap(t.slots) }

func (t *IDs) readStoredKey(ord uint32) (key []byte, packed bool) {
	off := t.offs[ord]
	v, n := binary.Uvarint(t.arena[off:])
	start := int(off) + n
	return t.arena[start : start+int(v>>1)], v&1 == 1
}

func (t *IDs) computeIDHash(id string, packed bool, buf *[16]byte) uint64 {
	if packed {
		return maphash.Bytes(t.seed, buf[:])
	}
	return maphash.String(t.seed, id)
}

func (t *IDs) findOrdinal(h uint64, id string, packed bool, buf *[16]byte) (uint32, bool) {
	if len(t.slots) == 0 {
		return 0, false
	}
	mask := uint64(len(t.slots) - 1)
	for i := h & mask; ; i = (i + 1) & mask {
		slot := t.slots[i]
		if slot == 0 {
			return 0, false
		}
		if slot>>32 != h>>32 || slot == deleted {
			continue
		}
		if ord := uint32(slot) - 1; t.isOrdinalKey(ord, id, packed, buf) {
			return ord, true
		}
	}
}

// isOrdinalKey reports whether id is that of ord; buf holds its bytes when it is packed.
func (t *IDs) isOrdinalKey(ord uint32, id string, packed bool, buf *[16]byte) bool {
	key, p := t.readStoredKey(ord)
	return p == packed && (packed && string(key) == string(buf[:]) || !packed && string(key) == id)
}

// placeOrdinal puts ord into the first free slot of h.
func (t *IDs) placeOrdinal(h uint64, ord uint32) {
	mask := uint64(len(t.slots) - 1)
	i := h & mask
	for t.slots[i] != 0 {
		i = (i + 1) & mask
	}
	t.slots[i] = h&^math.MaxUint32 | uint64(ord+1)
	t.used++
}

// rebuildSlots rebuilds the slots for n ids and room to grow, leaving tombstones behind.
func (t *IDs) rebuildSlots(n int) {
	old := t.slots
	t.slots = make([]uint64, slotsFor(n+n/8))
	t.used = 0
	for _, slot := range old {
		if slot == 0 || slot == deleted {
			continue
		}
		ord := uint32(slot) - 1
		key, _ := t.readStoredKey(ord)
		t.placeOrdinal(maphash.Bytes(t.seed, key), ord)
	}
}
