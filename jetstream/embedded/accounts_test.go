package embedded_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	js "github.com/nats-io/nats.go/jetstream"

	"satchel/jetstream"
	"satchel/jetstream/embedded"
)

// wait is how long these tests wait for what has to come.
const wait = 30 * time.Second

// sides is a server with Satchel's streams, seen from both sides of the border.
type sides struct {
	satchel, client *nats.Conn
	js              js.JetStream
}

func border(t *testing.T, cfg embedded.Config) *sides {
	t.Helper()
	cfg.Port = embedded.RandomPort
	s := start(t, cfg)
	b := &sides{}
	var err error
	if b.satchel, err = nats.Connect("", s.InProcess()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.satchel.Close)
	if b.client, err = nats.Connect(s.ClientURL(), nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {})); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.client.Close)
	if b.js, err = js.New(b.satchel); err != nil {
		t.Fatal(err)
	}
	if err := jetstream.EnsureStreams(t.Context(), b.js, jetstream.Config{}); err != nil {
		t.Fatal(err)
	}
	return b
}

// streams says how many messages each stream has had and has, by its name.
func (b *sides) streams(t *testing.T) map[string]string {
	t.Helper()
	list := map[string]string{}
	infos := b.js.ListStreams(t.Context())
	for info := range infos.Info() {
		list[info.Config.Name] = fmt.Sprintf("%d of %d", info.State.Msgs, info.State.LastSeq)
	}
	if err := infos.Err(); err != nil {
		t.Fatal(err)
	}
	return list
}

// create asks for a consumer with config of stream, as anybody may.
func create(t *testing.T, nc *nats.Conn, stream, name string, config map[string]any) (refused string) {
	t.Helper()
	subject := "$JS.API.CONSUMER.CREATE." + stream
	if name != "" {
		config["name"] = name
		subject += "." + name
	}
	body, err := json.Marshal(map[string]any{"stream_name": stream, "config": config})
	if err != nil {
		t.Fatal(err)
	}
	m, err := nc.Request(subject, body, wait)
	if err != nil {
		return err.Error()
	}
	var reply struct{ Error *js.APIError }
	if err := json.Unmarshal(m.Data, &reply); err != nil {
		t.Fatal(err)
	}
	if reply.Error != nil {
		return reply.Error.Error()
	}
	return ""
}

// targets are subjects in which an answer of the server would do harm.
func targets() []string {
	return []string{"$JS.API.STREAM.DELETE.MEMORY", "$JS.API.STREAM.PURGE.LEDGER", "$JS.API.STREAM.PURGE.DLQ", "$JS.API.STREAM.DELETE.OBJ_SATCHEL_ARTIFACTS",
		"$JS.API.CONSUMER.DELETE.MEMORY.append-p01", "$JS.ACK.MEMORY.append-p01.1.1.1.1.0", "prov.v1.main.memory.evil", "dlq.v1.main.malformed", "p.1.mem.v1.main.evt.x", "$KV.SATCHEL_REVOKED.main.x"}
}

// No answer that a client can have sent does anything in Satchel's account: whatever it
// names as the reply subject, or as where a consumer pushes to, is not a subject there.
func TestNoAnswerCrossesTheBorder(t *testing.T) {
	t.Parallel()
	b := border(t, embedded.Config{})
	for _, subject := range []string{"mem.v1.main.evt.a", "prov.v1.main.memory.a", "dlq.v1.main.malformed", "$KV.SATCHEL_REVOKED.main.y"} {
		if _, err := b.js.Publish(t.Context(), subject, []byte("x")); err != nil {
			t.Fatal(err)
		}
	}
	stream, err := b.js.Stream(t.Context(), "MEMORY")
	if err != nil {
		t.Fatal(err)
	}
	appender, err := stream.CreateConsumer(t.Context(), js.ConsumerConfig{Durable: "append-p01", AckPolicy: js.AckAllPolicy})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := appender.FetchNoWait(1); err != nil {
		t.Fatal(err)
	}
	for name, config := range map[string]map[string]any{"none": {"filter_subject": "prov.v1.nobody.x"}, "all": {"headers_only": true}, "acks": {"ack_policy": "explicit"}} {
		if refused := create(t, b.client, "LEDGER", name, config); refused != "" {
			t.Fatalf("a pull consumer of the ledger: %s", refused)
		}
	}
	before := b.streams(t)
	for _, target := range targets() {
		for _, c := range []struct{ subject, body string }{
			{"$JS.API.CONSUMER.MSG.NEXT.LEDGER.none", `{"no_wait":true}`},
			{"$JS.API.CONSUMER.MSG.NEXT.LEDGER.none", `{"expires":1000000}`},
			{"$JS.API.CONSUMER.MSG.NEXT.LEDGER.all", `{"no_wait":true}`},
			{"$JS.ACK.LEDGER.acks.1.1.1.1.0", "+ACK"}, {"$JS.ACK.LEDGER.acks.1.1.1.1.0", "+NXT"},
			{"$JS.API.DIRECT.GET.OBJ_SATCHEL_REPLIES", `{"seq":99}`}, {"$JS.API.DIRECT.GET.OBJ_SATCHEL_REPLIES.$O.SATCHEL_REPLIES.M.eA==", ""},
			{"$JS.API.INFO", ""}, {"$JS.API.STREAM.INFO.LEDGER", ""}, {"$JS.API.STREAM.MSG.GET.LEDGER", `{"seq":1}`},
			{"$JS.API.CONSUMER.INFO.LEDGER.none", ""}, {"$JS.API.CONSUMER.CREATE.LEDGER", "{}"}, {"$SRV.PING", ""},
			{"$SYS.REQ.ACCOUNT.PING.CONNZ", ""}, {"$SYS.REQ.USER.INFO", ""},
		} {
			if err := b.client.PublishRequest(c.subject, target, []byte(c.body)); err != nil {
				t.Fatal(err)
			}
		}
		for _, extra := range []map[string]any{{}, {"headers_only": true}, {"deliver_group": "q"}, {"idle_heartbeat": 100000000}, {"flow_control": true, "idle_heartbeat": 100000000}} {
			extra["deliver_subject"] = target
			if create(t, b.client, "LEDGER", "", extra) == "" {
				t.Errorf("a consumer may push to %s", target)
			}
			delete(extra, "deliver_subject")
			extra["Deliver_Subject"] = target // the server takes names in any case
			if create(t, b.client, "LEDGER", "", extra) == "" {
				t.Errorf("a consumer may push to %s by another name", target)
			}
		}
		if err := b.client.Publish(target, nil); err != nil {
			t.Fatal(err)
		}
		if err := b.client.FlushTimeout(wait); err != nil {
			t.Fatal(err)
		}
	}
	if err := b.client.FlushTimeout(wait); err != nil {
		t.Fatal(err)
	}
	if refused := create(t, b.client, "LEDGER", "", map[string]any{}); refused != "" { // behind all that
		t.Fatal(refused)
	}
	after := b.streams(t)
	for name, was := range before {
		if after[name] != was {
			t.Errorf("%s had %s messages and has %q", name, was, after[name])
		}
	}
	info, err := appender.Info(t.Context())
	if err != nil || info.NumAckPending != 1 || info.AckFloor.Stream != 0 {
		t.Errorf("the appender's consumer: %+v, %v", info, err)
	}

	// An atomic batch answers its first messages with nothing, too.
	for _, target := range targets() {
		m := nats.NewMsg("mem.v1.main.evt.x")
		m.Reply, m.Data = target, []byte("x")
		m.Header.Set("Nats-Batch-Id", "b-"+fmt.Sprint(len(target)))
		m.Header.Set("Nats-Batch-Sequence", "1")
		if err := b.client.PublishMsg(m); err != nil {
			t.Fatal(err)
		}
		if err := b.client.PublishRequest("mem.v1.main.evt.x", target, []byte("x")); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := b.client.Request("mem.v1.main.evt.x", []byte("x"), wait); err != nil {
		t.Fatal(err)
	}
	after = b.streams(t)
	for name, was := range before {
		if name != "MEMORY" && after[name] != was {
			t.Errorf("after answers to events %s has %q, want %s", name, after[name], was)
		}
	}
}

// What is not in the list is not there for clients, or refused.
func TestTheRestIsClosed(t *testing.T) {
	t.Parallel()
	b := border(t, embedded.Config{})
	if _, err := b.js.Publish(t.Context(), "dlq.v1.main.malformed", []byte("secret")); err != nil {
		t.Fatal(err)
	}
	replies, err := b.js.ObjectStore(t.Context(), "SATCHEL_REPLIES")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := replies.PutString(t.Context(), "main/abc/secret", "secret"); err != nil {
		t.Fatal(err)
	}
	for subject, body := range map[string]string{
		"$JS.API.STREAM.LIST": `{"subject":"mem.v1.>"}`, "$JS.API.STREAM.NAMES": `{"subject":"dlq.v1.>"}`, "$JS.API.STREAM.INFO.LEDGER": `{"subjects_filter":">"}`,
		"$JS.API.STREAM.INFO.MEMORY": "", "$JS.API.STREAM.INFO.DLQ": "", "$JS.API.STREAM.INFO.OBJ_SATCHEL_REPLIES": `{"subjects_filter":">"}`,
		"$JS.API.STREAM.DELETE.LEDGER": "", "$JS.API.STREAM.PURGE.MEMORY": "", "$JS.API.STREAM.CREATE.x": `{"name":"x"}`,
		"$JS.API.STREAM.MSG.GET.DLQ": `{"seq":1}`, "$JS.API.STREAM.MSG.GET.MEMORY": `{"seq":1}`, "$JS.API.STREAM.MSG.GET.OBJ_SATCHEL_REPLIES": `{"seq":1}`,
		"$JS.API.STREAM.MSG.DELETE.LEDGER": `{"seq":1}`, "$JS.API.DIRECT.GET.DLQ": `{"seq":1}`, "$JS.API.DIRECT.GET.DLQ.dlq.v1.main.malformed": "",
		"$JS.API.DIRECT.GET.OBJ_SATCHEL_REPLIES": `{"seq":1}`, "$JS.API.DIRECT.GET.OBJ_SATCHEL_REPLIES.>": "", "$JS.API.DIRECT.GET.OBJ_SATCHEL_REPLIES.$O.SATCHEL_REPLIES.M.*": "",
		"$JS.API.DIRECT.GET.OBJ_SATCHEL_ARTIFACTS": `{"seq":1}`, "$JS.API.CONSUMER.NAMES.MEMORY": "", "$JS.API.CONSUMER.LIST.OBJ_SATCHEL_REPLIES": "",
		"$JS.API.CONSUMER.MSG.NEXT.MEMORY.append-p01": "", "$JS.API.CONSUMER.DELETE.MEMORY.append-p01": "", "$JS.API.CONSUMER.INFO.MEMORY.append-p01": "",
		"$SYS.REQ.ACCOUNT.PING.CONNZ": "", "$SYS.REQ.SERVER.PING.CONNZ": "", "$SYS.REQ.USER.INFO": "", "$SYS.REQ.ACCOUNT.PING.STATZ": "",
		"prov.v1.main.memory.a": "x", "dlq.v1.main.malformed": "x", "p.1.mem.v1.main.evt.a": "x", "$O.SATCHEL_REPLIES.M.x": "x", "$KV.SATCHEL_REVOKED.x": "x",
		"_SATCHEL.v1.api.CLIENTS.$JS.API.STREAM.LIST": "", "_SATCHEL.v1.as.a.ctx.v1.main.request": "", "_SATCHEL.x": "x", "dlq.v1.>": "",
	} {
		// A subject that a client may not send to is refused without an answer.
		m, err := b.client.Request(subject, []byte(body), 100*time.Millisecond)
		switch {
		case errors.Is(err, nats.ErrNoResponders), errors.Is(err, nats.ErrTimeout):
		case err != nil:
			t.Errorf("%s: %v", subject, err)
		case strings.Contains(string(m.Data), `"code":403`), m.Header.Get("Status") == "404" && len(m.Data) == 0:
		default:
			t.Errorf("%s %s is answered with %s %v", subject, body, m.Data, m.Header)
		}
	}
	for stream, config := range map[string]map[string]any{
		"DLQ": {}, "MEMORY": {}, "OBJ_SATCHEL_ARTIFACTS": {}, "KV_SATCHEL_REVOKED": {}, "OBJ_SATCHEL_REPLIES": {},
		"LEDGER": {"direct": true},
	} {
		if create(t, b.client, stream, "", config) == "" {
			t.Errorf("a client may read %s with %v", stream, config)
		}
	}
	for _, filter := range []string{"$O.SATCHEL_REPLIES.C.>", "$O.SATCHEL_REPLIES.C.*", "$O.SATCHEL_REPLIES.>", "$O.SATCHEL_REPLIES.M.x", ">"} {
		if create(t, b.client, "OBJ_SATCHEL_REPLIES", "", map[string]any{"filter_subject": filter}) == "" {
			t.Errorf("a client may read the replies of %s", filter)
		}
	}
	if create(t, b.client, "OBJ_SATCHEL_REPLIES", "", map[string]any{"filter_subject": "$O.SATCHEL_REPLIES.C.a", "filter_subjects": []string{"$O.SATCHEL_REPLIES.C.>"}}) == "" {
		t.Error("a client may read replies by several filters")
	}
}

// What JetStream would not answer is refused at once, so that nobody can keep the proxy busy.
func TestTheProxyIsNotHeld(t *testing.T) {
	t.Parallel()
	b := border(t, embedded.Config{})
	for subject, body := range map[string]string{
		"$JS.API.CONSUMER.DURABLE.CREATE.LEDGER":     `{"stream_name":"LEDGER","config":{}}`,
		"$JS.API.CONSUMER.DURABLE.CREATE.LEDGER.a.b": `{"stream_name":"LEDGER","config":{}}`,
		"$JS.API.CONSUMER.CREATE.LEDGER.a":           `{"stream_name":"LEDGER","config":{"description":"` + strings.Repeat("x", 64<<10) + `"}}`,
	} {
		for range 20 {
			m, err := b.client.Request(subject, []byte(body), time.Minute)
			if err != nil || !strings.Contains(string(m.Data), `"code":403`) {
				t.Fatalf("%s: %v", subject, err)
			}
		}
	}
	for name, config := range map[string]map[string]any{
		"durable":             {"durable_name": "durable", "ack_policy": "explicit"},
		"durable-for-long":    {"durable_name": "durable-for-long", "ack_policy": "explicit", "inactive_threshold": 1000 * 24 * time.Hour},
		"no-durable-for-long": {"ack_policy": "explicit", "inactive_threshold": 1000 * 24 * time.Hour},
	} {
		if refused := create(t, b.client, "LEDGER", name, config); refused != "" {
			t.Fatal(refused)
		}
		c, err := b.js.Consumer(t.Context(), "LEDGER", name)
		if err != nil {
			t.Fatal(err)
		}
		if idle := c.CachedInfo().Config.InactiveThreshold; idle != 30*24*time.Hour {
			t.Errorf("%s: a consumer that nobody uses ends after %v", name, idle)
		}
	}
}
