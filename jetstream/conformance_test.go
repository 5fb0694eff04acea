package jetstream_test

import (
	"testing"
	"time"

	"satchel/jetstream"
	"satchel/jetstream/cloudevent"
	"satchel/test/conformance/transporttest"
	"satchel/test/testenv/natstest"
	"satchel/worker/transport"
)

// TestConformance runs the transport suite on the server in the process and on a cluster
// of three with three copies of every stream.
func TestConformance(t *testing.T) {
	t.Parallel()
	t.Run("embedded", func(t *testing.T) {
		t.Parallel()
		transporttest.Run(t, func(t *testing.T) transporttest.Transport { return setup(t).transport(t) })
	})
	t.Run("cluster of three", func(t *testing.T) {
		t.Parallel()
		transporttest.Run(t, func(t *testing.T) transporttest.Transport {
			b := &bundle{}
			b.nc, b.js = join(t, natstest.Start(t, natstest.Config{}), "")
			if n := jetstream.Copies(b.nc); n != 3 {
				t.Fatalf("%d copies of a stream in a cluster of three", n)
			}
			return b.transport(t)
		})
	})
}

// transport is what the suite checks of a server.
func (b *bundle) transport(t *testing.T) transporttest.Transport {
	return transporttest.Transport{
		Outbox: jetstream.NewOutbox(b.nc, b.js), Artifacts: jetstream.NewArtifacts(b.js), Scrubber: jetstream.NewScrubber(b.js, nil),
		Partitions: jetstream.Partitions, Partition: jetstream.PartitionOf,
		Inbox: func(t *testing.T, partition int) (transport.Inbox, func()) {
			t.Helper()
			i, err := jetstream.OpenInbox(within(t, time.Minute), b.nc, b.js, jetstream.InboxConfig{Partition: partition, Watch: 200 * time.Millisecond})
			if err != nil {
				t.Fatal(err)
			}
			return i, i.Close
		},
		Ledger: func(t *testing.T) transport.Ledger {
			t.Helper()
			l, err := jetstream.OpenLedger(within(t, time.Minute), b.nc, b.js, jetstream.LedgerConfig{})
			if err != nil {
				t.Fatal(err)
			}
			return l
		},
		Letters: func(t *testing.T) transport.DeadLetters { t.Helper(); return openLetters(t, b) },
		Join: func(t *testing.T, id string) (transport.Membership, func()) {
			t.Helper()
			h := b.hire(t, id)
			return h, func() { h.leave(t) }
		},
		Published: b.published,
		Rejected: func(t *testing.T, tenant string) []string {
			t.Helper()
			list, err := openLetters(t, b).List(within(t, time.Minute), tenant, 0, 100)
			if err != nil {
				t.Fatal(err)
			}
			var ids []string
			for _, l := range list {
				ids = append(ids, l.ID)
			}
			return ids
		},
	}
}

// published returns the ids of a tenant's events in LEDGER.
func (b *bundle) published(t *testing.T, tenant string) []string {
	t.Helper()
	var ids []string
	for _, msg := range b.ledger(t, tenant) {
		e, err := cloudevent.Decode(msg.Headers(), msg.Data())
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, e.ID())
	}
	return ids
}
