package embedded_test

import (
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"

	"satchel/jetstream/embedded"
)

// Clients may not speak in Satchel's place to each other; the owner of the folder may.
func TestClientsDoNotSpeakForSatchel(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := start(t, embedded.Config{Dir: dir, Port: embedded.RandomPort})
	operator, err := embedded.Operator(dir)
	if err != nil {
		t.Fatal(err)
	}
	subjects := map[string]bool{ // allowed to clients
		"mem.v1.acme.evt.a": true, "ctx.v1.acme.request": true, "mine.x": true,
		"prov.v1.acme.pack.satchel": false, "dlq.v1.acme.malformed": false, "_SATCHEL.x.y": false, "_SATCHEL.v1.api.CLIENTS.$JS.API.STREAM.LIST": false,
		"$SYS.REQ.ACCOUNT.PING.CONNZ": false, "$SYS.REQ.USER.INFO": false,
	}
	for subject, allowed := range subjects {
		for _, as := range []string{"client", "operator"} {
			if got := mayPublish(t, s, operator, as, subject); got != (allowed || as == "operator") {
				t.Errorf("%s publishes to %s: %v", as, subject, got)
			}
		}
	}
	pair, err := nkeys.CreateUser()
	if err != nil {
		t.Fatal(err)
	}
	public, err := pair.PublicKey()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := nats.Connect(s.ClientURL(), nats.Nkey(public, pair.Sign)); err == nil {
		t.Error("a foreign key is taken")
	}
}

func mayPublish(t *testing.T, s *embedded.Server, operator nats.Option, as, subject string) bool {
	t.Helper()
	refused := make(chan error, 1)
	options := []nats.Option{nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { refused <- err })}
	if as == "operator" {
		options = append(options, operator)
	}
	nc, err := nats.Connect(s.ClientURL(), options...)
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	// The server answers in order: what it says of the first comes before the pong.
	if err := nc.Publish(subject, nil); err != nil {
		t.Fatal(err)
	}
	if err := nc.FlushTimeout(time.Minute); err != nil {
		t.Fatal(err)
	}
	if nc.LastError() != nil {
		<-refused
		return false
	}
	return true
}

// What is said to Satchel, and what it asks and is answered itself, no client hears,
// whoever says it; so nobody can answer in its place.
func TestClientsHearTheLedgerAndTheirRepliesAlone(t *testing.T) {
	t.Parallel()
	b := border(t, embedded.Config{Own: []string{"ctx.v1.*.role.planner"}, Others: []string{"ctx.v1.*.role.verifier"}})
	all, err := b.client.SubscribeSync(">")
	if err != nil {
		t.Fatal(err)
	}
	heard := map[string]bool{"prov.v1.a.pack.satchel": true, "_INBOX.x.y": true, "ctx.v1.a.role.verifier": true}
	for _, hidden := range []string{"mem.v1.a.evt.x", "mem.v1.a.put", "p.1.mem.v1.a.evt.x", "dlq.v1.a.malformed", "ctx.v1.a.request", "ctx.v1.a.role.planner",
		"log.v1.a.head", "art.v1.a.store", "_SATCHEL.x.y", "$JS.API.CONSUMER.MSG.NEXT.MEMORY.append-p01", "$O.SATCHEL_ARTIFACTS.C.x", "$KV.SATCHEL_REVOKED.x", "$JS.EVENT.ADVISORY.API", "asked"} {
		heard[hidden] = false
	}
	if err := b.client.Flush(); err != nil {
		t.Fatal(err)
	}
	for subject := range heard {
		if err := b.satchel.Publish(subject, nil); err != nil {
			t.Fatal(err)
		}
	}
	for _, subject := range []string{"mem.v1.a.evt.x", "mem.v1.a.put", "ctx.v1.a.request", "ctx.v1.a.role.planner", "log.v1.a.head", "art.v1.a.store", "$JS.API.CONSUMER.CREATE.LEDGER"} {
		if err := b.client.Publish(subject, nil); err != nil {
			t.Fatal(err)
		}
	}
	if err := b.client.FlushTimeout(wait); err != nil {
		t.Fatal(err)
	}
	if err := b.satchel.Publish("prov.v1.last", nil); err != nil {
		t.Fatal(err)
	}
	for {
		msg, err := all.NextMsg(wait)
		if err != nil {
			t.Fatal(err)
		}
		if msg.Subject == "prov.v1.last" {
			break
		}
		if !heard[msg.Subject] {
			t.Errorf("a client hears %s", msg.Subject)
		}
		delete(heard, msg.Subject)
	}
	for subject, want := range heard {
		if want {
			t.Errorf("a client does not hear %s", subject)
		}
	}
}
