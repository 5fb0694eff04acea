package jetstream_test

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"

	"satchel/jetstream"
	"satchel/jetstream/embedded"
	"satchel/test/testenv"
)

// freePort returns a port nobody listens on.
func freePort(t *testing.T) (port int, url string) {
	t.Helper()
	port, err := testenv.FreePort()
	if err != nil {
		t.Fatal(err)
	}
	return port, fmt.Sprintf("nats://127.0.0.1:%d", port)
}

func TestConnectFailsAtOnce(t *testing.T) {
	t.Parallel()
	_, url := freePort(t)
	if _, err := jetstream.Connect(within(t, time.Minute), jetstream.ConnectConfig{URL: url}, nil); !errors.Is(err, nats.ErrNoServers) {
		t.Fatalf("error = %v, want ErrNoServers", err)
	}
	if _, err := jetstream.Connect(within(t, time.Second), jetstream.ConnectConfig{URL: url, NKeySeed: "missing"}, nil); err == nil {
		t.Error("a missing seed was accepted")
	}
}

func TestConnectWaits(t *testing.T) {
	t.Parallel()
	port, url := freePort(t)
	cfg := jetstream.ConnectConfig{URL: url, RetryFirst: true, ReconnectIn: 10 * time.Millisecond}
	ended := errors.New("enough")
	short, cancel := context.WithTimeoutCause(context.Background(), 50*time.Millisecond, ended)
	defer cancel()
	if _, err := jetstream.Connect(short, cfg, nil); !errors.Is(err, ended) {
		t.Fatalf("error = %v, want the cause", err)
	}
	ctx := within(t, time.Minute)
	connected := make(chan error, 1)
	go func() {
		nc, err := jetstream.Connect(ctx, cfg, nil)
		if err == nil {
			err = jetstream.Drain(ctx, nc)
		}
		connected <- err
	}()
	s, err := embedded.Start(embedded.Config{Dir: t.TempDir(), Port: port})
	if err != nil {
		t.Fatal(err)
	}
	if err := <-connected; err != nil {
		t.Error(err)
	}
	if err := s.Stop(); err != nil {
		t.Error(err)
	}
}

// TestARotatedSeed: a connection that the server ends for its key comes back with the one that the file holds by then.
func TestARotatedSeed(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "seed")
	rotate := func() string {
		key, err := nkeys.CreateUser()
		if err != nil {
			t.Fatal(err)
		}
		seed, err := key.Seed()
		public, err2 := key.PublicKey()
		if err := errors.Join(err, err2, os.WriteFile(file, seed, 0o600)); err != nil {
			t.Fatal(err)
		}
		return public
	}
	options := func(port int, public string) *server.Options {
		return &server.Options{Host: "127.0.0.1", Port: port, NoSigs: true, Nkeys: []*server.NkeyUser{{Nkey: public}}}
	}
	port, url := freePort(t)
	s, err := server.NewServer(options(port, rotate()))
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	defer s.Shutdown()
	nc, err := jetstream.Connect(within(t, time.Minute), jetstream.ConnectConfig{URL: url, NKeySeed: file, RetryFirst: true, ReconnectIn: time.Millisecond}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	back := nc.StatusChanged(nats.CONNECTED)
	if err := s.ReloadOptions(options(port, rotate())); err != nil {
		t.Fatal(err)
	}
	select {
	case <-back:
	case <-within(t, 20*time.Second).Done():
		t.Fatalf("it does not come back: %v", nc.LastError())
	}
}

// TestRightsThatComeBack: what a server denies is named, and used again soon after the server grants it.
func TestRightsThatComeBack(t *testing.T) {
	t.Parallel()
	port, url := freePort(t)
	options := func(deny ...string) *server.Options {
		user := &server.User{Username: "u", Password: "p", Permissions: &server.Permissions{Subscribe: &server.SubjectPermission{Allow: []string{">"}, Deny: deny}}}
		return &server.Options{Host: "127.0.0.1", Port: port, NoSigs: true, Users: []*server.User{user}}
	}
	s, err := server.NewServer(options("ctx.v1.>"))
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	defer s.Shutdown()
	var denied jetstream.PermissionErrors
	cfg := jetstream.ConnectConfig{URL: strings.Replace(url, "//", "//u:p@", 1), RetryFirst: true, ReconnectIn: time.Millisecond, PermissionErrors: &denied}
	nc, err := jetstream.Connect(within(t, time.Minute), cfg, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	heard := make(chan *nats.Msg, 1)
	if _, err := nc.ChanSubscribe("ctx.v1.a.status", heard); err != nil {
		t.Fatal(err)
	}
	until := func(what string, ok func() bool) {
		t.Helper()
		ctx := within(t, 20*time.Second)
		for tick := time.NewTicker(10 * time.Millisecond); !ok(); {
			select {
			case <-tick.C:
			case <-ctx.Done():
				t.Fatalf("%s: %v", what, denied.List())
			}
		}
	}
	hears := func() bool {
		_ = nc.Publish("ctx.v1.a.status", nil)
		return nc.FlushTimeout(time.Second) == nil && len(heard) > 0
	}
	until("it is denied", func() bool { return denied.Err() != nil })
	if err := s.ReloadOptions(options()); err != nil {
		t.Fatal(err)
	}
	until("it hears", hears)
	until("nothing is denied", func() bool { return denied.Err() == nil })
}

// TestTooManySubscriptions: a limit on them is named as what is denied is.
func TestTooManySubscriptions(t *testing.T) {
	t.Parallel()
	s, err := server.NewServer(&server.Options{Host: "127.0.0.1", Port: -1, NoSigs: true, MaxSubs: 1})
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	defer s.Shutdown()
	var denied jetstream.PermissionErrors
	nc, err := jetstream.Connect(within(t, time.Minute), jetstream.ConnectConfig{URL: s.ClientURL(), RetryFirst: true, PermissionErrors: &denied}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	for _, subject := range []string{"a", "b"} {
		if _, err := nc.SubscribeSync(subject); err != nil {
			t.Fatal(err)
		}
	}
	for ctx, tick := within(t, 20*time.Second), time.NewTicker(10*time.Millisecond); denied.Err() == nil; {
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatal("nothing is said of the limit")
		}
	}
	if err := denied.Err(); !strings.Contains(err.Error(), "more subscriptions") {
		t.Error(err)
	}
}

// TestALeafNodeIsAlone: its streams have one copy, though it names a cluster.
func TestALeafNodeIsAlone(t *testing.T) {
	t.Parallel()
	of := &server.Options{Host: "127.0.0.1", Port: -1, NoSigs: true, LeafNode: server.LeafNodeOpts{Host: "127.0.0.1", Port: -1}}
	hub, err := server.NewServer(of)
	if err != nil {
		t.Fatal(err)
	}
	hub.Start()
	defer hub.Shutdown()
	if !hub.ReadyForConnections(time.Minute) {
		t.Fatal("the hub does not start")
	}
	remote := &url.URL{Scheme: "nats-leaf", Host: fmt.Sprintf("127.0.0.1:%d", of.LeafNode.Port)}
	var o server.Options
	o.Host, o.Port, o.NoSigs, o.JetStream, o.StoreDir, o.JetStreamDomain, o.ServerName = "127.0.0.1", -1, true, true, t.TempDir(), "edge", "e1"
	o.LeafNode.Remotes = []*server.RemoteLeafOpts{{URLs: []*url.URL{remote}}}
	leaf, err := server.NewServer(&o)
	if err != nil {
		t.Fatal(err)
	}
	leaf.Start()
	defer leaf.Shutdown()
	if !leaf.ReadyForConnections(time.Minute) {
		t.Fatal("the leaf does not start")
	}
	nc, err := jetstream.Connect(within(t, time.Minute), jetstream.ConnectConfig{URL: leaf.ClientURL()}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	if n, cluster := jetstream.Copies(nc), nc.ConnectedClusterName(); n != 1 || cluster == "" {
		t.Errorf("cluster %q: %d copies", cluster, n)
	}
}

func TestDrainTwice(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ctx := within(t, time.Minute)
	for range 2 {
		if err := jetstream.Drain(ctx, b.nc); err != nil {
			t.Error(err)
		}
	}
}
