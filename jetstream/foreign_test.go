package jetstream_test

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	natsjs "github.com/nats-io/nats.go/jetstream"

	"satchel/jetstream"
	"satchel/jetstream/cloudevent"
	"satchel/jetstream/embedded"
)

// attacker starts a listening server with the streams and returns a bundle and another's
// connection, of one who shares the account, as on a server of one's own: the embedded
// server lets no client's reply subject into it.
func attacker(t *testing.T) (*bundle, *nats.Conn) {
	t.Helper()
	b := begin(t, true)
	user, err := embedded.Operator(b.dir)
	if err != nil {
		t.Fatal(err)
	}
	nc, err := nats.Connect(b.server.ClientURL(), user)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	return b, nc
}

// lastSeq is the last sequence of a stream.
func (b *bundle) lastSeq(t *testing.T, stream string) uint64 {
	t.Helper()
	s, err := b.js.Stream(within(t, time.Minute), stream)
	if err != nil {
		t.Fatal(err)
	}
	return s.CachedInfo().State.LastSeq
}

// steer makes the server reply n times to a subject of stream, and awaits it.
func (b *bundle) steer(t *testing.T, nc *nats.Conn, stream, request, reply, body string, n int) {
	t.Helper()
	want := b.lastSeq(t, stream) + uint64(n)
	for range n {
		if err := nc.PublishRequest(request, reply, []byte(body)); err != nil {
			t.Fatal(err)
		}
	}
	for ctx := within(t, time.Minute); b.lastSeq(t, stream) < want; {
		if ctx.Err() != nil {
			t.Fatalf("%s steered into %s did not arrive", request, stream)
		}
	}
}

func TestSteeredRepliesDoNotStopALedger(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		request, reply, body string
		n                    int
	}{
		{"$JS.API.INFO", "prov.v1.acme.memory.evil", "", 1},
		{"$JS.API.INFO", "prov.v1.acme.nothing.like.it", "", 1},
		{"$JS.API.INFO", "prov.v1.acme.memory.evil", "", 700}, // more than a page
		{"$JS.API.STREAM.MSG.GET.LEDGER", "prov.v1.acme.memory.evil", `{"seq":1}`, 1},
		{"mem.v1.acme.evt.x", "prov.v1.acme.memory.evil", "an ack", 1},
	} {
		for _, remove := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s %d %v", c.request, c.n, remove), func(t *testing.T) {
				t.Parallel()
				b, nc := attacker(t)
				ctx := within(t, time.Minute)
				var log bytes.Buffer
				open := func() *jetstream.Ledger {
					return openLedgerWith(t, b, jetstream.LedgerConfig{Remove: remove, Log: slog.New(slog.NewTextHandler(&log, nil))})
				}
				running := open()
				if err := running.Publish(ctx, "acme", entries(1, 3)); err != nil {
					t.Fatal(err)
				}
				b.steer(t, nc, jetstream.LedgerStream, c.request, c.reply, c.body, c.n)
				if err := running.Publish(ctx, "acme", entries(4, 4)); err != nil { // in the middle of its work
					t.Fatal(err)
				}
				b.steer(t, nc, jetstream.LedgerStream, c.request, c.reply, c.body, c.n)
				for _, l := range []*jetstream.Ledger{running, open()} { // and after a start
					if at, err := l.LastPosition(ctx, "acme"); err != nil || at != 4 {
						t.Fatalf("last position = %d, %v; want 4", at, err)
					}
				}
				if err := open().Publish(ctx, "acme", entries(5, 40)); err != nil { // a batch
					t.Fatal(err)
				}
				if at, err := running.LastPosition(ctx, "acme"); err != nil || at != 40 {
					t.Fatalf("last position = %d, %v; want 40", at, err)
				}
				if remove {
					b.ledgerIs(t, "acme", 40)
				}
				if warned := strings.Contains(log.String(), "removed foreign messages"); warned != (remove && c.n > 0) {
					t.Errorf("remove %v: the log says %q", remove, log.String())
				}
			})
		}
	}
}

// With nothing of Satchel's in the tenant's part the ledger begins.
func TestALedgerBeginsBehindForeignMessages(t *testing.T) {
	t.Parallel()
	for _, remove := range []bool{true, false} {
		b, nc := attacker(t)
		ctx := within(t, time.Minute)
		b.steer(t, nc, jetstream.LedgerStream, "$JS.API.INFO", "prov.v1.acme.memory.evil", "", 3)
		l := openLedgerWith(t, b, jetstream.LedgerConfig{Remove: remove})
		for range 2 {
			if at, err := l.LastPosition(ctx, "acme"); err != nil || at != 0 {
				t.Fatalf("last position = %d, %v; want 0", at, err)
			}
		}
		if err := l.Publish(ctx, "acme", entries(1, 2)); err != nil {
			t.Fatal(err)
		}
		if at, err := l.LastPosition(ctx, "acme"); err != nil || at != 2 {
			t.Fatalf("last position = %d, %v; want 2", at, err)
		}
	}
}

// What the stream has let go is not looked through.
func TestALedgerLooksBackNoFurtherThanItsStream(t *testing.T) {
	t.Parallel()
	b, nc := attacker(t)
	ctx := within(t, time.Minute)
	l, err := jetstream.OpenLedger(ctx, b.nc, b.js, jetstream.LedgerConfig{})
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Publish(ctx, "other", entries(1, 3000)); err != nil {
		t.Fatal(err)
	}
	stream, err := b.js.Stream(ctx, jetstream.LedgerStream)
	if err != nil {
		t.Fatal(err)
	}
	if err := stream.Purge(ctx, natsjs.WithPurgeSequence(3000)); err != nil {
		t.Fatal(err)
	}
	b.steer(t, nc, jetstream.LedgerStream, "$JS.API.INFO", "prov.v1.acme.memory.evil", "", 1)
	pages, err := nc.SubscribeSync("$JS.EVENT.ADVISORY.CONSUMER.CREATED.LEDGER.*")
	if err == nil {
		err = nc.Flush()
	}
	if err != nil {
		t.Fatal(err)
	}
	if at, err := l.LastPosition(ctx, "acme"); err != nil || at != 0 {
		t.Fatalf("last position = %d, %v; want 0", at, err)
	}
	if _, err := pages.NextMsgWithContext(ctx); err != nil {
		t.Fatalf("it looked at no page: %v", err)
	}
	if err := nc.Flush(); err != nil {
		t.Fatal(err)
	}
	if n, _, err := pages.Pending(); err != nil || n != 0 {
		t.Errorf("it looked at %d pages more, %v", n, err)
	}
}

func TestLedgerPosition(t *testing.T) {
	t.Parallel()
	own := func() nats.Header {
		header, _, err := cloudevent.Encode(sample("e1"), cloudevent.Binary)
		if err != nil {
			t.Fatal(err)
		}
		header[jetstream.HeaderPosition] = []string{"7"}
		return header
	}
	if at, err := jetstream.LedgerPosition("prov.v1.acme.memory.a", own()); err != nil || at != 7 {
		t.Errorf("Satchel's own = %d, %v", at, err)
	}
	for name, change := range map[string]func(nats.Header){
		"no position":     func(h nats.Header) { delete(h, jetstream.HeaderPosition) },
		"position 0":      func(h nats.Header) { h[jetstream.HeaderPosition] = []string{"0"} },
		"two positions":   func(h nats.Header) { h["ce-satchelposition"] = []string{"0000000000000000008"} },
		"no event":        func(h nats.Header) { delete(h, "ce-id") },
		"a copy":          func(h nats.Header) { h["Nats-Stream"] = []string{"LEDGER"} },
		"a copy's number": func(h nats.Header) { h["Nats-Sequence"] = []string{"1"} },
	} {
		h := own()
		change(h)
		if _, err := jetstream.LedgerPosition("prov.v1.acme.memory.a", h); !errors.Is(err, jetstream.ErrForeign) {
			t.Errorf("%s: %v, want ErrForeign", name, err)
		}
	}
	if _, err := jetstream.LedgerPosition("prov.v1.acme.gossip.a", own()); !errors.Is(err, jetstream.ErrForeign) {
		t.Errorf("another kind: %v", err)
	}
}

func TestForeignDeadLettersAreMarked(t *testing.T) {
	t.Parallel()
	b, nc := attacker(t)
	ctx := within(t, time.Minute)
	b.steer(t, nc, jetstream.DLQStream, "$JS.API.INFO", "dlq.v1.acme.malformed", "", 1)
	d := openLetters(t, b)
	list, err := d.List(ctx, "acme", 0, 10)
	if err != nil || len(list) != 1 || !list[0].Foreign {
		t.Fatalf("list = %+v, %v", list, err)
	}
	if err := d.Retry(ctx, list[0].Seq); !errors.Is(err, jetstream.ErrForeign) {
		t.Errorf("retry = %v, want ErrForeign", err)
	}
	if err := d.Drop(ctx, list[0].Seq); err != nil {
		t.Error(err)
	}
}
