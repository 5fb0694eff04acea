package jetstream_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"
	"github.com/nats-io/nats.go"
	natsjs "github.com/nats-io/nats.go/jetstream"

	"satchel/jetstream"
	"satchel/jetstream/embedded"
)

// bundle is a real server with the streams, and a connection to it.
type bundle struct {
	dir    string
	listen bool // on a port, too
	server *embedded.Server
	nc     *nats.Conn
	js     natsjs.JetStream
}

func setup(t testing.TB) *bundle { t.Helper(); return begin(t, false) }

func begin(t testing.TB, listen bool) *bundle {
	t.Helper()
	b := &bundle{dir: t.TempDir(), listen: listen}
	b.start(t)
	t.Cleanup(func() { b.stop(t) })
	return b
}

func (b *bundle) start(t testing.TB) {
	t.Helper()
	var err error
	if b.server, err = embedded.Start(embedded.Config{Dir: b.dir, Port: embedded.RandomPort, NoListen: !b.listen}); err != nil {
		t.Fatal(err)
	}
	ctx := within(t, time.Minute)
	if b.nc, err = jetstream.Connect(ctx, jetstream.ConnectConfig{InProcess: b.server.InProcess()}, nil); err != nil {
		t.Fatal(err)
	}
	if b.js, err = jetstream.Open(ctx, b.nc); err != nil {
		t.Fatal(err)
	}
	if err := jetstream.EnsureStreams(ctx, b.js, jetstream.Config{}); err != nil {
		t.Fatal(err)
	}
}

func (b *bundle) stop(t testing.TB) {
	t.Helper()
	b.nc.Close()
	if err := b.server.Stop(); err != nil {
		t.Error(err)
	}
}

// inbox opens the inbox of tenant's partition.
func (b *bundle) inbox(t testing.TB, tenant string) *jetstream.Inbox {
	t.Helper()
	ctx := within(t, time.Minute)
	i, err := jetstream.OpenInbox(ctx, b.nc, b.js, jetstream.InboxConfig{Partition: b.partition(t, tenant), Watch: 50 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(i.Close)
	return i
}

// partition asks the server where it stores a tenant's events.
func (b *bundle) partition(t testing.TB, tenant string) int {
	t.Helper()
	ctx := within(t, time.Minute)
	stream, err := b.js.Stream(ctx, jetstream.MemoryStream)
	if err != nil {
		t.Fatal(err)
	}
	msg, err := stream.GetLastMsgForSubject(ctx, "p.*.mem.v1."+tenant+".evt.*")
	if err != nil {
		b.publish(t, tenant, "probe", sample("probe"))
		return b.partition(t, tenant)
	}
	var n int
	if _, err := fmt.Sscanf(msg.Subject, "p.%d.", &n); err != nil {
		t.Fatal(err)
	}
	return n
}

func (b *bundle) publish(t testing.TB, tenant, agent string, e event.Event) uint64 {
	t.Helper()
	_, seq, err := jetstream.NewOutbox(b.nc, b.js).PublishMemory(within(t, time.Minute), tenant, agent, e)
	if err != nil {
		t.Fatal(err)
	}
	return seq
}

// publishAll publishes n sample events in atomic batches, ids prefix-0, prefix-1, ….
func (b *bundle) publishAll(t testing.TB, tenant, prefix string, n int) (last uint64) {
	t.Helper()
	outbox := jetstream.NewOutbox(b.nc, b.js)
	var events []event.Event
	for i := range n {
		events = append(events, sample(fmt.Sprintf("%s-%d", prefix, i)))
		if len(events) == jetstream.MaxBatch || i == n-1 {
			var err error
			if _, last, err = outbox.PublishAll(within(t, time.Minute), tenant, "a", events); err != nil {
				t.Fatal(err)
			}
			events = nil
		}
	}
	return last
}

func within(t testing.TB, limit time.Duration) context.Context {
	t.Helper()
	const patience = 6 // a busy machine is no failure: the limit only ends what hangs
	ctx, cancel := context.WithTimeout(context.Background(), patience*limit)
	t.Cleanup(cancel)
	return ctx
}

// sample returns an event as agents send them.
func sample(id string) event.Event {
	e := event.New()
	e.SetID(id)
	e.SetSource("urn:agent:planner")
	e.SetType("io.satchel.memory.recorded.v1")
	e.SetSubject("m-1")
	e.SetTime(time.Date(2026, 11, 21, 12, 0, 0, 123456789, time.UTC))
	e.SetDataContentType("application/json")
	e.SetDataSchema("https://satchel.dev/schemas/memory-item.json")
	e.SetExtension("traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")
	e.DataEncoded = []byte(`{"scope":{"tenant":"acme"},"text":"` + strings.Repeat("lorem ipsum dolor ", 50) + `"}`)
	return e
}
