package ingest

import (
	"context"
	"errors"
	"testing"
	"time"

	"satchel/worker/transport"
)

// quiet is an inbox in which something waits, or nothing does.
type quiet struct {
	transport.Inbox
	waits bool
	err   error
}

func (q *quiet) Name() string { return "p07" }

func (q *quiet) Waits(context.Context, uint64) (bool, error) { return q.waits, q.err }

func TestAPartitionThatStandsStill(t *testing.T) {
	t.Parallel()
	inbox, now := &quiet{}, time.Now()
	a := &partitionAppender{inbox: inbox}
	p := &Appender{partitions: []*partitionAppender{a}}
	passes := func(d time.Duration) bool { now = now.Add(d); return p.notePaces(t.Context(), now) }
	if !passes(time.Hour) {
		t.Error("nothing may wait in a partition that is not read yet")
	}
	a.committed.Store(&place{"e", 5})
	a.resumed.Store(true)
	a.pace.countStep()
	passes(time.Hour)
	if passes(time.Hour) || p.Stands() != nil {
		t.Errorf("nothing waits, and it stands still: %v", p.Stands())
	}
	inbox.waits = true
	for range 6 {
		if !passes(time.Second) || p.Stands() != nil {
			t.Errorf("after less than 7 s: %v", p.Stands())
		}
	}
	a.pace.countStep()
	for range 6 {
		passes(time.Second)
	}
	if p.Stands() != nil {
		t.Errorf("it got on: %v", p.Stands())
	}
	passes(time.Second)
	passes(time.Second)
	if p.Stands() == nil || a.checkStanding() == nil {
		t.Error("it stood still for 7 s, and nobody says so")
	}
	inbox.err = errors.New("NATS is away")
	passes(time.Second)
	if p.Stands() == nil {
		t.Error("it got on while nobody could look")
	}
	inbox.err = nil
	a.pace.countStep()
	passes(time.Second)
	if p.Stands() != nil || a.checkStanding() != nil {
		t.Errorf("it gets on: %v", p.Stands())
	}
}
