// Embedder embeds text with any endpoint that speaks OpenAI's embeddings API:
// OpenAI and Azure, Ollama, vLLM, Text Embeddings Inference, llama.cpp, LocalAI.
//
// It owns one HTTP client and what keeps it polite: batches, a rate limit, retries with
// backoff that honour Retry-After, a breaker that leaves a failing endpoint alone, and a
// deadline for the whole call. An answer is believed only when it has one finite vector
// of the expected length for each text; vectors are made unit length here.
//
// # Promises
//
//   - Every error but the caller's own cancellation wraps a [*schemas.Error] with the
//     code embedding_error. Neither a text nor the key is in an error, nor is the body
//     of an answer, which may repeat a text.
//   - A text without anything to read (blank, NUL, invalid UTF-8 alone) is the zero
//     vector and is not sent. A text that the endpoint finds too long is cut until it
//     takes it; one that it never takes while it takes others is the zero vector and is
//     counted in [Stats].
//   - The URL is not part of the model: the same model moved to another host keeps its
//     vectors. A model that changed behind its name needs another Config.Revision.
//
// An Embedder is safe for concurrent use and holds nothing that needs closing.

package remote

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"

	"satchel/pipeline/infra/httpclient"
	"satchel/pipeline/model"
)

// Embedder asks an endpoint. Make one with Open.
type Embedder struct {
	cfg      EmbedderConfig
	endpoint string
	client   *httpclient.Client
	limiter  *rate.Limiter
	breaker  *httpclient.Breaker
	model    model.EmbeddingModel

	unverified error

	texts, requests, retries, failures, unreadable atomic.Int64
}

var _ model.Embedder = (*Embedder)(nil)

// OpenEmbedder checks cfg and asks the endpoint for one vector, whose length must be
// Config.Dimensions. An endpoint that cannot be reached now is an error only when
// Dimensions is zero and has to be learnt from it; see Unverified.
func OpenEmbedder(ctx context.Context, cfg EmbedderConfig) (*Embedder, error) {
	endpoint, err := cfg.makeEmbedEndpoint()
	if err != nil {
		return nil, fmt.Errorf("open embedding endpoint: %w", err)
	}
	if err := cfg.validateConfig(); err != nil {
		return nil, fmt.Errorf("open embedding endpoint: %w", err)
	}
	cfg.setDefaults()
	client, err := cfg.makeClient()
	if err != nil {
		return nil, fmt.Errorf("open embedding endpoint: %w", err)
	}
	e := &Embedder{cfg: cfg, endpoint: endpoint, client: client,
		limiter: rate.NewLimiter(rate.Inf, 1),
		breaker: httpclient.NewBreaker(httpclient.BreakerConfig{Failures: cfg.Failures, Cooldown: cfg.Cooldown, Clock: cfg.Clock})}
	if cfg.RequestsPerSecond > 0 {
		e.limiter = rate.NewLimiter(rate.Limit(cfg.RequestsPerSecond), max(1, int(cfg.RequestsPerSecond)))
	}
	dimensions, err := e.probeDimensions(ctx)
	var f *failure
	switch {
	case err != nil && cfg.Dimensions > 0 && errors.As(err, &f) && f.passing && ctx.Err() == nil:
		e.unverified = err
		dimensions = cfg.Dimensions
	case err != nil:
		return nil, fmt.Errorf("open embedding endpoint: %w", err)
	case cfg.Dimensions > 0 && dimensions != cfg.Dimensions:
		return nil, fmt.Errorf("open embedding endpoint: %w", e.wrongLength(dimensions, cfg.Dimensions))
	}
	e.model = model.EmbeddingModel{Name: cfg.makeModelName(), Revision: cfg.hashRevision(dimensions), Dimensions: dimensions}
	return e, nil
}

// probeDimensions returns how many numbers a vector of the endpoint has.
func (e *Embedder) probeDimensions(ctx context.Context) (int, error) {
	ctx, cancel := context.WithTimeout(ctx, e.cfg.Timeout)
	defer cancel()
	vectors, err := e.postTexts(ctx, []string{probeText})
	if err != nil {
		return 0, err
	}
	return len(vectors[0]), nil
}

// Unverified says why the endpoint could not be asked by Open, nil when it was. Its
// vectors are then checked when they come.
func (e *Embedder) Unverified() error { return e.unverified }

// Model names the model as it was configured.
func (e *Embedder) Model() model.EmbeddingModel { return e.model }

// EmbedderStats are counts since Open.
type EmbedderStats struct {
	Texts      int64  `json:"texts"`      // sent and answered
	Requests   int64  `json:"requests"`   // HTTP requests, with those that failed
	Retries    int64  `json:"retries"`    // of Requests: tried again
	Failures   int64  `json:"failures"`   // calls of Embed that failed
	Unreadable int64  `json:"unreadable"` // texts that the endpoint would not take in any length
	Breaker    string `json:"breaker"`    // closed, open or half_open
}

// Stats returns the counts.
func (e *Embedder) Stats() EmbedderStats {
	return EmbedderStats{Texts: e.texts.Load(), Requests: e.requests.Load(), Retries: e.retries.Load(), Failures: e.failures.Load(),
		Unreadable: e.unreadable.Load(), Breaker: e.breaker.State()}
}

// Embed implements [embed.Embedder].
func (e *Embedder) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("embed %d texts: %w", len(texts), err)
	}
	out := make([][]float32, len(texts))
	jobs := planJobs(texts, e.cfg.BatchTexts, e.cfg.BatchBytes, e.cfg.MaxTextBytes)
	if len(jobs) > 0 {
		limited, cancel := context.WithTimeout(ctx, e.cfg.Deadline)
		err := e.embedAllJobs(limited, jobs, out)
		cancel()
		if err != nil {
			return nil, e.explainError(ctx, len(texts), err)
		}
	}
	numbers := make([]float32, 0)
	for i := range out {
		if out[i] == nil { // nothing to read in it
			if len(numbers) == 0 {
				numbers = make([]float32, e.model.Dimensions*(len(out)-i))
			}
			out[i] = numbers[:e.model.Dimensions:e.model.Dimensions]
			numbers = numbers[e.model.Dimensions:]
		}
	}
	return out, nil
}

// explainError makes an error of Embed: the caller's own end as it is, all else typed.
func (e *Embedder) explainError(ctx context.Context, texts int, err error) error {
	if ctx.Err() != nil {
		return fmt.Errorf("embed %d texts: %w", texts, ctx.Err())
	}
	e.failures.Add(1)
	var f *failure
	if !errors.As(err, &f) {
		f = &failure{message: "the embedding endpoint did not answer in " + e.cfg.Deadline.Round(time.Millisecond).String(), cause: err}
	}
	return fmt.Errorf("embed %d texts: %w", texts, f)
}
