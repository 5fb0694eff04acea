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

// A publication that a cluster stores late, behind others that follow the same message, repeats nothing.
func TestALatePublicationRepeatsNothing(t *testing.T) {
	t.Parallel()
	for _, remove := range []bool{true, false} {
		b, nc := attacker(t)
		ctx := within(t, time.Minute)
		var log strings.Builder
		open := func() *jetstream.Ledger {
			l, err := jetstream.OpenLedger(ctx, b.nc, b.js, jetstream.LedgerConfig{Remove: remove, Log: slog.New(slog.NewTextHandler(&log, nil))})
			if err != nil {
				t.Fatal(err)
			}
			return l
		}
		running := open()
		first := entries(1, 4)
		first[0].Agent = "first"
		if err := running.Publish(ctx, "acme", first); err != nil {
			t.Fatal(err)
		}
		stream, err := b.js.Stream(ctx, jetstream.LedgerStream)
		if err != nil {
			t.Fatal(err)
		}
		late := func() {
			t.Helper()
			old, err := stream.GetMsg(ctx, 2)
			if err != nil {
				t.Fatal(err)
			}
			if got := old.Header.Get(natsjs.ExpectedLastSubjSeqHeader); got != "1" {
				t.Fatalf("the second message follows %q", got)
			}
			// One server looks well after itself: it takes the message because another subject ends where this says.
			old.Header.Set(natsjs.ExpectedLastSubjSeqSubjHeader, "prov.v1.acme.memory.first")
			if reply, err := nc.RequestMsg(&nats.Msg{Subject: old.Subject, Header: old.Header, Data: old.Data}, time.Minute); err != nil || strings.Contains(string(reply.Data), "error") {
				t.Fatalf("store it late: %s, %v", reply.Data, err)
			}
		}
		late()
		if err := running.Publish(ctx, "acme", entries(5, 5)); err != nil { // in the middle of its work
			t.Fatal(err)
		}
		late()
		for _, l := range []*jetstream.Ledger{running, open()} { // and after a start
			if at, err := l.LastPosition(ctx, "acme"); err != nil || at != 5 {
				t.Fatalf("remove %v: last position = %d, %v; want 5", remove, at, err)
			}
		}
		late()
		if err := open().Publish(ctx, "acme", entries(6, 400)); err != nil { // a batch
			t.Fatal(err)
		}
		if at, err := running.LastPosition(ctx, "acme"); err != nil || at != 400 {
			t.Fatalf("remove %v: last position = %d, %v; want 400", remove, at, err)
		}
		if !remove {
			continue
		}
		b.ledgerIs(t, "acme", 400)
		if n := strings.Count(log.String(), "removed repeats"); n != 3 {
			t.Errorf("%d repeats are removed, want 3: %s", n, log.String())
		}
	}
}
