package defend

import (
	"hash/maphash"
	"sync"

	"satchel/pipeline/selection/defend/injection"
)

// features is what a candidate's text says by itself.
type features struct {
	injected injection.Finding
	suspect  uint64 // fields to withhold
	wording  wording
	text     textKey
}

// textKey stands for a text in one process: two hashes under random seeds.
type textKey struct{ slot, key uint64 }

// Bounds of the cache: 48 MiB.
const (
	lookStripes = 64
	lookMost    = 1 << 13 // looks of a stripe: 512k of all
	lookWays    = 8       // places for one text
)

// featureCache remembers what texts seen lately say: the same items are candidates again and
// again. A text is known by a 64-bit hash under a random seed, and none of it is kept but what tells its wording.
// Safe for concurrent use.
type featureCache struct {
	slot, key maphash.Seed
	stripes   [lookStripes]lookStripe
}

// lookStripe is a part of the cache. It grows with what it is asked for.
type lookStripe struct {
	sync.Mutex
	kept []kept // in sets of lookWays, the newest of a set first; a power of two of them
	used int
}

// kept is what is remembered of a text; the zero kept is of none.
type kept struct {
	key     uint64
	suspect uint64 // fields to withhold
	wording wording
	score   float32 // of its injection.Finding, as the others
	orders  bool
	unread  bool
}

func newFeatureCache() *featureCache {
	return &featureCache{slot: maphash.MakeSeed(), key: maphash.MakeSeed()}
}

// findFeatures returns what read says of a text, perhaps said before.
func (l *featureCache) findFeatures(text string, read func(string) features) features {
	return l.ofKey(l.keyOf(text), func() features { return read(text) })
}

// ofKey is of, of what a key stands for.
func (l *featureCache) ofKey(key textKey, read func() features) features {
	stripe := &l.stripes[key.slot%lookStripes]
	stripe.Lock()
	known, ok := stripe.findKept(key.key)
	stripe.Unlock()
	if ok {
		found := injection.Finding{Score: float64(known.score), Orders: known.orders, Unread: known.unread}
		return features{text: key, suspect: known.suspect, wording: known.wording, injected: found}
	}
	v := read()
	v.text = key
	stripe.Lock()
	stripe.keepText(kept{key.key, v.suspect, v.wording, float32(v.injected.Score), v.injected.Orders, v.injected.Unread})
	stripe.Unlock()
	return v
}

// selectSet is where a text may stand.
func (s *lookStripe) selectSet(key uint64) []kept {
	at := int(key) & (len(s.kept) - 1) &^ (lookWays - 1)
	return s.kept[at : at+lookWays]
}

func (s *lookStripe) findKept(key uint64) (kept, bool) {
	if len(s.kept) == 0 {
		return kept{}, false
	}
	for _, k := range s.selectSet(key) {
		if k.key == key {
			return k, true
		}
	}
	return kept{}, false
}

// keepText keeps a text, in the place of the oldest of its set.
func (s *lookStripe) keepText(k kept) {
	if _, ok := s.findKept(k.key); ok {
		return // somebody else has looked meanwhile
	}
	if 2*s.used >= len(s.kept) && len(s.kept) < lookMost {
		before := s.kept
		s.kept = make([]kept, max(2*lookWays, 2*len(before)))
		s.used = 0
		for i := len(before) - 1; i >= 0; i-- { // the oldest of a set first
			if before[i] != (kept{}) {
				s.placeKept(before[i])
			}
		}
	}
	s.placeKept(k)
}

func (s *lookStripe) placeKept(k kept) {
	set := s.selectSet(k.key)
	if set[lookWays-1] == (kept{}) {
		s.used++
	}
	copy(set[1:], set)
	set[0] = k
}

// forgetTexts drops all that is remembered.
func (l *featureCache) forgetTexts() {
	for i := range l.stripes {
		l.stripes[i].Lock()
		l.stripes[i].kept = nil
		l.stripes[i].used = 0
		l.stripes[i].Unlock()
	}
}

func (l *featureCache) keyOf(text string) textKey {
	return textKey{maphash.String(l.slot, text), maphash.String(l.key, text)}
}
