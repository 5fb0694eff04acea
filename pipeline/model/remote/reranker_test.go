package remote_test

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"satchel/pipeline/model"
	"satchel/pipeline/model/remote"
)

type body struct {
	Model     string   `json:"model"`
	Query     string   `json:"query"`
	Documents []string `json:"documents"`
	Texts     []string `json:"texts"`
}

// serveRanks runs a real endpoint and counts its requests.
func serveRanks(t *testing.T, answer func(w http.ResponseWriter, r *http.Request, b body)) (url string, calls *atomic.Int32) {
	t.Helper()
	calls = &atomic.Int32{}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		calls.Add(1)
		var b body
		if err := json.NewDecoder(r.Body).Decode(&b); err != nil {
			t.Errorf("request: %v", err)
		}
		answer(w, r, b)
	}))
	t.Cleanup(s.Close)
	return s.URL, calls
}

func write(t *testing.T, w http.ResponseWriter, text string) {
	if _, err := w.Write([]byte(text)); err != nil {
		t.Errorf("answer: %v", err)
	}
}

func openReranker(t *testing.T, cfg remote.RerankerConfig) *remote.Reranker {
	t.Helper()
	c, err := remote.NewReranker(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestShapes(t *testing.T) {
	t.Parallel()
	cohere := func(w http.ResponseWriter, r *http.Request, b body) {
		if r.URL.Path != "/rerank" || r.Header.Get("Authorization") != "Bearer key" || b.Model != "m" || b.Query != "q" || len(b.Documents) != 2 {
			t.Errorf("%s %v %+v", r.URL.Path, r.Header, b)
		}
		write(t, w, `{"id":"x","results":[{"index":1,"relevance_score":0.9,"document":{"text":"b"}},{"index":0,"relevance_score":0.2}],"meta":{}}`)
	}
	tei := func(w http.ResponseWriter, _ *http.Request, b body) {
		if b.Texts == nil {
			http.Error(w, "missing field `texts`", http.StatusUnprocessableEntity)
			return
		}
		write(t, w, `[{"index":1,"score":0.9},{"index":0,"score":0.2}]`)
	}
	logits := func(w http.ResponseWriter, _ *http.Request, _ body) {
		write(t, w, `{"results":[{"index":0,"relevance_score":-1.3862943611198906},{"index":1,"relevance_score":2.197224577336219}]}`)
	}
	for name, tc := range map[string]struct {
		answer func(http.ResponseWriter, *http.Request, body)
		calls  int32 // of two questions
	}{"Cohere and Jina": {cohere, 2}, "TEI": {tei, 3}, "logits": {logits, 2}} {
		url, calls := serveRanks(t, tc.answer)
		c := openReranker(t, remote.RerankerConfig{URL: url, Token: "key", Model: "m", Timeout: 10 * time.Second})
		for range 2 {
			got, err := c.Rerank(context.Background(), "q", []string{"a", "b"})
			if err != nil || len(got) != 2 || math.Abs(got[0]-.2) > 1e-9 || math.Abs(got[1]-.9) > 1e-9 {
				t.Errorf("%s: %v, %v", name, got, err)
			}
		}
		if n := calls.Load(); n != tc.calls {
			t.Errorf("%s: %d requests, want %d", name, n, tc.calls)
		}
	}
}

// Half an answer, nonsense and an error are none, and say nothing of what was asked.
func TestHalfAnAnswerIsNone(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"one is missing": `{"results":[{"index":0,"relevance_score":0.5}]}`,
		"twice":          `{"results":[{"index":0,"relevance_score":0.5},{"index":0,"relevance_score":0.5}]}`,
		"out of range":   `{"results":[{"index":0,"relevance_score":0.5},{"index":7,"relevance_score":0.5}]}`,
		"no score":       `{"results":[{"index":0,"relevance_score":0.5},{"index":1}]}`,
		"no number":      `{"results":[{"index":0,"relevance_score":"high"},{"index":1,"relevance_score":1}]}`,
		"cut off":        `{"results":[{"index":0,`,
		"prose":          `SECRET question`,
		"nothing":        ``,
		"too long":       `{"results":"` + strings.Repeat("x", 5000) + `"}`,
	} {
		url, _ := serveRanks(t, func(w http.ResponseWriter, _ *http.Request, _ body) { write(t, w, text) })
		c := openReranker(t, remote.RerankerConfig{URL: url, Timeout: 10 * time.Second, MaxResponse: 4096})
		got, err := c.Rerank(context.Background(), "SECRET question", []string{"SECRET a", "SECRET b"})
		if !errors.Is(err, model.ErrRerankerUnavailable) || got != nil || strings.Contains(err.Error(), "SECRET") {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
}

func TestItIsLeftAlone(t *testing.T) {
	t.Parallel()
	var down atomic.Bool
	down.Store(true)
	url, calls := serveRanks(t, func(w http.ResponseWriter, _ *http.Request, _ body) {
		if down.Load() {
			http.Error(w, "down", http.StatusServiceUnavailable)
			return
		}
		write(t, w, `{"results":[{"index":0,"relevance_score":0.5}]}`)
	})
	now := time.Unix(0, 0)
	c := openReranker(t, remote.RerankerConfig{URL: url, Timeout: 10 * time.Second, Failures: 2, Cooldown: time.Minute, Clock: func() time.Time { return now }})
	for range 5 {
		if _, err := c.Rerank(context.Background(), "q", []string{"a"}); !errors.Is(err, model.ErrRerankerUnavailable) {
			t.Errorf("error is %v", err)
		}
	}
	if n := calls.Load(); n != 2 {
		t.Errorf("%d requests, want 2", n)
	}
	down.Store(false)
	now = now.Add(2 * time.Minute)
	if got, err := c.Rerank(context.Background(), "q", []string{"a"}); err != nil || got[0] != .5 {
		t.Errorf("after the cooldown: %v, %v", got, err)
	}
}

func TestDeadline(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	url, _ := serveRanks(t, func(w http.ResponseWriter, r *http.Request, _ body) {
		select {
		case <-release:
		case <-r.Context().Done():
		}
	})
	defer close(release)
	c := openReranker(t, remote.RerankerConfig{URL: url, Timeout: 20 * time.Millisecond})
	if _, err := c.Rerank(context.Background(), "q", []string{"a"}); !errors.Is(err, model.ErrRerankerUnavailable) {
		t.Errorf("too late: %v", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := c.Rerank(ctx, "q", []string{"a"}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

func TestConfigIsChecked(t *testing.T) {
	t.Parallel()
	for name, cfg := range map[string]remote.RerankerConfig{
		"nothing": {}, "no scheme": {URL: "host:80"}, "a user": {URL: "https://me:SECRET@host/rerank"},
		"a token in the open": {URL: "http://example.com/rerank", Token: "SECRET"},
	} {
		if _, err := remote.NewReranker(cfg); err == nil || strings.Contains(err.Error(), "SECRET") {
			t.Errorf("%s: %v", name, err)
		}
	}
	url, _ := serveRanks(t, func(w http.ResponseWriter, _ *http.Request, b body) {
		if len(b.Documents[0]) > 10 || b.Documents[0] != "快递行" {
			t.Errorf("sent %q", b.Documents[0])
		}
		write(t, w, `{"results":[{"index":0,"relevance_score":1}]}`)
	})
	c := openReranker(t, remote.RerankerConfig{URL: url, MaxText: 10, Timeout: 10 * time.Second})
	if _, err := c.Rerank(context.Background(), "q", []string{"快递行业年度"}); err != nil {
		t.Error(err)
	}
}
