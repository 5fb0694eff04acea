package fault

import (
	"context"
	"math/rand/v2"
	"os"
	"strconv"
	"sync"
	"testing"
	"time"
)

// crashTime is how long TestKill goes on.
func crashTime(t *testing.T) time.Duration {
	t.Helper()
	if text := os.Getenv("SATCHEL_CRASH_TIME"); text != "" {
		d, err := time.ParseDuration(text)
		must(t, err)
		return d
	}
	return 6 * time.Second
}

func crashSeed(t *testing.T) uint64 {
	t.Helper()
	seed := uint64(time.Now().UnixNano())
	if text := os.Getenv("SATCHEL_CRASH_SEED"); text != "" {
		var err error
		seed, err = strconv.ParseUint(text, 10, 64)
		must(t, err)
	}
	t.Logf("SATCHEL_CRASH_SEED=%d", seed)
	return seed
}

// load runs producers of every kind until the returned function is called.
func load(t *testing.T, n *node, r *record, seed uint64) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	var wait sync.WaitGroup
	kinds := []func(*producer, context.Context){
		(*producer).one, (*producer).one, (*producer).batch, (*producer).put, (*producer).ask, (*producer).forget,
	}
	for i, kind := range append(kinds, (*producer).one, (*producer).batch) {
		p := newProducer(t, n, r, seed, i, []string{"acme", "globex"}[i%2])
		wait.Go(func() { p.run(ctx, func(ctx context.Context) { kind(p, ctx) }) })
	}
	return func() {
		cancel()
		wait.Wait()
	}
}

// TestKill kills the process at random, again and again, under load.
func TestKill(t *testing.T) {
	seed := crashSeed(t)
	random := rand.New(rand.NewPCG(seed, 99))
	n, r := newNode(t), newRecord()
	end := time.After(crashTime(t))
	stop := load(t, n, r, seed)
	kills := 0
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
		kills++
	}
	stop()
	r.finish(t, n)
	t.Logf("%d kills, %d events tried, %d acknowledged, %d answers, %d erasures, %d rejected", kills, len(r.tried), len(r.acked), len(r.results), len(r.forgot), len(r.rejected))
	if len(r.acked) < 20 || len(r.results) == 0 {
		t.Error("next to nothing was done: the run shows nothing")
	}
}

// finish starts the node once more, lets it settle, stops it and checks everything.
func (r *record) finish(t *testing.T, n *node) {
	t.Helper()
	if !n.start(t) {
		t.Fatal("satchel up did not start again")
	}
	ledger, letters := r.settle(t, n, []string{"acme", "globex"})
	n.stop()
	out, code := n.run(t, "verify")
	if code != 0 {
		t.Errorf("satchel verify: exit code %d\n%s", code, out)
	}
	r.check(t, n.dir, ledger, letters)
}
