package embedded_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/nats-io/nats.go"
	js "github.com/nats-io/nats.go/jetstream"

	"satchel/jetstream/embedded"
)

// TestPrincipalsHaveSoManyConnectionsAndSubscriptions: what goes beyond is refused to that
// principal alone, and the server says who is at the limit.
func TestPrincipalsHaveSoManyConnectionsAndSubscriptions(t *testing.T) {
	t.Parallel()
	floodKey, flood := newKey(t)
	agentKey, agent := newKey(t)
	s := start(t, embedded.Config{Port: embedded.RandomPort, Connections: 3, Subscriptions: 20, Principals: []embedded.Principal{
		{Key: floodKey, Members: []embedded.Member{{Tenant: "main", ID: "flood"}}}, {Key: agentKey, Members: []embedded.Member{{Tenant: "main", ID: "agent"}}},
	}})
	refused := make(chan error, 100)
	connect := func(option nats.Option) (*nats.Conn, error) {
		nc, err := nats.Connect(s.ClientURL(), option, nats.NoReconnect(), nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { refused <- err }))
		if err == nil {
			t.Cleanup(nc.Close)
		}
		return nc, err
	}
	var first *nats.Conn
	for i := range 3 {
		nc, err := connect(flood)
		if err != nil {
			t.Fatalf("connection %d: %v", i, err)
		}
		first = nc
	}
	if _, err := connect(flood); !errors.Is(err, nats.ErrMaxAccountConnectionsExceeded) {
		t.Errorf("a connection too many: %v", err)
	}
	honest, err := connect(agent)
	if err != nil {
		t.Fatalf("another principal: %v", err)
	}
	subscribe := func(nc *nats.Conn, count int) {
		t.Helper()
		for i := range count {
			if _, err := nc.SubscribeSync(fmt.Sprint("x.", i)); err != nil {
				t.Fatal(err)
			}
		}
		if err := nc.Flush(); err != nil {
			t.Fatal(err)
		}
	}
	subscribe(honest, 10)
	subscribe(first, 40)
	if err := <-refused; !errors.Is(err, nats.ErrMaxSubscriptionsExceeded) {
		t.Errorf("a subscription too many: %v", err)
	}
	connections, subscriptions := s.AtLimit()
	if want := []string{"main:flood"}; !slices.Equal(connections, want) || !slices.Equal(subscriptions, want) {
		t.Errorf("at the limit: %v of connections, %v of subscriptions", connections, subscriptions)
	}
}

// TestClientsWithoutAKeyAreBounded: all of them together have so many connections.
func TestClientsWithoutAKeyAreBounded(t *testing.T) {
	t.Parallel()
	s := start(t, embedded.Config{Port: embedded.RandomPort, Connections: 1})
	for i := range 9 {
		nc, err := nats.Connect(s.ClientURL(), nats.NoReconnect())
		if err == nil {
			t.Cleanup(nc.Close)
		}
		if (err == nil) != (i < 8) {
			t.Errorf("connection %d: %v", i, err)
		}
	}
}

// TestAPrincipalHasAShareOfTheConsumers: one who makes consumers without end leaves some for others.
func TestAPrincipalHasAShareOfTheConsumers(t *testing.T) {
	t.Parallel()
	k := withPrincipals(t, embedded.Config{Consumers: 24})
	follow := func(nc *nats.Conn) error {
		api, err := js.New(nc)
		if err != nil {
			t.Fatal(err)
		}
		_, err = api.CreateConsumer(t.Context(), "LEDGER", js.ConsumerConfig{})
		return err
	}
	for i := range 7 {
		err := follow(k.guest)
		var refusal *js.APIError
		if i < 6 && err != nil || i == 6 && (!errors.As(err, &refusal) || refusal.ErrorCode != 10026) {
			t.Errorf("consumer %d of the guest: %v", i, err)
		}
	}
	if err := follow(k.boss); err != nil {
		t.Errorf("another principal: %v", err)
	}
}
