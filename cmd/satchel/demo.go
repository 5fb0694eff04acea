package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"
	"github.com/google/uuid"
	"github.com/nats-io/nats.go"

	"satchel/cmd/satchel/internal/demo"
	"satchel/emitters"
	"satchel/jetstream"
	"satchel/jetstream/embedded"
	"satchel/pipeline/scope"
	"satchel/schemas"
)

type demoCmd struct {
	Keep string `help:"Keep the data in this new folder, to go on with it: satchel up --dir FOLDER." type:"path"`
}

// Help says what the demo shows.
func (demoCmd) Help() string {
	return `It runs the real thing in a fresh folder, on a free port, with a fixed clock, key and ids, so
that it prints the same every time. Nothing stays behind without --keep.`
}

const (
	demoTenant   = "northwind"
	demoAgent    = "ops_bot"
	demoQuestion = "Why did card payments fail, what did it cost, and who fixed it?"
)

// demoNow is when the demo happens.
func demoNow() time.Time { return time.Date(2026, 3, 7, 9, 0, 0, 0, time.UTC) }

// Run tells the story.
func (c *demoCmd) Run(ctx context.Context, a *app) (err error) {
	if a.JSON {
		return usagef("the demo is a story to read and prints no JSON; leave out --json")
	}
	dir := c.Keep
	if dir == "" {
		if dir, err = os.MkdirTemp("", "satchel-demo-"); err != nil {
			return fmt.Errorf("make a data folder: %w", err)
		}
		defer os.RemoveAll(dir)
	} else if _, err := os.Stat(dir); err == nil {
		return usagef("%s is there already; name a new folder with --keep", dir)
	}
	own, err := a.apart(dir, false)
	if err != nil {
		return err
	}
	own.Tenant, own.LogLevel = demoTenant, "error"
	n, err := own.start(ctx, nodeOptions{fixed: demoFixed(), port: embedded.RandomPort})
	if err != nil {
		return err
	}
	defer func() {
		limit, cancel := context.WithTimeout(context.WithoutCancel(ctx), drainLimit)
		defer cancel()
		err = errors.Join(err, n.stop(limit))
	}()
	nc, err := jetstream.Connect(ctx, jetstream.ConnectConfig{URL: n.server.ClientURL(), Name: "demo agent"}, own.logger(a.err))
	if err != nil {
		return err
	}
	defer nc.Close()
	t := &teller{app: own, node: n, nc: nc, client: &client{nc: nc, tenant: demoTenant, agent: demoAgent}}
	for _, step := range []func(context.Context) error{t.write, t.refuse, t.ask, t.prove, t.follow} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	t.next(c.Keep)
	return nil
}

// demoFixed makes every run the same.
func demoFixed() fixed {
	var seed [32]byte
	copy(seed[:], "satchel demo: never use this key")
	source := rand.NewChaCha8(seed)
	return fixed{clock: demoNow, newID: countingIDs("d0"), rand: source}
}

// countingIDs returns ids that look like UUIDv7 and count up.
func countingIDs(prefix string) func() string {
	var n atomic.Uint32
	return func() string {
		return uuid.MustParse(fmt.Sprintf("019cc7a5-1b00-7000-80%s-%012d", prefix, n.Add(1))).String()
	}
}

// teller tells the story against a running node.
type teller struct {
	*app
	node   *node
	nc     *nats.Conn
	client *client
	ids    map[string]string // item id → event id
	last   string            // event id of the last write
}

func (t *teller) say(format string, args ...any) { fmt.Fprintf(t.out, format+"\n", args...) }

func (t *teller) emitter(newID func() string) (*emitters.Emitter, error) {
	return emitters.New(t.nc, emitters.Config{Tenant: demoTenant, Agent: demoAgent, Clock: demoNow, NewID: newID})
}

// write streams the memories and waits until they can be found.
func (t *teller) write(ctx context.Context) error {
	items, err := demo.Memories(demoTenant)
	if err != nil {
		return err
	}
	t.ids = map[string]string{}
	next := countingIDs("e0")
	i := 0
	e, err := t.emitter(func() string {
		id := next()
		t.ids[items[i].ID] = id
		i++
		return id
	})
	if err != nil {
		return err
	}
	receipts, err := e.RememberAll(ctx, items)
	if err != nil {
		return err
	}
	t.last = receipts[len(receipts)-1].ID
	r, err := e.Receipt(ctx, receipts[len(receipts)-1].Source, t.last, schemas.ReceiptIndexed)
	if err != nil {
		return err
	}
	t.say("WRITE   %d memories of an outage at Northwind Payments, from one agent, over JetStream.", len(receipts))
	t.say("        The last one is %s: log position %d, leaf %.16s…", r.Level, r.Position, r.Leaf)
	return nil
}

// refuse publishes what must not get in and shows the dead letters.
func (t *teller) refuse(ctx context.Context) error {
	odds, err := demo.Odds()
	if err != nil {
		return err
	}
	out := jetstream.NewOutbox(t.nc, t.node.conn)
	next := countingIDs("f0")
	for _, o := range odds {
		if err := t.publishOdd(ctx, out, o, next); err != nil {
			return err
		}
	}
	// One good event behind them: when it is logged, they were dealt with.
	fence, err := t.emitter(next)
	if err != nil {
		return err
	}
	r, err := fence.Accessed(ctx, []string{"note-004"}, &emitters.Options{Wait: schemas.ReceiptIndexed})
	if err != nil {
		return err
	}
	letters, err := t.node.dead.List(ctx, demoTenant, 0, 100)
	if err != nil {
		return err
	}
	t.say("\nREFUSE  %d odd events; the log took none of them and went on to position %d.", len(odds), r.Position)
	for _, l := range letters {
		t.say("        dead letter %-13s %s %s", l.Reason, l.Pointer, l.Cause)
	}
	t.say("        the fifth was the same event again: known by source and id, nothing done.")
	return nil
}

func (t *teller) publishOdd(ctx context.Context, out *jetstream.Outbox, o demo.Odd, next func() string) error {
	ev := event.New()
	ev.SetType(schemas.TypeMemoryRecorded)
	ev.SetSource("satchel://agents/" + demoTenant + "/" + demoAgent)
	ev.SetTime(demoNow())
	ev.SetDataSchema(schemas.DataSchema(schemas.TypeMemoryRecorded))
	data := o.Item
	id := o.Reuse
	if o.Again != "" {
		items, err := demo.Memories(demoTenant)
		if err != nil {
			return err
		}
		for i := range items {
			if items[i].ID == o.Again {
				if data, err = json.Marshal(&items[i]); err != nil {
					return fmt.Errorf("encode demo event: %w", err)
				}
			}
		}
		id = o.Again
	}
	var head struct {
		ID    string               `json:"id"`
		Scope *schemas.MemoryScope `json:"scope"`
	}
	if err := json.Unmarshal(data, &head); err != nil {
		return fmt.Errorf("decode demo event: %w", err)
	}
	if head.Scope == nil {
		data = append([]byte(`{"scope":{"tenant":"`+demoTenant+`"},`), data[1:]...)
	}
	ev.SetSubject(head.ID)
	if ev.SetID(t.ids[id]); id == "" {
		ev.SetID(next())
	}
	if err := ev.SetData(event.ApplicationJSON, json.RawMessage(data)); err != nil {
		return fmt.Errorf("set demo event: %w", err)
	}
	_, _, err := out.PublishMemory(ctx, demoTenant, demoAgent, ev)
	return err
}

// ask asks as two principals and compares.
func (t *teller) ask(ctx context.Context) error {
	askers := []askCmd{
		{Question: []string{demoQuestion}, As: "support_agent", Level: "internal", Group: []string{"support"}, Budget: 420, Type: schemas.QueryHybrid},
		{Question: []string{demoQuestion}, As: "risk_officer", Level: "restricted", Group: []string{"risk", "support"}, Budget: 420, Type: schemas.QueryHybrid},
	}
	shown := make([]map[string]string, len(askers))
	known := map[string]bool{} // what the first may see, whether it found a place or not
	t.say("\nASK     %q — a pack of at most 420 tokens, twice.", demoQuestion)
	seen := int64(0)
	for i := range askers {
		req := askers[i].request()
		req.Payload.MinPosition = seen // the pack before counts as a use of what it showed
		res, err := t.client.ask(ctx, req)
		if err != nil {
			return err
		}
		seen = res.Payload.Positions.Decision
		shown[i] = map[string]string{}
		for _, item := range res.Payload.Results {
			shown[i][item.ID] = item.Content.Text()
		}
		t.say("\n── as %s (clearance %s, groups %s) %s", askers[i].As, askers[i].Level, strings.Join(askers[i].Group, ", "), strings.Repeat("─", 20))
		printResult(t.out, &res.Payload, false)
		if i == 0 {
			for _, id := range append(res.Payload.Drop.DroppedItemIDs, sortedKeys(shown[0])...) {
				known[id] = true
			}
		}
	}
	t.say("\nSEEN BY THE RISK OFFICER, NOT FOR THE SUPPORT AGENT")
	for _, id := range sortedKeys(shown[1]) {
		if !known[id] {
			t.say("        %s  %s", id, oneLine(shown[1][id], 100))
		}
	}
	return nil
}

func oneLine(text string, limit int) string {
	text = strings.Join(strings.Fields(text), " ")
	if runes := []rune(text); len(runes) > limit {
		return string(runes[:limit-1]) + "…"
	}
	return text
}

// prove verifies the log and proves one item's inclusion.
func (t *teller) prove(ctx context.Context) error {
	s, err := scope.System(demoTenant)
	if err != nil {
		return err
	}
	if err := t.node.log.Verify(ctx, s, nil, nil); err != nil {
		return fmt.Errorf("verify the log: %w", err)
	}
	check, err := newProofChecker(ctx, t.client)
	if err != nil {
		return err
	}
	var reply schemas.ProveReply
	req := schemas.ProveRequest{Source: "satchel://agents/" + demoTenant + "/" + demoAgent, ID: t.ids["note-004"]}
	if err := t.client.logCall(ctx, "prove", req, &reply); err != nil {
		return err
	}
	if reply.Inclusion == nil || !checkInclusion(check.verifier, &reply, reply.Inclusion.Leaf) {
		return errors.New("the proof of note-004 does not hold")
	}
	t.say("\nVERIFY  %d entries: every hash, every content, every signed head holds.", reply.Inclusion.Size)
	t.say("PROVE   note-004 is entry %d: %d hashes lead from its leaf to the signed root", reply.Inclusion.Position, len(reply.Inclusion.Hashes))
	t.say("        %s", reply.Inclusion.Root)
	return nil
}

// follow counts what the ledger says.
func (t *teller) follow(ctx context.Context) error {
	s, err := scope.System(demoTenant)
	if err != nil {
		return err
	}
	head, err := t.node.log.Head(ctx, s)
	if err != nil {
		return err
	}
	e, err := t.emitter(nil)
	if err != nil {
		return err
	}
	counts := map[schemas.LedgerKind]int{}
	err = e.FollowLedger(ctx, emitters.FollowOptions{}, func(l emitters.LedgerEvent) error {
		counts[l.Kind]++
		if l.Position >= head.Size {
			return emitters.ErrStop
		}
		return nil
	})
	if err != nil {
		return err
	}
	var parts []string
	for _, kind := range sortedKeys(counts) {
		parts = append(parts, fmt.Sprintf("%d %s", counts[kind], kind))
	}
	t.say("LEDGER  prov.v1.%s.>  has %s, for whoever may follow it.", demoTenant, strings.Join(parts, ", "))
	return nil
}

func (t *teller) next(kept string) {
	t.say("\nNEXT    satchel up                                   run it (here: go run ./cmd/satchel up)")
	t.say("        satchel emit --text \"the build is green\"     remember, in another terminal")
	t.say("        satchel ask \"how is the build?\"              ask")
	t.say("        satchel ledger --verify                      follow and check what was decided")
	if kept != "" {
		t.say("        satchel up --dir %s                  go on with this story, and in another terminal:", kept)
		t.say("        satchel ask --tenant %s --level restricted --group risk \"what did it cost?\"", demoTenant)
		t.say("        satchel ledger --tenant %s --verify", demoTenant)
	}
}
