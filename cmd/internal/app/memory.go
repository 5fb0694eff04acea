package app

import (
	"context"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

// How much the process allocates in a second while it is at rest at most, and how much memory
// has to be there to be given back.
const (
	restBytes = 2 << 20
	heldBytes = 32 << 20
)

// giveBack returns memory to the system while the process is at rest, until ctx is done: garbage
// that is not collected because nothing is allocated any more, and what tenants had that are
// not in memory now. It takes at most a fiftieth of the time.
func giveBack(ctx context.Context) {
	const look, share = time.Second, 50
	tick := time.NewTicker(look)
	defer tick.Stop()
	last, _ := heap()
	var next time.Time
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		allocated, held := heap()
		atRest := allocated-last < restBytes
		last = allocated
		if !atRest || held < heldBytes || time.Now().Before(next) {
			continue
		}
		begun := time.Now()
		debug.FreeOSMemory()
		next = time.Now().Add(share * time.Since(begun))
		last, _ = heap()
	}
}

// heap returns how many bytes were ever allocated, and how many could be given back: what is
// free, and what is not known to be in use.
func heap() (allocated, held uint64) {
	samples := []metrics.Sample{
		{Name: "/gc/heap/allocs:bytes"}, {Name: "/memory/classes/heap/free:bytes"},
		{Name: "/memory/classes/heap/objects:bytes"}, {Name: "/gc/heap/live:bytes"},
	}
	metrics.Read(samples)
	free := samples[1].Value.Uint64()
	objects := samples[2].Value.Uint64()
	live := samples[3].Value.Uint64()
	return samples[0].Value.Uint64(), free + objects - min(objects, live)
}
