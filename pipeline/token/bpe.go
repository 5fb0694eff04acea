package token

import (
	"sync"

	"github.com/tiktoken-go/tokenizer"
)

// bpe counts with a byte-pair encoding, which is loaded at the first count.
type bpe struct {
	name   string
	load   func() (tokenizer.Codec, error)
	pieces *pieces
}

func newBPE(encoding string) *bpe {
	return &bpe{name: encoding, pieces: newPieces(), load: sync.OnceValues(func() (tokenizer.Codec, error) {
		return tokenizer.Get(tokenizer.Encoding(encoding))
	})}
}

// Name returns the encoding's name.
func (b *bpe) Name() string { return b.name }

// Exact returns true.
func (b *bpe) Exact() bool { return true }

// Count returns how many tokens text has.
func (b *bpe) Count(text string) int {
	codec, err := b.load()
	if err != nil { // the encodings are linked in: only a broken build gets here
		return Estimate{}.Count(text)
	}
	total := 0
	for len(text) > 0 {
		n := nextPiece(text)
		total += b.pieces.count(codec, text[:n])
		text = text[n:]
	}
	return total
}
