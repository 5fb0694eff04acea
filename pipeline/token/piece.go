package token

import (
	"hash/maphash"
	"sync/atomic"
)

// nextPiece returns the length of the first piece of text. The encodings' patterns never
// match across its end, and what they match on one side does not depend on the other: it
// is before a space that stands alone between what is no white space and a letter, or
// between the end of a line and a letter. Where text has no such place, all of it is one
// piece. Only ASCII is looked at.
func nextPiece(text string) int {
	for i := 1; i+1 < len(text); i++ {
		switch {
		case text[i] == ' ' && isLetter(text[i+1]) && text[i-1] > ' ' && text[i-1] < 0x7f:
			return i
		case text[i-1] == '\n' && isLetter(text[i]):
			return i
		}
	}
	return len(text)
}

func isLetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }

// Sizes of the memory of pieces.
const (
	longestKept = 40      // bytes; a longer piece seldom comes again
	keptPieces  = 1 << 15 // 256 KiB; a power of two
)

// pieces counts the tokens of pieces and remembers those of the ones seen last, each in
// the one slot its hash has: 8 bits are the count, the others the hash's. Words are known
// by a 64-bit hash under a random seed; they are not kept. Safe for concurrent use.
type pieces struct {
	seed  maphash.Seed
	slots [keptPieces]atomic.Uint64
}

func newPieces() *pieces { return &pieces{seed: maphash.MakeSeed()} }

// countPiece returns how many tokens a piece has.
func (p *pieces) countPiece(e *encoding, piece string) int {
	if len(piece) > longestKept {
		return countAll(e, piece)
	}
	const low = 0xff
	hash := maphash.String(p.seed, piece)
	slot := &p.slots[hash%keptPieces]
	if kept := slot.Load(); kept&low != 0 && kept&^low == hash&^low {
		return int(kept & low)
	}
	n := countAll(e, piece)
	if n > 0 && n <= low {
		slot.Store(hash&^low | uint64(n))
	}
	return n
}

// countAll encodes all of text.
func countAll(e *encoding, text string) int {
	total := 0
	for len(text) > 0 {
		n := safeCut(text)
		total += e.countTokens(text[:n])
		text = text[n:]
	}
	return total
}
