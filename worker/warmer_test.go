package worker_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	"satchel/pipeline/scope"
	"satchel/schemas"
	"satchel/worker"
)

// warmed is an engine that notes what it is shown.
type warmed struct {
	worker.Engine
	mu      sync.Mutex
	forgets uint64
	most    int
	shown   map[string]int64 // positions by id
	order   []string
}

func (e *warmed) Warm(_ scope.Scope, forgets uint64, records []schemas.Record) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if forgets != e.forgets {
		return false
	}
	for i := range records {
		e.shown[records[i].ID] = records[i].Position
		e.order = append(e.order, records[i].ID)
	}
	return len(e.shown) < e.most
}

func (e *warmed) Forgets() uint64 {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.forgets
}

func (e *warmed) forget() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.forgets++
	e.shown, e.order = map[string]int64{}, nil
}

func (e *warmed) ids() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Sorted(maps.Keys(e.shown))
}

// TestTheEngineIsWarmed: the engine is shown what is indexed, once, and what is there after
// a start and after an erasure, the latest first, but nothing that was erased.
func TestTheEngineIsWarmed(t *testing.T) {
	t.Parallel()
	w := prepare(t)
	engine := &warmed{most: 1000, shown: map[string]int64{}}
	w.engine = engine
	w.change = func(c *worker.Config) {
		c.Scrubbers = append(c.Scrubbers, worker.Scrubber{Store: "engine", Scrub: func(context.Context, scope.Scope) error { engine.forget(); return nil }})
	}
	w.start(t)
	var want []string
	add := func(n int) {
		t.Helper()
		for range n {
			id := fmt.Sprintf("m%03d", len(want))
			want = append(want, id)
			w.publish(t, "acme", recorded(t, id, "text of "+id))
		}
	}
	all := func(what string) {
		t.Helper()
		poll(t, what, func() bool { return slices.Equal(engine.ids(), want) })
	}
	add(70)
	all("new items")
	add(5)
	all("more items")
	if n := len(engine.order); n != len(want) {
		t.Errorf("%d items were shown %d times", len(want), n)
	}
	must(t, w.stop())
	engine.forget()
	w.start(t)
	all("what was there at the start")
	if !slices.IsSortedFunc(engine.order, func(a, b string) int { return strings.Compare(b, a) }) {
		t.Errorf("shown in the order %v", engine.order)
	}
	w.publish(t, "acme", forgetting(t, "f1", "m003", "m074"))
	w.receipt(t, "acme", "f1")
	want = slices.DeleteFunc(want, func(id string) bool { return id == "m003" || id == "m074" })
	all("what is left after an erasure")
	must(t, w.stop())

	engine.forget()
	engine.most = 10
	w.start(t)
	poll(t, "the latest items", func() bool { return len(engine.ids()) >= 10 })
	must(t, w.stop())
	if n := len(engine.ids()); n > 40 {
		t.Errorf("%d were shown to an engine that has room for 10", n)
	}
}
