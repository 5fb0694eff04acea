package worker_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"

	"satchel/jetstream"
	"satchel/pipeline/store/eventlog"
	"satchel/schemas"
	"satchel/worker"
	"satchel/worker/erasure"
)

// retain has the next start erase by class, with a clock that is 91 days ahead.
func (w *world) retain(t *testing.T, failpoint func(point string)) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "retention.yaml")
	must(t, os.WriteFile(path, []byte(`classes:
  - {name: short, match: {labels: ["topic:chat"]}, keep: 90d, then: erase}
  - {name: long, keep: 3650d, then: erase}
`), 0o600))
	retention, err := erasure.OpenRetention(path)
	must(t, err)
	w.change = func(c *worker.Config) {
		c.Retention, c.Failpoint = retention, failpoint
		c.Clock = func() time.Time { return time.Now().AddDate(0, 0, 91) }
	}
}

// chat is an event of the class short.
func chat(t *testing.T, id, text string) event.Event {
	return recorded(t, id, text, func(d map[string]any) { d["security_label"] = []string{"level:internal", "topic:chat"} })
}

// expired lists the erasures of retention.
func (w *world) expired(t *testing.T) (reasons []string, items []string, receipts int) {
	t.Helper()
	entries, err := w.log.Read(within(t), system(t, "acme"), 0, 10_000)
	must(t, err)
	for _, e := range entries {
		var er schemas.MemoryErased
		if e.Type != schemas.TypeMemoryErased || e.Source != erasure.SourceRetention {
			continue
		}
		must(t, json.Unmarshal(e.Data, &er))
		if er.Receipt != nil {
			receipts++
			continue
		}
		reasons, items = append(reasons, er.Reason), append(items, er.Items...)
	}
	return reasons, items, receipts
}

// After 91 days what is in the class goes, with summaries of it, in batches. The present version of an
// item says in which class it is.
func TestRetentionErasesByClass(t *testing.T) {
	t.Parallel()
	w := setup(t)
	const n = 300
	events := []event.Event{recorded(t, "sum", "in short: chat 1", func(d map[string]any) {
		d["kind"], d["links"] = "summary", []map[string]any{{"rel": "derived_from", "to": "c1"}}
	}), chat(t, "moved", "the ferry was late")}
	want := []string{"sum"}
	for i := range n {
		id := fmt.Sprint("c", i)
		events, want = append(events, chat(t, id, "the ferry was late, says "+id)), append(want, id)
	}
	now := recorded(t, "moved", "the ferry was late, and that matters")
	now.SetID("e-moved-2")
	now.SetExtension(schemas.ExtensionRoles, "editor,declassifier")
	w.publish(t, "acme", append(events, now)...)
	w.entries(t, "acme", n+3)
	must(t, w.stop())
	w.retain(t, func(string) {})
	w.start(t)
	var reasons, items []string
	poll(t, "two erasures with receipts", func() (done bool) {
		var receipts int
		reasons, items, receipts = w.expired(t)
		return receipts == 2
	})
	slices.Sort(want)
	slices.Sort(items)
	if !slices.Equal(items, want) || !slices.Equal(reasons, []string{"retention:short", "retention:short"}) {
		t.Errorf("%v: %d items, want %d: %v", reasons, len(items), len(want), items)
	}
	left, err := w.items.Get(within(t), system(t, "acme"), append(want, "moved"))
	must(t, err)
	if len(left) != 1 || left[0].ID != "moved" {
		t.Errorf("%d items are left", len(left))
	}
	must(t, w.log.Verify(within(t), system(t, "acme"), nil, nil))
}

// A version that is logged between the look and the erasure keeps its item.
func TestRetentionTakesNoNewVersion(t *testing.T) {
	t.Parallel()
	w := setup(t)
	w.publish(t, "acme", chat(t, "c", "the ferry was late"))
	w.entries(t, "acme", 1)
	must(t, w.stop())
	var once, over atomic.Bool
	w.retain(t, func(point string) {
		switch {
		case point == "erase.before_commit" && once.CompareAndSwap(false, true):
			again := chat(t, "c", "the ferry was late once more")
			again.SetID("e-c-2")
			again.SetExtension(schemas.ExtensionRoles, "editor")
			w.publish(t, "acme", again)
			w.entries(t, "acme", 2)
		case point == "erase.after_commit":
			over.Store(true)
		}
	})
	w.start(t)
	poll(t, "the run is over", over.Load)
	if _, items, _ := w.expired(t); len(items) > 0 {
		t.Errorf("erased %v", items)
	}
	left, err := w.items.Get(within(t), system(t, "acme"), []string{"c"})
	must(t, err)
	if len(left) != 1 {
		t.Error("the item is gone")
	}
}

// What a hold of a summary keeps takes no place in a run from what is due.
func TestRetentionPassesOverSourcesOfHeldSummaries(t *testing.T) {
	t.Parallel()
	w := setup(t)
	w.publish(t, "acme", chat(t, "kept", "the ferry was late"), chat(t, "free", "the ferry was on time"),
		recorded(t, "sum", "in short: late", func(d map[string]any) {
			d["kind"], d["links"] = "summary", []map[string]any{{"rel": "derived_from", "to": "kept"}}
		}), recorded(t, "top", "in shorter: late", func(d map[string]any) {
			d["kind"], d["links"] = "summary", []map[string]any{{"rel": "derived_from", "to": "sum"}}
		}))
	w.entries(t, "acme", 4)
	w.holding(within(t), t, "counsel", schemas.HoldRequest{Place: &schemas.NewHold{Items: []string{"top"}, Reason: "asked for"}})
	path := filepath.Join(t.TempDir(), "retention.yaml")
	must(t, os.WriteFile(path, []byte(`classes: [{name: short, match: {labels: ["topic:chat"]}, keep: 90d, then: erase}]`), 0o600))
	retention, err := erasure.OpenRetention(path)
	must(t, err)
	o, err := retention.Look(within(t), w.log, system(t, "acme"), time.Now().AddDate(0, 0, 91), 1)
	must(t, err)
	if len(o.Due) != 1 || o.Due[0].Item != "free" || len(o.Held) != 1 || o.Held[0].Item != "kept" {
		t.Errorf("due %+v, held %+v", o.Due, o.Held)
	}
}

// A run whose fence another worker has taken erases nothing more.
func TestRetentionOfAFormerOwnerStops(t *testing.T) {
	t.Parallel()
	w := setup(t)
	w.publish(t, "acme", chat(t, "c", "the ferry was late"))
	w.entries(t, "acme", 1)
	must(t, w.stop())
	var once, over atomic.Bool
	w.retain(t, func(point string) {
		switch {
		case point == "erase.before_commit" && once.CompareAndSwap(false, true):
			_, _, err := w.log.TakeFence(within(t), "retain/acme")
			must(t, err)
		case point == "erase.after_commit":
			over.Store(true)
		}
	})
	w.start(t)
	poll(t, "the run is over", over.Load)
	if _, items, _ := w.expired(t); len(items) > 0 {
		t.Errorf("erased %v", items)
	}
	must(t, w.stop())
	w.retain(t, func(string) {})
	w.start(t) // the next run does it
	poll(t, "the item is erased", func() bool {
		_, items, _ := w.expired(t)
		return slices.Equal(items, []string{"c"})
	})
}

// share has the next starts share the work, as several workers do. The worker before has said goodbye, or it
// would keep a part of the tenants.
func (w *world) share(t *testing.T) {
	t.Helper()
	change := w.change
	w.change = func(c *worker.Config) {
		change(c)
		if w.leave != nil {
			w.leave()
		}
		m, err := jetstream.Join(within(t), w.nc, jetstream.MembershipConfig{Beat: 20 * time.Millisecond, Patience: time.Minute, Listen: 50 * time.Millisecond})
		must(t, err)
		ctx, cancel := context.WithCancel(context.Background())
		done := make(chan error, 1)
		go func() { done <- m.Run(ctx, w.log.WatchOwn(ctx), w.log.NotifyGrowth) }()
		w.leave = sync.OnceFunc(func() {
			cancel()
			must(t, <-done)
		})
		t.Cleanup(w.leave)
		c.Membership = m
	}
}

// Of several workers one goes through a tenant as soon as it owns it, and once an hour: who takes the tenant
// over waits until the next run is due, unless the classes are others.
func TestRetentionRunsOnceForSeveralWorkers(t *testing.T) {
	t.Parallel()
	w := setup(t)
	w.publish(t, "acme", chat(t, "first", "the ferry was late"))
	w.entries(t, "acme", 1)
	must(t, w.stop())
	w.retain(t, func(string) {})
	w.share(t)
	w.start(t)
	poll(t, "the first item is erased", func() bool {
		_, items, _ := w.expired(t)
		return slices.Equal(items, []string{"first"})
	})
	var noted eventlog.Checkpoint
	poll(t, "the run is noted", func() (done bool) {
		var err error
		noted, err = w.log.Checkpoint(within(t), "retain/acme")
		must(t, err)
		return noted.StreamSeq > 0
	})
	size := len(w.entries(t, "acme", 0))
	w.publish(t, "acme", chat(t, "second", "the ferry was late again"))
	w.publish(t, "zeta", recorded(t, "other", "the ferry sank", func(d map[string]any) { d["scope"] = map[string]any{"tenant": "zeta"} }))
	w.entries(t, "acme", size+1)
	w.entries(t, "zeta", 1)
	must(t, w.stop())
	w.start(t)
	poll(t, "the tenant without a run has one", func() bool {
		cp, err := w.log.Checkpoint(within(t), "retain/zeta")
		must(t, err)
		return cp.StreamSeq > 0
	})
	if cp, err := w.log.Checkpoint(within(t), "retain/acme"); err != nil || cp != noted {
		t.Errorf("acme had another run: %+v, %v", cp, err)
	}
	if _, items, _ := w.expired(t); !slices.Equal(items, []string{"first"}) {
		t.Errorf("erased %v", items)
	}
	must(t, w.stop())
	w.retain(t, func(string) {})
	path := filepath.Join(t.TempDir(), "retention.yaml")
	must(t, os.WriteFile(path, []byte("classes: [{name: every, keep: 80d, then: erase}]"), 0o600))
	retention, err := erasure.OpenRetention(path)
	must(t, err)
	before := w.change
	w.change = func(c *worker.Config) { before(c); c.Retention = retention }
	w.share(t)
	w.start(t)
	poll(t, "the second item is erased by the other classes", func() bool {
		_, items, _ := w.expired(t)
		return slices.Equal(items, []string{"first", "second"})
	})
}
