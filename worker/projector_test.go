package worker_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"
	"github.com/google/go-cmp/cmp"

	"satchel/pipeline/scope"
	"satchel/pipeline/store/graph"
	"satchel/pipeline/store/keyword"
	"satchel/schemas"
	"satchel/worker"
	"satchel/worker/follow"
)

func linked(t *testing.T, id, from string, links ...schemas.Link) event.Event {
	t.Helper()
	return memory(t, schemas.TypeMemoryLinked, id, schemas.MemoryLinked{Scope: schemas.MemoryScope{Tenant: "acme"}, From: from, Links: links})
}

func superseded(t *testing.T, id, item, by string) event.Event {
	t.Helper()
	return memory(t, schemas.TypeMemorySuperseded, id, schemas.MemorySuperseded{Scope: schemas.MemoryScope{Tenant: "acme"}, Item: item, By: by, Reason: "it is out of date"})
}

func accessed(t *testing.T, id string, items ...string) event.Event {
	t.Helper()
	return memory(t, schemas.TypeMemoryAccessed, id, schemas.MemoryAccessed{Scope: schemas.MemoryScope{Tenant: "acme"}, Items: items})
}

func TestAwaitReturnsWhenEveryIndexIsThere(t *testing.T) {
	t.Parallel()
	w := setup(t)
	s := system(t, "acme")
	w.publish(t, "acme", recorded(t, "a", "the red door of the lake house"), recorded(t, "b", "a blue window"))
	w.entries(t, "acme", 2)
	must(t, w.worker.Projector.Await(within(t), s, 2))
	if at := w.worker.Projector.Position("acme"); at != 2 {
		t.Errorf("position = %d, want 2", at)
	}
	found, err := w.keyword.Search(within(t), s, keyword.Query{Population: schemas.MatchAll(), Text: "red door", Limit: 5, Filter: schemas.MatchAll()})
	must(t, err)
	if len(found.Hits) != 1 || found.Hits[0].ID != "a" {
		t.Errorf("hits = %+v", found.Hits)
	}
	late, cancel := context.WithTimeout(within(t), 20*time.Millisecond)
	defer cancel()
	if err := w.worker.Projector.Await(late, s, 3); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("awaiting what does not come: %v", err)
	}
	if err := w.worker.Projector.Await(within(t), scope.Scope{}, 0); !errors.Is(err, scope.ErrNone) {
		t.Errorf("no scope: %v", err)
	}
	if at := w.worker.Projector.Position("nobody"); at != 0 {
		t.Errorf("position of an unknown tenant = %d", at)
	}
}

func TestAwaitBringsATenantUpItself(t *testing.T) {
	t.Parallel()
	w := setup(t)
	w.publish(t, "acme", recorded(t, "a", "one"))
	w.entries(t, "acme", 1)
	must(t, w.stop())
	p := worker.NewProjector(w.cfg)
	must(t, p.Await(within(t), system(t, "acme"), 1))
	must(t, p.Await(within(t), system(t, "empty"), 0))
}

func TestProjectionsCatchUpAfterReopening(t *testing.T) {
	t.Parallel()
	for _, point := range []string{"project.before_apply", "project.store_applied", "project.after_apply"} {
		t.Run(point, func(t *testing.T) {
			t.Parallel()
			w := prepare(t)
			var left atomic.Int32
			left.Store(1)
			crashed := make(chan struct{})
			w.change = func(c *worker.Config) {
				c.Failpoint = func(at string) {
					if at == point && left.Add(-1) == 0 {
						w.halt() // whatever is under way ends, and nothing begins again
						close(crashed)
					}
				}
			}
			w.start(t)
			w.publish(t, "acme", recorded(t, "a", "one"), recorded(t, "b", "two"), linked(t, "l", "a", schemas.Link{Rel: schemas.RelFollows, To: "b"}))
			await(t, crashed, "the crash")
			if err := w.stop(); err != nil && !errors.Is(err, context.Canceled) {
				t.Fatal(err)
			}
			w.change = nil
			w.reopen(t)
			n := len(w.entries(t, "acme", 3))
			must(t, w.worker.Projector.Await(within(t), system(t, "acme"), int64(n)))
			w.sameAfterRebuild(t, "acme")
		})
	}
}

// sameAfterRebuild compares the indexes with those that a rebuild gives.
func (w *world) sameAfterRebuild(t *testing.T, tenant string) {
	t.Helper()
	live := w.digests(t, tenant)
	var calls []int64
	must(t, w.worker.Projector.Rebuild(within(t), system(t, tenant), func(done, total int64) { calls = append(calls, done, total) }))
	if diff := cmp.Diff(w.digests(t, tenant), live); diff != "" {
		t.Errorf("indexes (-rebuilt +live):\n%s", diff)
	}
	if len(calls) < 2 || calls[len(calls)-2] != calls[len(calls)-1] {
		t.Errorf("progress = %v, want it to end at the total", calls)
	}
}

// brokenGraph fails while it is told to.
type brokenGraph struct {
	graph.Store
	broken atomic.Bool
}

func (b *brokenGraph) Apply(ctx context.Context, s scope.Scope, changes []graph.Change, upTo int64) error {
	if b.broken.Load() {
		return errors.New("the graph is away")
	}
	return b.Store.Apply(ctx, s, changes, upTo)
}

func TestAStoreThatFailsHoldsUpNoOther(t *testing.T) {
	t.Parallel()
	w := prepare(t)
	broken := &brokenGraph{Store: w.graph}
	broken.broken.Store(true)
	w.change = func(c *worker.Config) { c.Stores.Graph, c.BatchSize = broken, 2 }
	w.start(t)
	s := system(t, "acme")
	for i := range 9 {
		w.publish(t, "acme", recorded(t, fmt.Sprint("n", i), "some text"))
	}
	w.entries(t, "acme", 9)
	poll(t, "the other stores go on", func() bool {
		a, err := w.items.Checkpoint(within(t), s)
		must(t, err)
		b, err := w.keyword.Checkpoint(within(t), s)
		must(t, err)
		c, err := w.vector.Checkpoint(within(t), s)
		must(t, err)
		return min(a, b, c) == 9
	})
	if at := w.worker.Projector.Position("acme"); at != 0 {
		t.Errorf("position = %d while the graph is at 0", at)
	}
	poll(t, "the worker says what fails", func() bool {
		err := w.worker.Ready()
		return err != nil && strings.Contains(err.Error(), "the graph is away")
	})
	broken.broken.Store(false)
	must(t, w.worker.Projector.Await(within(t), s, 9))
	w.sameAfterRebuild(t, "acme")
}

func TestTwoFailingTenantsHoldUpNoThird(t *testing.T) {
	t.Parallel()
	w := prepare(t)
	w.change = func(c *worker.Config) { c.Stores.Graph = &pickyGraph{Store: w.graph} }
	w.start(t)
	for _, tenant := range []string{"bad1", "bad2", "acme"} {
		w.publish(t, tenant, recorded(t, "a", "x", func(d map[string]any) { d["scope"] = map[string]any{"tenant": tenant} }))
		w.entries(t, tenant, 1)
	}
	must(t, w.worker.Projector.Await(within(t), system(t, "acme"), 1))
}

// pickyGraph fails for tenants whose name begins with "bad".
type pickyGraph struct{ graph.Store }

func (p *pickyGraph) Apply(ctx context.Context, s scope.Scope, changes []graph.Change, upTo int64) error {
	if strings.HasPrefix(s.Tenant(), "bad") {
		return errors.New("not for this tenant")
	}
	return p.Store.Apply(ctx, s, changes, upTo)
}

func TestRebuiltIndexesAreTheLiveOnes(t *testing.T) {
	t.Parallel()
	w := prepare(t)
	w.change = func(c *worker.Config) { c.BatchSize = 3 }
	w.start(t)
	summary := func(d map[string]any) {
		d["kind"], d["links"] = "summary", []map[string]any{{"rel": "derived_from", "to": "a"}, {"rel": "derived_from", "to": "c"}}
	}
	w.publish(t, "acme",
		recorded(t, "a", "Ann met Bob in Lyon"), recorded(t, "b", "the lake house has a red door"), recorded(t, "c", "Bob likes camelCaseNames"),
		linked(t, "l1", "b", schemas.Link{Rel: schemas.RelCausedBy, To: "a"}), superseded(t, "s1", "a", "c"), accessed(t, "x1", "a", "b", "c", "b", "b"),
		recorded(t, "d", "a summary of two", summary), linked(t, "l2", "a", schemas.Link{Rel: schemas.RelMentions, To: "c"}),
		memory(t, schemas.TypeMemoryRecorded, "e-b2", map[string]any{"id": "b", "scope": map[string]any{"tenant": "acme"}, "type": "semantic", "kind": "knowledge",
			"content": "the lake house has a green door now", "created_at": "2026-02-02T03:04:05Z", "security_label": []string{"level:internal"}, "provenance": map[string]any{"source_uri": source}}))
	w.entries(t, "acme", 9)
	must(t, w.worker.Projector.Await(within(t), system(t, "acme"), 9))
	if b, err := w.items.Get(within(t), system(t, "acme"), []string{"b"}); err != nil || len(b) != 1 || b[0].AccessCount != 1 {
		t.Errorf("an event that names an item three times is %+v, %v", b, err)
	}
	w.sameAfterRebuild(t, "acme")
	w.publish(t, "acme", forgetting(t, "f", "a"))
	w.receipt(t, "acme", "f")
	w.publish(t, "acme", recorded(t, "e", "after it all"), accessed(t, "x2", "b", "e"))
	n := len(w.entries(t, "acme", 13))
	must(t, w.worker.Projector.Await(within(t), system(t, "acme"), int64(n)))
	w.sameAfterRebuild(t, "acme")
}

func TestAnIndexAheadOfTheLogIsNamed(t *testing.T) {
	t.Parallel()
	w := setup(t)
	s := system(t, "acme")
	w.publish(t, "acme", recorded(t, "a", "one"))
	w.entries(t, "acme", 1)
	must(t, w.worker.Projector.Await(within(t), s, 1))
	must(t, w.stop())
	must(t, w.graph.Apply(within(t), s, nil, 7)) // as if the log had been restored from an older copy
	p := worker.NewProjector(w.cfg)
	if err := p.Await(within(t), s, 1); !errors.Is(err, follow.ErrAhead) || !strings.Contains(err.Error(), "rebuild") {
		t.Errorf("error = %v", err)
	}
	must(t, p.Rebuild(within(t), s, nil))
	must(t, p.Await(within(t), s, 1))
}

// Whoever awaits a position during a rebuild waits until it is reached again.
func TestAwaitHoldsDuringARebuild(t *testing.T) {
	t.Parallel()
	w := prepare(t)
	var block atomic.Bool
	reached, release := make(chan struct{}), make(chan struct{})
	w.change = func(c *worker.Config) {
		c.Failpoint = func(at string) {
			if at == "project.before_apply" && block.CompareAndSwap(true, false) {
				close(reached)
				<-release
			}
		}
	}
	w.start(t)
	s := system(t, "acme")
	w.publish(t, "acme", recorded(t, "a", "one"))
	w.entries(t, "acme", 1)
	must(t, w.worker.Projector.Await(within(t), s, 1))
	block.Store(true)
	rebuilt := make(chan error, 1)
	go func() { rebuilt <- w.worker.Projector.Rebuild(context.Background(), s, nil) }()
	await(t, reached, "the rebuild")
	soon, cancel := context.WithTimeout(within(t), 20*time.Millisecond)
	defer cancel()
	if err := w.worker.Projector.Await(soon, s, 1); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("await during the rebuild: %v", err)
	}
	close(release)
	must(t, <-rebuilt)
	must(t, w.worker.Projector.Await(within(t), s, 1))
}
