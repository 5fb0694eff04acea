package demo

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"

	"satchel/emitters"
	"satchel/jetstream"
	"satchel/schemas"
)

// write streams the memories and waits until they can be found.
func (t *runner) write(ctx context.Context) error {
	items, err := readMemories()
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
	last := &receipts[len(receipts)-1]
	r, err := e.Receipt(ctx, last.Source, last.ID, schemas.ReceiptIndexed)
	if err != nil {
		return err
	}
	nodes, edges, err := t.countGraph(ctx, items)
	if err != nil {
		return err
	}
	t.say("WRITE   %d memories of an outage at Northwind Payments, from one agent, over JetStream:", len(receipts))
	t.say("        %s; a graph of %d nodes and %d edges.", countKinds(items), nodes, edges)
	t.say("        The last one is %s: log position %d, leaf %.16s…", r.Level, r.Position, r.Leaf)
	return nil
}

// countGraph counts the nodes that the graph holds of the items, and the edges among them.
func (t *runner) countGraph(ctx context.Context, items []schemas.MemoryItem) (nodes, edges int, err error) {
	ids := make([]string, len(items))
	for i := range items {
		ids[i] = items[i].ID
	}
	records, err := t.node.Items.Get(ctx, t.scope, ids)
	if err != nil {
		return 0, 0, fmt.Errorf("read items: %w", err)
	}
	found, err := t.node.Graph.Between(ctx, t.scope, ids, schemas.MatchAll())
	if err != nil {
		return 0, 0, fmt.Errorf("read graph: %w", err)
	}
	return len(records), len(found), nil
}

// refuse publishes what must not get in and shows the dead letters.
func (t *runner) refuse(ctx context.Context) error {
	odds, err := decodeLines[oddEvent](odd)
	if err != nil {
		return err
	}
	out := jetstream.NewOutbox(t.nc, t.node.JetStream)
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
	letters, err := t.awaitLetters(ctx, len(odds)-1) // the same event again is none
	if err != nil {
		return err
	}
	t.seen = r.Position
	var reasons []string
	for _, l := range letters {
		reasons = append(reasons, l.Reason)
		if t.verbose {
			t.say("        dead letter %-13s %s %s", l.Reason, l.Pointer, l.Cause)
		}
	}
	t.say("REFUSE  %d odd events: %s are dead letters, with the failing field;", len(odds), strings.Join(reasons, ", "))
	t.say("        the same event again is known by source and id: nothing is done.")
	return nil
}

// awaitLetters waits until there are n dead letters, and returns them.
func (t *runner) awaitLetters(ctx context.Context, n int) ([]jetstream.DeadLetter, error) {
	for {
		list, err := t.node.Dead.List(ctx, demoTenant, 0, 100)
		if err != nil || len(list) >= n {
			return list, err
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(5 * time.Millisecond):
		}
	}
}

func (t *runner) publishOdd(ctx context.Context, out *jetstream.Outbox, o oddEvent, next func() string) error {
	ev := event.New()
	ev.SetType(schemas.TypeMemoryRecorded)
	ev.SetSource(schemas.AgentSource(demoTenant, demoAgent))
	ev.SetTime(demoNow())
	ev.SetDataSchema(schemas.DataSchema(schemas.TypeMemoryRecorded))
	data := o.Item
	id := o.Reuse
	if o.Again != "" {
		items, err := readMemories()
		if err != nil {
			return err
		}
		i := slices.IndexFunc(items, func(m schemas.MemoryItem) bool { return m.ID == o.Again })
		data, err = json.Marshal(&items[i])
		if err != nil {
			return fmt.Errorf("encode demo event: %w", err)
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
	if id == "" {
		ev.SetID(next())
	} else {
		ev.SetID(t.ids[id])
	}
	if err := ev.SetData(event.ApplicationJSON, json.RawMessage(data)); err != nil {
		return fmt.Errorf("set demo event: %w", err)
	}
	_, _, err := out.PublishMemory(ctx, demoTenant, demoAgent, ev)
	return err
}
