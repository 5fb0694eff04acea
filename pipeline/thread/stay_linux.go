package thread

import (
	"runtime"
	"sync"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Stay keeps the calling goroutine on its thread, and that on its processor, until release is
// called by the same goroutine. It is for a call that waits for the disk: the kernel has a
// thread go on where the disk's interrupt came in, and when that is always the same processor,
// threads gather there, each behind another for up to a tick, while the other idles.
func Stay() (release func()) {
	runtime.LockOSThread()
	var before, here unix.CPUSet
	n, ok := processor()
	if !ok || unix.SchedGetaffinity(0, &before) != nil || before.Count() < 2 {
		return runtime.UnlockOSThread
	}
	here.Set(n)
	if everywhere() {
		before.Fill()
	}
	if unix.SchedSetaffinity(0, &here) != nil {
		return runtime.UnlockOSThread
	}
	return func() {
		if unix.SchedSetaffinity(0, &before) == nil {
			runtime.UnlockOSThread()
		} // else the thread ends with its goroutine, rather than stay for ever
	}
}

// everywhere reports whether the process may run on every processor that it is given. A set that
// says so again leaves it those that it is given later.
var everywhere = sync.OnceValue(func() bool {
	var before, all, now unix.CPUSet
	if unix.SchedGetaffinity(0, &before) != nil {
		return false
	}
	all.Fill()
	if unix.SchedSetaffinity(0, &all) != nil || unix.SchedGetaffinity(0, &now) != nil || now != before {
		_ = unix.SchedSetaffinity(0, &before)
		return false
	}
	return true
})

// processor is the number of the one that the caller runs on.
func processor() (n int, ok bool) {
	var cpu uint32
	_, _, err := unix.RawSyscall(unix.SYS_GETCPU, uintptr(unsafe.Pointer(&cpu)), 0, 0)
	return int(cpu), err == 0
}
