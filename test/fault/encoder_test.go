package fault

import (
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"satchel/pipeline/embed/encoder"
)

// TestKillEncoder kills the process at random while everything is embedded anew by the sentence
// encoder, under load. At the end each vector is the encoder's, and none is of an erased item.
func TestKillEncoder(t *testing.T) {
	t.Parallel()
	seed := crashSeed(t)
	random := rand.New(rand.NewPCG(seed, 97))
	n, r := newNode(t), newRecord()
	stop := load(n, r, seed, everyKind()...)
	if !n.start(t) {
		t.Fatal("satchel up did not start")
	}
	<-time.After(crashTime(t) / 3)
	n.kill()
	n.model = encoder.Name
	end := time.After(crashTime(t) / 2)
	for running := true; running; {
		if !n.start(t) {
			stop()
			t.Fatal("satchel up did not start again")
		}
		select {
		case <-time.After(50*time.Millisecond + time.Duration(random.IntN(450))*time.Millisecond):
		case <-end:
			running = false
		}
		n.kill()
	}
	stop()
	if !n.start(t) {
		t.Fatal("satchel up did not start again")
	}
	if out := n.must(t, "reembed", "--http-addr", n.http); !strings.HasPrefix(out, encoder.Name+"@") {
		t.Errorf("reembed says %s", out)
	}
	n.kill()
	r.finish(t, n)
	t.Logf("%d events acknowledged, %d erasures", len(r.acked), len(r.forgot))
	if len(r.acked) < 20 {
		t.Error("next to nothing was done: the run shows nothing")
	}
}
