package attack

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"satchel/test/parts"
)

// asker is a principal that asks of one tenant.
type asker struct {
	nc     *nats.Conn
	tenant string
	id     string
}

func (w *world) asker(tenant, id string) asker { return asker{w.conns[tenant+"/"+id], tenant, id} }

// again returns the principal with another connection.
func (w *world) again(t testing.TB, a asker) asker {
	t.Helper()
	pair := w.seeds[a.tenant+"/"+a.id]
	public, err := pair.PublicKey()
	must(t, err)
	a.nc, err = nats.Connect(w.URL, nats.Nkey(public, pair.Sign), nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {}))
	must(t, err)
	t.Cleanup(a.nc.Close)
	return a
}

func (a asker) from() map[string]any { return map[string]any{"id": a.id} }

// ask sends a request and returns the reply's header and body.
func (a asker) ask(t *testing.T, subject string, body map[string]any) (nats.Header, map[string]any) {
	t.Helper()
	raw, err := json.Marshal(body)
	must(t, err)
	m, err := a.nc.Request(subject, raw, time.Minute)
	must(t, err)
	var out map[string]any
	must(t, json.Unmarshal(m.Data, &out))
	return m.Header, out
}

func (a asker) question(limit int) map[string]any {
	return map[string]any{"meta": map[string]any{"type": "ContextRequest", "from": a.from()},
		"payload": map[string]any{"query": map[string]any{"text": "walrus lamp"}, "limit": limit, "token_budget": 4000, "fill": true}}
}

// context asks a question, and returns its refusal, "" for an answer.
func (a asker) context(t *testing.T) string {
	t.Helper()
	_, out := a.ask(t, "ctx.v1."+a.tenant+".request", a.question(40))
	code, _ := out["code"].(string)
	return code
}

// page reads a page of the ledger. It reports whether it was sent by reference.
func (a asker) page(t *testing.T) (large bool, refusal map[string]any) {
	t.Helper()
	header, out := a.ask(t, "log.v1."+a.tenant+".entries", map[string]any{"from": a.from(), "limit": 200})
	if out["code"] != nil {
		refusal = out
	}
	return header.Get("Satchel-Dataref") != "", refusal
}

// remember puts an item that everybody may see.
func (a asker) remember(t *testing.T, id, content, wait string) map[string]any {
	t.Helper()
	event := put(a.id, "recorded", map[string]any{"id": id, "type": "semantic", "kind": "memory", "scope": map[string]any{"tenant": a.tenant},
		"created_at": "2026-03-03T10:00:00Z", "security_label": []string{"level:public"}, "content": content}, 0)
	event["wait"] = wait
	event["event"].(map[string]any)["id"] = id
	_, out := a.ask(t, "mem.v1."+a.tenant+".put", event)
	return out
}

// flood keeps so many requests of one kind under way, until it is stopped.
type flood struct {
	answered, refused atomic.Int64
	sub               *nats.Subscription
}

// begin sends requests, and another for each reply.
func (f *flood) begin(t testing.TB, a asker, parallel int, subject string, body func(n int64) any) {
	t.Helper()
	inbox := a.nc.NewInbox()
	var sent atomic.Int64
	send := func() {
		raw, err := json.Marshal(body(sent.Add(1)))
		if err == nil {
			err = a.nc.PublishRequest(subject, inbox, raw)
		}
		if err != nil && !a.nc.IsClosed() {
			t.Error(err)
		}
	}
	var err error
	f.sub, err = a.nc.Subscribe(inbox, func(m *nats.Msg) {
		if m.Header.Get("Nats-Service-Error-Code") == "429" {
			f.refused.Add(1)
		} else {
			f.answered.Add(1)
		}
		send()
	})
	must(t, err)
	must(t, f.sub.SetPendingLimits(-1, -1))
	for range parallel {
		send()
	}
	must(t, a.nc.Flush())
}

// replies is how many requests came back.
func (f *flood) replies() int64 { return f.answered.Load() + f.refused.Load() }

func (f *flood) stop() { _ = f.sub.Unsubscribe() } // or the connection is gone

// receipt asks for the receipt of an event that there is not, for a minute.
func receipt(n int64) any {
	return map[string]any{"source": "none", "id": fmt.Sprint("n", n), "level": "logged", "timeout_ms": 60000}
}

// await returns when what is counted has reached count.
func await(t *testing.T, what *atomic.Int64, count int64) {
	t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for what.Load() < count {
		select {
		case <-tick.C:
		case <-patient(t).Done():
			t.Fatalf("%d of %d", what.Load(), count)
		}
	}
}

// TestOnePrincipalTakesNothingFromOthers: a principal that asks for receipts, answers,
// subscriptions and large replies without end is refused; another of its tenant, and one of
// another tenant, are not, and are served in turn with it.
func TestOnePrincipalTakesNothingFromOthers(t *testing.T) {
	parts.Long(t)
	t.Parallel()
	w := newWorld(t, "main", "bank")
	hostile, honest, other := w.asker("main", "public"), w.asker("main", "internal"), w.asker("bank", "internal")
	for _, a := range []asker{honest, other} {
		for i := range 40 {
			wait := "accepted"
			if i == 39 {
				wait = "indexed"
			}
			if out := a.remember(t, fmt.Sprint("i", i), fmt.Sprintf("walrus lamp %d: %s", i, strings.Repeat(fmt.Sprintf("shelf %d. ", i), 40)), wait); out["level"] != wait {
				t.Fatalf("put: %v", out)
			}
		}
	}
	served := func(what string) {
		t.Helper()
		for _, a := range []asker{honest, other} {
			if code := a.context(t); code != "" {
				t.Errorf("%s: %s of %s is refused: %s", what, a.id, a.tenant, code)
			}
		}
	}
	served("alone")

	t.Log("receipts")
	var receipts flood
	receipts.begin(t, hostile, 1100, "log.v1.main.receipt", receipt)
	await(t, &receipts.refused, 1)
	if out := honest.remember(t, "during", "walrus lamp", "indexed"); out["level"] != "indexed" || out["warnings"] != nil {
		t.Errorf("a put beside the receipts of another: %v", out)
	}
	receipts.stop()

	t.Log("questions")
	var questions flood
	questions.begin(t, hostile, 400, "ctx.v1.main.request", func(int64) any { return hostile.question(40) })
	await(t, &questions.refused, 1)
	served("beside 400 questions")
	before := questions.answered.Load()
	const asked = 10
	for range asked {
		served("beside 400 questions")
	}
	if during := questions.answered.Load() - before; during > 2*asked*8 {
		t.Errorf("the flood had %d answers while others had %d", during, 2*asked)
	}
	questions.stop()

	t.Log("subscriptions")
	for i := range 600 {
		_, err := hostile.nc.SubscribeSync(fmt.Sprint("flood.", i))
		must(t, err)
	}
	must(t, hostile.nc.Flush())
	if err := hostile.nc.LastError(); err == nil || !strings.Contains(err.Error(), "maximum subscriptions exceeded") {
		t.Errorf("600 subscriptions: %v", err)
	}
	hostile = w.again(t, hostile)

	t.Log("large replies")
	for _, a := range []asker{honest, other} {
		for large, refusal := a.page(t); !large; large, refusal = a.page(t) {
			if refusal != nil {
				t.Fatalf("a page: %v", refusal)
			}
			if code := a.context(t); code != "" { // until the log is long enough
				t.Fatal(code)
			}
		}
	}
	pages := 0
	for large, refusal := hostile.page(t); ; large, refusal = hostile.page(t) {
		if refusal != nil {
			if after, _ := refusal["retry_after"].(float64); refusal["code"] != "overloaded" || after < 1 {
				t.Errorf("page %d is refused with %v", pages, refusal)
			}
			break
		}
		if pages++; !large || pages > 128 {
			t.Fatalf("page %d is not refused, by reference %v", pages, large)
		}
	}
	for _, a := range []asker{honest, other} {
		if large, refusal := a.page(t); !large {
			t.Errorf("a page for %s of %s: %v", a.id, a.tenant, refusal)
		}
	}
	served("at the end")
}
