package fault

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"satchel/pipeline/store/graph"
	"satchel/pipeline/store/neo4j"
	"satchel/pipeline/store/qdrant"
	"satchel/pipeline/store/vector"
	"satchel/schemas"
	"satchel/test/parts"
	"satchel/test/testenv/neo4jtest"
	"satchel/test/testenv/qdranttest"
)

// servers keep a node's graph and vectors; nil for what is in the folder.
type servers struct {
	graph  *neo4jtest.Server
	vector *qdranttest.Server // a Qdrant process where there is one, else the stand-in

	vectorURL string // where the node finds the vectors; "" is where they are
}

func (s servers) environment() []string {
	env := []string{"SATCHEL_RETRIEVAL_MS=400", "NEO4J_URL=", "QDRANT_URL="} // not those of who runs the tests
	if s.graph != nil {
		env = append(env, "NEO4J_URL="+s.graph.URL, "NEO4J_USER="+s.graph.User, "NEO4J_PASSWORD="+s.graph.Password)
	}
	if s.vector != nil {
		env = append(env, "QDRANT_URL="+cmp.Or(s.vectorURL, s.vector.URL))
	}
	return env
}

// open replaces the indexes that are on servers.
func (s servers) open(t *testing.T, x *indexes) {
	t.Helper()
	if s.graph != nil {
		db, err := neo4j.Open(t.Context(), neo4j.Config{URL: s.graph.URL, User: s.graph.User, Password: s.graph.Password})
		must(t, err)
		t.Cleanup(func() { must(t, db.Close(context.Background())) })
		x.graph = graph.New(db)
	}
	if s.vector != nil {
		model := x.embedder.Model()
		index, err := qdrant.Open(t.Context(), qdrant.Config{URL: s.vector.URL, Model: model.String(), Dimensions: model.Dimensions})
		must(t, err)
		t.Cleanup(func() { must(t, index.Close()) })
		x.vector = vector.New(index)
	}
}

// withServers starts a Neo4j and a Qdrant, or its stand-in, of the test's own. Neo4j is
// started and killed again and again, so this runs where it is required.
func withServers(t *testing.T) (servers, *node) {
	t.Helper()
	if !parts.Required("neo4j") {
		t.Skip("runs where neo4j is required: it starts the server several times")
	}
	s := servers{graph: neo4jtest.Start(t), vector: qdranttest.Start(t)}
	n := newNode(t)
	n.servers = s
	if !n.start(t) {
		t.Fatal("satchel up did not start")
	}
	return s, n
}

// TestKillWithServers kills, by turns and under load, the process, the Neo4j that keeps
// its graph, and the Qdrant that keeps its vectors; they stand still, answer errors (the
// stand-in alone can be told to), and come back. What was acknowledged is there, once, and graph and
// vectors are what a rebuild makes of the log.
func TestKillWithServers(t *testing.T) {
	t.Parallel()
	s, n := withServers(t)
	seed, r := crashSeed(t), newRecord()
	random := rand.New(rand.NewPCG(seed, 98))
	stop := load(n, r, seed, paced((*producer).one), paced((*producer).one), paced((*producer).put), paced((*producer).put), paced((*producer).ask),
		paced((*producer).ask), paced((*producer).forget), paced((*producer).forget))
	pause := pauses(n, random, 200*time.Millisecond, 500*time.Millisecond)
	var calls atomic.Uint32
	strike(t, n, r, stop, pause, 20,
		func() { n.kill() },
		func() { s.graph.Kill(); pause(); s.graph.Start() },
		func() { s.vector.Kill(); pause(); s.vector.Start() },
		func() { s.graph.Pause(); pause(); s.graph.Resume() },
		func() { s.vector.Pause(); pause(); s.vector.Resume() },
		func() {
			if s.vector.StandIn == nil {
				return
			}
			s.vector.StandIn.Set(qdranttest.Faults{Before: func(string, string) error {
				if calls.Add(1)*2654435761>>16&1 == 0 {
					return status.Error(codes.Unavailable, "a fault")
				}
				return nil
			}})
			pause()
			s.vector.StandIn.Set(qdranttest.Faults{})
		},
		func() { s.graph.Stop(); n.kill(); s.graph.Start() })
}

// paced leaves time between steps: a Neo4j takes seconds to start, and what would pile up
// meanwhile would have to drain at the end.
func paced(step kind) kind {
	return func(p *producer, ctx context.Context) {
		step(p, ctx)
		select {
		case <-ctx.Done():
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// TestServersAway: while graph and vectors are away, events are taken and requests are
// answered from the rest and say so; /readyz names what lags, and it drains without a
// restart. A server that was set back to an older copy is filled up from the log.
func TestServersAway(t *testing.T) {
	t.Parallel()
	s, n := withServers(t)
	r := newRecord()
	one := r.producer(n, 1)
	one.tenant = "acme"
	for range 5 {
		one.one(t.Context())
	}
	one.put(t.Context())
	r.indexed(t, one)
	s.graph.Stop()
	restoreGraph := s.graph.Backup()
	s.vector.Stop()
	restoreVectors := s.vector.Backup()
	before := len(r.acked)
	for range 20 {
		one.one(t.Context())
	}
	if len(r.acked) != before+20 {
		t.Errorf("%d events were taken while the servers were away, want 20", len(r.acked)-before)
	}
	answers := len(r.results)
	one.ask(t.Context())
	if len(r.results) == answers {
		t.Fatal("a request was not answered")
	}
	p := r.results[answers].result.Payload
	said := strings.Join(p.Explainability.Warnings, "\n")
	if !strings.Contains(said, "vector: it ") || !strings.Contains(said, "graph: it ") || !strings.Contains(p.Text, "lake house") {
		t.Errorf("warnings %q of an answer\n%s", said, p.Text)
	}
	poll(t, 2*time.Minute, "/readyz names what lags", func() bool {
		code, says := n.ready()
		return code == 503 && strings.Contains(says, "project tenant acme")
	})
	s.graph.Start()
	s.vector.Start()
	poll(t, 60*time.Second, "the backlog drains", func() bool { code, _ := n.ready(); return code == 200 })
	r.indexed(t, one)

	s.graph.Stop()
	restoreGraph()
	s.graph.Start()
	s.vector.Stop()
	restoreVectors()
	s.vector.Start()
	for range 5 {
		one.one(t.Context())
	}
	r.finish(t, n)
}

// indexed waits until all that is logged is indexed.
func (r *record) indexed(t *testing.T, p *producer) {
	t.Helper()
	p.put(t.Context())
	req, err := json.Marshal(schemas.ReceiptRequest{Source: p.source(), ID: fmt.Sprintf("%s-%06d", p.name, p.n), Level: schemas.ReceiptIndexed, Timeout: 50_000})
	must(t, err)
	var receipt schemas.Receipt
	poll(t, 60*time.Second, "an event is indexed", func() bool {
		return p.request(t.Context(), "log.v1."+p.tenant+".receipt", json.RawMessage(req), &receipt) == nil && receipt.Level == schemas.ReceiptIndexed
	})
}
