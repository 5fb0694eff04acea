package static

import (
	"fmt"
	"math"
	"math/bits"
	"strings"
)

const (
	// continuation marks a piece that goes on a word.
	continuation = "##"
	// maxPieceBytes bounds the length of a piece; BERT's longest has 18 bytes.
	maxPieceBytes = 64
	// unknown is what stands for a word that cannot be cut into pieces. It is
	// no piece's number.
	unknown = math.MaxUint16
)

// FNV-1a, with another start for continuations.
const (
	fnvPrime   = 16777619
	fnvInitial = 2166136261
	fnvGoesOn  = fnvInitial ^ 0x5bd1e995
)

// vocabulary finds pieces by their text. It is not changed after newVocabulary.
type vocabulary struct {
	pieces []string // without the continuation mark
	starts []bool   // piece begins a word
	slots  []slot   // open addressing, linear probing
	mask   uint32
	ascii  [128]asciiClass
}

// slot is one place of the hash table; an empty one has the piece unknown.
type slot struct {
	hash  uint32
	piece uint16
}

// newVocabulary reads one piece per line, numbered from zero.
func newVocabulary(data string) (*vocabulary, error) {
	lines := strings.Split(strings.TrimSuffix(data, "\n"), "\n")
	if len(lines) >= unknown {
		return nil, fmt.Errorf("%d pieces do not fit 16 bits", len(lines))
	}
	size := 1 << bits.Len(uint(2*len(lines)))
	v := &vocabulary{
		pieces: make([]string, len(lines)),
		starts: make([]bool, len(lines)),
		slots:  make([]slot, size),
		mask:   uint32(size - 1),
		ascii:  asciiClasses(),
	}
	for i := range v.slots {
		v.slots[i].piece = unknown
	}
	for i, line := range lines {
		text, goesOn := strings.CutPrefix(line, continuation)
		if text == "" || len(text) > maxPieceBytes {
			return nil, fmt.Errorf("piece %d has %d bytes, want 1 to %d", i, len(text), maxPieceBytes)
		}
		v.pieces[i], v.starts[i] = text, !goesOn
		v.insert(uint16(i))
	}
	return v, nil
}

func (v *vocabulary) len() int { return len(v.pieces) }

func (v *vocabulary) insert(piece uint16) {
	hash := seed(v.starts[piece])
	for _, c := range []byte(v.pieces[piece]) {
		hash = (hash ^ uint32(c)) * fnvPrime
	}
	at := hash & v.mask
	for v.slots[at].piece != unknown {
		at = (at + 1) & v.mask
	}
	v.slots[at] = slot{hash, piece}
}

func seed(starts bool) uint32 {
	if starts {
		return fnvInitial
	}
	return fnvGoesOn
}

// find returns the piece with this text, or unknown.
func (v *vocabulary) find(hash uint32, text []byte, starts bool) uint16 {
	for at := hash & v.mask; ; at = (at + 1) & v.mask {
		s := v.slots[at]
		if s.piece == unknown {
			return unknown
		}
		if s.hash == hash && v.starts[s.piece] == starts && v.pieces[s.piece] == string(text) {
			return s.piece
		}
	}
}

// longest returns the longest piece that word begins with and its length in
// bytes, or unknown. One pass computes the hash of every prefix.
func (v *vocabulary) longest(word []byte, starts bool) (piece uint16, length int) {
	var hashes [maxPieceBytes]uint32
	n := min(len(word), maxPieceBytes)
	hash := seed(starts)
	for i, c := range word[:n] {
		hash = (hash ^ uint32(c)) * fnvPrime
		hashes[i] = hash
	}
	for ; n > 0; n-- {
		if piece := v.find(hashes[n-1], word[:n], starts); piece != unknown {
			return piece, n
		}
	}
	return unknown, 0
}
