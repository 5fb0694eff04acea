package jetstream

import (
	"context"
	"errors"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"
	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"satchel/jetstream/cloudevent"
	"satchel/test/testenv/natsclient"
	"satchel/worker/transport"
)

// poisoned is a server with the streams, and somebody who may publish anywhere.
type poisoned struct {
	nc  *nats.Conn
	js  jetstream.JetStream
	raw *natsclient.Raw
}

func poison(t *testing.T) *poisoned {
	t.Helper()
	running, nc := connected(t)
	js, err := Open(t.Context(), nc)
	if err != nil {
		t.Fatal(err)
	}
	p := &poisoned{nc: nc, js: js}
	if err := EnsureStreams(t.Context(), p.js, Config{}); err != nil {
		t.Fatal(err)
	}
	var conn net.Conn
	if conn, err = running.InProcessConn(); err != nil {
		t.Fatal(err)
	}
	p.raw = natsclient.ConnectRaw(t, conn, nil)
	return p
}

// count returns how many messages a stream has, behind all that was published before.
func (p *poisoned) count(t *testing.T, stream, marker string) uint64 {
	t.Helper()
	if _, err := p.js.Publish(t.Context(), marker, nil); err != nil {
		t.Fatal(err)
	}
	s, err := p.js.Stream(t.Context(), stream)
	if err != nil {
		t.Fatal(err)
	}
	return s.CachedInfo().State.Msgs - 1
}

func (p *poisoned) inbox(t *testing.T) *Inbox {
	t.Helper()
	i, err := OpenInbox(t.Context(), p.nc, p.js, InboxConfig{Partition: PartitionOf("acme")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(i.Close)
	return i
}

// Whatever the headers of a message, it is fetched, can be a dead letter, and is the same when it
// is published again.
func TestPoisonIsADeadLetter(t *testing.T) {
	t.Parallel()
	p := poison(t)
	ctx := t.Context()
	i := p.inbox(t)
	d, err := OpenDeadLetters(ctx, p.js)
	if err != nil {
		t.Fatal(err)
	}
	var letters uint64
	for _, one := range natsclient.Poisons() {
		p.raw.Publish(t, "mem.v1.acme.evt.x", one.Header, one.Data)
		ack, err := p.js.Publish(ctx, "mem.v1.acme.evt.y", []byte("behind"))
		if err != nil {
			t.Fatal(err)
		}
		var got []transport.Message
		for len(got) < 2 {
			limited, cancel := context.WithTimeout(ctx, time.Minute)
			some, err := i.Fetch(limited, 2)
			cancel()
			if err != nil {
				t.Fatalf("%s: %v", one.Name, err)
			}
			got = append(got, some...)
		}
		if got[1].Seq != ack.Sequence || got[0].Err == nil {
			t.Fatalf("%s: fetched %+v", one.Name, got)
		}
		if state, err := i.State(ctx, got[0].Seq); err != nil || state.Hash != got[0].Hash {
			t.Errorf("%s: the stream has another message: %v", one.Name, err)
		}
		if waits, err := i.Waits(ctx, got[0].Seq-1); err != nil || !waits {
			t.Errorf("%s: waits %v, %v", one.Name, waits, err)
		}
		rejected := []transport.Rejected{{Message: got[0], Reason: "malformed", Cause: got[0].Err.Error() + strings.Repeat("é", 4096), Pointer: strings.Repeat("/%", 1<<15)}}
		if err := d.Reject(ctx, rejected); err != nil {
			t.Fatalf("%s: %v", one.Name, err)
		}
		letters++
		letter, err := d.Read(ctx, letters)
		if err != nil {
			t.Fatalf("%s: %v", one.Name, err)
		}
		want := nats.Header(got[0].Header)
		if want == nil {
			want = nats.Header{}
		}
		if diff := cmp.Diff(want, letter.Header); diff != "" || string(letter.Data) != one.Data || letter.Foreign {
			t.Errorf("%s: letter %q (-published +kept):\n%s", one.Name, letter.Data, diff)
		}
		if err := i.Ack(ctx, ack.Sequence); err != nil {
			t.Fatal(err)
		}
		switch err := d.Retry(ctx, letters); {
		case errors.Is(err, nats.ErrBadHeaderMsg): // no library sends it
			continue
		case err != nil:
			t.Fatalf("%s: retry: %v", one.Name, err)
		}
		limited, cancel := context.WithTimeout(ctx, time.Minute)
		again, err := i.Fetch(limited, 1)
		cancel()
		if err != nil {
			t.Fatal(err)
		}
		changed := one.Name == "values that are no text" || one.Name == "an expected stream" || one.Name == "a message id"
		if len(got[0].Header) > 0 && !changed { // by the library that publishes, and on purpose
			if diff := cmp.Diff(got[0].Header, again[0].Header); diff != "" || string(again[0].Data) != one.Data {
				t.Errorf("%s: published again as %q (-before +after):\n%s", one.Name, again[0].Data, diff)
			}
		}
	}
	if _, err := ReadBacklog(ctx, p.js); err != nil {
		t.Errorf("backlog: %v", err)
	}
}

// What somebody publishes to the streams of Satchel stops neither who lists dead letters, nor the
// relay, nor who follows the ledger, nor an erasure.
func TestPoisonStopsNoReader(t *testing.T) {
	t.Parallel()
	p := poison(t)
	ctx := t.Context()
	l, err := OpenLedger(ctx, p.nc, p.js, LedgerConfig{})
	if err != nil {
		t.Fatal(err)
	}
	d, err := OpenDeadLetters(ctx, p.js)
	if err != nil {
		t.Fatal(err)
	}
	all, position := natsclient.Poisons(), int64(0)
	for _, one := range all {
		for _, subject := range []string{"prov.v1.acme.memory.x", "dlq.v1.acme.malformed", "$O." + RepliesBucket + ".M.x", "mem.v1.acme.evt.x"} {
			p.raw.Publish(t, subject, one.Header, one.Data)
		}
		position++
		e := testEvent(t, "e"+one.Name)
		if err := l.Publish(ctx, "acme", []transport.LedgerMessage{{Position: position, Kind: "memory", Agent: "a", Event: e}}); err != nil {
			t.Fatalf("%s: %v", one.Name, err)
		}
	}
	again, err := OpenLedger(ctx, p.nc, p.js, LedgerConfig{})
	if err != nil {
		t.Fatal(err)
	}
	p.raw.Publish(t, "prov.v1.acme.memory.x", natsclient.Header("Status: 404"), "")
	ledger, letters := p.count(t, LedgerStream, "prov.v1.other.memory.x"), p.count(t, DLQStream, "dlq.v1.other.malformed")
	if ledger < uint64(position)+40 || letters < 40 {
		t.Fatalf("the streams took %d and %d messages of %d", ledger, letters, len(all))
	}
	if at, err := again.LastPosition(ctx, "acme"); err != nil || at != position {
		t.Errorf("last position %d, %v; want %d", at, err, position)
	}
	if list, err := d.List(ctx, "acme", 0, 1000); err != nil || len(list) != int(letters) {
		t.Errorf("%d dead letters, %v; want %d", len(list), err, letters)
	}
	if err := d.Reject(ctx, []transport.Rejected{{Message: transport.Message{Tenant: "acme", Seq: 1, Epoch: "e"}, Reason: "malformed"}}); err != nil {
		t.Errorf("reject: %v", err)
	}
	f, err := Follow(ctx, p.js, FollowConfig{Stream: LedgerStream, Filters: []string{"prov.v1.acme.>"}})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if f.Pending() != ledger || len(f.Filters()) != 1 {
		t.Errorf("the follower starts with %d messages of %v", f.Pending(), f.Filters())
	}
	for seq := uint64(1); seq <= f.Pending(); seq++ {
		limited, cancel := context.WithTimeout(ctx, time.Minute)
		m, err := f.Next(limited)
		cancel()
		if err != nil || m.Seq != seq || m.Left != f.Pending()-seq {
			t.Fatalf("message %d behind %d, %d left: %v", m.Seq, seq-1, m.Left, err)
		}
	}
	found, err := NewScrubber(p.js, nil).Scrub(ctx, "acme", []transport.Copy{{Item: "m-1"}})
	if err != nil {
		t.Errorf("scrub: %v, %v", found, err)
	}
}

// What somebody writes in place of a revocation gives nobody a revoked handle.
func TestPoisonRevokesNoRevocation(t *testing.T) {
	t.Parallel()
	p := poison(t)
	ctx := t.Context()
	a := NewArtifacts(p.js)
	if err := a.Revoke(ctx, "acme", "handle", time.Now()); err != nil {
		t.Fatal(err)
	}
	if at, err := a.RevokedAt(ctx, "acme", "handle"); err != nil || at.IsZero() {
		t.Fatalf("revoked at %v, %v", at, err)
	}
	if at, err := a.RevokedAt(ctx, "acme", "other"); err != nil || !at.IsZero() {
		t.Errorf("another handle is revoked at %v, %v", at, err)
	}
	p.raw.Publish(t, "$KV."+RevokedBucket+"."+revokedKey("acme", "handle"), natsclient.Header("Status: 404"), "")
	p.count(t, revokedStream, "$KV."+RevokedBucket+".marker")
	if at, err := a.RevokedAt(ctx, "acme", "handle"); err == nil && at.IsZero() {
		t.Error("the handle is no longer revoked")
	}
}

// An event whose id stands in a header that a dead letter has under its prefix is found.
func TestScrubReadsForeignHeaders(t *testing.T) {
	t.Parallel()
	p := poison(t)
	ctx := t.Context()
	d, err := OpenDeadLetters(ctx, p.js)
	if err != nil {
		t.Fatal(err)
	}
	for n, header := range []map[string][]string{{"X-About m-1": {"1"}}, {"Status": {"m-1"}}, {"Status": {"m-1", strings.Repeat("x", 60_000)}}} {
		m := transport.Message{Tenant: "acme", Seq: uint64(n) + 1, Epoch: "e", Header: header}
		if err := d.Reject(ctx, []transport.Rejected{{Message: m, Reason: "malformed"}}); err != nil {
			t.Fatal(err)
		}
	}
	found, err := NewScrubber(p.js, nil).Scrub(ctx, "acme", []transport.Copy{{Item: "m-1"}})
	if err != nil || found[DLQStream].Removed != 3 {
		t.Errorf("removed %+v, %v; want 3", found[DLQStream], err)
	}
}

// A message that no dead letter can hold is rejected all the same.
func TestALetterThatIsTooLarge(t *testing.T) {
	t.Parallel()
	p := poison(t)
	ctx := t.Context()
	d, err := OpenDeadLetters(ctx, p.js)
	if err != nil {
		t.Fatal(err)
	}
	m := transport.Message{Tenant: "acme", Seq: 1, Epoch: "e", Subject: "mem.v1.acme.evt.x", Header: map[string][]string{"Status": {"404"}}, Data: make([]byte, p.nc.MaxPayload())}
	if err := d.Reject(ctx, []transport.Rejected{{Message: m, Reason: "malformed"}}); err != nil {
		t.Fatal(err)
	}
	list, err := d.List(ctx, "acme", 0, 10)
	if err != nil || len(list) != 1 || !list[0].Cut || list[0].Undecided {
		t.Fatalf("letters %+v, %v", list, err)
	}
	if err := d.Retry(ctx, list[0].Seq); !errors.Is(err, ErrCut) {
		t.Errorf("retry: %v, want ErrCut", err)
	}
}

// An attribute of CloudEvents stays what it is, so that others can read a dead letter as an event.
func TestALetterKeepsItsAttributes(t *testing.T) {
	t.Parallel()
	header, data, err := cloudevent.Encode(testEvent(t, "1"), cloudevent.Binary)
	if err != nil {
		t.Fatal(err)
	}
	header["Status"] = []string{"404"}
	msg, err := letterMessage(transport.Rejected{Message: transport.Message{Tenant: "acme", Header: header, Data: data}, Reason: "malformed"}, "e-1", 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	for name, values := range header {
		if name == "Status" {
			name = HeaderDLQForeign + name
		}
		if diff := cmp.Diff(values, msg.Header[name]); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	if msg.Header.Get("Status") != "" {
		t.Error("the letter has a header Status")
	}
}

func testEvent(t *testing.T, id string) event.Event {
	t.Helper()
	e := event.New()
	e.SetID(id)
	e.SetSource("urn:agent:planner")
	e.SetType("io.satchel.memory.recorded.v1")
	if err := e.SetData("application/json", map[string]string{"id": "m-2"}); err != nil {
		t.Fatal(err)
	}
	return e
}
