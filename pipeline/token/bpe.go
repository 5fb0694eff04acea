package token

import "sync"

// bpe counts with a byte-pair encoding, which is loaded at the first count.
type bpe struct {
	name   string
	load   func() (*encoding, error)
	pieces *pieces
}

func newBPE(name string) *bpe {
	compressed := cl100kTable
	if name == O200K {
		compressed = o200kTable
	}
	return &bpe{name: name, pieces: newPieces(), load: sync.OnceValues(func() (*encoding, error) {
		tokens, err := loadTable(compressed)
		return &encoding{tokens: tokens, cased: name == O200K}, err
	})}
}

// Name returns the encoding's name.
func (b *bpe) Name() string { return b.name }

// Exact returns true.
func (b *bpe) Exact() bool { return true }

// Count returns how many tokens text has.
func (b *bpe) Count(text string) int {
	encoding, err := b.load()
	if err != nil { // the tables are linked in: only a broken build gets here
		return Estimate{}.Count(text)
	}
	total := 0
	for len(text) > 0 {
		n := nextPiece(text)
		total += b.pieces.countPiece(encoding, text[:n])
		text = text[n:]
	}
	return total
}
