// Package static embeds text with a table that is part of the binary.
//
// A text's vector is the mean of the rows of its word pieces, normalised. There
// is no model server, no file and no network: a dialogue turn takes a few
// microseconds and no allocation, and the same text gives the same bits on
// every machine, because the mean is taken in integers.
//
// The table was trained so that these means agree with the sentence vectors of
// all-MiniLM-L6-v2; the folder train holds the program, NOTICE at the top of the
// repository the sources. It holds one row of 256 int8 and a float16 scale for
// each of the 30,522 pieces of BERT's uncased vocabulary. Texts are cut into
// pieces as BERT's uncased tokenizer does it, with these limits: the first 256
// pieces of a text count and the rest is not read, a word of more than 200
// characters is one unknown piece, and unknown pieces count towards the 256
// but add nothing to the vector. The vocabulary is English first: other Latin
// scripts are split finely, most CJK characters are unknown.
package static

import (
	"context"
	_ "embed"
	"fmt"
	"math"

	"satchel/pipeline/model"
	"satchel/pipeline/model/internal/wordpiece"
	"satchel/pipeline/scope"
)

// Dimensions is the length of every vector.
const Dimensions = 256

const (
	// name is the model's name; the revision is derived from what makes the vectors.
	name = "satchel-static"
	// maxPieces is how many pieces of a text are read.
	maxPieces = 256
	// maxWord is how many characters a word may have; a longer one is unknown.
	maxWord = 200
	// firstWord is the number before that of the vocabulary's most frequent word.
	firstWord = 1995
)

func makeLimits() wordpiece.Limits { return wordpiece.Limits{Pieces: maxPieces, Word: maxWord} }

//go:embed table.bin
var tableFile []byte

// Embedder is the static model. It is safe for concurrent use and holds nothing
// that needs closing.
type Embedder struct {
	table      *table
	vocabulary *wordpiece.Vocabulary
	model      model.EmbeddingModel
}

var _ model.Embedder = (*Embedder)(nil)

// New reads the table in the binary. It takes some ten milliseconds; an error
// means the binary was built with a damaged table.
func New() (*Embedder, error) {
	return loadEmbedder(tableFile, wordpiece.Uncased())
}

func loadEmbedder(tableData []byte, vocabData string) (*Embedder, error) {
	vocab, err := wordpiece.New(vocabData)
	if err != nil {
		return nil, fmt.Errorf("read vocabulary: %w", err)
	}
	table, err := newTable(tableData, vocab.Len())
	if err != nil {
		return nil, fmt.Errorf("read table: %w", err)
	}
	model := model.EmbeddingModel{Name: name, Revision: hashRevision(tableData, vocabData), Dimensions: Dimensions}
	return &Embedder{table: table, vocabulary: vocab, model: model}, nil
}

// Model names the table. The revision is the start of a SHA-256 over the table,
// the vocabulary and the tokenizer's rules: another table is another revision.
func (e *Embedder) Model() model.EmbeddingModel { return e.model }

// Embed implements [embed.Embedder]. It looks at ctx before each text; the only
// error is ctx.Err, wrapped.
func (e *Embedder) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	out := make([][]float32, len(texts))
	numbers := make([]float32, Dimensions*len(texts))
	for i, text := range texts {
		if err := ctx.Err(); err != nil {
			return nil, fmt.Errorf("embed text %d of %d: %w", i, len(texts), err)
		}
		out[i] = e.EmbedInto(numbers[i*Dimensions:(i+1)*Dimensions:(i+1)*Dimensions], text)
	}
	return out, nil
}

// EmbedInto writes the vector of text over the first 256 numbers of dst and
// returns them. It allocates only if dst is shorter than that, for instance nil.
func (e *Embedder) EmbedInto(dst []float32, text string) []float32 {
	if len(dst) < Dimensions {
		dst = make([]float32, Dimensions)
	}
	dst = dst[:Dimensions]
	var pieces [maxPieces]uint16
	var sum accumulator
	for _, piece := range e.vocabulary.Cut(pieces[:0], text, makeLimits()) {
		if piece != wordpiece.Unknown {
			e.table.addScaledRow(&sum, piece)
		}
	}
	sum.writeUnitVector((*[Dimensions]float32)(dst))
	return dst
}

// WordVector writes the vector of one word over the first 256 numbers of dst
// and returns them, as EmbedInto does for a text: a word of several pieces gets
// their mean, an unknown word the zero vector. The cosine of two words is the
// dot product of their vectors; late interaction (MaxSim) is built from it.
func (e *Embedder) WordVector(dst []float32, word string) []float32 {
	return e.EmbedInto(dst, word)
}

// Questions are the table's.
func (e *Embedder) Questions(context.Context, scope.Scope) model.QuestionForm {
	return model.QuestionForm{Embedder: e, Here: e}
}

// WordPieces returns how many pieces of the vocabulary a word is cut into: 1 for a frequent word of English.
func (e *Embedder) WordPieces(word string) int {
	var pieces [maxPieces]uint16
	return len(e.vocabulary.Cut(pieces[:0], word, makeLimits()))
}

// WordWeight returns how much an occurrence of a word tells, about the logarithm of the number
// of texts to one that has it: the vocabulary is sorted by how frequent its words are in English.
// A word that is no single piece counts as the rarest.
func (e *Embedder) WordWeight(word string) float64 {
	piece := e.vocabulary.Number(word)
	if piece == wordpiece.Unknown {
		return math.Log(float64(e.vocabulary.Len()))
	}
	return math.Log(float64(max(1, int(piece)-firstWord)))
}
