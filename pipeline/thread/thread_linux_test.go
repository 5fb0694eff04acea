package thread

import (
	"os"
	"runtime"
	"strconv"
	"sync"
	"testing"

	"golang.org/x/sys/unix"
)

// While it stays a thread may run on one processor alone, the one it is on, and afterwards
// where it could before.
func TestStay(t *testing.T) {
	t.Parallel()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	before := allowed(t)
	var s Seat
	for range 100 {
		release := s.Stay()
		held := allowed(t)
		if n, ok := processor(); !ok || held.Count() != 1 || !held.IsSet(n) {
			t.Errorf("on processor %d it may run on %d", n, held.Count())
		}
		if release(); allowed(t) != before {
			t.Fatal("it may not run where it could before")
		}
	}
}

// Where somebody moves the thread meanwhile, there it stays; and what was chosen for it, it gets
// again.
func TestStayLeavesAChoice(t *testing.T) {
	t.Parallel()
	done := make(chan struct{})
	go func() { // the thread ends with it
		defer close(done)
		runtime.LockOSThread()
		all := allowed(t)
		var s Seat
		release := s.Stay()
		if err := unix.SchedSetaffinity(0, &all); err != nil {
			t.Error(err)
		}
		if release(); allowed(t) != all {
			t.Error("it was moved back")
		}
		if all.Count() < 3 {
			return
		}
		some := all
		for n := range len(some) * 64 {
			if some.IsSet(n) {
				some.Clear(n)
				break
			}
		}
		if err := unix.SchedSetaffinity(0, &some); err != nil {
			t.Error(err)
		}
		if s.Stay()(); allowed(t) != some {
			t.Error("it may run where it was not to")
		}
	}()
	<-done
}

func allowed(t *testing.T) (set unix.CPUSet) {
	t.Helper()
	if err := unix.SchedGetaffinity(0, &set); err != nil {
		t.Fatal(err)
	}
	return set
}

// Every thread gets the class, also one that starts later; one of another class keeps it.
func TestBatch(t *testing.T) {
	t.Parallel()
	var ready, done sync.WaitGroup
	end := make(chan struct{})
	hold := func(f func(thread int)) {
		ready.Add(1)
		done.Go(func() {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			f(unix.Gettid())
			ready.Done()
			<-end
			class(t, unix.SCHED_BATCH)
		})
	}
	defer done.Wait()
	defer close(end)
	var idle int
	hold(func(thread int) {
		idle = thread
		class(t, unix.SCHED_IDLE)
	})
	ready.Wait()
	Batch()
	for range 20 {
		hold(func(int) {})
	}
	ready.Wait()
	threads, err := os.ReadDir("/proc/self/task")
	if err != nil {
		t.Fatal(err)
	}
	for _, one := range threads {
		id, err := strconv.Atoi(one.Name())
		if err != nil {
			t.Fatal(err)
		}
		want := uint32(unix.SCHED_BATCH)
		if id == idle {
			want = unix.SCHED_IDLE
		}
		if attr, err := unix.SchedGetAttr(id, 0); err == nil && attr.Policy != want {
			t.Errorf("thread %d of %d has class %d, not %d", id, len(threads), attr.Policy, want)
		}
	}
}

// class gives the calling thread another class.
func class(t *testing.T, policy uint32) {
	t.Helper()
	if err := unix.SchedSetAttr(0, &unix.SchedAttr{Policy: policy}, 0); err != nil {
		t.Error(err)
	}
}

// BenchmarkStay is what a commit pays for it.
func BenchmarkStay(b *testing.B) {
	var s Seat
	for b.Loop() {
		s.Stay()()
	}
}
