package fault

import (
	"math/rand/v2"
	"net/url"
	"os"
	"testing"
	"time"

	"satchel/test/testenv"
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
	t.Parallel()
	n, r := newNode(t), newRecord()
	var wires []*testenv.Wire
	through := func(server string) string {
		to, w := behind(t, server)
		wires = append(wires, w)
		return to
	}
	n.database = through(testenv.StartPostgres(t).URL)
	n.servers.vector = testenv.StartQdrant(t)
	n.servers.vectorURL = through(n.servers.vector.URL)
	if testenv.Required("neo4j") {
		n.servers.graph = testenv.StartNeo4j(t)
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
