package encoder

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	port "satchel/pipeline/model"
	"satchel/pipeline/model/internal/wordpiece"
)

const (
	// MaxTokens is the most tokens of a text that the model can read.
	MaxTokens = 512
	// DefaultTokens is how many tokens of a text are read unless Config says otherwise: the
	// length that the model was trained for.
	DefaultTokens = 256
	// Dimensions is the length of every vector.
	Dimensions = 384

	// Name is the model's name.
	Name = "all-MiniLM-L6-v2"

	// arithmetic changes whenever the same weights may give another vector.
	arithmetic = "1"
	// maxWord is how many characters a word may have; a longer one is unknown.
	maxWord = 100
)

// ErrNotIncluded is returned by Open in a binary that was built with the tag noencoder.
var ErrNotIncluded = errors.New("this binary was built without the sentence encoder (tag noencoder)")

// Config says how an Encoder works. The zero value works.
type Config struct {
	// Threads is how many texts or batches of texts a call encodes at once. 0 means 1.
	Threads int
	// Tokens is how many tokens of a text are read, [CLS] and [SEP] included; the rest does not
	// count. 0 means DefaultTokens, the most is MaxTokens. Another number is another revision.
	Tokens int
}

// Encoder is the model. It is safe for concurrent use and holds nothing that needs closing.
type Encoder struct {
	weights    *weights
	vocabulary *wordpiece.Vocabulary
	kernels    kernels
	config     Config
	model      port.EmbeddingModel

	rows                 int    // of a batch: it has room for two texts at least
	first, last, unknown uint16 // the pieces [CLS], [SEP] and [UNK]

	idle chan *state // at most Config.Threads
}

var _ port.Embedder = (*Encoder)(nil)

// Quick reports whether the binary has the model and this processor encodes a short text in a few milliseconds.
func Quick() bool { return modelFile() != "" && len(listKernels()) > 1 }

// Open reads the model in the binary, in a few milliseconds; the weights stay where they
// are. It fails with ErrNotIncluded if the binary has no model, and on a Config out of range.
func Open(config Config) (*Encoder, error) {
	data := modelFile()
	if data == "" {
		return nil, ErrNotIncluded
	}
	return openEncoder(data, wordpiece.Uncased(), config, listKernels()[0])
}

func openEncoder(data, vocabulary string, config Config, k kernels) (*Encoder, error) {
	if config.Threads == 0 {
		config.Threads = 1
	}
	if config.Tokens == 0 {
		config.Tokens = DefaultTokens
	}
	words, err := wordpiece.New(vocabulary)
	if err != nil {
		return nil, fmt.Errorf("read vocabulary: %w", err)
	}
	w, err := parseWeights(data, words.Len())
	if err != nil {
		return nil, fmt.Errorf("read weights: %w", err)
	}
	if most := min(MaxTokens, w.positions); config.Threads < 1 || config.Tokens < 3 || config.Tokens > most {
		return nil, fmt.Errorf("open encoder: %d threads, want at least 1; %d tokens, want 3 to %d",
			config.Threads, config.Tokens, most)
	}
	e := &Encoder{weights: w, vocabulary: words, kernels: k, config: config, rows: 2 * max(DefaultTokens, config.Tokens),
		first: words.Number("[CLS]"), last: words.Number("[SEP]"), unknown: words.Number("[UNK]")}
	if e.first == wordpiece.Unknown || e.last == wordpiece.Unknown || e.unknown == wordpiece.Unknown {
		return nil, errors.New("read vocabulary: [CLS], [SEP] or [UNK] is missing")
	}
	e.model = port.EmbeddingModel{Name: Name, Dimensions: w.dimensions}
	made := sha256.New()
	fmt.Fprintf(made, "%s\n%s\n%d\n%s%s", arithmetic, wordpiece.Rules, config.Tokens, w.digest, vocabulary)
	e.model.Revision = hex.EncodeToString(made.Sum(nil)[:6])
	e.idle = make(chan *state, config.Threads)
	return e, nil
}

// Model names the model. The revision stands for the weights, the tokenizer, the number of
// tokens and the arithmetic: it is the same on every machine.
func (e *Encoder) Model() port.EmbeddingModel { return e.model }

// Embed implements [port.Embedder]. It encodes short texts together, in at most
// Config.Threads batches at once, and looks at ctx before each layer; the only error is
// ctx.Err, wrapped.
func (e *Encoder) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	out := make([][]float32, len(texts))
	d := e.model.Dimensions
	numbers := make([]float32, d*len(texts))
	for i := range out {
		out[i] = numbers[i*d : (i+1)*d : (i+1)*d]
	}
	if err := e.EmbedInto(ctx, out, texts); err != nil {
		return nil, err
	}
	return out, nil
}

// EmbedInto is Embed into vectors that the caller has: one for each text, of
// Model().Dimensions numbers. With one thread it allocates nothing once it has run. After an
// error the vectors hold anything.
func (e *Encoder) EmbedInto(ctx context.Context, vectors [][]float32, texts []string) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("embed %d texts: %w", len(texts), err)
	}
	threads := min(e.config.Threads, len(texts))
	if threads <= 1 {
		next := 0
		return e.encodeTexts(ctx, vectors, texts, len(texts), func() int { next++; return next - 1 })
	}
	var next atomic.Int64
	errs := make([]error, threads)
	var group sync.WaitGroup
	for t := range threads {
		group.Go(func() {
			most := (len(texts) + threads - 1) / threads
			errs[t] = e.encodeTexts(ctx, vectors, texts, most, func() int { return int(next.Add(1)) - 1 })
		})
	}
	group.Wait()
	return errors.Join(errs...)
}

// encodeTexts encodes the texts whose numbers next returns, at most so many at once, until next is
// past the last one.
func (e *Encoder) encodeTexts(ctx context.Context, vectors [][]float32, texts []string, most int, next func() int) error {
	s := e.acquireState()
	defer e.releaseState(s)
	for {
		s.pieces = s.pieces[:0]
		s.ends = s.ends[:0]
		s.texts = s.texts[:0]
		for len(s.texts) < most && len(s.pieces)+e.config.Tokens <= e.rows {
			i := next()
			if i >= len(texts) {
				break
			}
			if !e.addTextPieces(s, texts[i]) {
				clear(vectors[i])
				continue
			}
			s.texts = append(s.texts, i)
		}
		if len(s.texts) == 0 {
			return nil
		}
		if err := s.encodePieces(ctx); err != nil {
			return err
		}
		start := 0
		for t, end := range s.ends {
			e.writeVector(vectors[s.texts[t]], s, start, end)
			start = end
		}
	}
}

// acquireState returns an idle state or a new one. The caller must release it.
func (e *Encoder) acquireState() *state {
	select {
	case s := <-e.idle:
		return s
	default:
		return newState(e.kernels, e.weights, e.rows)
	}
}

func (e *Encoder) releaseState(s *state) {
	select {
	case e.idle <- s:
	default:
	}
}

// makeLimits leave room for [CLS] and [SEP].
func (e *Encoder) makeLimits() wordpiece.Limits {
	return wordpiece.Limits{Pieces: e.config.Tokens - 2, Word: maxWord}
}

// addTextPieces adds the pieces of text to the batch, and reports false for a text without a piece that
// the model knows.
func (e *Encoder) addTextPieces(s *state, text string) bool {
	start := len(s.pieces)
	s.pieces = append(s.pieces, e.first)
	s.pieces = e.vocabulary.Cut(s.pieces, text, e.makeLimits())
	known := false
	for i, piece := range s.pieces[start+1:] {
		if piece == wordpiece.Unknown {
			s.pieces[start+1+i] = e.unknown
		} else {
			known = true
		}
	}
	if !known {
		s.pieces = s.pieces[:start]
		return false
	}
	s.pieces = append(s.pieces, e.last)
	s.ends = append(s.ends, len(s.pieces))
	return true
}

// writeVector writes the vector of the text whose rows are start to end.
func (e *Encoder) writeVector(dst []float32, s *state, start, end int) {
	mean := s.averageRows(start, end)
	normalizeVector(mean)
	copy(dst, mean)
}
