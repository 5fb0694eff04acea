package jetstream_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	natsjs "github.com/nats-io/nats.go/jetstream"

	"satchel/jetstream"
	"satchel/test/testenv/natstest"
	"satchel/worker/transport"
)

// join connects to a cluster and makes the streams.
func join(t *testing.T, c *natstest.Cluster, user string) (*nats.Conn, natsjs.JetStream) {
	t.Helper()
	ctx := within(t, 60*time.Second)
	nc, err := jetstream.Connect(ctx, jetstream.ConnectConfig{URL: c.URLAs(user), ReconnectIn: 20 * time.Millisecond}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	js, err := jetstream.Open(ctx, nc)
	if err != nil {
		t.Fatal(err)
	}
	if err := jetstream.EnsureStreams(ctx, js, clustered(nc)); err != nil {
		t.Fatal(err)
	}
	return nc, js
}

func clustered(nc *nats.Conn) jetstream.Config {
	return jetstream.Config{External: true, Replicas: jetstream.Copies(nc), MemoryBytes: 64 << 20, LedgerBytes: 64 << 20, DLQBytes: 16 << 20, RepliesBytes: 16 << 20}
}

// publishUntilStored publishes events of a tenant in order, each again and again until it
// is acknowledged, as emitters do.
func publishUntilStored(ctx context.Context, outbox *jetstream.Outbox, tenant string, n int, stored func(int)) error {
	for i := range n {
		for {
			attempt, cancel := context.WithTimeout(ctx, time.Second)
			_, _, err := outbox.PublishMemory(attempt, tenant, "a", sample(fmt.Sprint(tenant, "-", i)))
			cancel()
			if err == nil {
				break
			}
			if ctx.Err() != nil {
				return err
			}
		}
		stored(i)
	}
	return nil
}

// TestClusterLosesItsLeader stops the leader of MEMORY in the middle of the stream, twice,
// and starts it again. What was acknowledged arrives, in its publisher's order.
func TestClusterLosesItsLeader(t *testing.T) {
	t.Parallel()
	c := natstest.Start(t, natstest.Config{})
	nc, js := join(t, c, "")
	ctx := within(t, 90*time.Second)
	const each = 150
	third, two := make(chan struct{}), make(chan struct{})
	failed := make(chan error, 1)
	go func() {
		failed <- publishUntilStored(ctx, jetstream.NewOutbox(nc, js), "acme", each, func(i int) {
			switch i {
			case each / 3:
				close(third)
			case 2 * each / 3:
				close(two)
			}
		})
	}()
	inbox, err := jetstream.OpenInbox(ctx, nc, js, jetstream.InboxConfig{Partition: jetstream.PartitionOf("acme"), Watch: 200 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	defer inbox.Close()
	var mu sync.Mutex
	var got []string
	epochs := map[string]bool{}
	read := make(chan error, 1)
	go func() {
		for {
			batch, err := inbox.Fetch(ctx, 64)
			if err != nil && ctx.Err() != nil {
				read <- err
				return
			}
			mu.Lock()
			for _, m := range batch {
				got, epochs[m.Epoch] = append(got, m.Event.ID()), true
			}
			done := slices.Contains(got, fmt.Sprint("acme-", each-1))
			mu.Unlock()
			if done {
				read <- nil
				return
			}
		}
	}()
	for _, at := range []chan struct{}{third, two} {
		select {
		case <-at:
		case <-ctx.Done():
			t.Fatal(ctx.Err())
		}
		leader := c.StreamLeader("", jetstream.MemoryStream)
		c.Stop(leader)
		c.StreamLeader("", jetstream.MemoryStream)
		c.Start(leader)
	}
	if err := errors.Join(<-failed, <-read); err != nil {
		t.Fatal(err)
	}
	next := 0
	for _, id := range got { // a publish that was stored but not acknowledged is there twice: the log drops it
		var n int
		if _, err := fmt.Sscanf(id, "acme-%d", &n); err != nil {
			t.Fatal(err)
		}
		if n > next {
			t.Fatalf("after event %d came %d: one was lost, or the order", next-1, n)
		}
		next = max(next, n+1)
	}
	if next != each || len(epochs) != 1 {
		t.Errorf("%d of %d events, epochs %v", next, each, epochs)
	}
}

// TestClusterLedger publishes to LEDGER while its leader goes away: every position once.
func TestClusterLedger(t *testing.T) {
	t.Parallel()
	c := natstest.Start(t, natstest.Config{})
	nc, js := join(t, c, "")
	ctx := within(t, 90*time.Second)
	ledger, err := jetstream.OpenLedger(ctx, nc, js, jetstream.LedgerConfig{})
	if err != nil {
		t.Fatal(err)
	}
	const all = 200
	stopped := make(chan int, 1)
	for at, tries := int64(0), 0; at < all; {
		if at >= all/2 && tries == 0 {
			tries++
			go func() {
				leader := c.StreamLeader("", jetstream.LedgerStream)
				c.Stop(leader)
				stopped <- leader
			}()
		}
		var messages []transport.LedgerMessage
		for p := at + 1; p <= min(at+5, all); p++ {
			messages = append(messages, transport.LedgerMessage{Position: p, Kind: "memory", Agent: "a", Event: sample(fmt.Sprint("m-", p))})
		}
		attempt, cancel := context.WithTimeout(ctx, 2*time.Second)
		err := ledger.Publish(attempt, "acme", messages)
		cancel()
		for err != nil { // as the relay does: look where the ledger ends
			if ctx.Err() != nil {
				t.Fatal(err)
			}
			look, cancel := context.WithTimeout(ctx, 2*time.Second)
			at, err = ledger.LastPosition(look, "acme")
			cancel()
			messages = nil
		}
		if len(messages) > 0 {
			at = messages[len(messages)-1].Position
		}
	}
	c.Start(<-stopped)
	stream, err := js.Stream(ctx, jetstream.LedgerStream)
	if err != nil {
		t.Fatal(err)
	}
	if n := stream.CachedInfo().State.Msgs; n != all {
		t.Errorf("%d messages in LEDGER, want %d", n, all)
	}
}

func TestWhatACloudPromises(t *testing.T) {
	t.Parallel()
	c := natstest.Start(t, natstest.Config{Accounts: true, Monitor: true})
	nc, js := join(t, c, "app")
	ctx := within(t, 60*time.Second)
	check := func(name string, from jetstream.Sources, synced bool, say string) {
		t.Helper()
		d, err := jetstream.Inspect(ctx, js, clustered(nc), from)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if ok, why := d.Configured(); !ok {
			t.Errorf("%s: %s", name, why)
		}
		if ok, why := d.Synced(); ok != synced || !strings.Contains(why, say) {
			t.Errorf("%s: synced %v: %s", name, ok, why)
		}
	}
	check("nobody to ask", jetstream.Sources{}, false, "how n1, n2, n3 syncs is not known")
	sys, err := jetstream.Connect(ctx, jetstream.ConnectConfig{URL: c.URLAs("sys")}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer sys.Close()
	check("system account", jetstream.Sources{System: sys}, true, "synced on n1, n2, n3")
	check("monitoring", jetstream.Sources{Monitor: strings.Split(c.MonitorURLs(), ",")}, true, "synced on n1, n2, n3")
	check("one monitor of three", jetstream.Sources{Monitor: strings.Split(c.MonitorURLs(), ",")[:1]}, false, "how n2, n3 syncs is not known")
	if _, err := jetstream.Inspect(ctx, js, clustered(nc), jetstream.Sources{System: nc}); err == nil {
		t.Error("a user of another account counts as the system's")
	}

	c.Stop(2)
	awaitReplicated(t, js, nc, false)
	c.Start(2)
	awaitReplicated(t, js, nc, true)

	// What is there is never altered: fewer copies are refused, by name.
	for asked := false; ; asked = true { // a leader that gives up just then does not answer
		once, cancel := context.WithTimeout(ctx, 5*time.Second)
		err := js.DeleteStream(once, jetstream.DLQStream)
		cancel()
		if err == nil || asked && errors.Is(err, natsjs.ErrStreamNotFound) {
			break
		}
		if !errors.Is(err, context.DeadlineExceeded) || ctx.Err() != nil {
			t.Fatal(err)
		}
	}
	single := clustered(nc)
	single.Replicas = 1
	if err := jetstream.EnsureStreams(ctx, js, single); err != nil {
		t.Fatal(err)
	}
	if err := jetstream.EnsureStreams(ctx, js, clustered(nc)); !errors.Is(err, jetstream.ErrStreamDiffers) || !strings.Contains(err.Error(), "num_replicas is 1, want 3") {
		t.Errorf("fewer copies than needed: %v", err)
	}
}

// awaitReplicated waits until Inspect says whether all copies are there.
func awaitReplicated(t *testing.T, js natsjs.JetStream, nc *nats.Conn, want bool) {
	t.Helper()
	ctx := within(t, 40*time.Second)
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for ; ; <-tick.C {
		// A question to a leader that is gone is not answered: it is asked again.
		once, cancel := context.WithTimeout(ctx, 2*time.Second)
		d, err := jetstream.Inspect(once, js, clustered(nc), jetstream.Sources{})
		cancel()
		if err == nil {
			if ok, _ := d.Replicated(); ok == want {
				return
			}
		}
		if ctx.Err() != nil {
			t.Fatalf("replicated is not %v: %+v, %v", want, d.Streams, err)
		}
	}
}

func TestAServerThatSyncsNowAndThen(t *testing.T) {
	t.Parallel()
	c := natstest.Start(t, natstest.Config{Servers: 1, Lazy: true, Monitor: true})
	nc, js := join(t, c, "")
	d, err := jetstream.Inspect(within(t, time.Minute), js, clustered(nc), jetstream.Sources{Monitor: []string{c.MonitorURLs()}})
	if err != nil {
		t.Fatal(err)
	}
	if ok, why := d.Synced(); ok || !strings.Contains(why, "n1 every 2m0s") || !strings.Contains(why, "sync_interval: always") {
		t.Errorf("synced %v: %s", ok, why)
	}
	if ok, why := d.Replicated(); ok || !strings.Contains(why, "1 of the 3 copies") {
		t.Errorf("replicated %v: %s", ok, why)
	}
}

func TestWhatNATSRefuses(t *testing.T) {
	t.Parallel()
	c := natstest.Start(t, natstest.Config{Servers: 1, Accounts: true})
	ctx := within(t, 60*time.Second)
	if _, err := jetstream.Connect(ctx, jetstream.ConnectConfig{URL: c.URLAs("nobody")}, nil); !errors.Is(err, jetstream.ErrCredentials) {
		t.Errorf("a wrong user: %v", err)
	}
	if _, err := jetstream.Connect(ctx, jetstream.ConnectConfig{URL: strings.Replace(c.URLAs("app"), "nats://", "tls://", 1)}, nil); !errors.Is(err, jetstream.ErrCertificate) {
		t.Errorf("TLS where there is none: %v", err)
	}
	open := func(user string) (*nats.Conn, natsjs.JetStream, error) {
		nc, err := jetstream.Connect(ctx, jetstream.ConnectConfig{URL: c.URLAs(user)}, nil)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(nc.Close)
		js, err := jetstream.Open(ctx, nc)
		return nc, js, err
	}
	if _, _, err := open("sys"); !errors.Is(err, jetstream.ErrNoJetStream) {
		t.Errorf("an account without JetStream: %v", err)
	}
	nc, js, err := open("limited")
	if err != nil {
		t.Fatal(err)
	}
	begun := time.Now()
	err = jetstream.EnsureStreams(ctx, js, clustered(nc))
	if !errors.Is(err, jetstream.ErrPermission) || !strings.Contains(err.Error(), `$JS.API.STREAM.CREATE.MEMORY`) {
		t.Errorf("a permission is missing: %v", err)
	}
	if took := time.Since(begun); took > 10*time.Second {
		t.Errorf("it took %s to say so", took)
	}
}

// TestPartitionOfIsTheServers compares with where the server stores events.
func TestPartitionOfIsTheServers(t *testing.T) {
	t.Parallel()
	b := setup(t)
	seen := map[int]bool{}
	for i := range 40 {
		tenant := fmt.Sprintf("tenant-%d", i*i)
		if got, want := jetstream.PartitionOf(tenant), b.partition(t, tenant); got != want {
			t.Errorf("PartitionOf(%q) = %d, the server says %d", tenant, got, want)
		}
		seen[jetstream.PartitionOf(tenant)] = true
	}
	if len(seen) < 8 {
		t.Errorf("40 tenants in %d partitions", len(seen))
	}
}
