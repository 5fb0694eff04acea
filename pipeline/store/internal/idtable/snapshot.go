package idtable

import (
	"encoding/binary"
	"errors"
	"hash/maphash"
	"math"
)

// ErrCorrupt is returned by Decode for bytes that AppendTo did not write.
var ErrCorrupt = errors.New("id table snapshot is damaged")

// AppendTo appends a snapshot: uvarint of the ordinals given, then per ordinal its
// length and bytes. A deleted id is in it as an empty one, so that ordinals keep their place.
func (t *Table) AppendTo(dst []byte) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(t.offs)))
	for ord := range t.offs {
		key, packed := t.key(uint32(ord))
		v := uint64(len(key)) << 1
		if packed {
			v |= 1
		}
		dst = append(binary.AppendUvarint(dst, v), key...)
	}
	return dst
}

// Decode reads a snapshot from the head of src and returns the table and what follows.
// The ids of the snapshot are copied.
func Decode(src []byte) (*Table, []byte, error) {
	n, used := binary.Uvarint(src)
	if used <= 0 || n > uint64(len(src)) || n >= math.MaxUint32-2 {
		return nil, nil, ErrCorrupt
	}
	src = src[used:]
	t := New(int(n))
	for range n {
		v, used := binary.Uvarint(src)
		size := v >> 1
		if used <= 0 || size > uint64(len(src)-used) || v&1 == 1 && size != 16 ||
			len(t.arena)+int(size)+binary.MaxVarintLen64 > math.MaxUint32 {
			return nil, nil, ErrCorrupt
		}
		entry := src[:used+int(size)]
		src = src[len(entry):]
		t.offs = append(t.offs, uint32(len(t.arena)))
		t.arena = append(binary.AppendUvarint(t.arena, v), entry[used:]...)
		if size == 0 {
			continue
		}
		if !t.adopt(entry[used:], v&1 == 1) {
			return nil, nil, ErrCorrupt
		}
	}
	return t, src, nil
}

// adopt gives the last ordinal's key a slot. It reports false for a key that is there
// already, or that is a UUID's text and should have been packed.
func (t *Table) adopt(key []byte, packed bool) bool {
	var buf [16]byte
	if !packed && packUUID(&buf, string(key)) {
		return false
	}
	copy(buf[:], key)
	h := maphash.Bytes(t.seed, key)
	if _, dup := t.find(h, string(key), packed, &buf); dup {
		return false
	}
	t.place(h, uint32(len(t.offs)-1))
	t.live++
	return true
}
