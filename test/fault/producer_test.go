package fault

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"
	"github.com/nats-io/nats.go"
	js "github.com/nats-io/nats.go/jetstream"

	"satchel/jetstream"
	"satchel/schemas"
)

// producer does one thing after the other against a node that comes and goes. What has
// no answer it tries again, under the same id, until the run ends.
type producer struct {
	node   *node
	record *record
	tenant string
	name   string
	rand   *rand.Rand

	n    int // events so far
	nc   *nats.Conn
	js   js.JetStream
	mine []string // items that may still be forgotten
}

func (p *producer) source() string { return "urn:producer:" + p.name }

// run calls step again and again until ctx is done.
func (p *producer) run(ctx context.Context, step func(context.Context)) {
	for ctx.Err() == nil {
		step(ctx)
	}
	if p.nc != nil {
		p.nc.Close()
	}
}

// sure repeats call, each time over a living connection, until it succeeds. false: the
// run has ended before, or the call was refused, which is a problem.
func (p *producer) sure(ctx context.Context, call func(ctx context.Context) error) bool {
	for ctx.Err() == nil {
		if p.nc == nil || p.nc.IsClosed() {
			if !p.connect(ctx) {
				continue
			}
		}
		limited, cancel := context.WithTimeout(ctx, 3*time.Second)
		stop := context.AfterFunc(closed(p.nc), cancel)
		err := call(limited)
		stop()
		cancel()
		var final *schemas.Error
		switch {
		case err == nil:
			return true
		case errors.As(err, &final) && final.Code == schemas.CodeValidation:
			p.record.note(func() { p.record.problems = append(p.record.problems, p.name+": "+final.Error()) })
			return false
		}
	}
	return false
}

// closed returns a context that ends with the connection.
func closed(nc *nats.Conn) context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	nc.SetClosedHandler(func(*nats.Conn) { cancel() })
	if nc.IsClosed() {
		cancel()
	}
	return ctx
}

func (p *producer) connect(ctx context.Context) bool {
	url := p.node.address(ctx)
	if url == "" {
		return false
	}
	nc, err := nats.Connect(url, nats.NoReconnect(), nats.Timeout(300*time.Millisecond))
	if err != nil {
		return false
	}
	p.nc = nc
	p.js, err = js.New(nc)
	return err == nil
}

// event makes the next event of this source.
func (p *producer) event(eventType, subject string, data any) event.Event {
	p.n++
	ev := event.New()
	ev.SetID(fmt.Sprintf("%s-%06d", p.name, p.n))
	ev.SetSource(p.source())
	ev.SetType(eventType)
	if subject != "" {
		ev.SetSubject(subject)
	}
	ev.SetTime(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC).Add(time.Duration(p.n) * time.Second))
	if err := ev.SetData(event.ApplicationJSON, data); err != nil {
		panic(err)
	}
	return ev
}

// item makes the next memory.
func (p *producer) item() event.Event {
	id := fmt.Sprintf("item-%s-%06d", p.name, p.n+1)
	topics := []string{"the red door of the lake house", "the database password policy", "Ann's favourite café in Lyon", "the deploy of service seven"}
	text := fmt.Sprintf("%s says note %d about %s", p.name, p.n+1, topics[p.rand.IntN(len(topics))])
	return p.event(schemas.TypeMemoryRecorded, id, map[string]any{
		"id": id, "scope": map[string]any{"tenant": p.tenant}, "type": "episodic", "kind": "memory", "content": text,
		"created_at": "2026-01-02T03:04:05Z", "security_label": []string{"level:internal"}, "provenance": map[string]any{"source_uri": p.source()},
	})
}

func (p *producer) key(ev event.Event) key { return key{p.tenant, ev.Source(), ev.ID()} }

// publish stores ev by a plain JetStream publish.
func (p *producer) publish(ctx context.Context, ev event.Event) bool {
	p.record.try(p.key(ev), ev.Data())
	return p.sure(ctx, func(ctx context.Context) error {
		msg, err := jetstream.MemoryMessage(p.tenant, p.name, ev)
		if err != nil {
			panic(err)
		}
		_, err = p.js.PublishMsg(ctx, msg, js.WithRetryAttempts(0))
		return err
	})
}

// one publishes an event, now and then a duplicate, a reused id or a malformed one.
func (p *producer) one(ctx context.Context) {
	ev := p.item()
	if !p.publish(ctx, ev) {
		return
	}
	p.record.note(func() { p.record.acked[p.key(ev)] = true })
	switch p.rand.IntN(12) {
	case 0:
		p.publish(ctx, ev)
	case 1:
		reused := ev.Clone()
		data := map[string]any{}
		if err := json.Unmarshal(ev.Data(), &data); err != nil {
			panic(err)
		}
		data["content"] = "something else under the same id"
		if err := reused.SetData(event.ApplicationJSON, data); err != nil {
			panic(err)
		}
		if p.publish(ctx, reused) {
			p.record.note(func() { p.record.rejected[p.key(ev)] = "id_reuse" })
		}
	case 2:
		bad := p.event(schemas.TypeMemoryRecorded, "", map[string]any{"content": 7})
		if p.publish(ctx, bad) {
			p.record.note(func() { p.record.rejected[p.key(bad)] = "unlabelled" })
		}
	case 3:
		if p.publish(ctx, p.event(schemas.TypeMemoryAccessed, "", map[string]any{"scope": map[string]any{"tenant": p.tenant}, "items": []string{ev.Subject()}})) {
			return
		}
	}
}

// batch publishes a few events as one atomic batch.
func (p *producer) batch(ctx context.Context) {
	events := make([]event.Event, 2+p.rand.IntN(40))
	for i := range events {
		events[i] = p.item()
		p.record.try(p.key(events[i]), events[i].Data())
	}
	ok := p.sure(ctx, func(ctx context.Context) error {
		_, _, err := jetstream.NewOutbox(p.nc, p.js).PublishAll(ctx, p.tenant, p.name, events)
		return err
	})
	if ok {
		p.record.note(func() {
			for _, ev := range events {
				p.record.acked[p.key(ev)] = true
			}
		})
	}
}

// forget remembers a few items, asks for them, and forgets one.
func (p *producer) forget(ctx context.Context) {
	for range 3 {
		ev := p.item()
		if !p.publish(ctx, ev) {
			return
		}
		p.record.note(func() { p.record.acked[p.key(ev)] = true })
		p.mine = append(p.mine, ev.Subject())
	}
	p.ask(ctx)
	at := p.rand.IntN(len(p.mine))
	item := p.mine[at]
	p.mine = append(p.mine[:at], p.mine[at+1:]...)
	ev := p.event(schemas.TypeMemoryErased, "", map[string]any{"scope": map[string]any{"tenant": p.tenant}, "items": []string{item}, "reason": "crash test"})
	ev.SetExtension(schemas.ExtensionRoles, "eraser")
	p.record.note(func() { p.record.erasing[p.tenant+"/"+item] = true })
	if p.publish(ctx, ev) {
		p.record.note(func() { p.record.forgot[p.key(ev)] = []string{item} })
	}
}

// ask sends a context request and keeps the answer.
func (p *producer) ask(ctx context.Context) {
	p.n++
	var res schemas.ContextResult
	answered := false
	p.sure(ctx, func(ctx context.Context) error {
		req := schemas.ContextRequest{
			Meta:    schemas.Meta{Type: schemas.MessageContextRequest, ID: fmt.Sprintf("req-%s-%d", p.name, p.n), From: &schemas.Agent{Type: "agent", ID: p.name, SecurityLevel: "internal"}},
			Payload: schemas.RequestPayload{Query: schemas.Query{Text: "what does the note say about the lake house?"}, TokenBudget: 400},
		}
		err := p.request(ctx, "ctx.v1."+p.tenant+".request", req, &res)
		answered = err == nil
		return err
	})
	if answered {
		p.record.note(func() { p.record.results = append(p.record.results, answer{p.tenant, res}) })
	}
	var reply schemas.HeadReply
	if err := p.request(ctx, "log.v1."+p.tenant+".head", struct{}{}, &reply); err == nil {
		p.record.note(func() { p.record.heads = append(p.record.heads, head{p.tenant, reply.Size, reply.Root}) })
	}
}

func (p *producer) request(ctx context.Context, subject string, body, reply any) error {
	raw, err := json.Marshal(body)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	answer, err := jetstream.Request(ctx, p.nc, subject, raw)
	if err != nil {
		return err
	}
	return json.Unmarshal(answer, reply)
}

// put writes through the service and waits for the log.
func (p *producer) put(ctx context.Context) {
	ev := p.item()
	p.record.try(p.key(ev), ev.Data())
	raw, err := ev.MarshalJSON()
	if err != nil {
		panic(err)
	}
	var receipt schemas.Receipt
	if p.sure(ctx, func(ctx context.Context) error {
		return p.request(ctx, "mem.v1."+p.tenant+".put", schemas.PutRequest{Agent: p.name, Event: raw, Wait: "logged"}, &receipt)
	}) {
		p.record.note(func() { p.record.acked[p.key(ev)] = true })
	}
}

// producer returns the next producer of the run, with a name and a source of its own.
func (r *record) producer(n *node, seed uint64) *producer {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.producers++
	return &producer{node: n, record: r, tenant: []string{"acme", "globex"}[r.producers%2], name: fmt.Sprintf("p%d", r.producers),
		rand: rand.New(rand.NewPCG(seed, uint64(r.producers)))}
}
