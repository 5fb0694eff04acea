package demo

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"

	"satchel/cmd/internal/demo/script"
	"satchel/emitters"
	"satchel/jetstream"
	"satchel/pipeline/scope"
	"satchel/schemas"
)

// write streams the memories and waits until they can be found.
func (t *runner) write(ctx context.Context) error {
	items, err := script.Memories(demoTenant)
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
	nodes, edges, err := t.graph(ctx, items)
	if err != nil {
		return err
	}
	t.say("WRITE   %d memories of an outage at Northwind Payments, from one agent, over JetStream:", len(receipts))
	t.say("        %s; a graph of %d nodes and %d edges.", script.Contents(items), nodes, edges)
	t.say("        The last one is %s: log position %d, leaf %.16s…", r.Level, r.Position, r.Leaf)
	return nil
}

// graph counts the nodes that the graph holds of the items, and the edges among them.
func (t *runner) graph(ctx context.Context, items []schemas.MemoryItem) (nodes, edges int, err error) {
	s, err := scope.System(demoTenant)
	if err != nil {
		return 0, 0, err
	}
	ids := make([]string, len(items))
	for i := range items {
		ids[i] = items[i].ID
	}
	records, err := t.node.Items.Get(ctx, s, ids)
	if err != nil {
		return 0, 0, fmt.Errorf("read items: %w", err)
	}
	found, err := t.node.Graph.Between(ctx, s, ids, schemas.MatchAll())
	if err != nil {
		return 0, 0, fmt.Errorf("read graph: %w", err)
	}
	return len(records), len(found), nil
}

// refuse publishes what must not get in and shows the dead letters.
func (t *runner) refuse(ctx context.Context) error {
	odds, err := script.Odds()
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
	letters, err := t.letters(ctx, len(odds)-1) // the same event again is none
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

// letters waits until there are n dead letters, and returns them.
func (t *runner) letters(ctx context.Context, n int) ([]jetstream.DeadLetter, error) {
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

func (t *runner) publishOdd(ctx context.Context, out *jetstream.Outbox, o script.Odd, next func() string) error {
	ev := event.New()
	ev.SetType(schemas.TypeMemoryRecorded)
	ev.SetSource(schemas.AgentSource(demoTenant, demoAgent))
	ev.SetTime(demoNow())
	ev.SetDataSchema(schemas.DataSchema(schemas.TypeMemoryRecorded))
	data := o.Item
	id := o.Reuse
	if o.Again != "" {
		items, err := script.Memories(demoTenant)
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
