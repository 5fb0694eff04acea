// Package wordpiece cuts text into the word pieces of BERT's uncased vocabulary, as BERT's
// tokenizer does. The static table and the sentence encoder share it.
//
// Cutting allocates nothing and never fails. A [Vocabulary] is safe for concurrent use.
package wordpiece

import (
	_ "embed"
	"fmt"
	"math"
	"math/bits"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/rangetable"
)

// Rules changes whenever the same text may be cut otherwise. It is part of the revision of
// every model that uses this package.
const Rules = "2"

const (
	// continuation marks a piece that goes on a word.
	continuation = "##"
	// maxPieceBytes bounds the length of a piece; BERT's longest has 18 bytes.
	maxPieceBytes = 64
	// Unknown stands for a word that cannot be cut into pieces. It is no piece's number.
	Unknown = math.MaxUint16
)

//go:embed vocab.txt
var uncased string

// Uncased is BERT's uncased vocabulary, one piece per line.
func Uncased() string { return uncased }

// FNV-1a, with another start for continuations.
const (
	fnvPrime   = 16777619
	fnvInitial = 2166136261
	fnvGoesOn  = fnvInitial ^ 0x5bd1e995
)

// Vocabulary finds pieces by their text. It does not change.
type Vocabulary struct {
	pieces []string // without the continuation mark
	starts []bool   // piece begins a word
	slots  []slot   // open addressing, linear probing
	mask   uint32
	ascii  [128]asciiClass
	// assigned are the characters of Unicode 8.
	assigned *unicode.RangeTable
}

// slot is one place of the hash table; an empty one has the piece Unknown.
type slot struct {
	hash  uint32
	piece uint16
}

// New reads one piece per line, numbered from zero. It fails on a piece that is empty or
// longer than 64 bytes, and on more pieces than 16 bits can number.
func New(data string) (*Vocabulary, error) {
	lines := strings.Split(strings.TrimSuffix(data, "\n"), "\n")
	if len(lines) >= Unknown {
		return nil, fmt.Errorf("%d pieces do not fit 16 bits", len(lines))
	}
	size := 1 << bits.Len(uint(2*len(lines)))
	v := &Vocabulary{
		pieces: make([]string, len(lines)),
		starts: make([]bool, len(lines)),
		slots:  make([]slot, size),
		mask:   uint32(size - 1),
		ascii:  asciiClasses(),

		assigned: rangetable.Assigned("8.0.0"),
	}
	for i := range v.slots {
		v.slots[i].piece = Unknown
	}
	for i, line := range lines {
		text, goesOn := strings.CutPrefix(line, continuation)
		if text == "" || len(text) > maxPieceBytes {
			return nil, fmt.Errorf("piece %d has %d bytes, want 1 to %d", i, len(text), maxPieceBytes)
		}
		v.pieces[i] = text
		v.starts[i] = !goesOn
		v.insertPiece(uint16(i))
	}
	return v, nil
}

// Len is how many pieces there are.
func (v *Vocabulary) Len() int { return len(v.pieces) }

// Number returns the piece that begins a word and has this text, or Unknown.
func (v *Vocabulary) Number(text string) uint16 {
	piece, length := v.findLongestPiece([]byte(text), true)
	if length != len(text) {
		return Unknown
	}
	return piece
}

func (v *Vocabulary) insertPiece(piece uint16) {
	hash := chooseHashSeed(v.starts[piece])
	for _, c := range []byte(v.pieces[piece]) {
		hash = (hash ^ uint32(c)) * fnvPrime
	}
	at := hash & v.mask
	for v.slots[at].piece != Unknown {
		at = (at + 1) & v.mask
	}
	v.slots[at] = slot{hash, piece}
}

func chooseHashSeed(starts bool) uint32 {
	if starts {
		return fnvInitial
	}
	return fnvGoesOn
}

// findPiece returns the piece with this text, or Unknown.
func (v *Vocabulary) findPiece(hash uint32, text []byte, starts bool) uint16 {
	for at := hash & v.mask; ; at = (at + 1) & v.mask {
		s := v.slots[at]
		if s.piece == Unknown {
			return Unknown
		}
		if s.hash == hash && v.starts[s.piece] == starts && v.pieces[s.piece] == string(text) {
			return s.piece
		}
	}
}

// findLongestPiece returns the longest piece that word begins with and its length in
// bytes, or Unknown. One pass computes the hash of every prefix.
func (v *Vocabulary) findLongestPiece(word []byte, starts bool) (piece uint16, length int) {
	var hashes [maxPieceBytes]uint32
	n := min(len(word), maxPieceBytes)
	hash := chooseHashSeed(starts)
	for i, c := range word[:n] {
		hash = (hash ^ uint32(c)) * fnvPrime
		hashes[i] = hash
	}
	for ; n > 0; n-- {
		if piece := v.findPiece(hashes[n-1], word[:n], starts); piece != Unknown {
			return piece, n
		}
	}
	return Unknown, 0
}
