// Memo remembers what was read of texts: the same items are found, judged and shown again
// and again. A text is known by a 128-bit hash under random seeds; it is not kept, and what is kept MUST
// NOT hold any of it.
//
// It promises that what it remembers stays within two generations of the given bytes, and that what was
// asked for lately goes last. Any package may import it.

package cache

import (
	"hash/maphash"
	"sync"
)

// Memo remembers a value of each text. Use New; a nil Memo remembers nothing. It is safe for concurrent
// use, and so a value MUST NOT be changed.
type Memo[V any] struct {
	most  int
	seeds [2]maphash.Seed

	mu         sync.RWMutex
	young, old map[key]memoEntry[V] // what is asked for is young; when these are full, they are the old ones
	bytes      int                  // of the young ones
}

type key struct {
	hash    [2]uint64
	variant uint8
}

type memoEntry[V any] struct {
	value V
	bytes int
}

const memoEntryBytes = 64 // that an entry takes beside its value, about

// NewMemo returns a memo of at most so many bytes a generation.
func NewMemo[V any](most int) *Memo[V] {
	m := &Memo[V]{most: most, seeds: [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()}}
	m.Clear()
	return m
}

// Of returns what read says of a text, and how many bytes that takes, or what it said before. Variants are
// remembered beside each other: what is read depends on the text and the variant alone.
func (m *Memo[V]) Of(text string, variant uint8, read func() (value V, bytes int)) V {
	if m == nil {
		value, _ := read()
		return value
	}
	k := key{[2]uint64{maphash.String(m.seeds[0], text), maphash.String(m.seeds[1], text)}, variant}
	m.mu.RLock()
	e, young := m.young[k]
	known := young
	if !young {
		e, known = m.old[k]
	}
	m.mu.RUnlock()
	if young {
		return e.value
	}
	if !known {
		e.value, e.bytes = read()
		e.bytes += memoEntryBytes
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, ok := m.young[k]; !ok {
		m.bytes += e.bytes
	}
	m.young[k] = e
	if m.bytes > m.most {
		m.young, m.old, m.bytes = map[key]memoEntry[V]{}, m.young, 0
	}
	return e.value
}

// Clear forgets everything.
func (m *Memo[V]) Clear() {
	if m == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.young = map[key]memoEntry[V]{}
	m.old = nil
	m.bytes = 0
}
