package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"satchel/pipeline/embed/static"
)

// status is the answer to GET /status: what the parts of a running process say.
type status struct {
	Ready     string          `json:"ready"`            // "yes", or why not
	Denied    []string        `json:"denied,omitempty"` // what its NATS user may not do
	Embedding embeddingStatus `json:"embedding"`
	Crew      *crewStatus     `json:"crew,omitempty"` // with several workers
}

// crewStatus is a worker's share of the work.
type crewStatus struct {
	Worker     string   `json:"worker"`
	Workers    []string `json:"workers"`
	Partitions []int    `json:"partitions"` // that this worker owns
}

func (n *node) crewStatus() *crewStatus {
	if n.crew == nil {
		return nil
	}
	s := &crewStatus{Worker: n.crew.ID(), Workers: n.crew.Members(), Partitions: []int{}}
	owned, _ := n.crew.Owned()
	for partition, mine := range owned {
		if mine {
			s.Partitions = append(s.Partitions, partition)
		}
	}
	return s
}

func (n *node) status() status {
	s := status{Ready: "yes", Denied: n.denials.List(), Embedding: n.embedder.status(), Crew: n.crewStatus()}
	if r := n.reembed.Load(); r != nil {
		s.Embedding.Reembedding = r.state()
	}
	if err := n.ready(); err != nil {
		s.Ready = err.Error()
	}
	return s
}

func (n *node) handleStatus(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	if err := json.NewEncoder(w).Encode(n.status()); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
	}
}

// readStatus asks the process that listens on HTTPAddr.
func (a *app) readStatus(ctx context.Context) (status, error) {
	var s status
	if a.HTTPAddr == "" {
		return s, fmt.Errorf("no HTTP address is set")
	}
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+a.HTTPAddr+"/status", nil)
	if err != nil {
		return s, err
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return s, err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return s, fmt.Errorf("GET /status answered %d", res.StatusCode)
	}
	return s, json.NewDecoder(res.Body).Decode(&s)
}

// checkEmbedding says what embeds and how well its cache does.
func (a *app) checkEmbedding(ctx context.Context) finding {
	f := finding{Check: "embeddings", OK: true}
	if s, err := a.readStatus(ctx); err == nil && s.Embedding.Model != "" {
		f.Detail = fmt.Sprintf("%s, %d dimensions", s.Embedding.Model, s.Embedding.Dimensions)
		if c := s.Embedding.Cache; c != nil {
			f.Detail += fmt.Sprintf("; cache holds %d, %.0f %% of %d texts were in it", c.Entries, 100*c.HitRate, c.Hits+c.Misses)
		}
		if e := s.Embedding.Endpoint; e != nil {
			f.OK = e.Breaker == "closed"
			f.Detail += fmt.Sprintf("; endpoint: %d requests, %d failed calls, breaker %s", e.Requests, e.Failures, e.Breaker)
		}
		if r := s.Embedding.Reembedding; r != nil {
			f.Detail += fmt.Sprintf("; %s is to serve, %d of %d log entries are embedded anew", r.To, r.Done, r.Total)
		}
		return f
	}
	if a.EmbedURL == "" {
		f.Detail = "the table in the binary"
		return f
	}
	words, err := static.New()
	if err != nil {
		return finding{Check: f.Check, Detail: err.Error()}
	}
	m, err := a.openMaker(ctx, words, nil, a.logger(io.Discard))
	if err != nil {
		return finding{Check: f.Check, Detail: err.Error()}
	}
	if err := errors.Join(m.remote.Unverified(), m.close()); err != nil {
		return finding{Check: f.Check, Detail: err.Error()}
	}
	f.Detail = fmt.Sprintf("%s answers with %d dimensions", mask(a.EmbedURL), m.Model().Dimensions)
	return f
}
