package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync/atomic"
	"time"

	"satchel/cmd/internal/config"
	"satchel/pipeline/meter"
	"satchel/pipeline/model"
	"satchel/pipeline/model/cache"
	"satchel/pipeline/model/encoder"
	"satchel/pipeline/model/remote"
	"satchel/pipeline/model/static"
	"satchel/pipeline/passage"
	"satchel/pipeline/scope"
	"satchel/pipeline/selection/rank"
	"satchel/pipeline/store/vector"
	"satchel/schemas"
	"satchel/worker/erasure"
)

// Maker makes the vectors of items: the table in the binary, the sentence encoder in it, or an
// endpoint behind a cache.
type Maker struct {
	model.Embedder
	Questions model.QuestionForm // that the items are found by
	remote    *remote.Embedder   // nil: the binary
	cache     *cache.Cache       // nil: the table, which is faster
	asked     *cache.Cache       // of questions, in memory; nil: those of an endpoint are in cache, too
	sentences bool               // it is the sentence encoder in the binary
}

// scrub empties what is kept of texts.
func (m *Maker) scrub(ctx context.Context) error {
	if m.asked != nil {
		if err := m.asked.Scrub(ctx); err != nil {
			return err
		}
	}
	return m.cache.Scrub(ctx)
}

// contents names what an index of the maker's vectors holds.
func (m *Maker) contents() string {
	if m.sentences {
		return passage.Contents(m.Model().String())
	}
	return m.Model().String()
}

func (m *Maker) close() error {
	if m.cache == nil {
		return nil
	}
	return m.cache.Close()
}

// VectorTarget is a model with the index of the vectors it made.
type VectorTarget struct {
	*Maker
	index *vector.Vectors
	kept  kept
}

// embedding is the side that serves and, while everything is embedded again, the one that
// is being filled. Single words are always the table's: they are compared with each other
// only. Its model changes once, when adopt is called; see servingIndex.
type embedding struct {
	words    *static.Embedder
	now      atomic.Pointer[VectorTarget]
	next     *VectorTarget // nil: the model is the one of the last start
	encoding *encoding     // beside it; nil: items have one vector

	first *VectorTarget // what now was at the start
}

var (
	_ model.Embedder        = (*embedding)(nil)
	_ rank.WordVectors      = (*embedding)(nil) // without it words are not compared
	_ rank.LanguageCoverage = (*embedding)(nil)
	_ rank.Meanings         = (*embedding)(nil)
)

// Model is that of the side that serves.
func (e *embedding) Model() model.EmbeddingModel { return e.now.Load().Model() }

// Embed embeds questions, and what is compared with them, for the model that serves.
func (e *embedding) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	return e.now.Load().Questions.Embed(ctx, texts)
}

// WordVector writes the vector of a word.
func (e *embedding) WordVector(dst []float32, word string) []float32 {
	return e.words.WordVector(dst, word)
}

// WordWeight returns how much a word tells.
func (e *embedding) WordWeight(word string) float64 { return e.words.WordWeight(word) }

// WordPieces returns how many pieces a word is cut into.
func (e *embedding) WordPieces(word string) int { return e.words.WordPieces(word) }

// ReadsWords is the share of a text whose words the table knows.
func (e *embedding) ReadsWords(text string) float64 { return e.words.ReadsWords(text) }

// Reads is the share of a text that its vector is made of; an endpoint is taken to read
// everything.
func (e *embedding) Reads(text string) float64 {
	if e.now.Load().remote != nil {
		return 1
	}
	return e.words.Reads(text)
}

// adopt lets the next side serve.
func (e *embedding) adopt() { e.now.Store(e.next) }

// errChangeover degrades a search whose vector was made just before the model changed.
var errChangeover = errors.New("the embedding model has changed")

// servingIndex is the index of the side that serves.
type servingIndex struct{ *embedding }

var (
	_ vector.Index = servingIndex{}
	_ vector.Batch = servingIndex{}
)

// serving returns what to ask for a vector that the model made.
func (s servingIndex) serving(model string) (*vector.Vectors, error) {
	now := s.now.Load()
	if model != now.Model().String() {
		return nil, errChangeover
	}
	return now.index, nil
}

// Search implements vector.Index.
func (s servingIndex) Search(ctx context.Context, sc scope.Scope, q vector.Query) (vector.Result, error) {
	index, err := s.serving(q.Model)
	if err != nil {
		return vector.Result{}, err
	}
	return index.Search(ctx, sc, q)
}

// SearchEach implements vector.Batch.
func (s servingIndex) SearchEach(ctx context.Context, sc scope.Scope, q vector.Query, filters []schemas.Filter) ([]vector.Result, error) {
	index, err := s.serving(q.Model)
	if err != nil {
		return nil, err
	}
	return index.SearchEach(ctx, sc, q, filters)
}

// Score implements vector.Index.
func (s servingIndex) Score(ctx context.Context, sc scope.Scope, q vector.Query, ids []string) ([]float64, error) {
	index, err := s.serving(q.Model)
	if err != nil {
		return nil, err
	}
	return index.Score(ctx, sc, q, ids)
}

// ScoreChunks implements vector.Index. Only the encoder's index has passages.
func (s servingIndex) ScoreChunks(ctx context.Context, sc scope.Scope, q vector.Query, ids []string) ([][]vector.ChunkScore, error) {
	index, err := s.serving(q.Model)
	if err != nil {
		return nil, err
	}
	return index.ScoreChunks(ctx, sc, q, ids)
}

// Apply implements vector.Index.
func (s servingIndex) Apply(ctx context.Context, sc scope.Scope, changes []vector.Change, upTo int64) error {
	return s.now.Load().index.Apply(ctx, sc, changes, upTo)
}

// Checkpoint implements vector.Index.
func (s servingIndex) Checkpoint(ctx context.Context, sc scope.Scope) (int64, error) {
	return s.now.Load().index.Checkpoint(ctx, sc)
}

// Digest implements vector.Index.
func (s servingIndex) Digest(ctx context.Context, sc scope.Scope) ([32]byte, error) {
	return s.now.Load().index.Digest(ctx, sc)
}

// Reset implements vector.Index.
func (s servingIndex) Reset(ctx context.Context, sc scope.Scope) error {
	return s.now.Load().index.Reset(ctx, sc)
}

// openMaker opens the model that the settings name, or with them an earlier one.
func (a *App) openMaker(ctx context.Context, words *static.Embedder, was *servingModel, logger *slog.Logger) (*Maker, error) {
	name := a.embedModel()
	revision := a.EmbedRevision
	dimensions := a.EmbedDimensions
	shorten := a.EmbedShorten
	inBinary := a.EmbedURL == ""
	if was != nil {
		name = was.Name
		revision = was.Revision
		dimensions = was.Dimensions
		shorten = was.Shorten
		inBinary = was.Name == ""
	}
	switch {
	case inBinary && name == "":
		return tableMaker(words), nil
	case inBinary:
		return a.openEncoder(ctx, name, logger)
	}
	if a.EmbedURL == "" {
		return nil, errors.New("EMBEDDINGS_URL is not set")
	}
	remote, err := remote.OpenEmbedder(ctx, remote.EmbedderConfig{URL: a.EmbedURL, Key: a.EmbedKey, CAFile: a.EmbedCA, Model: name, Revision: revision,
		Dimensions: dimensions, Shorten: shorten, BatchTexts: a.EmbedBatch, RequestsPerSecond: a.EmbedRPS,
		Timeout: time.Duration(a.EmbedTimeout) * time.Millisecond})
	if err != nil {
		return nil, &config.UsageError{Err: err}
	}
	if err := remote.Unverified(); err != nil {
		logger.Warn("embedding endpoint", "error", err)
	}
	c, err := a.openCache(ctx, remote, logger)
	if err != nil {
		return nil, err
	}
	return &Maker{Embedder: c, Questions: model.QuestionForm{Embedder: c}, remote: remote, cache: c}, nil
}

// TableName is what the settings call the table in the binary.
const TableName = "table"

// embedModel is the model that the settings name, "" for the table. Where they name none it is the sentence encoder in the binary, on a
// processor for which that is quick.
func (a *App) embedModel() string {
	switch {
	case a.EmbedURL != "" || a.EmbedModel != "" && a.EmbedModel != TableName:
		return a.EmbedModel
	case a.EmbedModel == "" && encoder.Quick():
		return encoder.Name
	}
	return ""
}

// tableMaker is the table in the binary.
func tableMaker(words *static.Embedder) *Maker {
	return &Maker{Embedder: words, Questions: model.QuestionForm{Embedder: words, Here: words}}
}

// openEmbedding opens the model that the settings name and, when another one has served
// until now, that one as well.
func (a *App) openEmbedding(ctx context.Context, logger *slog.Logger) (*embedding, error) {
	words, err := OpenWords()
	if err != nil {
		return nil, err
	}
	e := &embedding{words: words}
	made, err := a.openMaker(ctx, words, nil, logger)
	if err != nil {
		return nil, err
	}
	if made.sentences {
		e.encoding = &encoding{VectorTarget: VectorTarget{Maker: made}}
		made = tableMaker(words)
	}
	e.first = &VectorTarget{Maker: made}
	was, err := a.readServing()
	if err != nil {
		return nil, errors.Join(err, e.close())
	}
	if was != nil && was.Model != made.Model().String() {
		old, err := a.openMaker(ctx, words, was, logger)
		switch {
		case err != nil:
			logger.Warn("the model that served until now cannot be used: there are no vectors until everything is embedded anew", "model", was.Model, "error", err)
		case old.Model().String() != was.Model:
			logger.Warn("the model that served until now is gone: there are no vectors until everything is embedded anew", "model", was.Model)
			err = old.close()
		default:
			e.first, e.next = &VectorTarget{Maker: old}, e.first
		}
		if err != nil && old != nil {
			return nil, errors.Join(err, e.close())
		}
	}
	e.now.Store(e.first)
	if cached := slices.ContainsFunc(e.sides(), func(s *VectorTarget) bool { return s.cache != nil }); !cached && !a.Beside {
		if err := removeDB(a.Path("index", cacheFile)); err != nil { // no erasure would reach it
			return nil, errors.Join(fmt.Errorf("remove the vectors of another model: %w", err), e.close())
		}
	}
	return e, nil
}

// sides lists what is open.
func (e *embedding) sides() []*VectorTarget {
	sides := []*VectorTarget{e.first}
	if e.next != nil {
		sides = append(sides, e.next)
	}
	if e.encoding != nil {
		sides = append(sides, &e.encoding.VectorTarget)
	}
	return sides
}

func (e *embedding) close() error {
	var errs []error
	for _, s := range e.sides() {
		errs = append(errs, s.close())
	}
	return errors.Join(errs...)
}

// scrubbers empty the caches when something is erased.
func (e *embedding) scrubbers() []erasure.Scrubber {
	var list []erasure.Scrubber
	for _, s := range e.sides() {
		if s.cache != nil {
			list = append(list, erasure.Scrubber{Store: "embedding cache", Scrub: func(ctx context.Context, _ scope.Scope) error { return s.scrub(ctx) }})
		}
	}
	return list
}

// embeddingStatus is what GET /status says of the embeddings.
type embeddingStatus struct {
	Model       string                `json:"model"` // that serves
	Dimensions  int                   `json:"dimensions"`
	Endpoint    *remote.EmbedderStats `json:"endpoint,omitempty"`
	Cache       *cache.Stats          `json:"cache,omitempty"`
	Reembedding *reembeddingState     `json:"reembedding,omitempty"` // while another model is to serve
	Encoder     *encodingState        `json:"encoder,omitempty"`     // that of the binary, where it is on
}

func (e *embedding) status() embeddingStatus {
	now := e.now.Load()
	s := embeddingStatus{Model: now.Model().String(), Dimensions: now.Model().Dimensions}
	if now.remote != nil {
		endpoint := now.remote.Stats()
		cached := now.cache.Stats()
		s.Endpoint = &endpoint
		s.Cache = &cached
	}
	if e.encoding != nil {
		s.Encoder = e.encoding.state()
	}
	return s
}

// measure reports the counts.
func (e *embedding) measure(m *meter.Set) {
	if e.encoding != nil {
		behind := m.Gauge(schemas.MetricEncoderLag)
		m.BeforeReading(func() { behind.Set(e.encoding.behind()) })
	}
	for metric, read := range map[schemas.Metric]func(*Maker) int64{
		schemas.MetricEmbeddingCacheHits:   func(m *Maker) int64 { return m.cache.Stats().Hits },
		schemas.MetricEmbeddingCacheMisses: func(m *Maker) int64 { return m.cache.Stats().Misses },
		schemas.MetricEmbeddingRequests:    func(m *Maker) int64 { return m.remote.Stats().Requests },
		schemas.MetricEmbeddingFailures:    func(m *Maker) int64 { return m.remote.Stats().Failures },
	} {
		raise := meter.Total(m.Counter(metric))
		m.BeforeReading(func() {
			total := int64(0)
			for _, s := range e.sides() {
				if s.remote != nil {
					total += read(s.Maker)
				}
			}
			raise(float64(total))
		})
	}
}
