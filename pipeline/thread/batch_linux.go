package thread

import (
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// Batch puts all threads of the process that are in the normal scheduling class into the batch
// class, and with them those that they will start: one that wakes up waits for its turn instead
// of interrupting one that runs. Threads of any other class are left there.
func Batch() {
	done := map[int]bool{}
	for again := true; again; { // until no thread that is not in it could have started another
		again = false
		threads, err := os.ReadDir("/proc/self/task")
		if err != nil {
			return
		}
		for _, t := range threads {
			id, err := strconv.Atoi(t.Name())
			if err != nil || done[id] {
				continue
			}
			done[id], again = true, true
			attr, err := unix.SchedGetAttr(id, 0)
			if err != nil || attr.Policy != unix.SCHED_NORMAL {
				continue
			}
			attr.Policy = unix.SCHED_BATCH
			_ = unix.SchedSetAttr(id, attr, 0) // it has ended, or stays as it is
		}
	}
}
