package pii

import (
	"hash/maphash"
	"slices"
	"sync"
)

// Bounds of a memo: texts, of how many bytes at least, with how many spans at most.
const (
	memoTexts = 1 << 13
	memoFrom  = 256
	memoSpans = 32
)

// memo remembers where the spans of the texts seen last are: what may be shown of an item is
// decided anew for each request, from the same text. Texts are known by a 128-bit hash under
// random seeds; neither they nor what is found in them is kept. Safe for concurrent use.
type memo struct {
	seeds [2]maphash.Seed
	mu    sync.RWMutex
	texts map[[2]uint64][]Span
}

func newMemo() *memo {
	return &memo{seeds: [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()}, texts: map[[2]uint64][]Span{}}
}

// find returns a copy of the spans of text, which look finds where they are not remembered.
func (m *memo) find(text string, look func(string) []Span) []Span {
	if len(text) < memoFrom {
		return look(text)
	}
	key := [2]uint64{maphash.String(m.seeds[0], text), maphash.String(m.seeds[1], text)}
	m.mu.RLock()
	spans, ok := m.texts[key]
	m.mu.RUnlock()
	if ok {
		return slices.Clone(spans)
	}
	spans = look(text)
	if len(spans) > memoSpans {
		return spans
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.texts) >= memoTexts {
		clear(m.texts)
	}
	m.texts[key] = slices.Clone(spans)
	return spans
}
