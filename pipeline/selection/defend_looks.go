package selection

import (
	"hash/maphash"
	"sync"
)

// looked is what a candidate's text says by itself.
type looked struct {
	hash     uint64  // its simhash, 0 when it is too short for one
	injected float64 // the classifier's score
}

// Bounds of looks: 2 MiB.
const (
	lookSlots   = 1 << 16
	lookStripes = 64
)

// looks remembers what texts seen lately say: the same items are candidates again and
// again. A text is known by two 64-bit hashes under random seeds, and none of it is
// kept. The zero looks remembers nothing. Safe for concurrent use.
type looks struct{ *lookTable }

type lookTable struct {
	slot, key maphash.Seed
	stripes   [lookStripes]sync.Mutex
	slots     []lookSlot
}

type lookSlot struct {
	slot, key uint64
	looked    looked
}

func newLooks() looks {
	return looks{&lookTable{slot: maphash.MakeSeed(), key: maphash.MakeSeed(), slots: make([]lookSlot, lookSlots)}}
}

// of returns what read says of a text, perhaps said before.
func (l looks) of(text string, read func(string) looked) looked {
	if l.lookTable == nil {
		return read(text)
	}
	slot, key := maphash.String(l.slot, text), maphash.String(l.key, text)
	at, stripe := &l.slots[slot%lookSlots], &l.stripes[slot%lookStripes]
	stripe.Lock()
	known := *at
	stripe.Unlock()
	if known.slot == slot && known.key == key {
		return known.looked
	}
	v := read(text)
	stripe.Lock()
	*at = lookSlot{slot, key, v}
	stripe.Unlock()
	return v
}
