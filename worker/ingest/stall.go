package ingest

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"satchel/schemas"
)

const (
	lookEvery  = time.Second     // between two looks at the partitions
	stillAfter = 7 * time.Second // how long a partition may take no step while an event waits
)

// pace is whether a partition gets on.
type pace struct {
	steps atomic.Uint64             // events prepared and batches committed
	still atomic.Pointer[time.Time] // since when no step was taken while an event waits; nil: it gets on

	seen  uint64    // steps at the last look
	moved time.Time // of the last look at which it got on, or nothing waited
}

// countStep notes that the partition gets on.
func (p *pace) countStep() { p.steps.Add(1) }

// notePace takes a look: whether an event waits, and reports whether one may.
func (p *pace) notePace(now time.Time, waits func() (bool, error)) bool {
	steps := p.steps.Load()
	if steps == p.seen && !p.moved.IsZero() {
		waiting, err := waits()
		if err != nil { // then NATS is away, which is said elsewhere
			return true
		}
		if waiting {
			if since := p.moved; now.Sub(since) >= stillAfter {
				p.still.Store(&since)
			}
			return true
		}
	}
	busy := steps != p.seen
	p.seen = steps
	p.moved = now
	p.still.Store(nil)
	return busy
}

// watchPartitions looks again and again for partitions that stand still, until ctx is done.
func (p *Appender) watchPartitions(ctx context.Context) {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	idle := uint64(0) // the last message of the stream when nothing waited; 0: something may
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		state, err := p.partitions[0].inbox.State(ctx, 0)
		if err != nil || state.LastSeq == idle && idle > 0 {
			continue
		}
		idle = state.LastSeq
		if p.notePaces(ctx, time.Now()) {
			idle = 0
		}
	}
}

// notePaces notes the pace of every partition that this process reads, and reports whether events may
// wait in one.
func (p *Appender) notePaces(ctx context.Context, now time.Time) (waiting bool) {
	for _, a := range p.partitions {
		at := a.committed.Load()
		if at == nil || !a.resumed.Load() { // or it is another worker's
			a.pace.moved = time.Time{}
			a.pace.still.Store(nil)
			waiting = true
			continue
		}
		if a.pace.notePace(now, func() (bool, error) { return a.inbox.Waits(ctx, at.seq) }) {
			waiting = true
		}
	}
	return waiting
}

// Still returns the names of the partitions that stand still.
func (p *Appender) Still() []string {
	var names []string
	for _, a := range p.partitions {
		if a.pace.still.Load() != nil {
			names = append(names, a.inbox.Name())
		}
	}
	return names
}

// Stands names a partition that stands still: events wait in it, and nothing of it is logged. It
// returns nil when there is none.
func (p *Appender) Stands() error {
	for _, a := range p.partitions {
		if since := a.pace.still.Load(); since != nil {
			return fmt.Errorf("partition %q stands still: events wait, and none was logged for %s", a.inbox.Name(), time.Since(*since).Round(time.Second))
		}
	}
	return nil
}

// checkStanding is Stands of one partition, for those who wait for its events.
func (a *partitionAppender) checkStanding() error {
	if a.pace.still.Load() == nil {
		return nil
	}
	return &schemas.Error{Code: schemas.CodeStorage, Message: fmt.Sprintf("not logged yet: partition %s stands still, see /readyz or satchel doctor; what was accepted is logged, or erased, when it gets on", a.inbox.Name())}
}
