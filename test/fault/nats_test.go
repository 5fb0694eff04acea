package fault

import (
	"math/rand/v2"
	"os"
	"testing"
	"time"

	"satchel/jetstream"
	"satchel/test/testenv/natstest"
)

// TestKillNATSProcess kills a NATS server that is a process of its own with SIGKILL and has
// it stand still, under load; now and then the worker is killed with it. Nothing is lost or
// comes twice, and a worker ends only when it is killed itself. With SATCHEL_CRASH_TIME
// there are three servers and two workers, and a leader stands still until another is
// chosen.
func TestKillNATSProcess(t *testing.T) {
	longKill(t)
	t.Parallel()
	servers, workers := 1, 1
	long := os.Getenv("SATCHEL_CRASH_TIME") != ""
	if long {
		servers, workers = 3, 2
	}
	f, r, tenants := newFleet(t, workers, natstest.Config{Servers: servers, Processes: true}), newRecord(), tenantsOf(2)
	seed := crashSeed(t)
	random := rand.New(rand.NewPCG(seed, 93))
	stop := f.load(r, seed, tenants)
	pause := func() { <-time.After(300*time.Millisecond + time.Duration(random.IntN(500))*time.Millisecond) }
	leader := func() int { return f.nats.StreamLeader("", jetstream.MemoryStream) }
	restart := func(i int) { f.nats.Start(i); f.nats.AwaitLeader() }
	faults := []func(){
		func() { i := leader(); f.nats.Kill(i); pause(); restart(i) },
		func() { i := leader(); f.nats.Pause(i); pause(); f.nats.Resume(i) },
		func() { i := random.IntN(servers); f.nats.Kill(i); f.workers[0].kill(); restart(i) },
		func() { i := leader(); f.nats.Pause(i); pause(); f.nats.Kill(i); restart(i) },
	}
	if long {
		faults = append(faults,
			func() { i := leader(); f.nats.Pause(i); <-time.After(12 * time.Second); f.nats.Resume(i) },
			func() { // a power cut of all
				for i := range servers {
					f.nats.Kill(i)
				}
				for i := range servers {
					f.nats.Start(i)
				}
				f.nats.AwaitLeader()
			})
	}
	done := 0
	for end := time.Now().Add(crashTime(t)); r.goesOn(end, 20, 1) || done < len(faults); done++ {
		pause()
		faults[done%len(faults)]()
		for _, w := range f.workers {
			if w.ended() {
				stop()
				t.Fatalf("a worker ended because NATS went away:\n%s", w.said(t))
			}
			if !w.up() && !w.start(t) {
				stop()
				t.Fatalf("a worker did not start again:\n%s", w.said(t))
			}
		}
	}
	pause()
	stop()
	f.finish(t, r, tenants)
	t.Logf("%d faults, %d events tried, %d acknowledged, %d answers, %d erasures", done, len(r.tried), len(r.acked), len(r.results), len(r.forgot))
	r.checkEnough(t, 20, 1)
}
