package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	"go.opentelemetry.io/otel/metric"

	"satchel/pipeline/embed"
	"satchel/pipeline/embed/cache"
	"satchel/pipeline/embed/openai"
	"satchel/pipeline/embed/static"
	"satchel/pipeline/scope"
	"satchel/worker"
)

// embedding is what makes vectors: the table in the binary, or an endpoint behind a
// cache. Single words are always the table's: they are compared with each other only.
type embedding struct {
	embed.Embedder
	words  *static.Embedder
	remote *openai.Embedder // nil: the table
	cache  *cache.Cache     // nil: the table, which is faster than a cache
}

// WordVector writes the vector of a word.
func (e *embedding) WordVector(dst []float32, word string) []float32 {
	return e.words.WordVector(dst, word)
}

// ReadsWords is the share of a text whose words the table knows.
func (e *embedding) ReadsWords(text string) float64 { return e.words.ReadsWords(text) }

// Reads is the share of a text that its vector is made of; an endpoint is taken to read
// everything.
func (e *embedding) Reads(text string) float64 {
	if e.remote != nil {
		return 1
	}
	return e.words.Reads(text)
}

// openEmbedding opens what the settings name.
func (a *app) openEmbedding(ctx context.Context, logger *slog.Logger) (*embedding, error) {
	words, err := static.New()
	if err != nil {
		return nil, fmt.Errorf("open embedding table: %w", err)
	}
	e := &embedding{Embedder: words, words: words}
	if a.EmbedURL == "" {
		return e, nil
	}
	e.remote, err = openai.Open(ctx, openai.Config{URL: a.EmbedURL, Key: a.EmbedKey, CAFile: a.EmbedCA, Model: a.EmbedModel, Revision: a.EmbedRevision,
		Dimensions: a.EmbedDimensions, Shorten: a.EmbedShorten, BatchTexts: a.EmbedBatch, RequestsPerSecond: a.EmbedRPS,
		Timeout: time.Duration(a.EmbedTimeout) * time.Millisecond})
	if err != nil {
		return nil, &usageError{err}
	}
	if err := e.remote.Unverified(); err != nil {
		logger.Warn("embedding endpoint", "error", err)
	}
	if err := os.MkdirAll(a.path("index"), 0o700); err != nil {
		return nil, fmt.Errorf("open data folder: %w", err)
	}
	e.cache, err = cache.Open(ctx, cache.Config{Embedder: e.remote, Path: a.path("index", "embeddings.db"), MaxBytes: int64(a.EmbedCacheMB) << 20,
		TTL: time.Duration(a.EmbedCacheHours) * time.Hour, OnError: func(err error) { logger.Warn("embedding cache", "error", err) }})
	if err != nil {
		return nil, err
	}
	e.Embedder = e.cache
	return e, nil
}

func (e *embedding) close() error {
	if e.cache == nil {
		return nil
	}
	return e.cache.Close()
}

// scrubbers empty the cache when something is erased.
func (e *embedding) scrubbers() []worker.Scrubber {
	if e.cache == nil {
		return nil
	}
	return []worker.Scrubber{{Store: "embedding cache", Scrub: func(ctx context.Context, _ scope.Scope) error { return e.cache.Scrub(ctx) }}}
}

// embeddingStatus is what GET /status says of the embeddings.
type embeddingStatus struct {
	Model      string        `json:"model"`
	Dimensions int           `json:"dimensions"`
	Endpoint   *openai.Stats `json:"endpoint,omitempty"`
	Cache      *cache.Stats  `json:"cache,omitempty"`
}

func (e *embedding) status() embeddingStatus {
	s := embeddingStatus{Model: e.Model().String(), Dimensions: e.Model().Dimensions}
	if e.remote != nil {
		stats := e.remote.Stats()
		s.Endpoint = &stats
	}
	if e.cache != nil {
		stats := e.cache.Stats()
		s.Cache = &stats
	}
	return s
}

// measure registers the counts with meter.
func (e *embedding) measure(meter metric.Meter) error {
	if e.remote == nil {
		return nil
	}
	var errs []error
	counter := func(name, what string, read func() int64) {
		_, err := meter.Int64ObservableCounter(name, metric.WithDescription(what), metric.WithInt64Callback(func(_ context.Context, o metric.Int64Observer) error {
			o.Observe(read())
			return nil
		}))
		errs = append(errs, err)
	}
	counter("satchel.embedding.cache.hits", "texts whose vector was cached", func() int64 { return e.cache.Stats().Hits })
	counter("satchel.embedding.cache.misses", "texts that were sent to the endpoint", func() int64 { return e.cache.Stats().Misses })
	counter("satchel.embedding.requests", "requests to the embedding endpoint", func() int64 { return e.remote.Stats().Requests })
	counter("satchel.embedding.failures", "calls that the embedding endpoint failed", func() int64 { return e.remote.Stats().Failures })
	return errors.Join(errs...)
}
