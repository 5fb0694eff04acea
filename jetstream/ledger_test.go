package jetstream_test

import (
	"errors"
	"fmt"
	"strconv"
	"testing"
	"time"

	natsjs "github.com/nats-io/nats.go/jetstream"

	"satchel/jetstream"
	"satchel/jetstream/cloudevent"
	"satchel/worker/transport"
)

func openLedger(t testing.TB, b *bundle) *jetstream.Ledger {
	t.Helper()
	return openLedgerWith(t, b, jetstream.LedgerConfig{})
}

func openLedgerWith(t testing.TB, b *bundle, cfg jetstream.LedgerConfig) *jetstream.Ledger {
	t.Helper()
	l, err := jetstream.OpenLedger(within(t, time.Minute), b.nc, b.js, cfg)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func entries(from, to int64) []transport.LedgerMessage {
	var list []transport.LedgerMessage
	for p := from; p <= to; p++ {
		list = append(list, transport.LedgerMessage{Position: p, Kind: "memory", Agent: "a", Request: "req 1", Event: sample(fmt.Sprintf("e%d", p))})
	}
	return list
}

// ledger reads a tenant's part of LEDGER as a follower does.
func (b *bundle) ledger(t *testing.T, tenant string) []natsjs.Msg {
	t.Helper()
	ctx := within(t, time.Minute)
	consumer, err := b.js.OrderedConsumer(ctx, jetstream.LedgerStream, natsjs.OrderedConsumerConfig{FilterSubjects: []string{"prov.v1." + tenant + ".>"}})
	if err != nil {
		t.Fatal(err)
	}
	stream, err := b.js.Stream(ctx, jetstream.LedgerStream)
	if err != nil {
		t.Fatal(err)
	}
	info, err := stream.Info(ctx, natsjs.WithSubjectFilter("prov.v1."+tenant+".>"))
	if err != nil {
		t.Fatal(err)
	}
	left := uint64(0) // as the leader says: the copy that the consumer reads may come behind
	for _, n := range info.State.Subjects {
		left += n
	}
	messages, err := consumer.Messages()
	if err != nil {
		t.Fatal(err)
	}
	defer messages.Stop()
	var all []natsjs.Msg
	for ; left > 0; left-- {
		msg, err := messages.Next(natsjs.NextContext(ctx))
		if err != nil {
			t.Fatalf("%d of the ledger's messages are missing: %v", left, err)
		}
		all = append(all, msg)
	}
	return all
}

// ledgerIs checks that a tenant's part of LEDGER is positions 1 to last, each once.
func (b *bundle) ledgerIs(t *testing.T, tenant string, last int64) {
	t.Helper()
	want := int64(1)
	for _, msg := range b.ledger(t, tenant) {
		if got := msg.Headers().Get(jetstream.HeaderPosition); got != strconv.FormatInt(want, 10) {
			t.Fatalf("position %s where %d was to come", got, want)
		}
		e, err := cloudevent.Decode(msg.Headers(), msg.Data())
		if err != nil || e.ID() != fmt.Sprintf("e%d", want) || msg.Headers().Get(jetstream.HeaderRequest) != "req%201" {
			t.Fatalf("entry %d = %v, %v", want, e, err)
		}
		want++
	}
	if want != last+1 {
		t.Errorf("the ledger of %q ends at %d, want %d", tenant, want-1, last)
	}
}

func TestLedgerResumesExactly(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ctx := within(t, time.Minute)
	position := func(l *jetstream.Ledger, tenant string, want int64) {
		t.Helper()
		if got, err := l.LastPosition(ctx, tenant); err != nil || got != want {
			t.Fatalf("last position of %q = %d, %v; want %d", tenant, got, err, want)
		}
	}
	l := openLedger(t, b)
	position(l, "acme", 0)
	if err := l.Publish(ctx, "acme", entries(1, 3)); err != nil {
		t.Fatal(err)
	}
	if err := l.Publish(ctx, "other", entries(1, 1)); err != nil { // another tenant in between
		t.Fatal(err)
	}
	if err := l.Publish(ctx, "acme", entries(4, 1203)); err != nil { // several batches
		t.Fatal(err)
	}
	position(l, "acme", 1203)
	position(l, "other", 1)
	if err := l.Publish(ctx, "acme", entries(1203, 1204)); !errors.Is(err, jetstream.ErrLedgerMoved) {
		t.Errorf("a repeat = %v, want ErrLedgerMoved", err)
	}
	if err := openLedger(t, b).Publish(ctx, "acme", entries(1204, 1210)); err != nil { // a process that did not ask
		t.Fatal(err)
	}
	b.ledgerIs(t, "acme", 1210)
	b.ledgerIs(t, "other", 1)
}

func TestLedgerRefusesAStaleRelay(t *testing.T) {
	t.Parallel()
	for _, size := range []int64{1, 2, 600} {
		b := setup(t)
		ctx := within(t, time.Minute)
		stale, rival := openLedger(t, b), openLedger(t, b)
		if err := stale.Publish(ctx, "acme", entries(1, 5)); err != nil {
			t.Fatal(err)
		}
		if err := rival.Publish(ctx, "acme", entries(6, 6)); err != nil {
			t.Fatal(err)
		}
		if err := stale.Publish(ctx, "acme", entries(6, 5+size)); !errors.Is(err, jetstream.ErrLedgerMoved) {
			t.Errorf("a stale relay with %d messages = %v, want ErrLedgerMoved", size, err)
		}
		if got, err := stale.LastPosition(ctx, "acme"); err != nil || got != 6 {
			t.Errorf("last position = %d, %v; want 6", got, err)
		}
		if err := stale.Publish(ctx, "acme", entries(7, 7)); err != nil {
			t.Errorf("after looking again: %v", err)
		}
		b.ledgerIs(t, "acme", 7)
	}
}

func TestLedgerRefusesBadMessages(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ctx := within(t, time.Minute)
	l := openLedger(t, b)
	bad := entries(1, 2)
	bad[1].Kind = "gossip"
	if err := l.Publish(ctx, "acme", bad); !errors.Is(err, jetstream.ErrSubject) {
		t.Errorf("error = %v, want ErrSubject", err)
	}
	if err := l.Publish(ctx, "a.b", entries(1, 1)); !errors.Is(err, jetstream.ErrSubject) {
		t.Errorf("error = %v, want ErrSubject", err)
	}
	b.ledgerIs(t, "acme", 0)
}
