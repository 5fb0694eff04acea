package fault

import (
	"context"
	"math/rand/v2"
	"net/url"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"satchel/jetstream"
	"satchel/test/parts"
	"satchel/test/testenv"
	"satchel/test/testenv/natstest"
	"satchel/test/testenv/neo4jtest"
	"satchel/test/testenv/postgrestest"
	"satchel/test/testenv/qdranttest"
)

// behind returns the URL of a server as its clients see it through a wire, and the wire.
func behind(t *testing.T, server string) (string, *testenv.Wire) {
	t.Helper()
	u, err := url.Parse(server)
	must(t, err)
	w := testenv.StartWire(t, u.Host)
	u.Host = w.Address
	return u.String(), w
}

// TestKillServersConnections puts a network that is slow, stands still, loses connections
// and cuts them between a node under load and the servers that keep its log and items
// (Postgres), its vectors (Qdrant, or its stand-in) and, where it is required, its graph
// (Neo4j). What was acknowledged is there, once, and every index is what a rebuild makes
// of the log.
func TestKillServersConnections(t *testing.T) {
	longKill(t)
	t.Parallel()
	n, r := newNode(t), newRecord()
	var wires []*testenv.Wire
	through := func(server string) string {
		to, w := behind(t, server)
		wires = append(wires, w)
		return to
	}
	n.database = through(postgrestest.Start(t).URL)
	n.servers.vector = qdranttest.Start(t)
	n.servers.vectorURL = through(n.servers.vector.URL)
	if parts.Required("neo4j") {
		n.servers.graph = neo4jtest.Start(t)
		n.servers.graph.URL = through(n.servers.graph.URL)
	}
	if !n.start(t) {
		t.Fatal("satchel up did not start")
	}
	seed := crashSeed(t)
	random := rand.New(rand.NewPCG(seed, 96))
	stop := load(n, r, seed, paced((*producer).one), paced((*producer).one), paced((*producer).put), paced((*producer).ask), paced((*producer).ask), paced((*producer).forget))
	pause := pauses(n, random, 200*time.Millisecond, 400*time.Millisecond)
	kinds := []func(*testenv.Wire){
		func(w *testenv.Wire) { w.Slow(30 * time.Millisecond); pause(); w.Pass() },
		func(w *testenv.Wire) { w.Hold(); pause(); w.Pass() },
		(*testenv.Wire).Cut,
		func(w *testenv.Wire) { w.Hold(); pause(); w.Cut(); w.Pass() },
	}
	if os.Getenv("SATCHEL_CRASH_TIME") != "" { // a commit to a lost connection is given up after 30 seconds
		kinds = append(kinds, (*testenv.Wire).Lose)
	}
	var faults []func()
	for _, kind := range kinds {
		for _, w := range wires {
			faults = append(faults, func() { kind(w) })
		}
	}
	strike(t, n, r, stop, pause, 10, faults...)
}

// TestKillNATSConnections puts such a network between a worker and the NATS server that its
// events and requests come over; its clients are on the server's side. Nothing is lost or
// comes twice, and the worker need not be started again.
func TestKillNATSConnections(t *testing.T) {
	longKill(t)
	t.Parallel()
	f, r, tenants := &fleet{nats: natstest.Start(t, natstest.Config{Servers: 1}), database: postgrestest.Start(t).URL}, newRecord(), tenantsOf(2)
	f.people = filepath.Join(t.TempDir(), "principals.yaml")
	must(t, os.WriteFile(f.people, []byte(registry(tenants, len(tenants)+1)), 0o600))
	f.front = &node{changed: make(chan struct{}), url: f.nats.URL()}
	n := newNode(t)
	address, w := behind(t, f.nats.URL())
	n.database, n.nats, n.people = f.database, address, f.people
	f.workers = []*node{n}
	if !n.start(t) {
		t.Fatal("a worker did not start")
	}
	seed := crashSeed(t)
	random := rand.New(rand.NewPCG(seed, 94))
	stop := f.load(r, seed, tenants)
	pause := pauses(n, random, 300*time.Millisecond, 500*time.Millisecond)
	faults := []func(){
		func() { w.Slow(30 * time.Millisecond); pause(); w.Pass() },
		func() { w.Hold(); pause(); w.Pass() },
		w.Cut,
		w.Lose,
		func() { w.Hold(); pause(); w.Cut(); w.Pass() },
	}
	done := 0
	for end := time.Now().Add(crashTime(t)); r.goesOn(end, 20, 0) || done < len(faults); done++ {
		pause()
		faults[done%len(faults)]()
	}
	if os.Getenv("SATCHEL_CRASH_TIME") != "" { // nobody cuts this one: both sides notice by themselves, in half a minute
		w.Lose()
		for answered, last := 0, time.Now().Add(2*time.Minute); answered < 8; answered++ { // none goes to the lost connection
			if time.Now().After(last) {
				t.Fatal("requests are still lost after two minutes")
			}
			if !f.answers(t, tenants[0]) {
				answered = -1
			}
		}
	}
	pause()
	stop()
	if !n.up() {
		t.Errorf("the worker ended because NATS went away:\n%s", n.said(t))
	}
	f.finish(t, r, tenants)
	t.Logf("%d faults, %d events tried, %d acknowledged, %d answers, %d erasures", done, len(r.tried), len(r.acked), len(r.results), len(r.forgot))
	r.checkEnough(t, 20, 0)
}

// answers reports whether a request is answered in time.
func (f *fleet) answers(t *testing.T, tenant string) bool {
	t.Helper()
	nc, err := nats.Connect(f.nats.URL())
	must(t, err)
	defer nc.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	_, err = jetstream.Request(ctx, nc, "log.v1."+tenant+".head", []byte("{}"))
	return err == nil
}
