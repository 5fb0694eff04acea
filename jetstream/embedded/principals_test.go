package embedded_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"
	"github.com/nats-io/nats.go"
	js "github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nkeys"

	"satchel/jetstream"
	"satchel/jetstream/embedded"
)

// keyed is a server that knows two principals: boss of the bank, an auditor, and guest of main.
type keyed struct {
	*sides
	server      *embedded.Server
	boss, guest *nats.Conn
	calls       chan jetstream.Call // that the service got
}

// newKey returns a public key and the option to connect with it.
func newKey(t *testing.T) (public string, option nats.Option) {
	t.Helper()
	pair, err := nkeys.CreateUser()
	if err != nil {
		t.Fatal(err)
	}
	if public, err = pair.PublicKey(); err != nil {
		t.Fatal(err)
	}
	return public, nats.Nkey(public, pair.Sign)
}

func withPrincipals(t *testing.T, cfg embedded.Config) *keyed {
	t.Helper()
	bossKey, bossOption := newKey(t)
	guestKey, guestOption := newKey(t)
	cfg.Port = embedded.RandomPort
	cfg.Principals = []embedded.Principal{
		{Key: bossKey, Members: []embedded.Member{{Tenant: "bank", ID: "boss", Ledger: []string{"prov.v1.bank.>"}, Roles: []string{"ctx.v1.bank.role.verifier"}}}},
		{Key: guestKey, Members: []embedded.Member{{Tenant: "main", ID: "guest", Ledger: []string{"prov.v1.main.memory.*", "prov.v1.main.pack.*"}}}},
	}
	k := &keyed{sides: &sides{}, server: start(t, cfg), calls: make(chan jetstream.Call, 100)}
	connect := func(url string, options ...nats.Option) *nats.Conn {
		nc, err := nats.Connect(url, append(options, nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {}))...)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(nc.Close)
		return nc
	}
	k.satchel = connect("", k.server.InProcess())
	k.boss, k.guest = connect(k.server.ClientURL(), bossOption, nats.CustomInboxPrefix("_INBOX_boss")), connect(k.server.ClientURL(), guestOption)
	var err error
	if k.js, err = js.New(k.satchel); err == nil {
		err = jetstream.EnsureStreams(t.Context(), k.js, jetstream.Config{})
	}
	if err != nil {
		t.Fatal(err)
	}
	var endpoints []jetstream.Endpoint
	for _, subject := range []string{"mem.v1.*.put", "ctx.v1.*.request", "ctx.v1.*.role.planner", "log.v1.*.head", "art.v1.*.store"} {
		endpoints = append(endpoints, jetstream.Endpoint{Name: strings.NewReplacer(".", "-", "*", "t").Replace(subject), Subject: subject, Handler: func(_ context.Context, c jetstream.Call) (jetstream.Reply, error) {
			k.calls <- c
			return jetstream.Reply{Data: []byte("for " + c.Principal)}, nil
		}})
	}
	service, err := jetstream.Serve(t.Context(), k.satchel, k.js, jetstream.ServiceConfig{Identified: true}, endpoints)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := service.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return k
}

// With principals nobody else connects.
func TestOnlyPrincipalsConnect(t *testing.T) {
	t.Parallel()
	s := start(t, embedded.Config{Port: embedded.RandomPort, Principals: []embedded.Principal{}})
	_, foreign := newKey(t)
	for name, option := range map[string]nats.Option{"no key": nats.Name("none"), "a foreign key": foreign, "a password": nats.UserInfo("satchel", "satchel"), "a token": nats.Token("satchel")} {
		if nc, err := nats.Connect(s.ClientURL(), option); err == nil {
			nc.Close()
			t.Errorf("%s connects", name)
		} else if !errors.Is(err, nats.ErrAuthorization) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := embedded.Start(embedded.Config{Dir: t.TempDir(), Port: embedded.RandomPort, Principals: []embedded.Principal{{Key: "boss"}}}); err == nil {
		t.Error("a key that is none is taken")
	}
}

// The service knows who asks, whatever the request says.
func TestTheServiceKnowsThePrincipal(t *testing.T) {
	t.Parallel()
	k := withPrincipals(t, embedded.Config{Own: []string{"ctx.v1.*.role.planner"}, Others: []string{"ctx.v1.*.role.verifier"}})
	for _, subject := range []string{"mem.v1.bank.put", "ctx.v1.bank.request", "ctx.v1.bank.role.planner", "log.v1.bank.head", "art.v1.bank.store"} {
		m, err := k.boss.Request(subject, []byte(`{"from":{"id":"another"}}`), wait)
		if err != nil || string(m.Data) != "for boss" {
			t.Errorf("%s: %v, %v", subject, m, err)
			continue
		}
		if c := <-k.calls; c.Principal != "boss" || c.Tenant != "bank" || c.Subject != subject {
			t.Errorf("%s: the service sees %q of %q on %s", subject, c.Principal, c.Tenant, c.Subject)
		}
	}
	if m, err := k.satchel.Request("ctx.v1.bank.request", nil, wait); err != nil || string(m.Data) != "for " {
		t.Errorf("the operator: %v, %v", m, err)
	}
	for _, subject := range []string{"ctx.v1.bank.request", "mem.v1.bank.put", "log.v1.bank.head", "art.v1.bank.store", "ctx.v1.bank.role.planner", "ctx.v1.main.nosuch", "ctx.v1.main.role.verifier",
		"_SATCHEL.v1.as.boss.ctx.v1.bank.request", "_SATCHEL.v1.as.boss.ctx.v1.main.request", "_SATCHEL.v1.as.guest.ctx.v1.main.request",
		"_SATCHEL.v1.api.CLIENTS.$JS.API.INFO", "_SATCHEL.v1.to.bank.boss._INBOX.x", "_SATCHEL.v1.push.x", "dlq.v1.main.x", "prov.v1.main.memory.guest", "$JS.API.STREAM.INFO.MEMORY"} {
		m, err := k.guest.Request(subject, nil, wait)
		if !errors.Is(err, nats.ErrNoResponders) && (err != nil || !strings.Contains(string(m.Data), `"code":403`)) {
			t.Errorf("another principal on %s: %v, %v", subject, m, err)
		}
	}
}

// A principal publishes memories under its own tenants and its own agent token.
func TestPrincipalsPublishAsThemselves(t *testing.T) {
	t.Parallel()
	k := withPrincipals(t, embedded.Config{})
	conn, err := jetstream.Open(t.Context(), k.guest)
	if err != nil {
		t.Fatal(err)
	}
	out := jetstream.NewOutbox(k.guest, conn)
	if _, _, err := out.PublishMemory(t.Context(), "main", "guest", note("e1")); err != nil {
		t.Fatal(err)
	}
	events := []event.Event{note("b1"), note("b2"), note("b3")}
	if _, seq, err := out.PublishAll(t.Context(), "main", "guest", events); err != nil || seq != 4 {
		t.Errorf("a batch ends at %d, %v", seq, err)
	}
	if _, _, err := out.PublishAll(t.Context(), "bank", "guest", events); err == nil {
		t.Error("a batch for another tenant is taken")
	}
	for _, subject := range []string{"mem.v1.bank.evt.guest", "mem.v1.main.evt.boss", "mem.v1.bank.evt.boss", "p.1.mem.v1.main.evt.guest", "mem.v1.main.evt.guest.x"} {
		if _, err := k.guest.Request(subject, []byte("x"), wait); !errors.Is(err, nats.ErrNoResponders) {
			t.Errorf("%s: %v", subject, err)
		}
	}
	if got := k.streams(t)["MEMORY"]; got != "4 of 4" {
		t.Errorf("MEMORY has %s", got)
	}
}

// Each principal hears its own replies and what it may read of the ledger, on whatever it
// listens.
func TestPrincipalsHearTheirOwn(t *testing.T) {
	t.Parallel()
	k := withPrincipals(t, embedded.Config{Own: []string{"ctx.v1.*.role.planner"}})
	var spies []*nats.Subscription
	for _, subject := range []string{">", "_INBOX.>", "_R_.>", "prov.v1.>", "mem.v1.>", "ctx.v1.>", "log.v1.>", "art.v1.>", "$JS.>", "_SATCHEL.>", "*.>"} {
		sub, err := k.guest.SubscribeSync(subject)
		if err != nil {
			t.Fatal(err)
		}
		spies = append(spies, sub)
	}
	if err := k.guest.Flush(); err != nil {
		t.Fatal(err)
	}
	for _, subject := range []string{"mem.v1.bank.put", "ctx.v1.bank.request", "ctx.v1.bank.role.planner", "log.v1.bank.head", "art.v1.bank.store"} {
		if _, err := k.boss.Request(subject, []byte("secret"), wait); err != nil {
			t.Fatal(err)
		}
	}
	for _, subject := range []string{"prov.v1.bank.pack.satchel", "prov.v1.bank.decision.satchel", "prov.v1.main.decision.satchel", "prov.v1.main.drop.satchel", "mem.v1.bank.evt.boss"} {
		if _, err := k.js.Publish(t.Context(), subject, []byte("secret")); err != nil {
			t.Fatal(err)
		}
	}
	boss, err := js.New(k.boss)
	if err != nil {
		t.Fatal(err)
	}
	consumer, err := boss.CreateConsumer(t.Context(), "LEDGER", js.ConsumerConfig{Durable: "audit", AckPolicy: js.AckExplicitPolicy})
	if err != nil {
		t.Fatal(err)
	}
	batch, err := consumer.FetchNoWait(10)
	if err != nil {
		t.Fatal(err)
	}
	var read []string
	for m := range batch.Messages() {
		read = append(read, m.Subject())
		if err := m.DoubleAck(t.Context()); err != nil {
			t.Error(err)
		}
	}
	if want := []string{"prov.v1.bank.pack.satchel", "prov.v1.bank.decision.satchel"}; !slices.Equal(read, want) {
		t.Errorf("the auditor of the bank reads %v", read)
	}
	if _, err := k.js.Publish(t.Context(), "prov.v1.main.memory.x", []byte("last")); err != nil {
		t.Fatal(err)
	}
	for _, spy := range spies {
		hears := spy.Subject == ">" || spy.Subject == "*.>" || spy.Subject == "prov.v1.>"
		limit := 100 * time.Millisecond
		if hears {
			limit = wait
		}
		m, err := spy.NextMsg(limit)
		if hears && (err != nil || string(m.Data) != "last") {
			t.Errorf("on %s: %v, %v", spy.Subject, m, err)
		} else if !hears && err == nil {
			t.Errorf("on %s another's message is heard: %s", spy.Subject, m.Subject)
		}
	}
}

// A consumer is its owner's alone, and reads what its owner may read.
func TestConsumersAreTheirOwners(t *testing.T) {
	t.Parallel()
	k := withPrincipals(t, embedded.Config{})
	for i := range 4 {
		for _, subject := range []string{"prov.v1.bank.pack.satchel", "prov.v1.main.memory.x", "prov.v1.main.decision.satchel"} {
			if _, err := k.js.Publish(t.Context(), subject, fmt.Append(nil, i)); err != nil {
				t.Fatal(err)
			}
		}
	}
	boss, err := js.New(k.boss)
	if err != nil {
		t.Fatal(err)
	}
	guest, err := js.New(k.guest)
	if err != nil {
		t.Fatal(err)
	}
	audit, err := boss.CreateConsumer(t.Context(), "LEDGER", js.ConsumerConfig{Durable: "audit", AckPolicy: js.AckExplicitPolicy, Metadata: map[string]string{"satchel.client": "guest", "mine": "yes"}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := k.js.CreateConsumer(t.Context(), "LEDGER", js.ConsumerConfig{Durable: "operators", AckPolicy: js.AckExplicitPolicy}); err != nil {
		t.Fatal(err)
	}
	got, err := audit.Next(js.FetchMaxWait(wait))
	if err != nil {
		t.Fatal(err)
	}
	ack := got.Reply()
	for _, name := range []string{"audit", "operators"} {
		if _, err := guest.Consumer(t.Context(), "LEDGER", name); !errors.Is(err, js.ErrConsumerNotFound) {
			t.Errorf("%s is seen: %v", name, err)
		}
		if err := guest.DeleteConsumer(t.Context(), "LEDGER", name); !errors.Is(err, js.ErrConsumerNotFound) {
			t.Errorf("%s is deleted: %v", name, err)
		}
		for _, filter := range []string{"", "prov.v1.main.memory.*"} {
			refused := create(t, k.guest, "LEDGER", name, map[string]any{"durable_name": name, "ack_policy": "explicit", "filter_subject": filter})
			if !strings.Contains(refused, "10013") {
				t.Errorf("%s is changed: %q", name, refused)
			}
		}
		if refused := create(t, k.guest, "LEDGER", "", map[string]any{"name": name, "durable_name": name}); !strings.Contains(refused, "10013") {
			t.Errorf("%s is changed without its name in the subject: %q", name, refused)
		}
		if m, err := k.guest.Request("$JS.API.CONSUMER.MSG.NEXT.LEDGER."+name, []byte(`{"batch":1,"no_wait":true}`), wait); !errors.Is(err, nats.ErrNoResponders) {
			t.Errorf("%s is pulled from: %v, %v", name, m, err)
		}
	}
	if err := k.guest.Publish(ack, []byte("+TERM")); err != nil {
		t.Fatal(err)
	}
	if err := k.guest.PublishRequest(ack, k.guest.NewInbox(), []byte("+ACK")); err != nil {
		t.Fatal(err)
	}
	if refused := create(t, k.guest, "LEDGER", "own", map[string]any{"durable_name": "own", "ack_policy": "explicit"}); refused != "" {
		t.Fatal(refused)
	}
	info, err := k.js.Consumer(t.Context(), "LEDGER", "audit")
	if err != nil {
		t.Fatal(err)
	}
	if state := info.CachedInfo(); state.NumAckPending != 1 || state.AckFloor.Consumer != 0 || state.Config.Metadata["mine"] != "yes" {
		t.Errorf("after another's acknowledgements: %+v", state)
	}
	if names := consumerNames(t, guest); !slices.Equal(names, []string{"own"}) {
		t.Errorf("the guest's consumers: %v", names)
	}
	var streams []string
	list := guest.StreamNames(t.Context())
	for name := range list.Name() {
		streams = append(streams, name)
	}
	if !slices.Equal(streams, []string{"LEDGER"}) || list.Err() != nil {
		t.Errorf("the guest's streams: %v, %v", streams, list.Err())
	}
	if refused := create(t, k.guest, "LEDGER", "own", map[string]any{"durable_name": "own", "ack_policy": "explicit", "pause_until": "0001-01-01T00:00:00Z"}); refused != "" { // as the nats command has it
		t.Error(refused)
	}
	own, err := guest.Consumer(t.Context(), "LEDGER", "own")
	if err != nil {
		t.Fatal(err)
	}
	if got := own.CachedInfo().Config.FilterSubjects; !slices.Equal(got, []string{"prov.v1.main.memory.*", "prov.v1.main.pack.*"}) {
		t.Errorf("a consumer without a filter reads %v", got)
	}
	for i := range 4 {
		m, err := own.Next(js.FetchMaxWait(wait))
		if err != nil || m.Subject() != "prov.v1.main.memory.x" || string(m.Data()) != fmt.Sprint(i) {
			t.Fatalf("message %d: %v, %v", i, m, err)
		}
		if err := m.DoubleAck(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if err := guest.DeleteConsumer(t.Context(), "LEDGER", "own"); err != nil {
		t.Fatal(err)
	}
	if m, err := k.guest.Request("$JS.API.CONSUMER.MSG.NEXT.LEDGER.own", []byte(`{"batch":1,"no_wait":true}`), wait); !errors.Is(err, nats.ErrNoResponders) {
		t.Errorf("a deleted consumer is pulled from: %v, %v", m, err)
	}
	if err := got.DoubleAck(t.Context()); err != nil {
		t.Errorf("the owner's acknowledgement: %v", err)
	}
}

func consumerNames(t *testing.T, conn js.JetStream) []string {
	t.Helper()
	stream, err := conn.Stream(t.Context(), "LEDGER")
	if err != nil {
		t.Fatal(err)
	}
	var names, listed []string
	all := stream.ConsumerNames(t.Context())
	for name := range all.Name() {
		names = append(names, name)
	}
	infos := stream.ListConsumers(t.Context())
	for info := range infos.Info() {
		listed = append(listed, info.Name)
	}
	if err := errors.Join(all.Err(), infos.Err()); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(names, listed) {
		t.Errorf("names %v, list %v", names, listed)
	}
	return names
}

// What another tenant has in the ledger is not read by sequence, subject or filter.
func TestTheLedgerOfOthersIsClosed(t *testing.T) {
	t.Parallel()
	k := withPrincipals(t, embedded.Config{})
	for _, subject := range []string{"prov.v1.bank.pack.satchel", "prov.v1.main.memory.x", "prov.v1.main.pack.satchel", "prov.v1.main.decision.satchel", "prov.v1.bank.memory.boss"} {
		if _, err := k.js.Publish(t.Context(), subject, []byte(subject)); err != nil {
			t.Fatal(err)
		}
	}
	guest, err := js.New(k.guest)
	if err != nil {
		t.Fatal(err)
	}
	stream, err := guest.Stream(t.Context(), "LEDGER")
	if err != nil {
		t.Fatal(err)
	}
	for seq, open := range []bool{1: false, 2: true, 3: true, 4: false, 5: false, 6: false} {
		if seq == 0 {
			continue
		}
		m, err := stream.GetMsg(t.Context(), uint64(seq))
		if open && err != nil || !open && !errors.Is(err, js.ErrMsgNotFound) {
			t.Errorf("message %d: %v, %v", seq, m, err)
		}
	}
	for subject, want := range map[string]string{"prov.v1.bank.>": "", "prov.v1.*.memory.*": "prov.v1.main.memory.x", "prov.v1.main.>": "prov.v1.main.pack.satchel", ">": "prov.v1.main.pack.satchel", "prov.v1.main.decision.*": ""} {
		m, err := stream.GetLastMsgForSubject(t.Context(), subject)
		if want == "" && !errors.Is(err, js.ErrMsgNotFound) || want != "" && (err != nil || string(m.Data) != want) {
			t.Errorf("the last of %s: %v, %v", subject, m, err)
		}
	}
	if m, err := stream.GetMsg(t.Context(), 1, js.WithGetMsgSubject("prov.v1.>")); err != nil || m.Sequence != 2 {
		t.Errorf("the next of all: %v, %v", m, err)
	}
	for _, filter := range []string{"prov.v1.bank.>", "prov.v1.bank.pack.*", "prov.v1.main.decision.*", "mem.v1.>"} {
		if refused := create(t, k.guest, "LEDGER", "", map[string]any{"filter_subject": filter}); !strings.Contains(refused, "may not read") {
			t.Errorf("a consumer of %s: %q", filter, refused)
		}
	}
	inbox, err := k.guest.SubscribeSync(k.guest.NewInbox())
	if err != nil {
		t.Fatal(err)
	}
	if refused := create(t, k.guest, "LEDGER", "", map[string]any{"filter_subject": "prov.v1.>", "deliver_subject": inbox.Subject}); refused != "" {
		t.Fatal(refused)
	}
	for _, want := range []string{"prov.v1.main.memory.x", "prov.v1.main.pack.satchel"} {
		if m, err := inbox.NextMsg(wait); err != nil || string(m.Data) != want {
			t.Errorf("pushed: %v, %v", m, err)
		}
	}
	if m, err := inbox.NextMsg(100 * time.Millisecond); err == nil {
		t.Errorf("pushed as well: %s", m.Data)
	}
}

// A large reply is read by the client that got its name, also when another can guess what its
// content is called.
func TestLargeRepliesAreTheirReaders(t *testing.T) {
	t.Parallel()
	k := withPrincipals(t, embedded.Config{})
	content := k.largeReply(t, "bank/abc/secret")
	find(t, k.boss, "bank/abc/secret")
	filter := map[string]any{"filter_subject": "$O.SATCHEL_REPLIES.C." + content}
	if refused := create(t, k.guest, "OBJ_SATCHEL_REPLIES", "", filter); !strings.Contains(refused, "not found by its name") {
		t.Errorf("another's large reply: %q", refused)
	}
	if refused := create(t, k.boss, "OBJ_SATCHEL_REPLIES", "r", filter); refused != "" {
		t.Error(refused)
	}
	for _, body := range []string{`{"last_by_subj":"$O.SATCHEL_REPLIES.M.*"}`, `{"last_by_subj":"$O.SATCHEL_REPLIES.>"}`, `{"seq":2}`, `{"seq":1,"next_by_subj":"$O.SATCHEL_REPLIES.M.*"}`, `{"last_by_subj":"$O.SATCHEL_REPLIES.C.` + content + `"}`} {
		if m, err := k.guest.Request("$JS.API.STREAM.MSG.GET.OBJ_SATCHEL_REPLIES", []byte(body), wait); err != nil || !strings.Contains(string(m.Data), `"code":403`) {
			t.Errorf("a reply by %s: %v, %v", body, m, err)
		}
	}
	guest, err := js.New(k.guest)
	if err != nil {
		t.Fatal(err)
	}
	if err := guest.DeleteConsumer(t.Context(), "OBJ_SATCHEL_REPLIES", "r"); !errors.Is(err, js.ErrConsumerNotFound) {
		t.Errorf("another's reader is deleted: %v", err)
	}
	boss, err := js.New(k.boss)
	if err != nil {
		t.Fatal(err)
	}
	store, err := boss.ObjectStore(t.Context(), "SATCHEL_REPLIES")
	if err != nil {
		t.Fatal(err)
	}
	byMessage := k.largeReply(t, "bank/def/secret") // as clients do that do not read directly
	m, err := k.boss.Request("$JS.API.STREAM.MSG.GET.OBJ_SATCHEL_REPLIES", []byte(`{"last_by_subj":"$O.SATCHEL_REPLIES.M.`+base64.URLEncoding.EncodeToString([]byte("bank/def/secret"))+`"}`), wait)
	if refused := create(t, k.boss, "OBJ_SATCHEL_REPLIES", "", map[string]any{"filter_subject": "$O.SATCHEL_REPLIES.C." + byMessage}); refused != "" || err != nil {
		t.Errorf("by its name: %s, %v, %v", refused, m, err)
	}
	if got, err := store.GetString(t.Context(), "bank/abc/secret"); err != nil || got != "the reply" {
		t.Errorf("its own: %q, %v", got, err)
	}
}

// Satchel fetches what a principal offers from that principal, and asks a role of those that
// may play it.
func TestPrincipalsAnswer(t *testing.T) {
	t.Parallel()
	k := withPrincipals(t, embedded.Config{Own: []string{"ctx.v1.*.role.planner"}, Others: []string{"ctx.v1.*.role.verifier"}})
	inbox, stop, err := jetstream.ServeUpload(k.boss, bytes.NewReader([]byte("a content")))
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	for _, nc := range []*nats.Conn{k.boss, k.guest} {
		for _, subject := range []string{"ctx.v1.bank.role.verifier", "ctx.v1.bank.role.planner", "ctx.v1.bank.request"} {
			if _, err := nc.Subscribe(subject, func(m *nats.Msg) { _ = m.Respond([]byte("plays")) }); err != nil {
				t.Fatal(err)
			}
		}
		if err := nc.Flush(); err != nil {
			t.Fatal(err)
		}
	}
	read := func(c jetstream.Call, offer string) string {
		var got bytes.Buffer
		_, err := got.ReadFrom(jetstream.Fetch(t.Context(), k.satchel, c, offer))
		if err != nil && !errors.Is(err, jetstream.ErrUpload) {
			t.Errorf("%s: %v", offer, err)
		}
		return got.String()
	}
	boss, guest := jetstream.Call{Tenant: "bank", Principal: "boss"}, jetstream.Call{Tenant: "main", Principal: "guest"}
	if got := read(boss, inbox); got != "a content" {
		t.Errorf("the offer: %q", got)
	}
	for _, offer := range []string{inbox, "_SATCHEL.v1.to.bank.boss." + inbox, "_SATCHEL.v1.as.boss.ctx.v1.bank.request", "_SATCHEL.x", "ctx.v1.bank.request"} {
		if got := read(guest, offer); got != "" {
			t.Errorf("another's offer %s: %q", offer, got)
		}
		if got := read(jetstream.Call{Tenant: "main"}, offer); got != "" {
			t.Errorf("an unknown caller's offer %s: %q", offer, got)
		}
	}
	if m, err := k.satchel.Request("ctx.v1.bank.role.verifier", nil, wait); err != nil || string(m.Data) != "plays" {
		t.Errorf("a role: %v, %v", m, err)
	}
}
