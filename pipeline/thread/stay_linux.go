package thread

import (
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Seat is where threads stay. The zero value is ready; it is not safe for concurrent use.
type Seat struct {
	set      unix.CPUSet // that given was asked about last
	anywhere bool        // what it found out
}

// Stay keeps the calling goroutine on its thread, and that on its processor, until release is
// called by the same goroutine. It is for a call that waits for the disk: the kernel has a
// thread go on where the disk's interrupt came in, and when that is always the same processor,
// threads gather there, each behind another for up to a tick, while the other idles.
func (s *Seat) Stay() (release func()) {
	runtime.LockOSThread()
	var before, here unix.CPUSet
	n, ok := processor()
	if !ok || unix.SchedGetaffinity(0, &before) != nil || before.Count() < 2 {
		return runtime.UnlockOSThread
	}
	after := before
	if s.given(before) {
		after.Fill()
	}
	here.Set(n)
	if unix.SchedSetaffinity(0, &here) != nil {
		return runtime.UnlockOSThread
	}
	return func() {
		var now unix.CPUSet
		if unix.SchedGetaffinity(0, &now) != nil || now != here { // somebody else has moved it
			runtime.UnlockOSThread()
		} else if unix.SchedSetaffinity(0, &after) == nil {
			runtime.UnlockOSThread()
		} // else the thread ends with its goroutine, rather than stay for ever
	}
}

// given reports whether the set of the calling thread is of all processors that the process
// is given, and not a choice among them: then it is to have those, too, that it is given later.
// Only trying tells.
func (s *Seat) given(set unix.CPUSet) bool {
	if s.set == set {
		return s.anywhere
	}
	var all, now unix.CPUSet
	all.Fill()
	s.set, s.anywhere = set, unix.SchedSetaffinity(0, &all) == nil && unix.SchedGetaffinity(0, &now) == nil && now == set
	if !s.anywhere {
		_ = unix.SchedSetaffinity(0, &set)
	}
	return s.anywhere
}

// processor is the number of the one that the caller runs on.
func processor() (n int, ok bool) {
	var cpu uint32
	_, _, err := unix.RawSyscall(unix.SYS_GETCPU, uintptr(unsafe.Pointer(&cpu)), 0, 0)
	return int(cpu), err == 0
}
