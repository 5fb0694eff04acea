package embedded_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"
	"github.com/nats-io/nats.go"
	js "github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nats.go/micro"

	"satchel/jetstream"
	"satchel/jetstream/embedded"
)

func note(id string) event.Event {
	ev := event.New()
	ev.SetID(id)
	ev.SetSource("urn:test")
	ev.SetType("io.satchel.memory.recorded.v1")
	return ev
}

// Publishing over the border is acknowledged, alone and in atomic batches, and what the
// server is told in headers holds.
func TestClientsPublish(t *testing.T) {
	t.Parallel()
	b := border(t, embedded.Config{})
	conn, err := jetstream.Open(t.Context(), b.client)
	if err != nil {
		t.Fatal(err)
	}
	out := jetstream.NewOutbox(b.client, conn)
	if stream, seq, err := out.PublishMemory(t.Context(), "main", "a", note("e1")); err != nil || stream != "MEMORY" || seq != 1 {
		t.Fatalf("%s %d, %v", stream, seq, err)
	}
	events := make([]event.Event, 40)
	for i := range events {
		events[i] = note(fmt.Sprintf("b%d", i))
	}
	if _, seq, err := out.PublishAll(t.Context(), "main", "a", events); err != nil || seq != 41 {
		t.Fatalf("a batch ends at %d, %v", seq, err)
	}
	_, err = conn.Publish(t.Context(), "mem.v1.main.evt.a", []byte("x"), js.WithExpectLastSequence(7))
	var api *js.APIError
	if !errors.As(err, &api) || api.ErrorCode != js.JSErrCodeStreamWrongLastSequence {
		t.Errorf("an expectation that does not hold: %v", err)
	}
	for range 2 {
		if _, err := conn.Publish(t.Context(), "mem.v1.main.evt.a", []byte("x"), js.WithMsgID("same")); err != nil {
			t.Fatal(err)
		}
	}
	if got := b.streams(t)["MEMORY"]; got != "42 of 42" {
		t.Errorf("MEMORY has %s", got)
	}
}

// The ledger is followed by pulling and by pushing, and heard.
func TestClientsFollowTheLedger(t *testing.T) {
	t.Parallel()
	b := border(t, embedded.Config{})
	heard, err := b.client.SubscribeSync("prov.v1.main.>")
	if err != nil {
		t.Fatal(err)
	}
	if err := b.client.Flush(); err != nil {
		t.Fatal(err)
	}
	const n = 700
	for i := range n {
		if _, err := b.js.Publish(t.Context(), "prov.v1.main.memory.a", fmt.Append(nil, i)); err != nil {
			t.Fatal(err)
		}
	}
	if m, err := heard.NextMsg(wait); err != nil || m.Subject != "prov.v1.main.memory.a" {
		t.Errorf("heard %v, %v", m, err)
	}
	conn, err := js.New(b.client)
	if err != nil {
		t.Fatal(err)
	}
	ordered, err := conn.OrderedConsumer(t.Context(), "LEDGER", js.OrderedConsumerConfig{FilterSubjects: []string{"prov.v1.main.>"}})
	if err != nil {
		t.Fatal(err)
	}
	messages, err := ordered.Messages()
	if err != nil {
		t.Fatal(err)
	}
	defer messages.Stop()
	durable, err := conn.CreateConsumer(t.Context(), "LEDGER", js.ConsumerConfig{Durable: "mine", AckPolicy: js.AckExplicitPolicy})
	if err != nil {
		t.Fatal(err)
	}
	own, err := durable.Messages()
	if err != nil {
		t.Fatal(err)
	}
	defer own.Stop()
	old, err := b.client.JetStream()
	if err != nil {
		t.Fatal(err)
	}
	pushed, err := old.SubscribeSync("prov.v1.main.>", nats.OrderedConsumer())
	if err != nil {
		t.Fatal(err)
	}
	for i := range n {
		for name, next := range map[string]func() (subject string, data []byte, err error){
			"pull": func() (string, []byte, error) {
				m, err := messages.Next()
				if err != nil {
					return "", nil, err
				}
				return m.Subject(), m.Data(), nil
			},
			"durable": func() (string, []byte, error) {
				m, err := own.Next()
				if err != nil {
					return "", nil, err
				}
				return m.Subject(), m.Data(), m.DoubleAck(t.Context())
			},
			"push": func() (string, []byte, error) {
				m, err := pushed.NextMsg(wait)
				if err != nil {
					return "", nil, err
				}
				return m.Subject, m.Data, nil
			},
		} {
			if subject, data, err := next(); err != nil || subject != "prov.v1.main.memory.a" || string(data) != fmt.Sprint(i) {
				t.Fatalf("%s: message %d is %s %q, %v", name, i, subject, data, err)
			}
		}
	}
	if info, err := pushed.ConsumerInfo(); err != nil || !strings.HasPrefix(info.Config.DeliverSubject, "_INBOX.") {
		t.Errorf("the push consumer: %+v, %v", info, err)
	}
	if err := pushed.Unsubscribe(); err != nil {
		t.Error(err)
	}
	if err := conn.DeleteConsumer(t.Context(), "LEDGER", "mine"); err != nil {
		t.Error(err)
	}
	ledger, err := jetstream.OpenLedger(t.Context(), b.client, conn, jetstream.LedgerConfig{})
	if err != nil {
		t.Fatal(err)
	}
	if passed, err := ledger.Passed(t.Context(), "main"); passed || err != nil {
		t.Errorf("passed %v, %v", passed, err)
	}
}

// A request crosses with its headers, its answer comes back whole however large it is, and
// where nobody answers one is told so.
func TestClientsAsk(t *testing.T) {
	t.Parallel()
	b := border(t, embedded.Config{Own: []string{"ctx.v1.*.role.planner"}})
	if _, err := jetstream.Request(t.Context(), b.client, "ctx.v1.main.request", nil); !errors.Is(err, jetstream.ErrNoService) {
		t.Errorf("nobody serves: %v", err)
	}
	large := bytes.Repeat([]byte("a large reply "), 200_000)
	echo := func(subject string) jetstream.Endpoint {
		return jetstream.Endpoint{Name: strings.NewReplacer(".", "-", "*", "t").Replace(subject), Subject: subject, Handler: func(_ context.Context, c jetstream.Call) (jetstream.Reply, error) {
			if c.Silent {
				t.Errorf("%s has no reply subject", c.Subject)
			}
			return jetstream.Reply{Data: append([]byte(c.Header.Get("traceparent")+c.Header.Get(jetstream.HeaderDeadline)[:1]), c.Data...), Header: nats.Header{"Own": {c.Subject}}}, nil
		}}
	}
	endpoints := []jetstream.Endpoint{echo("mem.v1.*.put"), echo("ctx.v1.*.request"), echo("ctx.v1.*.role.planner"), echo("log.v1.*.head"), echo("art.v1.*.open"),
		{Name: "large", Subject: "ctx.v1.*.search", Handler: func(context.Context, jetstream.Call) (jetstream.Reply, error) {
			return jetstream.Reply{Data: large}, nil
		}}}
	service, err := jetstream.Serve(t.Context(), b.satchel, b.js, jetstream.ServiceConfig{}, endpoints)
	if err != nil {
		t.Fatal(err)
	}
	defer service.Stop(t.Context())
	for _, subject := range []string{"mem.v1.main.put", "ctx.v1.main.request", "ctx.v1.main.role.planner", "log.v1.main.head", "art.v1.main.open"} {
		reply, err := jetstream.RequestWithHeader(t.Context(), b.client, subject, nats.Header{"traceparent": {"00-1"}}, []byte("body"))
		if err != nil || !strings.HasPrefix(string(reply.Data), "00-1") || !strings.HasSuffix(string(reply.Data), "body") || reply.Header.Get("Own") != subject {
			t.Errorf("%s: %s %v, %v", subject, reply.Data, reply.Header, err)
		}
	}
	if got, err := jetstream.Request(t.Context(), b.client, "ctx.v1.main.search", nil); err != nil || !bytes.Equal(got, large) {
		t.Errorf("a large reply: %d bytes, %v", len(got), err)
	}
	m, err := b.client.Request("$SRV.INFO.satchel", nil, wait)
	var info micro.Info
	if err != nil || json.Unmarshal(m.Data, &info) != nil || len(info.Endpoints) != len(endpoints) {
		t.Errorf("discovery: %v, %v", info, err)
	}
}

// Satchel asks what clients offer: roles that it does not play, contents on an inbox.
func TestClientsAnswer(t *testing.T) {
	t.Parallel()
	b := border(t, embedded.Config{Own: []string{"ctx.v1.*.role.planner"}, Others: []string{"ctx.v1.*.role.verifier"}})
	const subject = "ctx.v1.main.role.verifier"
	if _, err := jetstream.Request(t.Context(), b.satchel, subject, nil); !errors.Is(err, jetstream.ErrNoService) {
		t.Errorf("nobody plays: %v", err)
	}
	for _, s := range []string{subject, "ctx.v1.main.role.planner"} {
		if _, err := b.client.Subscribe(s, func(m *nats.Msg) { _ = m.Respond([]byte("yes")) }); err != nil {
			t.Fatal(err)
		}
	}
	if err := b.client.Flush(); err != nil {
		t.Fatal(err)
	}
	for _, nc := range []*nats.Conn{b.satchel, b.client} {
		if m, err := nc.Request(subject, nil, wait); err != nil || string(m.Data) != "yes" {
			t.Errorf("a client that plays is asked: %v, %v", m, err)
		}
		if _, err := nc.Request("ctx.v1.main.role.planner", nil, wait); !errors.Is(err, nats.ErrNoResponders) {
			t.Errorf("a client answers in Satchel's place: %v", err)
		}
	}
	content := bytes.Repeat([]byte("0123456789"), 100_000)
	inbox, stop, err := jetstream.ServeUpload(b.client, bytes.NewReader(content))
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	if err := b.client.Flush(); err != nil {
		t.Fatal(err)
	}
	var got bytes.Buffer
	if _, err := got.ReadFrom(jetstream.Fetch(t.Context(), b.satchel, jetstream.Call{}, inbox)); err != nil || !bytes.Equal(got.Bytes(), content) {
		t.Errorf("an offered content: %d bytes, %v", got.Len(), err)
	}
}

// TestClientsMakeNoEndOfConsumers: what clients make is bounded, one that is there may be
// changed and removed, and Satchel itself is not kept from anything.
func TestClientsMakeNoEndOfConsumers(t *testing.T) {
	t.Parallel()
	b := border(t, embedded.Config{Consumers: 6})
	for i := range 3 {
		if refused := create(t, b.client, "LEDGER", fmt.Sprintf("c%d", i), map[string]any{"durable_name": fmt.Sprintf("c%d", i), "ack_policy": "explicit"}); refused != "" {
			t.Fatal(refused)
		}
	}
	conn, err := js.New(b.client)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := conn.CreateConsumer(t.Context(), "LEDGER", js.ConsumerConfig{Durable: "more"}); !errors.Is(err, js.ErrMaximumConsumersLimit) {
		t.Errorf("one more: %v", err)
	}
	if refused := create(t, b.client, "LEDGER", "e", map[string]any{"name": "e", "inactive_threshold": time.Hour}); !strings.Contains(refused, "LEDGER has 3, and clients of this server may make 3 of those that stay") {
		t.Errorf("one that may go unused for long: %s", refused)
	}
	for range 3 { // half of the places are for those that follow for a while
		if _, err := conn.OrderedConsumer(t.Context(), "LEDGER", js.OrderedConsumerConfig{}); err != nil {
			t.Errorf("an ordered one: %v", err)
		}
	}
	if refused := create(t, b.client, "LEDGER", "", map[string]any{}); !strings.Contains(refused, "LEDGER has 6, and clients of this server may make 6: delete what is unused") {
		t.Errorf("one without a name: %s", refused)
	}
	if refused := create(t, b.client, "LEDGER", "c1", map[string]any{"durable_name": "c1", "ack_policy": "explicit", "description": "changed"}); refused != "" {
		t.Errorf("one that is there: %s", refused)
	}
	if _, err := b.js.CreateConsumer(t.Context(), "LEDGER", js.ConsumerConfig{Durable: "satchel"}); err != nil {
		t.Errorf("Satchel's own: %v", err)
	}
	if err := b.js.DeleteConsumer(t.Context(), "LEDGER", "satchel"); err != nil {
		t.Fatal(err)
	}
	var ordered []string
	for name := range stream(t, b).ConsumerNames(t.Context()).Name() {
		if !slices.Contains([]string{"c0", "c1", "c2"}, name) { // an ordered one's name is made up, and may begin with c
			ordered = append(ordered, name)
		}
	}
	for _, name := range append(ordered, "c0", "c1") {
		if err := conn.DeleteConsumer(t.Context(), "LEDGER", name); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := conn.CreateConsumer(t.Context(), "LEDGER", js.ConsumerConfig{Durable: "more"}); err != nil {
		t.Errorf("after two are gone: %v", err)
	}
}

func stream(t *testing.T, b *sides) js.Stream {
	t.Helper()
	s, err := b.js.Stream(t.Context(), "LEDGER")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// No client keeps the others from their large replies: who reads one is gone in a minute.
func TestReadersOfRepliesDoNotStay(t *testing.T) {
	t.Parallel()
	b := border(t, embedded.Config{})
	content := b.largeReply(t, "main/abc/secret")
	one := func(more map[string]any) map[string]any {
		more["filter_subject"] = "$O.SATCHEL_REPLIES.C." + content
		return more
	}
	if refused := create(t, b.client, "OBJ_SATCHEL_REPLIES", "", one(map[string]any{})); !strings.Contains(refused, "not found by its name") {
		t.Errorf("a reply whose name the client does not know: %q", refused)
	}
	find(t, b.client, "main/abc/secret")
	if refused := create(t, b.client, "OBJ_SATCHEL_REPLIES", "c", one(map[string]any{"durable_name": "c"})); !strings.Contains(refused, "a durable consumer of a reply") {
		t.Errorf("a durable one: %q", refused)
	}
	if refused := create(t, b.client, "OBJ_SATCHEL_REPLIES", "c", one(map[string]any{"name": "c", "inactive_threshold": time.Hour})); refused != "" {
		t.Fatal(refused)
	}
	c, err := b.js.Consumer(t.Context(), "OBJ_SATCHEL_REPLIES", "c")
	if err != nil {
		t.Fatal(err)
	}
	if got := c.CachedInfo().Config.InactiveThreshold; got != time.Minute {
		t.Errorf("one that would stay for an hour stays for %v", got)
	}
}

// largeReply keeps a reply by a name, and returns the name of its content.
func (b *sides) largeReply(t *testing.T, name string) (content string) {
	t.Helper()
	replies, err := b.js.ObjectStore(t.Context(), "SATCHEL_REPLIES")
	if err != nil {
		t.Fatal(err)
	}
	info, err := replies.PutString(t.Context(), name, "the reply")
	if err != nil {
		t.Fatal(err)
	}
	return info.NUID
}

// find asks for the description of a large reply, as one who knows its name does.
func find(t *testing.T, nc *nats.Conn, name string) {
	t.Helper()
	m, err := nc.Request("$JS.API.DIRECT.GET.OBJ_SATCHEL_REPLIES.$O.SATCHEL_REPLIES.M."+base64.URLEncoding.EncodeToString([]byte(name)), nil, wait)
	if err != nil || len(m.Data) == 0 {
		t.Fatalf("find %s: %v, %v", name, m, err)
	}
}

// A push consumer ends with who it pushes to, as it does without a border.
func TestAPushConsumerEndsWithItsClient(t *testing.T) {
	t.Parallel()
	b := border(t, embedded.Config{})
	inbox, err := b.client.SubscribeSync(b.client.NewInbox())
	if err != nil {
		t.Fatal(err)
	}
	if refused := create(t, b.client, "LEDGER", "pushes", map[string]any{"deliver_subject": inbox.Subject, "inactive_threshold": 50_000_000}); refused != "" {
		t.Fatal(refused)
	}
	gone, err := b.satchel.SubscribeSync("$JS.EVENT.ADVISORY.CONSUMER.DELETED.LEDGER.pushes")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.js.Publish(t.Context(), "prov.v1.main.memory.a", nil); err != nil {
		t.Fatal(err)
	}
	if m, err := inbox.NextMsg(wait); err != nil || m.Subject != "prov.v1.main.memory.a" {
		t.Fatalf("pushed %v, %v", m, err)
	}
	b.client.Close()
	if _, err := gone.NextMsg(wait); err != nil {
		t.Errorf("the consumer stays: %v", err)
	}
}

func BenchmarkRequest(b *testing.B) {
	dir := b.TempDir()
	s, err := embedded.Start(embedded.Config{Dir: dir, Port: embedded.RandomPort})
	if err != nil {
		b.Fatal(err)
	}
	defer s.Stop()
	satchel, err := nats.Connect("", s.InProcess())
	if err != nil {
		b.Fatal(err)
	}
	defer satchel.Close()
	user, err := embedded.Operator(dir)
	if err != nil {
		b.Fatal(err)
	}
	operator, err := nats.Connect(s.ClientURL(), user)
	if err != nil {
		b.Fatal(err)
	}
	defer operator.Close()
	client, err := nats.Connect(s.ClientURL())
	if err != nil {
		b.Fatal(err)
	}
	defer client.Close()
	if _, err := satchel.Subscribe("ctx.v1.*.request", func(m *nats.Msg) { _ = m.Respond(m.Data) }); err != nil {
		b.Fatal(err)
	}
	if err := satchel.Flush(); err != nil {
		b.Fatal(err)
	}
	body := make([]byte, 4096)
	for name, nc := range map[string]*nats.Conn{"inside": operator, "over the border": client} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if _, err := nc.Request("ctx.v1.main.request", body, wait); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
