package worker_test

import (
	"slices"
	"sync"
	"testing"

	"satchel/pipeline/scope"
	"satchel/pipeline/token"
	"satchel/schemas"
	"satchel/worker"
)

// What is new is taught once, counted and as it is stored; what is recorded again is new.
func TestNewItemsAreTaught(t *testing.T) {
	t.Parallel()
	w := prepare(t)
	w.change = func(c *worker.Config) { c.Counter = token.Estimate{} }
	w.start(t)
	var mu sync.Mutex
	taught := map[string][]string{}
	w.worker.Projector.OnIndexed(func(s scope.Scope, records []schemas.Record) {
		mu.Lock()
		defer mu.Unlock()
		for _, r := range records {
			if r.Tokens == 0 {
				t.Errorf("item %q is not counted", r.ID)
			}
			taught[s.Tenant()+"/"+r.ID] = append(taught[s.Tenant()+"/"+r.ID], r.Content.Text())
		}
	})
	times := func(of string, want ...string) {
		t.Helper()
		poll(t, "the lesson of "+of, func() bool {
			mu.Lock()
			defer mu.Unlock()
			return len(taught[of]) >= len(want)
		})
		mu.Lock()
		defer mu.Unlock()
		if !slices.Equal(taught[of], want) {
			t.Errorf("%s was taught as %q, want %q", of, taught[of], want)
		}
	}
	w.publish(t, "acme", recorded(t, "a", "the red door of the lake house"), recorded(t, "b", "a blue window"))
	times("acme/a", "the red door of the lake house")
	times("acme/b", "a blue window")
	w.publish(t, "acme", recorded(t, "again", "the green door of the lake house", func(d map[string]any) { d["id"] = "a" }))
	times("acme/a", "the red door of the lake house", "the green door of the lake house")
	times("acme/b", "a blue window")
}
