package fault

import (
	"math/rand/v2"
	"testing"
	"time"

	"satchel/test/testenv"
)

// TestKillWithQdrant keeps the vectors in a Qdrant, or its stand-in, and by turns and under
// load kills it in the middle of what it writes, stops it, lets it stand still, sets it back
// to an older copy, and kills the process. What was acknowledged is there, once, and the
// vectors are what a rebuild makes of the log.
func TestKillWithQdrant(t *testing.T) {
	t.Parallel()
	v := testenv.StartQdrant(t)
	seed := crashSeed(t)
	random := rand.New(rand.NewPCG(seed, 95))
	n, r := newNode(t), newRecord()
	n.servers.vector = v
	if !n.start(t) {
		t.Fatal("satchel up did not start")
	}
	stop := load(n, r, seed, paced((*producer).one), paced((*producer).batch), paced((*producer).put), paced((*producer).ask), paced((*producer).forget))
	pause := func() { time.Sleep(200*time.Millisecond + time.Duration(random.IntN(400))*time.Millisecond) }
	v.Stop()
	restore := v.Backup()
	v.Start()
	faults := []func(){
		func() { v.Kill(); pause(); v.Start() },
		func() { n.kill() },
		func() { v.Pause(); pause(); v.Resume() },
		func() { v.Stop(); restore(); v.Start() },
		func() { v.Kill(); n.kill(); v.Start() },
		func() { v.Stop(); pause(); restore = v.Backup(); v.Start() },
	}
	done := 0
	for end := time.Now().Add(crashTime(t)); time.Now().Before(end) || done < len(faults); done++ {
		pause()
		faults[done%len(faults)]()
		if !n.up() && !n.start(t) {
			stop()
			t.Fatal("satchel up did not start again")
		}
	}
	stop()
	r.finish(t, n)
	t.Logf("%d faults, %d events tried, %d acknowledged, %d answers, %d erasures, %d rejected", done, len(r.tried), len(r.acked), len(r.results), len(r.forgot), len(r.rejected))
	if len(r.acked) < 20 || len(r.results) == 0 {
		t.Error("next to nothing was done: the run shows nothing")
	}
}
