package emitters_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"satchel/emitters"
	"satchel/jetstream"
	"satchel/schemas"
)

func TestAReconnectSendsWhatWaits(t *testing.T) {
	t.Parallel()
	s := startStreams(t)
	e, nc := away(t, s, emitters.Config{Outbox: t.TempDir()})
	remember(t, e, "e1")
	remember(t, e, "e2")
	s.start(t)
	await(t, nc, nats.CONNECTED)
	ctx, tick := within(t, time.Minute), time.NewTicker(5*time.Millisecond)
	defer tick.Stop()
	for e.Queued() > 0 {
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatalf("%d events wait though NATS is back", e.Queued())
		}
	}
	if ids := s.stored(t); len(ids) != 2 || ids[0] != "e1" || ids[1] != "e2" {
		t.Errorf("stored: %v", ids)
	}
	if err := e.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

// unborn returns an emitter on a connection that has never stood.
func unborn(t *testing.T, url string) (*emitters.Emitter, *nats.Conn) {
	t.Helper()
	nc, err := nats.Connect(url, nats.RetryOnFailedConnect(true), nats.MaxReconnects(-1), nats.ReconnectWait(20*time.Millisecond))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	e, err := emitters.New(nc, emitters.Config{Tenant: "main", Agent: "planner"})
	if err != nil {
		t.Fatal(err)
	}
	return e, nc
}

func TestAskWaitsForTheConnection(t *testing.T) {
	t.Parallel()
	s := startStreams(t)
	s.stop(t)
	e, nc := unborn(t, s.url())
	soon, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	ask := func(ctx context.Context) error {
		_, err := e.Ask(ctx, schemas.ContextRequest{Payload: schemas.RequestPayload{Query: schemas.Query{Text: "q"}}})
		return err
	}
	if err := ask(soon); !errors.Is(err, emitters.ErrNotConnected) || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("ask before there is a connection: %v", err)
	}
	answered := make(chan error, 1)
	go func() { answered <- ask(within(t, time.Minute)) }()
	s.start(t)
	if err := <-answered; !errors.Is(err, jetstream.ErrNoService) { // the streams are there alone
		t.Errorf("ask while the connection comes: %v", err)
	}
	nc.Close()
	if _, err := e.Forget(t.Context(), []string{"n1"}, ""); !errors.Is(err, emitters.ErrNotConnected) || !strings.Contains(err.Error(), "not known whether") {
		t.Errorf("forget on a closed connection: %v", err)
	}
	if err := ask(t.Context()); !errors.Is(err, nats.ErrConnectionClosed) {
		t.Errorf("ask on a closed connection: %v", err)
	}
}

func TestAClearanceThatIsNoneIsRefused(t *testing.T) {
	t.Parallel()
	nc := dial(t, nodeURL)
	_, err := emitters.New(nc, emitters.Config{Tenant: "main", Agent: "planner", Clearance: "secret"})
	if err == nil || !strings.Contains(err.Error(), "public, internal, confidential or restricted") {
		t.Errorf("clearance secret: %v", err)
	}
	for _, level := range []string{"", "public", "restricted"} {
		if _, err := emitters.New(nc, emitters.Config{Tenant: "main", Agent: "planner", Clearance: level}); err != nil {
			t.Errorf("clearance %q: %v", level, err)
		}
	}
}
