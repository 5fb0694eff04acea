package fault

import (
	"math/rand/v2"
	"testing"
	"time"
)

// pauses returns what waits a random time, from least up to spread more: a fault comes at
// any moment of the work. It ends at once when the process ends by itself.
func pauses(n *node, random *rand.Rand, least, spread time.Duration) func() {
	return func() {
		timer := time.NewTimer(least + time.Duration(random.Int64N(int64(spread))))
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-n.exit():
		}
	}
}

// strike makes faults by turns while load goes on, for crashTime and until each has come,
// with a pause before each. A process that a fault killed is started again; that one ends
// by itself is a failure. Then it stops the load and checks what the record says, which
// has to be acked acknowledgements at least.
func strike(t *testing.T, n *node, r *record, stop, pause func(), acked int, faults ...func()) {
	t.Helper()
	done := 0
	for end := time.Now().Add(crashTime(t)); r.goesOn(end, acked, 1) || done < len(faults); done++ {
		pause()
		faults[done%len(faults)]()
		if n.ended() {
			stop()
			t.Fatalf("satchel up ended by itself:\n%s", n.said(t))
		}
		if !n.up() && !n.start(t) {
			stop()
			t.Fatal("satchel up did not start again")
		}
	}
	stop()
	r.finish(t, n)
	t.Logf("%d faults, %d events tried, %d acknowledged, %d answers, %d erasures, %d rejected", done, len(r.tried), len(r.acked), len(r.results), len(r.forgot), len(r.rejected))
	r.checkEnough(t, acked, 1)
}
