package embedded_test

import (
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"

	"satchel/jetstream/embedded"
)

// Who connects over the network may not write what Satchel alone says, nor change
// streams; the owner of the folder may.
func TestClientsMayNotWriteTheLedger(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := start(t, embedded.Config{Dir: dir, Port: embedded.RandomPort})
	operator, err := embedded.Operator(dir)
	if err != nil {
		t.Fatal(err)
	}
	subjects := map[string]bool{ // allowed to clients
		"mem.v1.acme.evt.a": true, "ctx.v1.acme.request": true, "$JS.API.CONSUMER.CREATE.LEDGER.x": true, "$JS.API.STREAM.INFO.LEDGER": true,
		"prov.v1.acme.pack.satchel": false, "dlq.v1.acme.malformed": false, "p.3.mem.v1.acme.evt.a": false,
		"$JS.API.STREAM.DELETE.LEDGER": false, "$JS.API.STREAM.PURGE.MEMORY": false, "$JS.API.STREAM.MSG.DELETE.LEDGER": false,
		"$JS.API.CONSUMER.DELETE.MEMORY.append-p01": false, "$JS.API.CONSUMER.MSG.NEXT.MEMORY.append-p01": false,
		"$JS.ACK.MEMORY.append-p01.1.2.3.4.5": false, "$KV.x.y": false, "$O.x.y": false, "_SATCHEL.x.y": false,
		"$JS.API.CONSUMER.CREATE.DLQ": false, "$JS.API.CONSUMER.CREATE.DLQ.x": false, "$JS.API.STREAM.MSG.GET.DLQ": false, "$JS.API.DIRECT.GET.DLQ.dlq.v1.a.x": false,
		"$JS.API.CONSUMER.CREATE.KV_SATCHEL_REVOKED": false, "$JS.API.DIRECT.GET.KV_SATCHEL_REVOKED.$KV.SATCHEL_REVOKED.x": false,
		"$JS.API.CONSUMER.CREATE.MEMORY": false, "$JS.API.STREAM.MSG.GET.MEMORY": false, "$JS.API.DIRECT.GET.MEMORY.p.1.x": false,
		"$JS.API.CONSUMER.CREATE.OBJ_SATCHEL_ARTIFACTS.x": false, "$JS.API.CONSUMER.CREATE.OBJ_SATCHEL_ARTIFACTS": false,
		"$JS.API.STREAM.MSG.GET.OBJ_SATCHEL_ARTIFACTS": false, "$JS.API.DIRECT.GET.OBJ_SATCHEL_ARTIFACTS": false,
		"$JS.API.DIRECT.GET.OBJ_SATCHEL_ARTIFACTS.$O.SATCHEL_ARTIFACTS.M.x": false, "$JS.API.STREAM.SNAPSHOT.OBJ_SATCHEL_ARTIFACTS": false,
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
	if err := nc.FlushTimeout(10 * time.Second); err != nil {
		t.Fatal(err)
	}
	if nc.LastError() != nil {
		<-refused
		return false
	}
	return true
}

// What is said to Satchel, and what it asks and is answered itself, no client hears; so
// nobody can answer in its place. What a client is asked it may answer.
func TestClientsHearTheLedgerAndTheirRepliesAlone(t *testing.T) {
	t.Parallel()
	s := start(t, embedded.Config{Port: embedded.RandomPort, Own: []string{"ctx.v1.*.role.planner"}})
	satchel, err := nats.Connect("", s.InProcess())
	if err != nil {
		t.Fatal(err)
	}
	defer satchel.Close()
	client, err := nats.Connect(s.ClientURL(), nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {}))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	all, err := client.SubscribeSync(">")
	if err != nil {
		t.Fatal(err)
	}
	heard := map[string]bool{"prov.v1.a.pack.satchel": true, "_INBOX.x.y": true, "ctx.v1.a.role.verifier": true}
	for _, hidden := range []string{"mem.v1.a.evt.x", "mem.v1.a.put", "p.1.mem.v1.a.evt.x", "ctx.v1.a.request", "ctx.v1.a.role.planner",
		"log.v1.a.head", "art.v1.a.store", "_SATCHEL.x.y", "$JS.API.CONSUMER.MSG.NEXT.MEMORY.append-p01", "$O.SATCHEL_ARTIFACTS.C.x", "$KV.SATCHEL_REVOKED.x", "$JS.EVENT.ADVISORY.API"} {
		heard[hidden] = false
	}
	if err := client.Flush(); err != nil {
		t.Fatal(err)
	}
	for subject := range heard {
		if err := satchel.Publish(subject, nil); err != nil {
			t.Fatal(err)
		}
	}
	if err := satchel.Publish("prov.v1.last", nil); err != nil {
		t.Fatal(err)
	}
	for {
		msg, err := all.NextMsg(10 * time.Second)
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
	if _, err := client.Subscribe("asked", func(m *nats.Msg) { _ = m.Respond([]byte("yes")) }); err != nil {
		t.Fatal(err)
	}
	if err := client.Flush(); err != nil {
		t.Fatal(err)
	}
	if _, err := satchel.Request("asked", nil, 10*time.Second); err != nil {
		t.Errorf("a client that is asked: %v", err)
	}
}
