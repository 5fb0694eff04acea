package fault

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"satchel/test/parts"
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

// kind is what a producer does again and again.
type kind func(*producer, context.Context)

func everyKind() []kind {
	return []kind{(*producer).one, (*producer).one, (*producer).batch, (*producer).put, (*producer).ask, (*producer).forget, (*producer).one, (*producer).batch}
}

// load runs a producer of each kind, of two tenants by turns, until stop is called.
func load(n *node, r *record, seed uint64, kinds ...kind) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var wait sync.WaitGroup
	for _, kind := range kinds {
		p := r.producer(n, seed)
		wait.Go(func() { p.run(ctx, func(ctx context.Context) { kind(p, ctx) }) })
	}
	return func() {
		cancel()
		wait.Wait()
	}
}

// TestKill kills the process at random, again and again, under load.
func TestKill(t *testing.T) {
	t.Parallel()
	seed := crashSeed(t)
	random := rand.New(rand.NewPCG(seed, 99))
	n, r := newNode(t), newRecord()
	stop := load(n, r, seed, everyKind()...)
	kills := 0
	for end := time.Now().Add(crashTime(t)); r.goesOn(end, 20, 1); kills++ {
		if !n.start(t) {
			stop()
			t.Fatal("satchel up did not start again")
		}
		<-time.After(50*time.Millisecond + time.Duration(random.IntN(450))*time.Millisecond)
		n.kill()
	}
	stop()
	r.finish(t, n)
	t.Logf("%d kills, %d events tried, %d acknowledged, %d answers, %d erasures, %d rejected", kills, len(r.tried), len(r.acked), len(r.results), len(r.forgot), len(r.rejected))
	r.checkEnough(t, 20, 1)
}

// points are the failpoints, and whether an erasure has to be under way to reach them.
func points() map[string]bool {
	return map[string]bool{
		"append.before_commit": false, "append.before_reject": false, "append.after_commit": false, "append.after_ack": false,
		"project.before_apply": false, "project.store_applied": false, "project.after_apply": false,
		"relay.before_publish": false, "relay.after_publish": false, "context.before_commit": false, "context.after_commit": false,
		"erase.before_commit": true, "erase.after_commit": true, "erase.after_streams": true, "erase.before_list": true, "erase.before_receipt": true, "erase.after_receipt": true,
	}
}

// TestKillAtPoints kills the process at every point where a crash is worth trying,
// before and after each commit and acknowledgement. With SATCHEL_CRASH_TIME it goes
// through all of them again and again.
func TestKillAtPoints(t *testing.T) {
	t.Parallel()
	seed := crashSeed(t)
	random := rand.New(rand.NewPCG(seed, 98))
	n, r := newNode(t), newRecord()
	var end time.Time
	if os.Getenv("SATCHEL_CRASH_TIME") != "" {
		end = time.Now().Add(crashTime(t))
	}
	all := points()
	kills := 0
	for first := true; first || time.Now().Before(end); first = false {
		for _, point := range slices.Sorted(maps.Keys(all)) {
			times := 1
			if !first && !all[point] { // erasures are finished together: their points come seldom
				times += random.IntN(5)
			}
			kinds := everyKind()
			if all[point] {
				kinds = []kind{(*producer).forget}
			}
			if !n.start(t, fmt.Sprintf("SATCHEL_FAILPOINT=%s:%d", point, times)) {
				kills++ // what was left from the last time came to the point before the node was up
				continue
			}
			stop := load(n, r, seed, kinds...)
			if !n.awaitExit(time.Minute) {
				t.Errorf("%s was not passed %d times in a minute", point, times)
				n.kill()
			}
			stop()
			kills++
		}
	}
	r.finish(t, n)
	t.Logf("%d kills, %d events tried, %d acknowledged, %d answers, %d erasures, %d rejected", kills, len(r.tried), len(r.acked), len(r.results), len(r.forgot), len(r.rejected))
}

// finish starts the node once more, lets it settle, stops it and checks everything.
func (r *record) finish(t *testing.T, n *node) {
	t.Helper()
	n.kill()
	if !n.start(t) {
		t.Fatal("satchel up did not start again")
	}
	ledger, letters := r.settle(t, n, []string{"acme", "globex"})
	n.stop()
	out, code := n.run(t, "verify")
	if code != 0 {
		t.Errorf("satchel verify: exit code %d\n%s", code, out)
	}
	r.check(t, n, ledger, letters)
}

// longKill skips the test unless long tests are required, or the time that they take is given.
func longKill(t *testing.T) {
	t.Helper()
	if os.Getenv("SATCHEL_CRASH_TIME") == "" {
		parts.Long(t)
	}
}
