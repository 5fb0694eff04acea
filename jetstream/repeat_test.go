package jetstream_test

import (
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	natsjs "github.com/nats-io/nats.go/jetstream"

	"satchel/jetstream"
)

// store publishes a copy of a ledger message. One server stores none late: it takes this because another
// subject than the tenant's ends with the message that the copy is to follow.
func store(t *testing.T, nc *nats.Conn, msg *natsjs.RawStreamMsg, ends string) {
	t.Helper()
	msg.Header.Set(natsjs.ExpectedLastSubjSeqSubjHeader, ends)
	reply, err := nc.RequestMsg(&nats.Msg{Subject: msg.Subject, Header: msg.Header, Data: msg.Data}, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(reply.Data), "error") {
		t.Fatalf("store a copy: %s", reply.Data)
	}
}

// A publication that a cluster stores late, behind others that follow the same message, repeats nothing.
func TestALatePublicationRepeatsNothing(t *testing.T) {
	t.Parallel()
	for _, remove := range []bool{true, false} {
		b, nc := attacker(t)
		ctx := within(t, time.Minute)
		var log strings.Builder
		open := func() *jetstream.Ledger {
			return openLedgerWith(t, b, jetstream.LedgerConfig{Remove: remove, Log: slog.New(slog.NewTextHandler(&log, nil))})
		}
		running := open()
		first := entries(1, 5)
		first[0].Agent = "first"
		if err := running.Publish(ctx, "acme", first); err != nil {
			t.Fatal(err)
		}
		stream, err := b.js.Stream(ctx, jetstream.LedgerStream)
		if err != nil {
			t.Fatal(err)
		}
		old := func(seq uint64) *natsjs.RawStreamMsg {
			t.Helper()
			msg, err := stream.GetMsg(ctx, seq)
			if err != nil {
				t.Fatal(err)
			}
			return msg
		}
		one := func() { store(t, nc, old(2), "prov.v1.acme.memory.first") }
		foreign := func() {
			b.steer(t, nc, jetstream.LedgerStream, "$JS.API.INFO", "prov.v1.acme.memory.evil", "", 1)
		}
		batch := func() {
			t.Helper()
			var list []*nats.Msg
			for seq := uint64(2); seq <= 4; seq++ {
				msg := old(seq)
				msg.Header.Set(natsjs.ExpectedLastSubjSeqSubjHeader, "prov.v1.acme.memory.first")
				if seq > 2 {
					msg.Header.Del(natsjs.ExpectedLastSubjSeqHeader)
					msg.Header.Del(natsjs.ExpectedLastSubjSeqSubjHeader)
				}
				list = append(list, &nats.Msg{Subject: msg.Subject, Header: msg.Header, Data: msg.Data})
			}
			if _, _, err := jetstream.PublishBatch(ctx, nc, list); err != nil {
				t.Fatal(err)
			}
		}
		for n, late := range [][]func(){{one}, {one, one}, {one, foreign}, {foreign, one}, {batch}, {batch, one}} {
			for _, f := range late {
				f()
			}
			last := int64(n + 5)
			for _, l := range []*jetstream.Ledger{running, open()} { // in the middle of its work, and after a start
				for range 2 {
					if at, err := l.LastPosition(ctx, "acme"); err != nil || at != last {
						t.Fatalf("remove %v, round %d: last position = %d, %v; want %d", remove, n, at, err, last)
					}
				}
			}
			if err := running.Publish(ctx, "acme", entries(last+1, last+1)); err != nil {
				t.Fatalf("remove %v, round %d: %v", remove, n, err)
			}
		}
		one()
		if err := open().Publish(ctx, "acme", entries(12, 400)); err != nil { // a batch
			t.Fatal(err)
		}
		if !remove {
			continue
		}
		b.ledgerIs(t, "acme", 400)
		if n := strings.Count(log.String(), "removed repeats"); n != 7 {
			t.Errorf("repeats are removed %d times, want 7: %s", n, log.String())
		}
	}
}

// A message stays though a foreign one came before it that the server had not stored when it took it.
func TestAForeignMessageBetweenMakesNoRepeat(t *testing.T) {
	t.Parallel()
	b, nc := attacker(t)
	ctx := within(t, time.Minute)
	l := openLedgerWith(t, b, jetstream.LedgerConfig{Remove: true})
	if err := l.Publish(ctx, "acme", entries(1, 5)); err != nil {
		t.Fatal(err)
	}
	stream, err := b.js.Stream(ctx, jetstream.LedgerStream)
	if err != nil {
		t.Fatal(err)
	}
	last, err := stream.GetMsg(ctx, 5)
	if err != nil {
		t.Fatal(err)
	}
	if err := stream.DeleteMsg(ctx, 5); err != nil {
		t.Fatal(err)
	}
	b.steer(t, nc, jetstream.LedgerStream, "$JS.API.INFO", "prov.v1.acme.memory.evil", "", 3)
	store(t, nc, last, "prov.v1.acme.memory.a")
	again := openLedgerWith(t, b, jetstream.LedgerConfig{Remove: true})
	if at, err := again.LastPosition(ctx, "acme"); err != nil || at != 5 {
		t.Errorf("last position = %d, %v; want 5", at, err)
	}
	if msg, err := stream.GetMsg(ctx, 9); err != nil || msg.Header.Get(jetstream.HeaderPosition) != "5" {
		t.Errorf("the message is gone: %v", err)
	}
}
