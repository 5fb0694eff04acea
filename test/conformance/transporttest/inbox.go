package transporttest

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/go-cmp/cmp"

	"satchel/worker/transport"
)

// inboxOrder: events come in order, whole, each once, with rising sequences and one epoch.
func inboxOrder(s *suite) {
	tenant := s.tenants[0]
	seqs := s.publish(tenant, 0, 120)
	all := s.fetch(s.inbox(tenant), tenant, 0, 120)
	hashes := map[[32]byte]bool{}
	for i, m := range all {
		if m.Seq != seqs[i] || m.Epoch == "" || m.Epoch != all[0].Epoch {
			s.Fatalf("message %d has sequence %d of epoch %q, want %d of %q", i, m.Seq, m.Epoch, seqs[i], all[0].Epoch)
		}
		if want := memory(m.Event.ID()); !cmp.Equal(want.Data(), m.Event.Data()) || m.Event.Subject() != want.Subject() || !m.Event.Time().Equal(want.Time()) ||
			m.Event.Extensions()["traceparent"] != want.Extensions()["traceparent"] {
			s.Fatalf("message %d is not as it was published: %v", i, m.Event)
		}
		hashes[m.Hash] = true
	}
	if len(hashes) != len(all) {
		s.Errorf("%d hashes of %d messages", len(hashes), len(all))
	}
}

// inboxSeeks: the next message is the one that was asked for, back and forth, also behind
// what was acknowledged, with the hashes of the first time.
func inboxSeeks(s *suite) {
	tenant, i, all := s.filled(40)
	s.must(i.Ack(s.ctx(), all[19].Seq))
	for _, from := range []int{0, 33, 20, 19} {
		s.must(i.Seek(s.ctx(), all[from].Seq))
		again := s.fetch(i, tenant, from, 40-from)
		if again[0].Hash != all[from].Hash || again[0].Seq != all[from].Seq {
			s.Errorf("after a seek to %d comes another message", from)
		}
	}
	s.must(i.Seek(s.ctx(), all[39].Seq+1))
	s.publish(tenant, 40, 41)
	s.fetch(i, tenant, 40, 1)
}

// inboxResumes: a new owner that does not seek starts behind what was acknowledged.
func inboxResumes(s *suite) {
	tenant := s.tenants[0]
	s.publish(tenant, 0, 30)
	i, end := s.Inbox(s.T, s.Partition(tenant))
	all := s.fetch(i, tenant, 0, 30)
	s.must(i.Ack(s.ctx(), all[11].Seq))
	s.must(i.Ack(s.ctx(), all[20].Seq))
	end()
	s.fetch(s.inbox(tenant), tenant, 21, 9)
}

// inboxState: the guard of a checkpoint finds the message, its hash and the stream's end.
func inboxState(s *suite) {
	_, i, all := s.filled(12)
	for _, m := range all {
		state, err := i.State(s.ctx(), m.Seq)
		s.must(err)
		if !state.Found || state.Epoch != m.Epoch || state.Hash != m.Hash || state.LastSeq < all[11].Seq {
			s.Errorf("state at %d: %+v", m.Seq, state)
		}
	}
	state, err := i.State(s.ctx(), all[11].Seq+1_000_000)
	if err != nil || state.Found || state.Hash != [32]byte{} || state.Epoch != all[0].Epoch {
		s.Errorf("state behind the end: %+v, %v", state, err)
	}
}

// inboxPurge: what is purged is gone, what comes after it stays.
func inboxPurge(s *suite) {
	tenant, i, all := s.filled(20)
	s.must(i.Purge(s.ctx(), all[13].Seq))
	for n, found := range map[int]bool{0: false, 13: false, 14: true, 19: true} {
		if state, err := i.State(s.ctx(), all[n].Seq); err != nil || state.Found != found {
			s.Errorf("message %d is there: %t, %v; want %t", n, state.Found, err, found)
		}
	}
	s.gone(i, 1, "e-14")
	s.must(i.Seek(s.ctx(), 1))
	s.fetch(i, tenant, 14, 6)
}

// inboxErase: what is erased is gone, once and twice, and its neighbours stay.
func inboxErase(s *suite) {
	_, i, all := s.filled(5)
	for range 2 {
		s.must(i.Erase(s.ctx(), all[2].Seq))
	}
	for n, found := range []bool{true, true, false, true, true} {
		if state, err := i.State(s.ctx(), all[n].Seq); err != nil || state.Found != found {
			s.Errorf("message %d is there: %t, %v; want %t", n, state.Found, err, found)
		}
	}
}

// gone waits until the message at seq and those behind it up to the one with id next come no
// more: in a cluster the copy that an inbox reads may remove them after the one that answered.
func (s *suite) gone(i transport.Inbox, seq uint64, next string) {
	s.Helper()
	for ctx := s.ctx(); ; {
		s.must(i.Seek(ctx, seq))
		batch, err := i.Fetch(ctx, 1)
		s.must(err)
		if batch[0].Event.ID() == next {
			return
		}
	}
}

// inboxChangesHands: who rests leaves the partition to another owner, and reads again
// after a seek.
func inboxChangesHands(s *suite) {
	tenant, one, all := s.filled(10)
	s.must(one.Ack(s.ctx(), all[4].Seq))
	one.Rest()
	two := s.inbox(tenant)
	s.must(two.Seek(s.ctx(), all[5].Seq))
	s.fetch(two, tenant, 5, 5)
	s.publish(tenant, 10, 15)
	last := s.fetch(two, tenant, 10, 5)
	s.must(two.Ack(s.ctx(), last[4].Seq))
	two.Rest()
	s.publish(tenant, 15, 18)
	s.must(one.Seek(s.ctx(), last[2].Seq))
	s.fetch(one, tenant, 12, 6)
}

// inboxWaits: a fetch waits for a message, and ends with the cause of its context.
func inboxWaits(s *suite) {
	tenant := s.tenants[0]
	i := s.inbox(tenant)
	ctx, cancel := context.WithCancelCause(s.ctx())
	stop := errors.New("stop")
	type result struct {
		batch []transport.Message
		err   error
	}
	got := make(chan result)
	fetch := func() {
		batch, err := i.Fetch(ctx, 5)
		got <- result{batch, err}
	}
	go fetch()
	s.publish(tenant, 0, 1)
	if r := <-got; r.err != nil || len(r.batch) != 1 || r.batch[0].Event.ID() != fmt.Sprint("e-", 0) {
		s.Fatalf("it waited for %d messages, %v", len(r.batch), r.err)
	}
	go fetch()
	cancel(stop)
	if r := <-got; !errors.Is(r.err, stop) {
		s.Errorf("it ended with %v, want the cause", r.err)
	}
}
