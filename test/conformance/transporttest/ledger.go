package transporttest

import (
	"fmt"

	"github.com/google/go-cmp/cmp"

	"satchel/worker/transport"
)

// entries are log entries from to to of a tenant.
func entries(from, to int64) []transport.LedgerMessage {
	var list []transport.LedgerMessage
	for p := from; p <= to; p++ {
		list = append(list, transport.LedgerMessage{Position: p, Kind: "memory", Agent: "a", Request: "req 1", Event: memory(fmt.Sprint("l-", p))})
	}
	return list
}

// ledgerEnds checks that a tenant's ledger is positions 1 to last, each once.
func (s *suite) ledgerEnds(l transport.Ledger, tenant string, last int64) {
	s.Helper()
	if at, err := l.LastPosition(s.ctx(), tenant); err != nil || at != last {
		s.Errorf("the ledger of %q ends at %d, %v; want %d", tenant, at, err, last)
	}
	var want []string
	for p := int64(1); p <= last; p++ {
		want = append(want, fmt.Sprint("l-", p))
	}
	if diff := cmp.Diff(want, s.Published(s.T, tenant)); diff != "" {
		s.Errorf("the ledger of %q (-want +got):\n%s", tenant, diff)
	}
}

// ledgerResumes: batches of any size follow each other, tenants apart, also by a process
// that has not asked for the end.
func ledgerResumes(s *suite) {
	acme, other := s.tenants[0], s.tenants[1]
	l := s.Ledger(s.T)
	if at, err := l.LastPosition(s.ctx(), acme); err != nil || at != 0 {
		s.Fatalf("an empty ledger ends at %d, %v", at, err)
	}
	s.must(l.Publish(s.ctx(), acme, entries(1, 3)))
	s.must(l.Publish(s.ctx(), other, entries(1, 1)))
	s.must(l.Publish(s.ctx(), acme, entries(4, 650)))
	next := s.Ledger(s.T)
	s.must(next.Publish(s.ctx(), acme, entries(651, 655)))
	s.ledgerEnds(next, acme, 655)
	was, err := l.LastSequence(s.ctx())
	s.must(err)
	s.must(next.Publish(s.ctx(), other, entries(2, 2)))
	if now, err := l.LastSequence(s.ctx()); err != nil || now <= was {
		s.Errorf("after a message of another the sequence is %d, %v; it was %d", now, err, was)
	}
	s.ledgerEnds(next, other, 2)
}

// ledgerStale: who does not know of another's messages publishes nothing until it has
// looked again.
func ledgerStale(s *suite) {
	tenant := s.tenants[0]
	stale, rival := s.Ledger(s.T), s.Ledger(s.T)
	s.must(stale.Publish(s.ctx(), tenant, entries(1, 5)))
	s.must(rival.Publish(s.ctx(), tenant, entries(6, 6)))
	for _, to := range []int64{6, 7, 300} {
		if err := stale.Publish(s.ctx(), tenant, entries(6, to)); err == nil {
			s.Errorf("a stale relay published positions 6 to %d again", to)
		}
		s.ledgerEnds(rival, tenant, 6)
	}
	if at, err := stale.LastPosition(s.ctx(), tenant); err != nil || at != 6 {
		s.Errorf("it looks again and finds %d, %v", at, err)
	}
	s.must(stale.Publish(s.ctx(), tenant, entries(7, 8)))
	s.ledgerEnds(stale, tenant, 8)
}

// ledgerWhole: a batch with a message that cannot be published leaves nothing behind.
func ledgerWhole(s *suite) {
	tenant := s.tenants[0]
	l := s.Ledger(s.T)
	bad := entries(1, 4)
	bad[3].Kind = "gossip"
	if err := l.Publish(s.ctx(), tenant, bad); err == nil {
		s.Error("a kind that there is not was published")
	}
	if err := l.Publish(s.ctx(), "a.b", entries(1, 1)); err == nil {
		s.Error("a tenant that is no subject token was taken")
	}
	s.ledgerEnds(l, tenant, 0)
}
