package main

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"satchel/pipeline/embed/static"
	"satchel/schemas"
)

// embeddingsServer answers the embeddings API with the table's vectors while it is up.
func embeddingsServer(t *testing.T) (url string, up *atomic.Bool) {
	t.Helper()
	model, err := static.New()
	if err != nil {
		t.Fatal(err)
	}
	up = &atomic.Bool{}
	up.Store(true)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var q struct{ Input []string }
		if !up.Load() || json.NewDecoder(r.Body).Decode(&q) != nil {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		type datum struct {
			Index     int       `json:"index"`
			Embedding []float32 `json:"embedding"`
		}
		var answer struct {
			Data []datum `json:"data"`
		}
		for i, text := range q.Input {
			answer.Data = append(answer.Data, datum{i, model.EmbedInto(nil, text)})
		}
		if err := json.NewEncoder(w).Encode(answer); err != nil && r.Context().Err() == nil {
			t.Error(err)
		}
	}))
	t.Cleanup(server.Close)
	return server.URL, up
}

func TestAnEmbeddingEndpoint(t *testing.T) {
	t.Parallel()
	url, up := embeddingsServer(t)
	n := startNode(t, "--embeddings-url", url, "--embeddings-model", "m1", "--embeddings-dimensions", "256")
	n.must(t, "emit", "--id", "n1", "--text", "the kiln is fired on Mondays")
	ask := func() schemas.ContextResult {
		return mustJSON[schemas.ContextResult](t, n, "ask", "when is the kiln fired?")
	}
	ask()
	if res := ask(); len(res.Payload.Results) != 1 || !strings.HasPrefix(res.Payload.Pack.Embedding, "m1@") {
		t.Errorf("results %d, embedding %q", len(res.Payload.Results), res.Payload.Pack.Embedding)
	}
	contains(t, "doctor", n.must(t, "doctor"), "m1@", "256 dimensions", "cache holds 2, ", " texts were in it", "breaker closed")

	up.Store(false)
	res := mustJSON[schemas.ContextResult](t, n, "ask", "what was never asked before about the kiln?")
	if w := strings.Join(res.Payload.Explainability.Warnings, " "); len(res.Payload.Results) != 1 || !strings.Contains(w, "the query could not be embedded") {
		t.Errorf("without the endpoint: %d results, warnings %q", len(res.Payload.Results), w)
	}
	up.Store(true)

	contains(t, "forget", n.must(t, "forget", "n1"), "embedding cache ", "nothing left")
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"--embeddings-model", "m1", "--embeddings-dimensions", "8"}, `model "m1" gives vectors of 256 numbers, EMBEDDINGS_DIMENSIONS says 8`},
		{nil, "no model is named; set EMBEDDINGS_MODEL"},
	} {
		r := command(t, "", append([]string{"up", "--dir", t.TempDir(), "--nats-port", "0", "--http-addr", "", "--embeddings-url", url}, c.args...)...)
		if r.code != exitUsage || !strings.Contains(r.err, c.want) || strings.Count(strings.TrimSpace(r.err), "\n") > 0 {
			t.Errorf("satchel up %v: exit code %d\n%s", c.args, r.code, r.err)
		}
	}
}
