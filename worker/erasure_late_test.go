package worker_test

import (
	"context"
	"encoding/json"
	"slices"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"satchel/pipeline/scope"
	"satchel/pipeline/store/eventlog"
	"satchel/schemas"
	"satchel/worker"
	"satchel/worker/service"
)

const canaryOfLate = "canary-of-late-summaries"

// compacted is what a compaction that searched at a log position appends: a pack, then a summary
// of an item.
func compacted(t *testing.T, asOf int64, id, of string) []eventlog.Draft {
	t.Helper()
	pack, err := json.Marshal(map[string]any{"id": "pack-" + id, "as_of": asOf, "sections": []any{}})
	must(t, err)
	ev := recorded(t, id, "in short: "+canaryOfLate, summaryOf(of))
	return []eventlog.Draft{
		{Tenant: "acme", Agent: "satchel", Type: schemas.TypeContextPacked, Source: service.PackSource, ID: "pack-" + id, Subject: id, Data: pack},
		{Tenant: "acme", Agent: "satchel", Type: schemas.TypeMemoryRecorded, Source: schemas.SourceCompaction, ID: id, Subject: id, Time: ev.Time(), Item: eventlog.Derive([]string{of}, ev.Data())}}
}

// heldCompaction appends what it has made of old items only when it is let go.
type heldCompaction struct {
	service.Engine
	log              *eventlog.Log
	drafts           []eventlog.Draft
	started, release chan struct{}
}

// Reply appends them.
func (h *heldCompaction) Reply(ctx context.Context, _ scope.Scope, _ schemas.ContextRequest) (json.RawMessage, error) {
	close(h.started)
	<-h.release
	_, err := h.log.Append(ctx, eventlog.Batch{Drafts: h.drafts})
	return nil, err
}

// A summary of an item by who read it before its erasure goes with it, though it is logged after
// the erasure was planned, or begun; so does what was made of that summary. One by who searched
// afterwards stays.
func TestALateSummaryIsErasedToo(t *testing.T) {
	t.Parallel()
	w := prepare(t)
	held := &heldCompaction{started: make(chan struct{}), release: make(chan struct{}),
		drafts: slices.Concat(compacted(t, 1, "after", "a"), compacted(t, 4, "of-after", "after"), compacted(t, 4, "fresh", "a"), compacted(t, 1, "other", "b"))}
	w.engine = held
	var once sync.Once
	w.change = func(c *worker.Config) {
		c.Failpoint = func(at string) {
			if at == "erase.before_commit" {
				once.Do(func() {
					if _, err := w.log.Append(context.WithoutCancel(t.Context()), eventlog.Batch{Drafts: compacted(t, 1, "before", "a")}); err != nil {
						t.Error(err)
					}
				})
			}
		}
	}
	w.start(t)
	held.log = w.log
	s := system(t, "acme")
	w.publish(t, "acme", recorded(t, "a", "what "+canaryOfLate+" said"))
	w.entries(t, "acme", 1)
	must(t, w.worker.Projector.Await(within(t), s, 1))
	done := make(chan error, 1)
	go func() {
		_, err := w.worker.Service.Request(context.WithoutCancel(t.Context()), "acme", request(t, "reader", "internal", "q", nil))
		done <- err
	}()
	await(t, held.started, "the request")
	w.publish(t, "acme", forgetting(t, "f", "a")) // at position 4, after the pack and the summary of before
	w.entries(t, "acme", 4)
	close(held.release)
	must(t, <-done)
	if diff := cmp.Diff([]string{"a"}, w.receipt(t, "acme", "f").Items); diff != "" {
		t.Error(diff)
	}
	gone := map[string]bool{}
	entries, err := w.log.BySubject(within(t), s, eventlog.ErasureSubject, schemas.TypeMemoryErased)
	must(t, err)
	for i := range entries {
		var er schemas.MemoryErased
		must(t, json.Unmarshal(entries[i].Data, &er))
		if er.Receipt != nil {
			for _, id := range er.Items {
				gone[id] = true
			}
		}
	}
	if diff := cmp.Diff(map[string]bool{"a": true, "before": true, "after": true, "of-after": true}, gone); diff != "" {
		t.Errorf("with a receipt: %s", diff)
	}
	head, err := w.log.Head(within(t), s)
	must(t, err)
	must(t, w.worker.Projector.Await(within(t), s, head.Size))
	kept, err := w.items.Get(within(t), s, []string{"a", "before", "after", "of-after", "fresh", "other"})
	must(t, err)
	ids := []string{}
	for i := range kept {
		ids = append(ids, kept[i].ID)
	}
	slices.Sort(ids)
	if diff := cmp.Diff([]string{"fresh", "other"}, ids); diff != "" {
		t.Errorf("items: %s", diff)
	}
	must(t, w.log.Verify(within(t), s, nil, nil))
}
