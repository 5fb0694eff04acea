package columns

import (
	"encoding/binary"
	"errors"
	"hash/maphash"
	"math"
)

// ErrCorruptIDs is returned by Decode for bytes that AppendTo did not write.
var ErrCorruptIDs = errors.New("id table snapshot is damaged")

// AppendTo appends a snapshot: uvarint of the ordinals given, then per ordinal its
// length and bytes. A deleted id is in it as an empty one, so that ordinals keep their place.
func (t *IDs) AppendTo(dst []byte) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(t.offs)))
	for ord := range t.offs {
		key, packed := t.readStoredKey(uint32(ord))
		v := uint64(len(key)) << 1
		if packed {
			v |= 1
		}
		dst = append(binary.AppendUvarint(dst, v), key...)
	}
	return dst
}

// DecodeIDs reads what AppendTo appended. The ids are copied.
func DecodeIDs(c *Cursor) (*IDs, error) {
	n := c.Count()
	if n >= math.MaxUint32-2 {
		return nil, ErrCorruptIDs
	}
	t := NewIDs(n)
	for range n {
		v := c.Uvarint()
		if v>>1 > math.MaxUint32 || v&1 == 1 && v>>1 != 16 || len(t.arena)+int(v>>1)+binary.MaxVarintLen64 > math.MaxUint32 {
			return nil, ErrCorruptIDs
		}
		key := c.Bytes(int(v >> 1))
		t.offs = append(t.offs, uint32(len(t.arena)))
		t.arena = append(binary.AppendUvarint(t.arena, v), key...)
		if key != "" && !t.adoptLastKey(key, v&1 == 1) {
			return nil, ErrCorruptIDs
		}
	}
	if !c.OK() {
		return nil, ErrCorruptIDs
	}
	return t, nil
}

// adoptLastKey gives the last ordinal's key a slot. It reports false for a key that is there
// already, or that is a UUID's text and should have been packed.
func (t *IDs) adoptLastKey(key string, packed bool) bool {
	var buf [16]byte
	if !packed && packUUID(&buf, key) {
		return false
	}
	copy(buf[:], key)
	h := maphash.String(t.seed, key)
	if _, dup := t.findOrdinal(h, key, packed, &buf); dup {
		return false
	}
	t.placeOrdinal(h, uint32(len(t.offs)-1))
	t.live++
	return true
}
