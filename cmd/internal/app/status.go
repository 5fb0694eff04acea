package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"satchel/cmd/internal/config"
	"satchel/pipeline/meter/alert"
)

// status is the answer to GET /status: what the parts of a running process say.
type status struct {
	Ready      string                  `json:"ready"`            // "yes", or why not
	Denied     []string                `json:"denied,omitempty"` // what its NATS user may not do
	Embedding  embeddingStatus         `json:"embedding"`
	Membership *membershipStatus       `json:"crew,omitempty"`    // with several workers
	Damaged    []damage                `json:"damaged,omitempty"` // indexes that were found damaged since the start
	Unanalysed int64                   `json:"unanalysed"`        // items hidden whole since the start, for they could not be analysed within their bounds
	Tenants    tenantStatus            `json:"tenants"`
	Limited    []atLimit               `json:"limited,omitempty"` // principals that are at a limit
	SLO        map[string]alert.Status `json:"slo"`               // objectives and how they stand
}

// membershipStatus is a worker's share of the work.
type membershipStatus struct {
	Worker     string   `json:"worker"`
	Workers    []string `json:"workers"`
	Partitions []int    `json:"partitions"` // that this worker owns
}

func (n *Node) membershipStatus() *membershipStatus {
	if n.membership == nil {
		return nil
	}
	s := &membershipStatus{Worker: n.membership.ID(), Workers: n.membership.Members(), Partitions: []int{}}
	owned, _ := n.membership.Owned()
	for partition, mine := range owned {
		if mine {
			s.Partitions = append(s.Partitions, partition)
		}
	}
	return s
}

func (n *Node) status() status {
	s := status{Ready: "yes", Denied: n.denials.List(), Embedding: n.Embedder.status(), Membership: n.membershipStatus()}
	if r := n.reembed.Load(); r != nil {
		s.Embedding.Reembedding = r.state()
	}
	if err := n.ready(); err != nil {
		s.Ready = err.Error()
	}
	s.Damaged, s.Tenants.InMemory = n.damages.all(), n.Worker.Projector.InMemory()
	s.Limited = n.atLimits()
	s.Unanalysed = n.Worker.Projector.Unanalysed()
	n.look()
	s.SLO = n.monitor.Objectives()
	return s
}

// tenantStatus is how many tenants a process has.
type tenantStatus struct {
	InMemory int `json:"in_memory"` // whose indexes may be
}

// CheckIndexes says which indexes were damaged since the process began.
func (a *App) CheckIndexes(ctx context.Context) Finding {
	f := Finding{Check: "indexes", OK: true, Detail: "none was found damaged since the start"}
	s, err := a.ReadStatus(ctx)
	if err != nil {
		f.Idle = true
		f.Detail = "damage is found, and made good, by the process that runs"
		return f
	}
	if len(s.Damaged) > 0 {
		said := make([]string, len(s.Damaged))
		for i := range s.Damaged {
			said[i] = s.Damaged[i].String()
			f.OK = f.OK && s.Damaged[i].Mended
		}
		f.Detail = strings.Join(said, "; ")
	}
	if s.Unanalysed > 0 {
		f.Detail += fmt.Sprintf("; items that could not be analysed within their bounds since the start and are hidden whole: %d", s.Unanalysed)
	}
	return f
}

func (n *Node) handleStatus(w http.ResponseWriter, _ *http.Request) { writeJSON(w, n.status()) }

// handleAlerts answers with the alerts and their states.
func (n *Node) handleAlerts(w http.ResponseWriter, _ *http.Request) {
	n.look()
	writeJSON(w, n.monitor.Alerts())
}

func writeJSON(w http.ResponseWriter, what any) {
	w.Header().Set("Content-Type", "application/json")
	if err := json.NewEncoder(w).Encode(what); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
	}
}

// ReadStatus asks the process that listens on HTTPAddress.
func (a *App) ReadStatus(ctx context.Context) (status, error) {
	var s status
	usual := a.HTTPAddr == HTTPAddr && !a.HTTPGiven
	if usual && a.NATSURL == "" && !a.HasServer() {
		return s, errors.New("no process has the data folder open") // one at the usual address has another
	}
	address := a.HTTPAddress()
	if address == "" {
		return s, errors.New("there is no HTTP address")
	}
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address+"/status", nil)
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

// CheckEmbedding says what embeds and how well its cache does.
func (a *App) CheckEmbedding(ctx context.Context) Finding {
	f := Finding{Check: "embeddings", OK: true}
	if s, err := a.ReadStatus(ctx); err == nil && s.Embedding.Model != "" {
		f.Detail = fmt.Sprintf("%s, %d dimensions", s.Embedding.Model, s.Embedding.Dimensions)
		if c := s.Embedding.Cache; c != nil {
			f.Detail += fmt.Sprintf("; cache holds %d, %.0f %% of %d texts were in it", c.Entries, 100*c.HitRate, c.Hits+c.Misses)
		}
		if e := s.Embedding.Endpoint; e != nil {
			f.OK = e.Breaker == "closed"
			f.Detail += fmt.Sprintf("; endpoint: %d requests, %d failed calls, breaker %s", e.Requests, e.Failures, e.Breaker)
		}
		if r := s.Embedding.Encoder; r != nil {
			f.Detail += "; " + r.String()
		}
		if r := s.Embedding.Reembedding; r != nil {
			f.Detail += fmt.Sprintf("; %s is to serve, %d of %d log entries are embedded anew", r.To, r.Done, r.Total)
		}
		return f
	}
	if a.EmbedURL == "" {
		name := a.embedModel()
		if name == "" {
			f.Detail = "the table in the binary"
			return f
		}
		made, err := a.encoderInBinary(name)
		if err != nil {
			return Finding{Check: f.Check, Detail: err.Error()}
		}
		f.Detail = "the table, and " + made.Model().Name + " in the binary"
		return f
	}
	words, err := OpenWords()
	if err != nil {
		return Finding{Check: f.Check, Detail: err.Error()}
	}
	m, err := a.openMaker(ctx, words, nil, a.Logger(io.Discard))
	if err != nil {
		return Finding{Check: f.Check, Detail: err.Error()}
	}
	if err := errors.Join(m.remote.Unverified(), m.close()); err != nil {
		return Finding{Check: f.Check, Detail: err.Error()}
	}
	f.Detail = fmt.Sprintf("%s answers with %d dimensions", config.Mask(a.EmbedURL), m.Model().Dimensions)
	return f
}
