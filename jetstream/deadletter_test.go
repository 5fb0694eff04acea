package jetstream_test

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go"

	"satchel/jetstream"
	"satchel/worker/transport"
)

func openLetters(t *testing.T, b *bundle) *jetstream.DeadLetters {
	t.Helper()
	d, err := jetstream.OpenDeadLetters(within(t, time.Minute), b.js)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestDeadLetters(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ctx := within(t, time.Minute)
	b.publish(t, "acme", "a", sample("good"))
	if _, err := b.js.PublishMsg(ctx, &nats.Msg{Subject: "mem.v1.acme.evt.b", Data: []byte("junk\x00\xff"), Header: nats.Header{"X-Own": {"1"}, "Nats-Expected-Stream": {"MEMORY"}}}); err != nil {
		t.Fatal(err)
	}
	i := b.inbox(t, "acme")
	all := fetch(t, i, 2)
	at := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	rejected := []transport.Rejected{
		{Message: all[0], Reason: "id_reuse", Cause: "another body: 100 % \"new\"\nline é", At: at},
		{Message: all[1], Reason: "malformed", Pointer: "/scope/tenant", Cause: "not a CloudEvent", At: at},
	}
	d := openLetters(t, b)
	for range 2 { // the second call is a repeat, by this process
		if err := d.Reject(ctx, rejected); err != nil {
			t.Fatal(err)
		}
	}
	d = openLetters(t, b) // and by the next
	if err := d.Reject(ctx, rejected); err != nil {
		t.Fatal(err)
	}
	list, err := d.List(ctx, "acme", 0, 10)
	if err != nil {
		t.Fatal(err)
	}
	want := []jetstream.DeadLetter{
		{Seq: 1, Tenant: "acme", Reason: "id_reuse", Cause: rejected[0].Cause, Subject: "mem.v1.acme.evt.a", StreamSeq: all[0].Seq,
			Epoch: all[0].Epoch, At: at, Source: "urn:agent:planner", ID: "good", Undecided: true},
		{Seq: 2, Tenant: "acme", Reason: "malformed", Cause: "not a CloudEvent", Pointer: "/scope/tenant", Subject: "mem.v1.acme.evt.b",
			StreamSeq: all[1].Seq, Epoch: all[1].Epoch, At: at, Undecided: true},
	}
	if diff := cmp.Diff(want, list); diff != "" {
		t.Errorf("list (-want +got):\n%s", diff)
	}
	if list, err := d.List(ctx, "", 0, 1); err != nil || len(list) != 1 {
		t.Errorf("limited list = %v, %v", list, err)
	}
	whole, err := d.Read(ctx, 2)
	if err != nil {
		t.Fatal(err)
	}
	if string(whole.Data) != "junk\x00\xff" || whole.Header.Get("X-Own") != "1" {
		t.Errorf("letter = %q %v", whole.Data, whole.Header)
	}
	if err := d.Retry(ctx, 1); err != nil {
		t.Fatal(err)
	}
	if again := fetch(t, i, 1); again[0].Hash != all[0].Hash || again[0].Event.ID() != "good" {
		t.Errorf("retried message = %+v, want the same bytes", again[0])
	}
	for _, gone := range []error{d.Drop(ctx, 1), d.Retry(ctx, 1), d.Drop(ctx, 99)} {
		if !errors.Is(gone, jetstream.ErrNoDeadLetter) {
			t.Errorf("error = %v, want ErrNoDeadLetter", gone)
		}
	}
	if err := d.Drop(ctx, 2); err != nil {
		t.Fatal(err)
	}
	if list, err := d.List(ctx, "", 0, 10); err != nil || len(list) != 0 {
		t.Errorf("list = %v, %v", list, err)
	}
	awaitGone(t, filepathOf(b, jetstream.DLQStream), "junk")
}

func TestRejectWithoutTenant(t *testing.T) {
	t.Parallel()
	b := setup(t)
	d := openLetters(t, b)
	ctx := within(t, time.Minute)
	r := transport.Rejected{Message: transport.Message{Subject: "mem.v1.a%b.evt.x", Seq: 7, Epoch: "e"}, Reason: "bad_subject"}
	if err := d.Reject(ctx, []transport.Rejected{r}); err != nil {
		t.Fatal(err)
	}
	list, err := d.List(ctx, jetstream.NoTenant, 0, 10)
	if err != nil || len(list) != 1 || list[0].Subject != "mem.v1.a%b.evt.x" {
		t.Errorf("list = %+v, %v", list, err)
	}
}
