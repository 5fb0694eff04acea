// Package transporttest is the conformance suite of the transport port. Every message
// system's tests call [Run]; what passes it keeps what the worker needs of
// [transport.Inbox], [transport.DeadLetters], [transport.Ledger], [transport.Outbox],
// [transport.Artifacts], [transport.StreamScrubber] and [transport.Membership].
package transporttest

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"

	"satchel/worker/transport"
)

// limit is how long one step may take: real servers on a busy machine.
const limit = 60 * time.Second

// Transport is a message system with nothing in it, and how a worker opens its parts. The
// functions fail t when they cannot, and what they open ends with t.
type Transport struct {
	Outbox    transport.Outbox
	Artifacts transport.Artifacts
	Scrubber  transport.StreamScrubber

	// Partitions is how many there are, at least 11; Partition is that of a tenant.
	Partitions int
	Partition  func(tenant string) int
	// Inbox opens a partition, as its owner does when it starts; close ends that owner.
	Inbox func(t *testing.T, partition int) (inbox transport.Inbox, close func())
	// Ledger and Letters open the ledger and the dead letters as a new process does.
	Ledger  func(t *testing.T) transport.Ledger
	Letters func(t *testing.T) transport.DeadLetters
	// Join makes a process with id a member of the membership until leave is called.
	Join func(t *testing.T, id string) (membership transport.Membership, leave func())

	// Published returns the ids of a tenant's events in the ledger, Rejected those of its
	// dead letters, both in order, as someone reads them who is no worker.
	Published func(t *testing.T, tenant string) []string
	Rejected  func(t *testing.T, tenant string) []string
}

// suite is a Transport with tenants of the subtest's own.
type suite struct {
	*testing.T
	Transport
	tenants []string // each alone in its partition, where a partition was asked for
}

// Run checks the message system that open returns; the subtests share it.
func Run(t *testing.T, open func(t *testing.T) Transport) {
	t.Helper()
	x := open(t)
	alone := tenantsAlone(x)
	for i, c := range []struct {
		name       string
		partitions int // how many the subtest reads
		check      func(*suite)
	}{
		{"inbox keeps order", 1, inboxOrder},
		{"inbox seeks", 1, inboxSeeks},
		{"inbox goes on where it was acknowledged", 1, inboxResumes},
		{"inbox knows its stream", 1, inboxState},
		{"inbox purges", 1, inboxPurge},
		{"inbox erases one message", 1, inboxErase},
		{"inbox changes hands", 1, inboxChangesHands},
		{"inbox waits and ends", 1, inboxWaits},
		{"dead letters come once", 1, letters},
		{"scrub erases every copy", 2, scrub},
		{"ledger resumes exactly", 0, ledgerResumes},
		{"ledger refuses a stale relay", 0, ledgerStale},
		{"ledger is all or nothing", 0, ledgerWhole},
		{"artifacts", 0, artifacts},
		{"artifacts that break off", 0, artifactsBroken},
		{"revocations", 0, revocations},
		{"membership shares", 0, membershipShares},
	} {
		s := &suite{Transport: x, tenants: []string{fmt.Sprint("subtest-", i), fmt.Sprint("subtest-other-", i)}}
		if c.partitions > 0 {
			s.tenants, alone = alone[:c.partitions], alone[c.partitions:]
		}
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s.T = t
			c.check(s)
		})
	}
}

// tenantsAlone returns a tenant for each partition.
func tenantsAlone(x Transport) []string {
	var names []string
	taken := map[int]bool{}
	for i := 0; len(names) < x.Partitions; i++ {
		name := fmt.Sprint("tenant-", i)
		if p := x.Partition(name); !taken[p] {
			taken[p] = true
			names = append(names, name)
		}
	}
	return names
}

// ctx is that of one step.
func (s *suite) ctx() context.Context {
	ctx, cancel := context.WithTimeout(s.Context(), limit)
	s.Cleanup(cancel)
	return ctx
}

func (s *suite) must(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

// memory is an event with an id and a body of its own.
func memory(id string) event.Event {
	e := event.New()
	e.SetID(id)
	e.SetSource("urn:agent:planner")
	e.SetType("io.satchel.memory.recorded.v1")
	e.SetSubject("item-" + id)
	e.SetTime(time.Date(2026, 11, 21, 12, 0, 0, 123456789, time.UTC))
	e.SetDataContentType("application/json")
	e.SetExtension("traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")
	e.DataEncoded = []byte(`{"text":"` + strings.Repeat("é "+id+" ", 50) + `"}`)
	return e
}

// publish sends events from to to-1 of a tenant, ids e-<n>, and returns their sequences.
func (s *suite) publish(tenant string, from, to int) []uint64 {
	s.Helper()
	var seqs []uint64
	for i := from; i < to; i++ {
		_, seq, err := s.Outbox.PublishMemory(s.ctx(), tenant, "a", memory(fmt.Sprint("e-", i)))
		s.must(err)
		seqs = append(seqs, seq)
	}
	return seqs
}

// inbox opens the inbox of tenant's partition until the subtest ends.
func (s *suite) inbox(tenant string) transport.Inbox {
	s.Helper()
	i, end := s.Inbox(s.T, s.Partition(tenant))
	s.Cleanup(end)
	return i
}

// filled publishes n events of the first tenant, and fetches them from its inbox.
func (s *suite) filled(n int) (tenant string, i transport.Inbox, all []transport.Message) {
	s.Helper()
	tenant = s.tenants[0]
	s.publish(tenant, 0, n)
	i = s.inbox(tenant)
	return tenant, i, s.fetch(i, tenant, 0, n)
}

// fetch collects n messages, and checks that they are e-<from>, e-<from+1>, … of tenant.
func (s *suite) fetch(i transport.Inbox, tenant string, from, n int) []transport.Message {
	s.Helper()
	var all []transport.Message
	for ctx := s.ctx(); len(all) < n; {
		batch, err := i.Fetch(ctx, n-len(all))
		if err != nil {
			s.Fatalf("after %d of %d messages: %v", len(all), n, err)
		}
		if len(batch) == 0 || len(batch) > n-len(all) {
			s.Fatalf("%d messages where 1 to %d were asked for", len(batch), n-len(all))
		}
		all = append(all, batch...)
	}
	for k, m := range all {
		if m.Err != nil || m.Event.ID() != fmt.Sprint("e-", from+k) || m.Tenant != tenant || m.Agent != "a" || m.Subject != "mem.v1."+tenant+".evt.a" {
			s.Fatalf("message %d is %q of %q by %q on %q, %v; want e-%d of %q", k, m.Event.ID(), m.Tenant, m.Agent, m.Subject, m.Err, from+k, tenant)
		}
	}
	return all
}
