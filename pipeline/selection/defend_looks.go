package selection

import (
	"hash/maphash"
	"sync"
	"sync/atomic"
)

// looked is what a candidate's text says by itself.
type looked struct {
	hash     uint64  // its simhash, 0 when it is too short for one
	injected float64 // the classifier's score
	text     textKey
}

// textKey stands for a text in one process: two hashes under random seeds.
type textKey struct{ slot, key uint64 }

// Bounds of looks: 2 MiB, and 2.5 for the digests.
const (
	lookSlots   = 1 << 16
	lookStripes = 64
	digestSlots = 1 << 13
)

// looks remembers what texts seen lately say: the same items are candidates again and
// again. A text is known by two 64-bit hashes under random seeds, and none of it is
// kept. Safe for concurrent use.
type looks struct {
	slot, key maphash.Seed
	stripes   [lookStripes]sync.Mutex
	slots     []looked
	digests   [digestSlots]atomic.Pointer[digest]
}

func newLooks() *looks {
	return &looks{slot: maphash.MakeSeed(), key: maphash.MakeSeed(), slots: make([]looked, lookSlots)}
}

// of returns what read says of a text, perhaps said before.
func (l *looks) of(text string, read func(string) looked) looked {
	key := l.keyOf(text)
	at, stripe := &l.slots[key.slot%lookSlots], &l.stripes[key.slot%lookStripes]
	stripe.Lock()
	known := *at
	stripe.Unlock()
	if known.text == key {
		return known
	}
	v := read(text)
	v.text = key
	stripe.Lock()
	*at = v
	stripe.Unlock()
	return v
}

func (l *looks) keyOf(text string) textKey {
	return textKey{maphash.String(l.slot, text), maphash.String(l.key, text)}
}

// digest is what a text's canonical form is compared by before the form itself is: none
// of its words.
type digest struct {
	text   textKey
	inForm *letters
	said   facts
}

// digestOf returns the digest of a print's text, perhaps made before.
func (l *looks) digestOf(p *print) *digest {
	slot := &l.digests[p.key.slot%digestSlots]
	if known := slot.Load(); known != nil && known.text == p.key {
		return known
	}
	d := &digest{text: p.key}
	p.form, d.said = canonical(p.text)
	d.inForm = lettersOf(p.form)
	slot.Store(d)
	return d
}
