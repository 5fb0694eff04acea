package jetstream

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// asked is a request of a tenant, known by its reply subject.
func asked(tenant, name string) job { return job{request: Call{Tenant: tenant}, reply: name} }

// taken is a request of a tenant that a worker has.
func taken(tenant string) job { return job{request: Call{Tenant: tenant}, places: 1} }

// putOne puts a request that can take the place of one other at most.
func putOne(q *queue, j job) (lost job, full bool) {
	for _, lost := range q.enqueueJob(j) {
		return lost, true
	}
	return job{}, false
}

func mustPut(t *testing.T, q *queue, tenant, name string) {
	t.Helper()
	if lost, full := putOne(q, asked(tenant, name)); full {
		t.Fatalf("%s of %s: no place for %s", name, tenant, lost.reply)
	}
}

func mustTake(t *testing.T, q *queue) job {
	t.Helper()
	j, ok := q.takeRequest()
	if !ok {
		t.Fatal("the queue has ended")
	}
	return j
}

func TestQueueTakesTurns(t *testing.T) {
	t.Parallel()
	q := newQueue(20)
	for _, name := range []string{"a1", "a2", "a3", "a4", "b1", "b2", "c1"} {
		mustPut(t, q, name[:1], name)
	}
	var got []string
	for range 7 { // one worker
		j := mustTake(t, q)
		got = append(got, j.reply)
		q.releaseWorker(j)
	}
	if diff := cmp.Diff([]string{"a1", "b1", "c1", "a2", "b2", "a3", "a4"}, got); diff != "" {
		t.Error(diff)
	}
	if len(q.lines) != 0 || q.free != 20 {
		t.Errorf("%d tenants and %d places are left", len(q.lines), q.free)
	}
}

func TestQueueLosesTheNewestOfTheLongestLine(t *testing.T) {
	t.Parallel()
	q := newQueue(5)
	for i := range 5 { // a tenant alone has all places
		mustPut(t, q, "a", fmt.Sprint("a", i))
	}
	for _, c := range []struct{ tenant, name, lost string }{
		{"a", "a5", "a5"}, {"b", "b0", "a4"}, {"b", "b1", "a3"}, {"b", "b2", "b2"}, {"a", "a6", "a6"}, {"c", "c0", "a2"}, {"c", "c1", "c1"},
	} {
		if lost, full := putOne(q, asked(c.tenant, c.name)); !full || lost.reply != c.lost {
			t.Errorf("%s: lost %q, %v, want %s", c.name, lost.reply, full, c.lost)
		}
	}
	var got []string
	for range 5 {
		got = append(got, mustTake(t, q).reply)
	}
	if diff := cmp.Diff([]string{"a0", "b0", "c0", "a1", "b1"}, got); diff != "" {
		t.Error(diff)
	}
	if lost, full := putOne(q, asked("d", "d0")); !full || lost.reply != "d0" {
		t.Errorf("a place that a worker has was given away: lost %q, %v", lost.reply, full)
	}
}

// TestQueueOfLargeRequests: a large request takes the places of several small ones, and gives
// all of them back.
func TestQueueOfLargeRequests(t *testing.T) {
	t.Parallel()
	q := newQueue(6)
	q.unit = 10
	for i := range 6 {
		mustPut(t, q, "a", fmt.Sprint("a", i))
	}
	large := asked("b", "b0")
	large.request.Data = make([]byte, 21) // three places
	var lost []string
	for _, j := range q.enqueueJob(large) {
		lost = append(lost, j.reply)
	}
	if diff := cmp.Diff([]string{"a5", "a4", "a3"}, lost); diff != "" {
		t.Error(diff)
	}
	if lost := q.enqueueJob(large); len(lost) != 1 || lost[0].reply != "b0" {
		t.Errorf("lost %v, want the second large one", lost)
	}
	for range 3 {
		q.releaseWorker(mustTake(t, q))
	}
	large.request.Data = make([]byte, 60) // six, of which one tenant's small one takes the place
	q.releaseWorker(mustTake(t, q))
	if lost := q.enqueueJob(large); len(lost) != 0 {
		t.Errorf("lost %v of an empty queue", lost)
	}
	if lost := q.enqueueJob(asked("c", "c0")); len(lost) != 1 || lost[0].reply != "b0" {
		t.Errorf("lost %v, want the large one", lost)
	}
	q.releaseWorker(mustTake(t, q))
	if len(q.lines) != 0 || q.free != 6 {
		t.Errorf("%d tenants and %d places are left", len(q.lines), q.free)
	}
}

// TestQueueSharesWorkers: a tenant whose requests take long holds half of the workers
// beside another whose requests take no time, not all but one.
func TestQueueSharesWorkers(t *testing.T) {
	t.Parallel()
	const workers = 8
	q := newQueue(workers + 100)
	for range 50 {
		mustPut(t, q, "slow", "")
		mustPut(t, q, "quick", "")
	}
	var slow, quick int // held
	for range workers {
		if mustTake(t, q).request.Tenant == "slow" {
			slow++
		} else {
			quick++
		}
	}
	for range 40 {
		q.releaseWorker(taken("quick"))
		if mustTake(t, q).request.Tenant == "slow" {
			slow, quick = slow+1, quick-1
		}
		if slow != workers/2 {
			t.Fatalf("slow holds %d workers, quick %d", slow, quick)
		}
	}
}

// TestQueueHolds does anything in any order and looks at what a simple account says.
func TestQueueHolds(t *testing.T) {
	t.Parallel()
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 0))
		workers := 1 + r.IntN(4)
		places := workers + 1 + r.IntN(8)
		q, waiting, held := newQueue(places), map[string][]string{}, map[string]int{}
		for step := range 400 {
			inLine, running := 0, 0
			for _, names := range waiting {
				inLine += len(names)
			}
			for _, n := range held {
				running += n
			}
			switch what := r.IntN(5); {
			case what < 3:
				tenant, name := string(rune('a'+min(r.IntN(5), r.IntN(5)))), fmt.Sprint(step)
				waiting[tenant] = append(waiting[tenant], name)
				longest := 0
				for _, names := range waiting {
					longest = max(longest, len(names))
				}
				lost, full := putOne(q, asked(tenant, name))
				if full != (inLine+running == places) {
					t.Fatalf("seed %d step %d: full %v with %d waiting and %d running of %d", seed, step, full, inLine, running, places)
				}
				if !full {
					break
				}
				line := waiting[lost.request.Tenant]
				if len(line) < longest || line[len(line)-1] != lost.reply || len(waiting[tenant]) == longest && lost.reply != name {
					t.Fatalf("seed %d step %d: lost %s of %s: %v", seed, step, lost.reply, lost.request.Tenant, waiting)
				}
				waiting[lost.request.Tenant] = line[:len(line)-1]
			case what == 3 && inLine > 0 && running < workers:
				j := mustTake(t, q)
				tenant := j.request.Tenant
				if waiting[tenant][0] != j.reply {
					t.Fatalf("seed %d step %d: %s before %v of %s", seed, step, j.reply, waiting[tenant], tenant)
				}
				for other, names := range waiting {
					if len(names) > 0 && held[other] < held[tenant] {
						t.Fatalf("seed %d step %d: %s holds %d, %s %d and waits", seed, step, tenant, held[tenant], other, held[other])
					}
				}
				waiting[tenant] = waiting[tenant][1:]
				held[tenant]++
			case what == 4:
				if tenant := string(rune('a' + r.IntN(5))); held[tenant] > 0 {
					held[tenant]--
					q.releaseWorker(taken(tenant))
				}
			}
		}
	}
}

// TestQueueEndsEmpty: what was taken in by the time of the close is taken out, in each
// tenant's order, and then the workers end.
func TestQueueEndsEmpty(t *testing.T) {
	t.Parallel()
	const workers, each = 8, 500
	q := newQueue(workers + 16)
	var mu sync.Mutex
	lost, taken := map[string]bool{}, map[string]bool{}
	var running, callers sync.WaitGroup
	for range workers {
		running.Go(func() {
			for j, ok := q.takeRequest(); ok; j, ok = q.takeRequest() {
				mu.Lock()
				if taken[j.reply] {
					t.Errorf("%s is taken twice", j.reply)
				}
				taken[j.reply] = true
				mu.Unlock()
				q.releaseWorker(j)
			}
		})
	}
	tenants := []string{"a", "b", "c", "d"}
	for _, tenant := range tenants {
		callers.Go(func() {
			for i := range each {
				if j, full := putOne(q, asked(tenant, fmt.Sprint(tenant, i))); full {
					mu.Lock()
					lost[j.reply] = true
					mu.Unlock()
				}
			}
		})
	}
	callers.Wait()
	q.closeQueue()
	running.Wait()
	for _, tenant := range tenants {
		for i := range each {
			if name := fmt.Sprint(tenant, i); lost[name] == taken[name] {
				t.Errorf("%s: lost %v, taken %v", name, lost[name], taken[name])
			}
		}
	}
	if len(q.lines) != 0 || len(q.turns) != 0 || q.free != workers+16 {
		t.Errorf("left: %d tenants, %d turns, %d places free", len(q.lines), len(q.turns), q.free)
	}
}

func BenchmarkQueue(b *testing.B) {
	for _, c := range []struct{ tenants, waiting int }{{1, 0}, {1, 255}, {2, 127}, {256, 1}} {
		b.Run(fmt.Sprintf("tenants=%d/waiting=%d", c.tenants, c.waiting), func(b *testing.B) {
			q := newQueue(c.tenants*c.waiting + 1)
			requests := make([]job, c.tenants)
			for i := range requests {
				requests[i] = asked(fmt.Sprint("tenant", i), "")
				for range c.waiting {
					q.enqueueJob(requests[i])
				}
			}
			b.ReportAllocs()
			i := 0
			for b.Loop() {
				q.enqueueJob(requests[i])
				j, _ := q.takeRequest()
				q.releaseWorker(j)
				i = (i + 1) % len(requests)
			}
		})
	}
}

// BenchmarkQueueFull is a flood that is refused: of a tenant alone, and beside 255 others.
func BenchmarkQueueFull(b *testing.B) {
	for _, tenants := range []int{1, 256} {
		b.Run(fmt.Sprintf("tenants=%d", tenants), func(b *testing.B) {
			q := newQueue(256)
			for i := range 256 {
				putOne(q, asked(fmt.Sprint("tenant", i%tenants), ""))
			}
			j := asked("tenant0", "")
			for b.Loop() {
				q.enqueueJob(j)
			}
		})
	}
}
