package jetstream_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go"
	natsjs "github.com/nats-io/nats.go/jetstream"

	"satchel/jetstream"
	"satchel/jetstream/cloudevent"
	"satchel/jetstream/embedded"
	"satchel/worker/transport"
)

// fetch collects n messages.
func fetch(t testing.TB, i *jetstream.Inbox, n int) []transport.Message {
	t.Helper()
	ctx := within(t, time.Minute)
	var all []transport.Message
	for len(all) < n {
		batch, err := i.Fetch(ctx, n-len(all))
		if err != nil {
			t.Fatalf("after %d of %d messages: %v", len(all), n, err)
		}
		all = append(all, batch...)
	}
	return all
}

func ids(messages []transport.Message) []string {
	list := make([]string, len(messages))
	for n, m := range messages {
		list[n] = m.Event.ID()
	}
	return list
}

func TestInboxFetchAckSeek(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.publishAll(t, "acme", "e", 700)
	i := b.inbox(t, "acme")
	all := fetch(t, i, 700)
	for n, m := range all {
		if m.Err != nil || m.Event.ID() != fmt.Sprintf("e-%d", n) || m.Subject != "mem.v1.acme.evt.a" || m.Tenant != "acme" || m.Agent != "a" {
			t.Fatalf("message %d = %s %q %q %q, %v", n, m.Event.ID(), m.Subject, m.Tenant, m.Agent, m.Err)
		}
	}
	ctx := within(t, time.Minute)
	state, err := i.State(ctx, all[10].Seq)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(transport.StreamState{Epoch: all[10].Epoch, LastSeq: all[699].Seq, Hash: all[10].Hash, Found: true}, state); diff != "" {
		t.Errorf("state (-want +got):\n%s", diff)
	}
	if state, err := i.State(ctx, 100000); err != nil || state.Found {
		t.Errorf("state of a sequence that is not there = %+v, %v", state, err)
	}
	if err := i.Ack(ctx, all[299].Seq); err != nil {
		t.Fatal(err)
	}
	if lag, err := i.Lag(ctx); err != nil || lag != 400 {
		t.Errorf("lag = %d, %v; want 400", lag, err)
	}
	if err := i.Ack(ctx, all[299].Seq); !errors.Is(err, jetstream.ErrNotDelivered) {
		t.Errorf("second ack = %v, want ErrNotDelivered", err)
	}
	for _, from := range []int{0, 650, 299} { // back behind the ack floor, too
		if err := i.Seek(ctx, all[from].Seq); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(ids(all[from:]), ids(fetch(t, i, 700-from))); diff != "" {
			t.Errorf("after seek to %d (-want +got):\n%s", from, diff)
		}
	}
	if err := i.Seek(ctx, all[699].Seq+1); err != nil {
		t.Fatal(err)
	}
	b.publish(t, "acme", "a", sample("later"))
	if diff := cmp.Diff([]string{"later"}, ids(fetch(t, i, 1))); diff != "" {
		t.Errorf("after seek to the end (-want +got):\n%s", diff)
	}
}

func TestInboxWaitsAndEnds(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.publish(t, "acme", "a", sample("1"))
	i := b.inbox(t, "acme")
	fetch(t, i, 1)
	ctx, cancel := context.WithCancelCause(within(t, time.Minute))
	stop := errors.New("stop")
	done := make(chan error)
	go func() {
		_, err := i.Fetch(ctx, 10)
		done <- err
	}()
	cancel(stop)
	if err := <-done; !errors.Is(err, stop) {
		t.Fatalf("error = %v, want the cause", err)
	}
}

func TestInboxUndecodable(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.publish(t, "acme", "a", sample("1"))
	ctx := within(t, time.Minute)
	if _, err := b.js.PublishMsg(ctx, &nats.Msg{Subject: "mem.v1.acme.evt.a", Data: []byte("junk"), Header: nats.Header{"X-Two": {"a", "b"}}}); err != nil {
		t.Fatal(err)
	}
	b.publish(t, "acme", "a", sample("3"))
	got := fetch(t, b.inbox(t, "acme"), 3)
	if !errors.Is(got[1].Err, cloudevent.ErrNotCloudEvent) || string(got[1].Data) != "junk" || len(got[1].Header["X-Two"]) != 2 {
		t.Errorf("message = %+v", got[1])
	}
	if got[0].Err != nil || got[2].Err != nil || got[2].Event.ID() != "3" {
		t.Errorf("its neighbours = %v, %v", got[0].Err, got[2].Err)
	}
}

func TestInboxPurgeKeepsTheWitness(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.publishAll(t, "acme", "e", 20)
	i := b.inbox(t, "acme")
	all := fetch(t, i, 20)
	ctx := within(t, time.Minute)
	if err := i.Purge(ctx, all[13].Seq); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		n     int
		found bool
	}{{13, false}, {14, true}, {19, true}} {
		if state, err := i.State(ctx, all[c.n].Seq); err != nil || state.Found != c.found {
			t.Errorf("message %d found = %v, %v; want %v", c.n, state.Found, err, c.found)
		}
	}
	if err := i.Seek(ctx, 1); err != nil {
		t.Fatal(err)
	}
	if got := fetch(t, i, 1); got[0].Seq != all[14].Seq {
		t.Errorf("first message = %d, want %d", got[0].Seq, all[14].Seq)
	}
}

func TestInboxSurvivesRestart(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.publishAll(t, "acme", "e", 50)
	i := b.inbox(t, "acme")
	first := fetch(t, i, 30)
	if err := i.Ack(within(t, 5*time.Second), first[29].Seq); err != nil {
		t.Fatal(err)
	}
	epoch := first[0].Epoch
	i.Close()
	b.stop(t)
	b.start(t)
	i = b.inbox(t, "acme")
	if err := i.Seek(within(t, 5*time.Second), first[19].Seq+1); err != nil {
		t.Fatal(err)
	}
	got := fetch(t, i, 30)
	if got[0].Seq != first[20].Seq || got[0].Hash != first[20].Hash || got[0].Epoch != epoch {
		t.Errorf("after a restart %d %s, want %d %s", got[0].Seq, got[0].Epoch, first[20].Seq, epoch)
	}
}

// A second reader of the same durable takes deliveries away: the inbox goes back.
func TestInboxRecoversLostDeliveries(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.publish(t, "acme", "a", sample("0"))
	i := b.inbox(t, "acme")
	fetch(t, i, 1)
	ctx := within(t, time.Minute)
	stream, err := b.js.Stream(ctx, jetstream.MemoryStream)
	if err != nil {
		t.Fatal(err)
	}
	thief, err := stream.Consumer(ctx, "append-"+i.Name())
	if err != nil {
		t.Fatal(err)
	}
	stolen, err := thief.Fetch(10)
	if err != nil {
		t.Fatal(err)
	}
	b.publishAll(t, "acme", "e", 100)
	want := make([]string, 100)
	for n := range want {
		want[n] = fmt.Sprintf("e-%d", n)
	}
	if msg := <-stolen.Messages(); msg == nil {
		t.Fatalf("nothing was stolen: %v", stolen.Error())
	}
	if diff := cmp.Diff(want, ids(fetch(t, i, 100))); diff != "" {
		t.Errorf("messages (-want +got):\n%s", diff)
	}
}

// Messages over the byte limit of one pull request end it early.
func TestInboxLargeMessages(t *testing.T) {
	t.Parallel()
	b := setup(t)
	e := sample("")
	e.DataEncoded = []byte(`"` + strings.Repeat("x", 600<<10) + `"`)
	want := make([]string, 30)
	for n := range want {
		want[n] = fmt.Sprint("big-", n)
		e.SetID(want[n])
		b.publish(t, "acme", "a", e)
	}
	if diff := cmp.Diff(want, ids(fetch(t, b.inbox(t, "acme"), 30))); diff != "" {
		t.Errorf("messages (-want +got):\n%s", diff)
	}
}

func TestInboxConsumerIsDeleted(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.publish(t, "acme", "a", sample("1"))
	i := b.inbox(t, "acme")
	fetch(t, i, 1)
	ctx := within(t, time.Minute)
	got := make(chan []string, 1)
	go func() {
		// The server may refuse a new consumer while it removes the old one's folder:
		// the caller asks again, as the appender does.
		batch, err := i.Fetch(ctx, 10)
		for err != nil && ctx.Err() == nil {
			t.Log(err)
			batch, err = i.Fetch(ctx, 10)
		}
		if err != nil {
			t.Error(err)
		}
		got <- ids(batch)
	}()
	if err := b.js.DeleteConsumer(ctx, jetstream.MemoryStream, "append-"+i.Name()); err != nil {
		t.Fatal(err)
	}
	b.publish(t, "acme", "a", sample("2"))
	if diff := cmp.Diff([]string{"2"}, <-got); diff != "" {
		t.Errorf("messages (-want +got):\n%s", diff)
	}
}

func TestInboxSurvivesReconnect(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.nc.Close()
	if err := b.server.Stop(); err != nil {
		t.Fatal(err)
	}
	restart := func(port int) *embedded.Server {
		t.Helper()
		s, err := embedded.Start(embedded.Config{Dir: b.dir, Port: port})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	port, address := freePort(t)
	b.server = restart(port)
	operator, err := embedded.Operator(b.dir)
	if err != nil {
		t.Fatal(err)
	}
	ctx := within(t, time.Minute)
	if b.nc, err = jetstream.Connect(ctx, jetstream.ConnectConfig{URL: address, User: operator, ReconnectIn: 10 * time.Millisecond}, nil); err != nil {
		t.Fatal(err)
	}
	if b.js, err = jetstream.Open(ctx, b.nc); err != nil {
		t.Fatal(err)
	}
	b.publish(t, "acme", "a", sample("1"))
	i := b.inbox(t, "acme")
	fetch(t, i, 1)
	got := make(chan []string, 1)
	go func() {
		for {
			batch, err := i.Fetch(ctx, 10)
			if err == nil {
				got <- ids(batch)
				return
			}
			if ctx.Err() != nil {
				t.Error(err)
				got <- nil
				return
			}
		}
	}()
	back := b.nc.StatusChanged(nats.CONNECTED)
	if err := b.server.Stop(); err != nil {
		t.Fatal(err)
	}
	b.server = restart(port)
	<-back
	b.publish(t, "acme", "a", sample("2"))
	if diff := cmp.Diff([]string{"2"}, <-got); diff != "" {
		t.Errorf("messages (-want +got):\n%s", diff)
	}
}

// A durable that cannot be reset, as older servers need them, is replaced.
func TestInboxReplacesAForeignDurable(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.publishAll(t, "acme", "e", 5)
	partition := b.partition(t, "acme")
	_, err := b.js.CreateConsumer(within(t, time.Minute), jetstream.MemoryStream, natsjs.ConsumerConfig{
		Durable: "append-" + jetstream.PartitionName(partition), FilterSubject: fmt.Sprintf("p.%d.>", partition),
		AckPolicy: natsjs.AckAllPolicy, DeliverPolicy: natsjs.DeliverByStartSequencePolicy, OptStartSeq: 4})
	if err != nil {
		t.Fatal(err)
	}
	i := b.inbox(t, "acme")
	if err := i.Seek(within(t, time.Minute), 2); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"e-1", "e-2", "e-3", "e-4"}, ids(fetch(t, i, 4))); diff != "" {
		t.Errorf("messages (-want +got):\n%s", diff)
	}
}

// TestInboxTornState: a server that cannot read the state it kept of a durable makes one all
// the same, and nothing of the partition is passed over.
func TestInboxTornState(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.publishAll(t, "acme", "e", 3)
	partition := b.partition(t, "acme")
	ctx := within(t, time.Minute)
	folder := filepath.Join(b.dir, "jetstream", "$G", "streams", jetstream.MemoryStream, "obs", "append-"+jetstream.PartitionName(partition))
	if err := os.MkdirAll(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, "o.dat"), []byte{22, 99, 1}, 0o600); err != nil {
		t.Fatal(err)
	}
	i, err := jetstream.OpenInbox(ctx, b.nc, b.js, jetstream.InboxConfig{Partition: partition})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(i.Close)
	if diff := cmp.Diff([]string{"e-0", "e-1", "e-2"}, ids(fetch(t, i, 3))); diff != "" {
		t.Errorf("fetched (-want +got):\n%s", diff)
	}
}

// TestInboxOtherFilter: a durable that reads another partition is made anew.
func TestInboxOtherFilter(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.publishAll(t, "acme", "e", 3)
	partition := b.partition(t, "acme")
	stream, err := b.js.Stream(within(t, time.Minute), jetstream.MemoryStream)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := stream.CreateConsumer(within(t, time.Minute), natsjs.ConsumerConfig{Durable: "append-" + jetstream.PartitionName(partition),
		FilterSubject: "p.99.>", AckPolicy: natsjs.AckAllPolicy}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"e-0", "e-1", "e-2"}, ids(fetch(t, b.inbox(t, "acme"), 3))); diff != "" {
		t.Errorf("fetched (-want +got):\n%s", diff)
	}
}
