package worker_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"

	"satchel/pipeline/model"
	"satchel/worker"
)

// mute is an embedder that can be switched off.
type mute struct {
	model.Embedder
	off atomic.Bool
}

func (m *mute) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	if m.off.Load() {
		return nil, errors.New("no model answers")
	}
	return m.Embedder.Embed(ctx, texts)
}

// TestNoveltyWaitsForTheModel remembers and replaces while no model answers: the items are
// there without a novelty, and have the one of a rebuild when the model is back.
func TestNoveltyWaitsForTheModel(t *testing.T) {
	t.Parallel()
	w := prepare(t)
	m := &mute{Embedder: w.embed}
	w.change = func(c *worker.Config) { c.Embedder, c.BatchSize = m, 2 }
	w.start(t)
	s := system(t, "acme")
	novelty := func(id string) float64 {
		t.Helper()
		got, err := w.items.Get(within(t), s, []string{id})
		must(t, err)
		if len(got) != 1 || got[0].Novelty == nil {
			return -1
		}
		return *got[0].Novelty
	}
	for i := range 3 {
		w.put(t, recorded(t, fmt.Sprint("i", i), "the lake house has a red door"), "indexed")
	}
	if a, b := novelty("i0"), novelty("i1"); a != 1 || b != 0 {
		t.Errorf("novelties %v and %v, want that of the first item and that of its copy", a, b)
	}
	m.off.Store(true)
	again := recorded(t, "i0", "servers restart at night")
	again.SetID("e-i0-again")
	w.publish(t, "acme", recorded(t, "late", "the lake house has a red door"), again)
	w.entries(t, "acme", 5)
	poll(t, "the items go on without the model", func() bool {
		at, err := w.items.Checkpoint(within(t), s)
		must(t, err)
		return at == 5
	})
	if n := novelty("late"); n != -1 {
		t.Errorf("novelty %v without a model", n)
	}
	m.off.Store(false)
	must(t, w.worker.Projector.Await(within(t), s, 5))
	if n := novelty("late"); n != 0 {
		t.Errorf("novelty %v of another copy", n)
	}
	if n := novelty("i1"); n < .2 {
		t.Errorf("novelty %v of what is the first of its kind now", n)
	}
	w.sameAfterRebuild(t, "acme")
}
