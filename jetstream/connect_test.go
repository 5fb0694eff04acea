package jetstream_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

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
