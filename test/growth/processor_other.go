//go:build !linux

package growth

import "time"

var start = time.Now()

// processor is the time since the start: elsewhere that of a thread is not to be had.
func processor() time.Duration { return time.Since(start) }
