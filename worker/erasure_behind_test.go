package worker_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"testing"
	"time"

	"satchel/jetstream"
	"satchel/pipeline/store/eventlog"
	"satchel/schemas"
	"satchel/worker"
	"satchel/worker/transport"
)

// heldInbox fetches nothing until it is released.
type heldInbox struct {
	transport.Inbox
	released chan struct{}
}

func (h *heldInbox) Fetch(ctx context.Context, limit int) ([]transport.Message, error) {
	select {
	case <-h.released:
		return h.Inbox.Fetch(ctx, limit)
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// A partition in which an event waits does not stop the erasures of the others: their receipts name
// it, and others follow when it gets on.
func TestAnErasureNamesThePartitionThatStandsStill(t *testing.T) {
	t.Parallel()
	w := prepare(t)
	scrubber := jetstream.NewScrubber(w.js, w.committed)
	scrubber.Patience = 20 * time.Millisecond
	w.cfg.Streams = scrubber
	tenant := other(t, w)
	partition := jetstream.PartitionOf(tenant)
	held := heldInbox{released: make(chan struct{})}
	w.change = func(cfg *worker.Config) {
		held.Inbox, cfg.Inboxes[partition] = cfg.Inboxes[partition], &held
	}
	w.start(t)
	const canary = "xylophone-canary-0815"
	w.publish(t, "acme", recorded(t, "a", canary), recorded(t, "b", "it stays"), recorded(t, "c", canary))
	w.entries(t, "acme", 3)
	w.publish(t, tenant, recorded(t, "waits", "elsewhere", func(d map[string]any) { d["scope"] = map[string]any{"tenant": tenant} }))
	for _, item := range []string{"a", "c"} { // the second finds the first unfinished
		id := "forget-" + item
		w.publish(t, "acme", forgetting(t, id, item))
		receipt := w.receipt(t, "acme", id)
		if !slices.Equal(receipt.Missing(), []string{held.Name()}) {
			t.Fatalf("receipt %+v, want one that names %s", receipt, held.Name())
		}
		for _, s := range receipt.Stores {
			if s.Absent == (s.Store == jetstream.MemoryStream) {
				t.Errorf("store %+v", s)
			}
		}
	}
	if got := w.entries(t, "acme", 7); len(got) != 7 {
		t.Errorf("%d entries, want no receipt twice", len(got))
	}
	close(held.released)
	for _, id := range []string{"forget-a.receipt-2", "forget-c.receipt-2"} {
		poll(t, "the last receipt", func() bool {
			e, err := w.log.Find(within(t), system(t, "acme"), source, id)
			if errors.Is(err, eventlog.ErrNotFound) {
				return false
			}
			must(t, err)
			var er schemas.MemoryErased
			must(t, json.Unmarshal(e.Data, &er))
			if er.Receipt == nil || len(er.Receipt.Missing()) > 0 {
				t.Fatalf("receipt %+v", er.Receipt)
			}
			return true
		})
	}
	w.entries(t, tenant, 1)
	poll(t, "the content is on no disk", func() bool { return len(w.onDisk(t, canary)) == 0 })
}
