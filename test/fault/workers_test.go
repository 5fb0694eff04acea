package fault

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"satchel/jetstream"
	"satchel/test/parts"
	"satchel/test/testenv/natstest"
	"satchel/test/testenv/postgrestest"
)

// fleet is several satchel workers over one NATS cluster and one Postgres.
type fleet struct {
	nats     *natstest.Cluster
	database string
	people   string
	front    *node // where clients find NATS; never down
	workers  []*node
}

// newFleet starts the servers and n workers that share a signing key.
func newFleet(t *testing.T, n int, cfg natstest.Config) *fleet {
	t.Helper()
	f := &fleet{nats: natstest.Start(t, cfg), database: postgrestest.Start(t).URL}
	f.people = filepath.Join(t.TempDir(), "principals.yaml")
	must(t, os.WriteFile(f.people, []byte(registry(tenantsOf(32), 33)), 0o600))
	f.front = &node{changed: make(chan struct{}), url: f.nats.URL()}
	for range n {
		f.hire(t)
	}
	return f
}

// hire starts one more worker, in a folder of its own with the first one's keys.
func (f *fleet) hire(t *testing.T) *node {
	t.Helper()
	w := newNode(t)
	w.database, w.nats, w.people = f.database, f.nats.URL(), f.people
	if len(f.workers) > 0 {
		must(t, os.MkdirAll(w.dir, 0o700))
		must(t, os.CopyFS(filepath.Join(w.dir, "keys"), os.DirFS(filepath.Join(f.workers[0].dir, "keys"))))
	}
	if !w.start(t) {
		t.Fatalf("a worker did not start:\n%s", w.said(t))
	}
	f.workers = append(f.workers, w)
	return w
}

// registry lets the first producers do everything in every tenant.
func registry(tenants []string, producers int) string {
	var b strings.Builder
	b.WriteString("tenants:\n")
	for _, tenant := range tenants {
		fmt.Fprintf(&b, "  %s:\n    principals:\n", tenant)
		for i := range producers {
			fmt.Fprintf(&b, "      - {id: p%d, level: restricted, roles: [eraser]}\n", i)
		}
	}
	return b.String()
}

// tenantsOf names n tenants.
func tenantsOf(n int) []string {
	list := make([]string, n)
	for i := range list {
		list[i] = fmt.Sprintf("tenant-%02d", i)
	}
	return list
}

// load runs a producer a tenant until stop is called.
func (f *fleet) load(r *record, seed uint64, tenants []string) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var wait sync.WaitGroup
	kinds := everyKind()
	for i, tenant := range tenants {
		p := r.producer(f.front, seed)
		p.tenant = tenant
		wait.Go(func() {
			turn := i
			p.run(ctx, func(ctx context.Context) {
				kinds[turn%len(kinds)](p, ctx)
				turn++
			})
		})
	}
	return func() {
		cancel()
		wait.Wait()
	}
}

// finish lets everything settle, stops the workers as SIGTERM does, and checks.
func (f *fleet) finish(t *testing.T, r *record, tenants []string) {
	t.Helper()
	for _, w := range f.workers {
		if !w.up() && !w.start(t) {
			t.Fatalf("a worker did not start again:\n%s", w.said(t))
		}
	}
	ledger, letters := r.settle(t, f.front, tenants)
	for _, w := range f.workers {
		w.stop()
	}
	r.check(t, f.workers[0], ledger, letters)
}

// TestKillWorkers kills one of the workers every second, under load. What was acknowledged
// is there, once, in its publisher's order. With SATCHEL_CRASH_TIME there are 32 tenants,
// two workers and then four; without, it is a short look.
func TestKillWorkers(t *testing.T) {
	longKill(t)
	t.Parallel()
	sizes, many, last := []int{2}, 6, 3*time.Second
	if os.Getenv("SATCHEL_CRASH_TIME") != "" {
		sizes, many, last = []int{2, 4}, 32, crashTime(t)
	}
	table := "workers  seconds  kills  events tried  acknowledged  answers  erasures  lost  twice\n"
	for _, n := range sizes {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			seed := crashSeed(t)
			random := rand.New(rand.NewPCG(seed, 96))
			f, r, tenants := newFleet(t, n, natstest.Config{}), newRecord(), tenantsOf(many)
			stop := f.load(r, seed, tenants)
			began := time.Now()
			kills := f.killEvery(t, time.Second, random, func() bool { return r.goesOn(began.Add(last), 100, 1) })
			took := time.Since(began)
			stop()
			f.finish(t, r, tenants)
			table += fmt.Sprintf("%7d  %7.0f  %5d  %12d  %12d  %7d  %8d  %4d  %5d\n", n, took.Seconds(), kills, len(r.tried), len(r.acked), len(r.results), len(r.forgot), r.lost, r.twice)
			r.checkEnough(t, 100, 1)
		})
	}
	t.Logf("%d tenants, one of the workers killed every second\n%s", many, table)
}

// killEvery kills one of the workers that run at every tick and starts it again at once,
// while goesOn. It returns how many it killed; a tick that finds none up kills none.
func (f *fleet) killEvery(t *testing.T, every time.Duration, random *rand.Rand, goesOn func() bool) (kills int) {
	t.Helper()
	var starts sync.WaitGroup
	var failed atomic.Int32
	tick := time.NewTicker(every)
	defer tick.Stop()
	for goesOn() {
		<-tick.C
		up := slices.DeleteFunc(slices.Clone(f.workers), func(w *node) bool { return !w.up() })
		if len(up) == 0 {
			continue
		}
		w := up[random.IntN(len(up))]
		w.kill()
		kills++
		starts.Go(func() {
			if !w.start(t) {
				failed.Add(1)
			}
		})
	}
	starts.Wait()
	if n := failed.Load(); n > 0 {
		t.Errorf("%d workers did not start again", n)
	}
	return kills
}

// TestWorkersJoinAndLeave: under load a second and a third worker join, and the first is
// told to go. Requests are answered all the while, and nothing is lost.
func TestWorkersJoinAndLeave(t *testing.T) {
	parts.Long(t)
	t.Parallel()
	f, r, tenants := newFleet(t, 1, natstest.Config{}), newRecord(), tenantsOf(4)
	stop := f.load(r, crashSeed(t), tenants)
	pause := func() { <-time.After(400 * time.Millisecond) }
	pause()
	f.hire(t)
	pause()
	f.hire(t)
	pause()
	f.workers[0].stop()
	pause()
	stop()
	f.finish(t, r, tenants)
	t.Logf("%d events acknowledged, %d answers, %d erasures", len(r.acked), len(r.results), len(r.forgot))
}

// TestKillNATS stops the leader of MEMORY, then any server, then all of them, and starts
// them again, under load, while two workers go on. Nothing is lost or comes twice, and
// nobody has to be started again. Without SATCHEL_CRASH_TIME the leader goes once.
func TestKillNATS(t *testing.T) {
	longKill(t)
	t.Parallel()
	f, r, tenants := newFleet(t, 2, natstest.Config{}), newRecord(), tenantsOf(2)
	seed := crashSeed(t)
	random := rand.New(rand.NewPCG(seed, 95))
	stop := f.load(r, seed, tenants)
	pause := func() { <-time.After(300*time.Millisecond + time.Duration(random.IntN(400))*time.Millisecond) }
	faults := []func(){
		func() {
			leader := f.nats.StreamLeader("", jetstream.MemoryStream)
			f.nats.Stop(leader)
			pause()
			f.nats.Start(leader)
		},
		func() {
			one := random.IntN(3)
			f.nats.Stop(one)
			pause()
			f.nats.Start(one)
		},
		func() { // no majority, then nobody
			for i := range 3 {
				f.nats.Stop(i)
				pause()
			}
			for i := range 3 {
				f.nats.Start(i)
			}
			f.nats.AwaitLeader()
		},
	}
	done := 0
	end, least := time.Now(), 1
	if os.Getenv("SATCHEL_CRASH_TIME") != "" {
		end, least = end.Add(crashTime(t)), len(faults)
	}
	for ; done < least || r.goesOn(end, 20, 0); done++ {
		pause()
		faults[done%len(faults)]()
	}
	pause()
	stop()
	for _, w := range f.workers {
		if w.ended() {
			t.Errorf("a worker ended because NATS went away:\n%s", w.said(t))
		}
	}
	f.finish(t, r, tenants)
	t.Logf("%d faults, %d events tried, %d acknowledged, %d answers, %d erasures", done, len(r.tried), len(r.acked), len(r.results), len(r.forgot))
	r.checkEnough(t, 20, 0)
}
