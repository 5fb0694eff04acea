package jetstream

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// connected returns a JetStream server that ends with the test, and a connection to it.
func connected(t *testing.T) (*server.Server, *nats.Conn) {
	t.Helper()
	running, err := server.NewServer(&server.Options{DontListen: true, NoSigs: true, JetStream: true, StoreDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	running.Start()
	if !running.ReadyForConnections(time.Minute) {
		t.Fatal("the server does not start")
	}
	nc, err := Connect(t.Context(), ConnectConfig{InProcess: nats.InProcessServer(running)}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		nc.Close()
		running.Shutdown()
		running.WaitForShutdown()
	})
	return running, nc
}

func scanned(t *testing.T) jetstream.JetStream {
	t.Helper()
	_, nc := connected(t)
	js, err := Open(t.Context(), nc)
	if err != nil {
		t.Fatal(err)
	}
	return js
}

// What the server sent and the connection lost is not taken for removed: an erasure that
// believed it would leave a copy.
func TestScanNoticesWhatIsLost(t *testing.T) {
	t.Parallel()
	js := scanned(t)
	ctx := t.Context()
	stream, err := js.CreateStream(ctx, jetstream.StreamConfig{Name: "S", Subjects: []string{"s.>"}})
	if err != nil {
		t.Fatal(err)
	}
	for range 5 {
		if _, err := js.Publish(ctx, "s.a", nil); err != nil {
			t.Fatal(err)
		}
	}
	consumer, err := stream.CreateConsumer(ctx, jetstream.ConsumerConfig{AckPolicy: jetstream.AckNonePolicy})
	if err != nil {
		t.Fatal(err)
	}
	lost, err := consumer.Fetch(2)
	if err != nil {
		t.Fatal(err)
	}
	for range lost.Messages() { // sent, and not to the scan
	}
	seen := 0
	see := func(stored) error { seen++; return nil }
	if err := scanAll(ctx, js.Conn(), consumer, 5, see); !errors.Is(err, errScanLost) || seen > 0 {
		t.Errorf("two of five were lost at the start: %v after %d", err, seen)
	}
	if err := scanAll(ctx, js.Conn(), consumer, 5, see); !errors.Is(err, errScanLost) || seen > 0 {
		t.Errorf("the last were lost: %v after %d", err, seen)
	}
	if consumer, err = stream.CreateConsumer(ctx, jetstream.ConsumerConfig{AckPolicy: jetstream.AckNonePolicy}); err != nil {
		t.Fatal(err)
	}
	if err := stream.Purge(ctx); err != nil {
		t.Fatal(err)
	}
	if err := scanAll(ctx, js.Conn(), consumer, 5, see); err != nil || seen > 0 {
		t.Errorf("all were removed: %v after %d", err, seen)
	}
}

func TestObjectsOf(t *testing.T) {
	t.Parallel()
	js := scanned(t)
	ctx := t.Context()
	store, err := js.CreateObjectStore(ctx, jetstream.ObjectStoreConfig{Bucket: "B"})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"acme/a", "acme/b", "ärger mit/…", "acme/a"} {
		if _, err := store.PutBytes(ctx, name, []byte(name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := store.Delete(ctx, "acme/b"); err != nil {
		t.Fatal(err)
	}
	if _, err := js.Publish(ctx, "$O.B.M.foreign", []byte("not an entry")); err != nil {
		t.Fatal(err)
	}
	list, err := objectsOf(ctx, js, "B")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, o := range list {
		names = append(names, o.name)
		if time.Since(o.at) > time.Hour {
			t.Errorf("%q was put there at %v", o.name, o.at)
		}
	}
	if diff := cmp.Diff([]string{"ärger mit/…", "acme/a"}, names); diff != "" {
		t.Errorf("objects (-want +got):\n%s", diff)
	}
}
