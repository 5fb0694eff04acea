package injection

import (
	"encoding/binary"
	"fmt"
	"slices"
)

// group is a set of words of like meaning, as training found them; 0 holds the words that it did not see.
type group = uint8

// placesOfGroups is the number of places of a groupTable, a power of two and more than half as many again as MostGrouped.
const placesOfGroups = 1 << 14

// MostGrouped is the number of words that may have a group.
const MostGrouped = 10_000

// groupTable is an open-addressed hash table from a word's hash to its group.
type groupTable [placesOfGroups]struct {
	hash  uint32
	group group
}

func (t *groupTable) findGroup(hash uint32) group {
	for at := hash & (placesOfGroups - 1); t[at].group != 0; at = (at + 1) & (placesOfGroups - 1) {
		if t[at].hash == hash {
			return t[at].group
		}
	}
	return 0
}

func (t *groupTable) storeGroup(hash uint32, g group) {
	at := hash & (placesOfGroups - 1)
	for t[at].group != 0 {
		if t[at].hash == hash {
			return
		}
		at = (at + 1) & (placesOfGroups - 1)
	}
	t[at].hash = hash
	t[at].group = g
}

// Size in a model file of the number of words, and of a word and its group.
const (
	countSize = 2
	entrySize = 5
)

// appendGroups writes the table: how many words, and each by its hash and group in the order of hashes.
func (t *groupTable) appendGroups(out []byte) []byte {
	var entries []uint64
	for _, e := range t {
		if e.group != 0 {
			entries = append(entries, uint64(e.hash)<<8|uint64(e.group))
		}
	}
	slices.Sort(entries)
	out = binary.LittleEndian.AppendUint16(out, uint16(len(entries)))
	for _, e := range entries {
		out = append(binary.LittleEndian.AppendUint32(out, uint32(e>>8)), byte(e))
	}
	return out
}

// decodeGroups reads a table, and returns what follows it.
func decodeGroups(data []byte) (t *groupTable, rest []byte, err error) {
	if len(data) < countSize {
		return nil, nil, fmt.Errorf("decode groups: %w", ErrModel)
	}
	n := int(binary.LittleEndian.Uint16(data))
	data = data[countSize:]
	if n > MostGrouped || len(data) < n*entrySize {
		return nil, nil, fmt.Errorf("decode groups: %w: %d words", ErrModel, n)
	}
	t = &groupTable{}
	last := int64(-1)
	for range n {
		hash := binary.LittleEndian.Uint32(data)
		g := data[entrySize-1]
		if g == 0 || int64(hash) <= last {
			return nil, nil, fmt.Errorf("decode groups: %w: a word is out of order", ErrModel)
		}
		last = int64(hash)
		t.storeGroup(hash, g)
		data = data[entrySize:]
	}
	return t, data, nil
}
