// Reranker asks a reranking endpoint over HTTP: Cohere, Jina, a text-embeddings
// server (TEI), or what speaks as they do.
//
// It knows the two shapes of /rerank. Cohere and Jina take {model, query, documents} and
// answer {results: [{index, relevance_score}]}; TEI takes {query, texts} and answers
// [{index, score}]. The first is tried first; an endpoint that refuses it with 400 or 422
// is asked in the second from then on. Scores outside 0 to 1 are taken for logits.
//
// It promises that half an answer is none: an index twice, one out of range or one that
// is missing is an error. After Failures in a row the endpoint is left alone for Cooldown.

package remote

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"strings"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"satchel/pipeline/infra/httpclient"
	"satchel/pipeline/model"
)

// RerankerConfig says which endpoint is asked. URL is required; a zero of any other field is its
// default.
type RerankerConfig struct {
	URL         string        // as http://127.0.0.1:8080/rerank; without a path, /rerank
	Token       string        // bearer token; it needs https, or an endpoint on this machine
	Model       string        // sent when it is named
	Timeout     time.Duration // of one request; default 500 ms
	MaxText     int           // bytes of a text that are sent; default 4,000
	MaxResponse int64         // bytes of an answer; default 1 MiB
	Failures    int           // in a row, after which it is left alone; default 3
	Cooldown    time.Duration // for how long; default 10 s
	Clock       func() time.Time
}

func (c *RerankerConfig) fillDefaults() {
	if c.Timeout <= 0 {
		c.Timeout = 500 * time.Millisecond
	}
	if c.MaxText <= 0 {
		c.MaxText = 4000
	}
	if c.MaxResponse <= 0 {
		c.MaxResponse = 1 << 20
	}
	if c.Failures <= 0 {
		c.Failures = 3
	}
	if c.Cooldown <= 0 {
		c.Cooldown = 10 * time.Second
	}
	if c.Clock == nil {
		c.Clock = time.Now
	}
}

// Reranker asks the endpoint.
type Reranker struct {
	cfg     RerankerConfig
	url     string
	http    *httpclient.Client
	breaker *httpclient.Breaker
	second  atomic.Bool // the endpoint speaks the second shape
}

// NewReranker returns a Client. It asks nothing yet.
func NewReranker(cfg RerankerConfig) (*Reranker, error) {
	cfg.fillDefaults()
	u, err := httpclient.Endpoint(cfg.URL, cfg.Token)
	if err != nil {
		return nil, fmt.Errorf("open reranker: its URL: %w", err)
	}
	if u.Path == "" || u.Path == "/" {
		u.Path = "/rerank"
	}
	client, err := httpclient.New(httpclient.Config{Key: cfg.Token, MaxAnswer: cfg.MaxResponse})
	if err != nil {
		return nil, fmt.Errorf("open reranker: %w", err)
	}
	return &Reranker{cfg: cfg, url: u.String(), http: client,
		breaker: httpclient.NewBreaker(httpclient.BreakerConfig{Failures: cfg.Failures, Cooldown: cfg.Cooldown, Clock: cfg.Clock})}, nil
}

// Name implements [rerank.Reranker].
func (c *Reranker) Name() string {
	if c.cfg.Model == "" {
		return "rerank"
	}
	return c.cfg.Model
}

// Rerank implements [rerank.Reranker].
func (c *Reranker) Rerank(ctx context.Context, query string, texts []string) ([]float64, error) {
	if len(texts) == 0 {
		return nil, nil
	}
	short := make([]string, len(texts))
	for i, t := range texts {
		short[i] = cutRanked(t, c.cfg.MaxText)
	}
	var scores []float64
	err := c.breaker.Do(func() (err error) {
		scores, err = c.askEither(ctx, query, short)
		return err
	}, func(err error) httpclient.Outcome {
		switch {
		case err == nil:
			return httpclient.Answered
		case errors.Is(ctx.Err(), context.Canceled): // it says nothing of the endpoint
			return httpclient.Unknown
		}
		return httpclient.Failed
	})
	switch {
	case err != nil && ctx.Err() != nil && !errors.Is(err, httpclient.ErrOpen):
		return nil, fmt.Errorf("rerank %d texts: %w", len(texts), ctx.Err())
	case err != nil:
		return nil, fmt.Errorf("rerank %d texts: %w: %w", len(texts), model.ErrRerankerUnavailable, err)
	}
	return scores, nil
}

// askEither asks in the shape that the endpoint is known to speak, or in both.
func (c *Reranker) askEither(ctx context.Context, query string, texts []string) ([]float64, error) {
	second := c.second.Load()
	scores, err := c.askReranker(ctx, query, texts, second)
	var refused *httpclient.Error
	if !second && errors.As(err, &refused) && (refused.Status == http.StatusBadRequest || refused.Status == http.StatusUnprocessableEntity) {
		second = true
		scores, err = c.askReranker(ctx, query, texts, second)
	}
	if err == nil {
		c.second.Store(second)
	}
	return scores, err
}

// cutRanked shortens a text to n bytes at a rune.
func cutRanked(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

// place is one line of an answer, in either shape.
type place struct {
	Index     *int     `json:"index"`
	Relevance *float64 `json:"relevance_score"`
	Score     *float64 `json:"score"`
}

func (c *Reranker) askReranker(ctx context.Context, query string, texts []string, second bool) ([]float64, error) {
	body := map[string]any{"query": query}
	if c.cfg.Model != "" {
		body["model"] = c.cfg.Model
	}
	if second {
		body["texts"] = texts
	} else {
		body["documents"] = texts
	}
	raw, err := json.Marshal(body)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, c.cfg.Timeout)
	defer cancel()
	answer, err := c.http.Post(ctx, c.url, raw)
	if err != nil {
		return nil, err
	}
	return parseScores(answer, len(texts))
}

// parseScores reads n scores of an answer of either shape.
func parseScores(answer []byte, n int) ([]float64, error) {
	var places []place
	var wrapped struct {
		Results []place `json:"results"`
	}
	if strings.HasPrefix(strings.TrimSpace(string(answer[:min(len(answer), 64)])), "[") {
		if json.Unmarshal(answer, &places) != nil {
			return nil, errors.New("answer is not of the shape")
		}
	} else if json.Unmarshal(answer, &wrapped) != nil {
		return nil, errors.New("answer is not of the shape")
	} else {
		places = wrapped.Results
	}
	if len(places) != n {
		return nil, fmt.Errorf("answer has %d scores, want %d", len(places), n)
	}
	out := make([]float64, n)
	seen := make([]bool, n)
	logits := false
	for _, p := range places {
		score := p.Relevance
		if score == nil {
			score = p.Score
		}
		if p.Index == nil || score == nil || *p.Index < 0 || *p.Index >= n || seen[*p.Index] {
			return nil, errors.New("answer lacks a score, or has an index twice or out of range")
		}
		out[*p.Index] = *score
		seen[*p.Index] = true
		logits = logits || *score < 0 || *score > 1
	}
	for i := range out {
		if logits {
			out[i] = 1 / (1 + math.Exp(-out[i]))
		}
	}
	return out, nil
}
