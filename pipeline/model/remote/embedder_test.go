package remote_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"satchel/pipeline/model"
	"satchel/pipeline/model/remote"
	"satchel/pipeline/model/static"
	"satchel/schemas"
	"satchel/test/conformance/embedtest"
)

// endpoint is an embeddings server on HTTP over the static model.
type endpoint struct {
	*httptest.Server
	requests, texts atomic.Int64
	before          func(w http.ResponseWriter, r *http.Request, input []string) (done bool)
}

const key = "sk-very-secret"

func serveEmbeddings(t testing.TB, before func(w http.ResponseWriter, r *http.Request, input []string) bool) *endpoint {
	t.Helper()
	model, err := static.New()
	if err != nil {
		t.Fatal(err)
	}
	s := &endpoint{before: before}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var q struct {
			Model string
			Input []string
		}
		if err := json.NewDecoder(r.Body).Decode(&q); err != nil || r.URL.Path != "/v1/embeddings" || q.Model == "" || len(q.Input) == 0 {
			http.Error(w, "bad request", http.StatusBadRequest)
			return
		}
		s.requests.Add(1)
		if s.before != nil && s.before(w, r, q.Input) {
			return
		}
		s.texts.Add(int64(len(q.Input)))
		vectors, err := model.Embed(r.Context(), q.Input)
		if err != nil {
			return
		}
		type datum struct {
			Object    string    `json:"object"`
			Index     int       `json:"index"`
			Embedding []float32 `json:"embedding"`
		}
		var data []datum
		for i := len(vectors) - 1; i >= 0; i-- { // in another order, not unit length
			for j := range vectors[i] {
				vectors[i][j] *= 3
			}
			data = append(data, datum{"embedding", i, vectors[i]})
		}
		w.Header().Set("Content-Type", "application/json")
		if err := json.NewEncoder(w).Encode(map[string]any{"object": "list", "data": data, "model": q.Model}); err != nil && r.Context().Err() == nil {
			t.Errorf("write answer: %v", err)
		}
	}))
	t.Cleanup(s.Close)
	return s
}

// openEmbedder opens an embedder that tries again at once.
func openEmbedder(t testing.TB, s *endpoint, change func(*remote.EmbedderConfig)) *remote.Embedder {
	t.Helper()
	cfg := remote.EmbedderConfig{URL: s.URL + "/v1", Key: key, Model: "static", RetryMin: time.Millisecond, Deadline: 20 * time.Second}
	if change != nil {
		change(&cfg)
	}
	e, err := remote.OpenEmbedder(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func TestConformance(t *testing.T) {
	t.Parallel()
	embedtest.Run(t, func(t *testing.T) model.Embedder { return openEmbedder(t, serveEmbeddings(t, nil), nil) })
}

// refuses answers every request but the first n with status.
func refuses(n int64, status int, header ...string) func(http.ResponseWriter, *http.Request, []string) bool {
	var seen atomic.Int64
	return func(w http.ResponseWriter, _ *http.Request, _ []string) bool {
		if seen.Add(1) <= n {
			return false
		}
		for i := 0; i+1 < len(header); i += 2 {
			w.Header().Set(header[i], header[i+1])
		}
		w.WriteHeader(status)
		fmt.Fprint(w, `{"error":{"message":"you sent: the secret text","type":"invalid_request_error"}}`)
		return true
	}
}

func TestBatches(t *testing.T) {
	t.Parallel()
	s := serveEmbeddings(t, func(w http.ResponseWriter, r *http.Request, input []string) bool {
		if len(input) > 10 || r.Header.Get("Authorization") != "Bearer "+key {
			t.Errorf("%d texts, authorization %q", len(input), r.Header.Get("Authorization"))
		}
		return false
	})
	e := openEmbedder(t, s, func(c *remote.EmbedderConfig) { c.BatchTexts = 10 })
	texts := make([]string, 101)
	for i := range texts {
		texts[i] = fmt.Sprintf("note %d about kilns", i)
	}
	texts[50] = " \x00\xff "
	got, err := e.Embed(t.Context(), texts)
	if err != nil {
		t.Fatal(err)
	}
	model, err := static.New()
	if err != nil {
		t.Fatal(err)
	}
	for i, v := range got {
		want := model.EmbedInto(nil, texts[i])
		var dot float64
		for j := range v {
			dot += float64(v[j]) * float64(want[j])
		}
		if i != 50 && dot < 0.9999 {
			t.Fatalf("vector %d is another text's: cosine %v", i, dot)
		}
	}
	if n := s.requests.Load(); n != 11 { // the probe and ten
		t.Errorf("%d requests, want 11", n)
	}
	if st := e.Stats(); st.Texts != 100 || st.Requests != 11 || st.Failures != 0 || st.Breaker != "closed" {
		t.Errorf("stats %+v", st)
	}
}

func TestRetries(t *testing.T) {
	t.Parallel()
	var seen atomic.Int64
	s := serveEmbeddings(t, func(w http.ResponseWriter, _ *http.Request, _ []string) bool {
		switch seen.Add(1) {
		case 2:
			w.WriteHeader(http.StatusServiceUnavailable)
		case 3:
			w.Header().Set("Retry-After", "0.05")
			w.WriteHeader(http.StatusTooManyRequests)
		case 4: // broken off in the middle
			w.Header().Set("Content-Length", "1000")
			fmt.Fprint(w, `{"data":[`)
		default:
			return false
		}
		return true
	})
	e := openEmbedder(t, s, nil)
	begun := time.Now()
	if _, err := e.Embed(t.Context(), []string{"kiln"}); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(begun); took < 50*time.Millisecond {
		t.Errorf("Retry-After of 50 ms was not kept: %s", took)
	}
	if st := e.Stats(); st.Retries != 3 || st.Requests != 5 {
		t.Errorf("stats %+v", st)
	}
}

func TestRetryAfterBeyondTheDeadlineFailsAtOnce(t *testing.T) {
	t.Parallel()
	e := openEmbedder(t, serveEmbeddings(t, refuses(1, http.StatusTooManyRequests, "Retry-After", "3600")), nil)
	begun := time.Now()
	wantTyped(t, e, "answered 429")
	if took := time.Since(begun); took > 5*time.Second {
		t.Errorf("it took %s", took)
	}
}

// wantTyped embeds and checks that the error is typed and tells no secret.
func wantTyped(t *testing.T, e *remote.Embedder, part string) {
	t.Helper()
	got, err := e.Embed(t.Context(), []string{"the secret text"})
	checkTyped(t, err, part)
	if got != nil {
		t.Errorf("vectors beside an error: %d", len(got))
	}
}

func checkTyped(t *testing.T, err error, part string) {
	t.Helper()
	var typed *schemas.Error
	if !errors.As(err, &typed) || typed.Code != schemas.CodeEmbedding {
		t.Fatalf("error %v is not an embedding_error", err)
	}
	if !strings.Contains(err.Error(), part) {
		t.Errorf("error %q does not say %q", err, part)
	}
	for _, secret := range []string{key, "secret text"} {
		if strings.Contains(err.Error()+typed.Message, secret) {
			t.Errorf("error %q holds %q", err, secret)
		}
	}
}

func TestBreaker(t *testing.T) {
	t.Parallel()
	var down atomic.Bool
	s := serveEmbeddings(t, func(w http.ResponseWriter, _ *http.Request, _ []string) bool {
		if down.Load() {
			w.WriteHeader(http.StatusBadGateway)
		}
		return down.Load()
	})
	var now atomic.Int64
	e := openEmbedder(t, s, func(c *remote.EmbedderConfig) {
		c.Retries, c.Failures, c.Cooldown = -1, 3, time.Minute
		c.Clock = func() time.Time { return time.Unix(now.Load(), 0) }
	})
	down.Store(true)
	for range 3 {
		wantTyped(t, e, "answered 502")
	}
	asked := s.requests.Load()
	wantTyped(t, e, "left alone")
	if s.requests.Load() != asked || e.Stats().Breaker != "open" {
		t.Errorf("an open breaker let a request through, or is %s", e.Stats().Breaker)
	}
	now.Add(61)
	wantTyped(t, e, "answered 502") // the trial
	wantTyped(t, e, "left alone")
	now.Add(61)
	down.Store(false)
	if _, err := e.Embed(t.Context(), []string{"kiln"}); err != nil || e.Stats().Breaker != "closed" {
		t.Errorf("after it came back: %v, breaker %s", err, e.Stats().Breaker)
	}
}

func TestLongAndUnreadableTexts(t *testing.T) {
	t.Parallel()
	s := serveEmbeddings(t, func(w http.ResponseWriter, _ *http.Request, input []string) bool {
		for _, text := range input {
			if len(text) > 500 || strings.Contains(text, "<|endoftext|>") {
				w.WriteHeader(http.StatusBadRequest)
				return true
			}
		}
		return false
	})
	e := openEmbedder(t, s, nil)
	got, err := e.Embed(t.Context(), []string{"a kiln", strings.Repeat("clay and glaze ", 200), "<|endoftext|>", "a potter"})
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []float64{1, 1, 0, 1} {
		var sum float64
		for _, x := range got[i] {
			sum += float64(x) * float64(x)
		}
		if sum < want-0.01 || sum > want+0.01 {
			t.Errorf("vector %d has length² %v, want %v", i, sum, want)
		}
	}
	if n := e.Stats().Unreadable; n != 1 {
		t.Errorf("%d unreadable texts, want 1", n)
	}
	s.before = refuses(0, http.StatusBadRequest) // now it takes nothing at all
	wantTyped(t, e, "answered 400 (invalid_request_error)")
}

func TestOpenSaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		before func(http.ResponseWriter, *http.Request, []string) bool
		change func(*remote.EmbedderConfig)
		want   string
	}{
		{"dimensions", nil, func(c *remote.EmbedderConfig) { c.Dimensions = 1536 }, `model "static" gives vectors of 256 numbers, EMBEDDINGS_DIMENSIONS says 1536: set it to 256, or name another model`},
		{"key", refuses(0, http.StatusUnauthorized), nil, "answered 401 (invalid_request_error): it does not accept the key"},
		{"key, dimensions known", refuses(0, http.StatusUnauthorized), func(c *remote.EmbedderConfig) { c.Dimensions = 256 }, "does not accept the key"},
		{"model", refuses(0, http.StatusNotFound), nil, `no model "static"`},
		{"redirect", refuses(0, http.StatusFound, "Location", "http://127.0.0.1:1/"), nil, "it redirects"},
		{"not JSON", func(w http.ResponseWriter, _ *http.Request, _ []string) bool { fmt.Fprint(w, "<html>"); return true }, nil, "not the JSON"},
		{"no vectors", func(w http.ResponseWriter, _ *http.Request, _ []string) bool {
			fmt.Fprint(w, `{"data":[]}`)
			return true
		}, nil, "1 texts with 0 vectors"},
		{"empty vector", func(w http.ResponseWriter, _ *http.Request, _ []string) bool {
			fmt.Fprint(w, `{"data":[{"index":0,"embedding":[]}]}`)
			return true
		}, nil, "empty vector"},
		{"misnumbered", func(w http.ResponseWriter, _ *http.Request, _ []string) bool {
			fmt.Fprint(w, `{"data":[{"index":7,"embedding":[1]}]}`)
			return true
		}, nil, "numbered wrongly"},
		{"away, length unknown", refuses(0, http.StatusServiceUnavailable), nil, "answered 503"},
		{"no model", nil, func(c *remote.EmbedderConfig) { c.Model = "" }, "EMBEDDINGS_MODEL"},
		{"no URL", nil, func(c *remote.EmbedderConfig) { c.URL = "localhost:80" }, "EMBEDDINGS_URL: want http://"},
		{"user in URL", nil, func(c *remote.EmbedderConfig) { c.URL = "https://u:" + key + "@example.org" }, "EMBEDDINGS_URL: it names a user"},
		{"key in the clear", nil, func(c *remote.EmbedderConfig) { c.URL = "http://example.org" }, "https"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			cfg := remote.EmbedderConfig{URL: serveEmbeddings(t, c.before).URL + "/v1", Key: key, Model: "static", Retries: -1}
			if c.change != nil {
				c.change(&cfg)
			}
			_, err := remote.OpenEmbedder(t.Context(), cfg)
			if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), key) {
				t.Errorf("error %v, want %q and no key", err, c.want)
			}
		})
	}
}

func TestOpenWithoutTheEndpoint(t *testing.T) {
	t.Parallel()
	s := serveEmbeddings(t, refuses(0, http.StatusServiceUnavailable))
	e := openEmbedder(t, s, func(c *remote.EmbedderConfig) { c.Dimensions, c.Retries = 256, -1 })
	if e.Unverified() == nil || e.Model().Dimensions != 256 {
		t.Errorf("unverified %v, model %+v", e.Unverified(), e.Model())
	}
	wantTyped(t, e, "answered 503")
	s.before = nil
	if _, err := e.Embed(t.Context(), []string{"kiln"}); err != nil {
		t.Error(err)
	}
	short := openEmbedder(t, serveEmbeddings(t, refuses(0, http.StatusServiceUnavailable)), func(c *remote.EmbedderConfig) { c.Dimensions, c.Retries = 8, -1 })
	other := serveEmbeddings(t, nil)
	late := openEmbedder(t, other, nil)
	if short.Model().String() == late.Model().String() {
		t.Error("another length is the same model")
	}
	s.Close()
	wantTyped(t, e, "cannot be reached")
}

func TestCancelledOnTheWay(t *testing.T) {
	t.Parallel()
	arrived := make(chan struct{})
	s := serveEmbeddings(t, nil)
	e := openEmbedder(t, s, nil)
	s.before = func(_ http.ResponseWriter, r *http.Request, _ []string) bool {
		close(arrived)
		<-r.Context().Done()
		return true
	}
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-arrived; cancel() }()
	_, err := e.Embed(ctx, []string{"kiln"})
	var typed *schemas.Error
	if !errors.Is(err, context.Canceled) || errors.As(err, &typed) {
		t.Errorf("error %v, want context.Canceled", err)
	}
	if st := e.Stats(); st.Failures != 0 || st.Breaker != "closed" {
		t.Errorf("a cancelled call counts against the endpoint: %+v", st)
	}
}

func TestSlowEndpointMeetsTheDeadline(t *testing.T) {
	t.Parallel()
	s := serveEmbeddings(t, nil)
	e := openEmbedder(t, s, func(c *remote.EmbedderConfig) { c.Deadline, c.Timeout = 2*time.Second, time.Second })
	s.before = func(_ http.ResponseWriter, r *http.Request, _ []string) bool { <-r.Context().Done(); return true }
	begun := time.Now()
	wantTyped(t, e, "")
	if took := time.Since(begun); took > 5*time.Second {
		t.Errorf("it took %s", took)
	}
}

func TestRateLimit(t *testing.T) {
	t.Parallel()
	e := openEmbedder(t, serveEmbeddings(t, nil), func(c *remote.EmbedderConfig) { c.RequestsPerSecond, c.BatchTexts = 20, 1 })
	texts := make([]string, 25) // 20 at once, the others one in 50 ms
	for i := range texts {
		texts[i] = fmt.Sprint("note ", i)
	}
	begun := time.Now()
	if _, err := e.Embed(t.Context(), texts); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(begun); took < 180*time.Millisecond {
		t.Errorf("25 requests at 20 a second took %s", took)
	}
}

func FuzzAnswer(f *testing.F) {
	for _, seed := range []string{`{"data":[{"index":0,"embedding":[1,2]}]}`, `{"data":[{"embedding":[1e999]}]}`, `{"data":[{"index":-1}]}`, `[]`,
		`{"error":{"code":"x"}}`, `{"data":[{"index":0,"embedding":[3e38,3e38]}]}`, ``} {
		f.Add(seed, 200)
		f.Add(seed, 500)
	}
	var body atomic.Value
	var status atomic.Int64
	s := serveEmbeddings(f, func(w http.ResponseWriter, _ *http.Request, _ []string) bool {
		if body.Load() == nil {
			return false
		}
		w.WriteHeader(int(status.Load()))
		fmt.Fprint(w, body.Load())
		return true
	})
	e := openEmbedder(f, s, func(c *remote.EmbedderConfig) { c.Retries, c.Failures = -1, 1<<30 })
	f.Fuzz(func(t *testing.T, answer string, code int) {
		if code < 200 || code > 599 || code == 204 || code == 304 {
			return
		}
		status.Store(int64(code))
		body.Store(answer)
		got, err := e.Embed(t.Context(), []string{"the secret text"})
		if err != nil {
			checkTyped(t, err, "")
		} else if len(got) != 1 || len(got[0]) != 256 {
			t.Errorf("%d vectors", len(got))
		}
	})
}
