package fault

import (
	"math/rand/v2"
	"testing"
	"time"

	"satchel/test/parts"
	"satchel/test/testenv/neo4jtest"
)

// TestKillNeo4jTransactions has a Neo4j that is there answer errors, under load: it ends the
// transactions under way, and it takes no writes. What was acknowledged is there, once, and the graph is what a rebuild makes of the log.
func TestKillNeo4jTransactions(t *testing.T) {
	t.Parallel()
	if !parts.Required("neo4j") {
		t.Skip("runs where neo4j is required: it starts the server several times")
	}
	n, r := newNode(t), newRecord()
	g := neo4jtest.Start(t)
	n.servers.graph = g
	if !n.start(t) {
		t.Fatal("satchel up did not start")
	}
	seed := crashSeed(t)
	random := rand.New(rand.NewPCG(seed, 92))
	stop := load(n, r, seed, paced((*producer).one), paced((*producer).batch), paced((*producer).put), paced((*producer).ask), paced((*producer).forget))
	pause := pauses(n, random, 500*time.Millisecond, 500*time.Millisecond)
	ended := 0
	strike(t, n, r, stop, pause, 20,
		func() {
			end := time.Now().Add(2 * time.Second)
			for now := time.Now(); now.Before(end) || ended == 0 && now.Before(end.Add(time.Minute)); now = time.Now() {
				ended += g.EndTransactions()
			}
		},
		func() {
			g.Stop()
			g.Configure("server.databases.read_only=neo4j")
			g.Start()
			pause()
			g.Stop()
			g.Configure()
			g.Start()
		})
	if t.Logf("%d transactions were ended", ended); ended == 0 {
		t.Error("no transaction was ended: the run shows nothing")
	}
}
