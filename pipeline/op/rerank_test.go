package op_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"satchel/pipeline/model/remote"
	"satchel/pipeline/op"
	"satchel/schemas"
)

// judge is a reranking endpoint that likes texts that hold a word.
func judge(t *testing.T, likes string, broken *atomic.Bool, saw func(text string)) *remote.Reranker {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var body struct {
			Documents []string `json:"documents"`
		}
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
			t.Errorf("request: %v", err)
		}
		type place struct {
			Index int     `json:"index"`
			Score float64 `json:"relevance_score"`
		}
		out := make([]place, len(body.Documents))
		for i, text := range body.Documents {
			saw(text)
			out[i] = place{i, .1 + float64(i)/1000}
			if strings.Contains(text, likes) {
				out[i].Score = .99
			}
		}
		if broken.Load() {
			out = out[1:]
		}
		if err := json.NewEncoder(w).Encode(map[string]any{"results": out}); err != nil {
			t.Errorf("answer: %v", err)
		}
	}))
	t.Cleanup(s.Close)
	c, err := remote.NewReranker(remote.RerankerConfig{URL: s.URL, Model: "judge-1", Timeout: 10 * time.Second})
	must(t, err)
	return c
}

// A reranker decides the order of what policy left, sees nothing else, and is done
// without when it gives half an answer.
func TestRerank(t *testing.T) {
	t.Parallel()
	var broken atomic.Bool
	var leaked, asked atomic.Int32
	w := openWorld(t, func(c *op.Config) {
		c.Reranked = 20
		c.Reranker = judge(t, "gate 203 ", &broken, func(text string) {
			asked.Add(1)
			if strings.Contains(text, "SECRET") {
				leaked.Add(1)
			}
		})
	})
	list := notes(30)
	list[3].SecurityLabel = []string{"level:restricted"}
	list[3].Content = schemas.TextContent("The SECRET lantern hangs here.")
	list[4].Content = schemas.TextContent("The lantern SECRET hangs too.") // expired: the full policy denies it, the filter does not
	list[4].TTL, list[4].CreatedAt = 60, day.AddDate(0, 0, -9)
	w.put(t, "acme", list...)
	s := as(t, "acme", schemas.Public)
	run := func() *schemas.ResultPayload {
		t.Helper()
		res, err := w.engine.Context(context.Background(), s, explained(func(p *schemas.RequestPayload) { p.Limit = 5 }))
		must(t, err)
		return &res.Payload
	}
	broken.Store(true)
	plain := run()
	if all := strings.Join(plain.Explainability.Warnings, "\n"); !strings.Contains(all, "rerank: ") || len(plain.Results) != 5 {
		t.Errorf("half an answer: %d results, warnings %q", len(plain.Results), all)
	}
	broken.Store(false)
	p := run()
	best := p.Results[0]
	for _, r := range p.Results {
		if *r.Score > *best.Score {
			best = r
		}
	}
	if best.ID != "n29" || *best.Score != .99 || best.Metadata.Signals["relevance"] != .99 {
		t.Errorf("the best is %s with %v", best.ID, *best.Score)
	}
	for _, section := range p.Pack.Sections {
		for _, item := range section.Items {
			if item.Evidence.Reranker != "z-fusion/default+judge-1" || item.Evidence.Channels["rerank"].Rank == 0 {
				t.Errorf("evidence of %s: %+v", item.ID, item.Evidence)
			}
		}
	}
	if leaked.Load() > 0 || asked.Load() != 40 {
		t.Errorf("%d texts were sent, %d that policy denies", asked.Load(), leaked.Load())
	}
}
