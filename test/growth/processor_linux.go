package growth

import (
	"time"

	"golang.org/x/sys/unix"
)

// processor is the processor time of this thread, which others on the machine do not change.
func processor() time.Duration {
	var at unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &at); err != nil {
		panic(err)
	}
	return time.Duration(at.Nano())
}
