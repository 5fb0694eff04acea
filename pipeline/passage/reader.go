package passage

import (
	"context"

	"satchel/pipeline/scope"
	"satchel/pipeline/store/keyword"
	"satchel/pipeline/store/vector"
)

// Vectors makes the vectors that words and passages are compared by. It MUST be safe for
// concurrent use.
type Vectors interface {
	// WordVector returns the vector of a text of 256 numbers, of unit length or zero. It may
	// write it to dst.
	WordVector(dst []float32, text string) []float32
	// ReadsWords is the share of a text whose words it knows.
	ReadsWords(text string) float64
}

// dimensions is the length of the vectors.
const dimensions = 256

// Frequencies says how common words are; a keyword.Index is one.
type Frequencies interface {
	ScoreTexts(ctx context.Context, s scope.Scope, q keyword.Query, texts []string) ([]float64, error)
}

// Passages says how near the stored passages of items are to a question; a vector.Index is one.
type Passages interface {
	ScoreChunks(ctx context.Context, s scope.Scope, q vector.Query, ids []string) ([][]vector.ChunkScore, error)
}

// Config says what a Reader works with. The zero value works.
type Config struct {
	Vectors     Vectors     // nil: passages are compared by their terms alone
	Passages    Passages    // nil: passages are embedded when they are read
	Frequencies Frequencies // nil: how common a word is, is learnt from the candidates
	Cues        *Cues       // nil: DefaultCues
}

// Reader scores passages. It is safe for concurrent use.
type Reader struct {
	cfg  Config
	memo *memo
}

// New returns a Reader.
func New(cfg Config) (*Reader, error) {
	if cfg.Cues == nil {
		cues, err := DefaultCues()
		if err != nil {
			return nil, err
		}
		cfg.Cues = &cues
	}
	return &Reader{cfg: cfg, memo: newMemo()}, nil
}

// WantsMany reports whether a question wants many items: all of something, an order, a number of things.
func (r *Reader) WantsMany(question string) bool {
	return r.cfg.Cues.many != nil && r.cfg.Cues.many.MatchString(question)
}

// InvalidateCaches drops what the reader keeps of items in memory. Call it after an erasure.
func (r *Reader) InvalidateCaches() { r.memo.clearMemo() }
