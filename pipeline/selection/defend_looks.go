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

// forget drops all that is remembered.
func (l *looks) forget() {
	for i := range l.stripes {
		l.stripes[i].Lock()
		for at := i; at < lookSlots; at += lookStripes {
			l.slots[at] = looked{}
		}
		l.stripes[i].Unlock()
	}
	for i := range l.digests {
		l.digests[i].Store(nil)
	}
}

func (l *looks) keyOf(text string) textKey {
	return textKey{maphash.String(l.slot, text), maphash.String(l.key, text)}
}

// digest is what a text's canonical form is compared by before the form itself is: how
// often each letter stands in it and a sum of its numbers, which a short text can be
// guessed from.
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
