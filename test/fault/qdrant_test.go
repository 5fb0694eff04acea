package fault

import (
	"math/rand/v2"
	"testing"
	"time"

	"satchel/test/testenv/qdranttest"
)

// TestKillWithQdrant keeps the vectors in a Qdrant, or its stand-in, and by turns and under
// load kills it in the middle of what it writes, stops it, lets it stand still, sets it back
// to an older copy, and kills the process. What was acknowledged is there, once, and the
// vectors are what a rebuild makes of the log.
func TestKillWithQdrant(t *testing.T) {
	longKill(t)
	t.Parallel()
	v := qdranttest.Start(t)
	seed := crashSeed(t)
	random := rand.New(rand.NewPCG(seed, 95))
	n, r := newNode(t), newRecord()
	n.servers.vector = v
	if !n.start(t) {
		t.Fatal("satchel up did not start")
	}
	stop := load(n, r, seed, paced((*producer).one), paced((*producer).batch), paced((*producer).put), paced((*producer).ask), paced((*producer).forget))
	pause := pauses(n, random, 200*time.Millisecond, 400*time.Millisecond)
	v.Stop()
	restore := v.Backup()
	v.Start()
	strike(t, n, r, stop, pause, 20,
		func() { v.Kill(); pause(); v.Start() },
		func() { n.kill() },
		func() { v.Pause(); pause(); v.Resume() },
		func() { v.Stop(); restore(); v.Start() },
		func() { v.Kill(); n.kill(); v.Start() },
		func() { v.Stop(); pause(); restore = v.Backup(); v.Start() },
	)
}
