package embedded_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"satchel/jetstream/embedded"
)

// A push consumer sends with the server's rights. A client must not have one write the
// ledger, nor two feed each other, which would fill the disk.
func TestNoConsumersFeedEachOther(t *testing.T) {
	t.Parallel()
	s := start(t, embedded.Config{Port: embedded.RandomPort})
	satchel, err := nats.Connect("", s.InProcess())
	if err != nil {
		t.Fatal(err)
	}
	defer satchel.Close()
	js, err := jetstream.New(satchel)
	if err != nil {
		t.Fatal(err)
	}
	streams := map[string]string{"LEDGER": "prov.v1.>", "DLQ": "dlq.v1.>", "MEMORY": "p.>", "KV_SATCHEL_REVOKED": "$KV.SATCHEL_REVOKED.>", "OBJ_SATCHEL_ARTIFACTS": "$O.SATCHEL_ARTIFACTS.>"}
	for name, subject := range streams {
		if _, err := js.CreateStream(t.Context(), jetstream.StreamConfig{Name: name, Subjects: []string{subject}}); err != nil {
			t.Fatal(err)
		}
		if _, err := js.Publish(t.Context(), strings.Replace(subject, ">", "first.of.it", 1), []byte("x")); err != nil {
			t.Fatal(err)
		}
	}
	client, err := nats.Connect(s.ClientURL(), nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {}))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	for name := range streams {
		for target, subject := range streams {
			feed(t, client, name, strings.Replace(subject, ">", "from."+strings.ToLower(name), 1), name != target)
		}
	}
	follow(t, client) // the server has had time to send, and sends
	for name := range streams {
		stream, err := js.Stream(t.Context(), name)
		if err != nil {
			t.Fatal(err)
		}
		most := uint64(1)
		if name == "DLQ" {
			most = 2 // a copy of the ledger, which goes no further
		}
		if n := stream.CachedInfo().State.LastSeq; n > most {
			t.Errorf("%s has %d messages, want %d", name, n, most)
		}
	}
}

// feed has the client make a push consumer of a stream that delivers to subject, and hear
// subject, without which the server would deliver nothing.
func feed(t *testing.T, client *nats.Conn, stream, subject string, other bool) {
	t.Helper()
	if _, err := client.Subscribe(subject, func(*nats.Msg) {}); err != nil {
		t.Fatal(err)
	}
	body, err := json.Marshal(map[string]any{"stream_name": stream, "config": map[string]any{"deliver_subject": subject, "ack_policy": "none", "deliver_policy": "all"}})
	if err != nil {
		t.Fatal(err)
	}
	if stream != "LEDGER" { // refused without an answer
		if err := client.Publish("$JS.API.CONSUMER.CREATE."+stream, body); err != nil {
			t.Fatal(err)
		}
		return
	}
	m, err := client.Request("$JS.API.CONSUMER.CREATE."+stream, body, 30*time.Second)
	if err != nil || !other && !strings.Contains(string(m.Data), "forms a cycle") {
		t.Errorf("a consumer that feeds %s with %s: %v", subject, stream, err)
	}
}

// follow follows the ledger as a client may.
func follow(t *testing.T, client *nats.Conn) {
	t.Helper()
	inbox, err := client.SubscribeSync(client.NewInbox())
	if err != nil {
		t.Fatal(err)
	}
	feed(t, client, "LEDGER", inbox.Subject, true)
	if m, err := inbox.NextMsg(30 * time.Second); err != nil || m.Subject != "prov.v1.first.of.it" {
		t.Fatalf("the client hears %v: %v", m, err)
	}
}
