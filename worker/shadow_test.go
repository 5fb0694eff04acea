package worker_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	"satchel/pipeline/embed"
	"satchel/pipeline/embed/cache"
	"satchel/pipeline/store/vector"
	vectormem "satchel/pipeline/store/vector/inproc"
	"satchel/schemas"
	"satchel/worker/projection"
)

// fails embeds until it is told to fail.
type fails struct {
	embed.Embedder
	err error
}

func (f *fails) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	if f.err != nil {
		return nil, f.err
	}
	return f.Embedder.Embed(ctx, texts)
}

func (w *world) shadow(t *testing.T, batch int, e embed.Embedder) (*projection.Reindexer, *vector.Vectors) {
	t.Helper()
	x, err := vectormem.Open(vectormem.Config{Model: "another", Dimensions: w.embed.Model().Dimensions})
	must(t, err)
	index := vector.New(x)
	return projection.NewReindexer(projection.ReindexerConfig{Log: w.log, Index: index, Embedder: e, Batch: batch}), index
}

// TestShadowIsWhatAProjectorMakes fills an index of its own from the log, erasures and
// all, and compares it with the one that serves.
func TestShadowIsWhatAProjectorMakes(t *testing.T) {
	t.Parallel()
	w := setup(t)
	s := system(t, "acme")
	for i := range 20 {
		w.put(t, recorded(t, fmt.Sprint("i", i), fmt.Sprintf("note %d of the lake house", i)), "logged")
	}
	w.publish(t, "acme", forgetting(t, "gone", "i3", "i7"))
	w.receipt(t, "acme", "gone")
	w.put(t, named(recorded(t, "i3", "another note under an old name", func(d map[string]any) { d["created_at"] = "2026-02-02T00:00:00Z" }), "again"), "indexed")
	shadow, index := w.shadow(t, 3, w.embed)
	must(t, shadow.Run(within(t)))
	must(t, w.worker.Projector.CatchUp(within(t), s, nil))
	want, err := w.vector.Digest(within(t), s)
	must(t, err)
	got, err := index.Digest(within(t), s)
	must(t, err)
	if got != want {
		t.Error("the shadow differs from the index that serves")
	}
	head, err := w.log.Head(within(t), s)
	must(t, err)
	if done, total := shadow.Progress(); done != head.Size || total != head.Size {
		t.Errorf("progress %d of %d, the log has %d", done, total, head.Size)
	}

	w.worker.Projector.SwitchIndex(index, w.embed)
	r := w.put(t, recorded(t, "after", "noted after the change"), "indexed")
	if at, err := index.Checkpoint(within(t), s); err != nil || at < r.Position {
		t.Errorf("the adopted index is at %d (%v), want %d", at, err, r.Position)
	}
}

// TestShadowForgets: an erasure reaches an index that is far behind, whether or not the
// model answers.
func TestShadowForgets(t *testing.T) {
	t.Parallel()
	for _, away := range []bool{false, true} {
		t.Run(fmt.Sprint("model is away ", away), func(t *testing.T) {
			t.Parallel()
			w := setup(t)
			s := system(t, "acme")
			for i := range 10 {
				w.put(t, recorded(t, fmt.Sprint("i", i), fmt.Sprintf("note %d of the lake house", i)), "logged")
			}
			model := &fails{Embedder: w.embed}
			shadow, index := w.shadow(t, 3, model)
			stop := errors.New("enough")
			err := shadow.Fill(within(t), s, func(done, _ int64) {
				if done >= 6 {
					model.err = stop
				}
			})
			if !errors.Is(err, stop) {
				t.Fatalf("the fill ended with %v", err)
			}
			q := vector.Query{Vector: mustEmbed(t, w.embed, "note 2 of the lake house"), Limit: 10, Filter: schemas.MatchAll()}
			if r, err := index.Search(within(t), s, q); err != nil || len(r.Hits) != 6 {
				t.Fatalf("half filled it finds %d (%v)", len(r.Hits), err)
			}
			w.publish(t, "acme", forgetting(t, "gone", "i2", "i9"))
			w.receipt(t, "acme", "gone")
			if !away {
				model.err = nil
			}
			must(t, shadow.Forget(within(t), s))
			r, err := index.Search(within(t), s, q)
			must(t, err)
			for _, hit := range r.Hits {
				if hit.ID == "i2" {
					t.Error("what was erased is still found")
				}
			}
			if n := len(r.Hits); !away && n != 6 || away && n != 0 {
				t.Errorf("after the erasure it finds %d", n)
			}
		})
	}
}

func mustEmbed(t *testing.T, e embed.Embedder, text string) []float32 {
	t.Helper()
	v, err := e.Embed(within(t), []string{text})
	must(t, err)
	return v[0]
}

// counts notes how often each text is embedded.
type counts struct {
	embed.Embedder
	mu    sync.Mutex
	texts map[string]int
	after func(n int) // told how many have been
}

func (c *counts) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	c.mu.Lock()
	for _, text := range texts {
		c.texts[text]++
	}
	n := len(c.texts)
	c.mu.Unlock()
	if c.after != nil {
		c.after(n)
	}
	return c.Embedder.Embed(ctx, texts)
}

// TestFollowerGoesOnAfterAKill ends a follower in the middle and begins another with an empty index, as after
// kill -9: with a cache nothing is embedded twice but what was under way, and later entries are followed too.
func TestFollowerGoesOnAfterAKill(t *testing.T) {
	t.Parallel()
	w := setup(t)
	s := system(t, "acme")
	for i := range 40 {
		w.put(t, recorded(t, fmt.Sprint("i", i), fmt.Sprintf("note %d of the lake house", i)), "logged")
	}
	first, kill := context.WithCancel(within(t))
	model := &counts{Embedder: w.embed, texts: map[string]int{}, after: func(n int) {
		if n > 20 {
			kill()
		}
	}}
	kept, err := cache.Open(within(t), cache.Config{Embedder: model, Path: filepath.Join(t.TempDir(), "vectors.db")})
	must(t, err)
	t.Cleanup(func() { must(t, kept.Close()) })
	follower := func() (*projection.Reindexer, *vector.Vectors) {
		x, err := vectormem.Open(vectormem.Config{Model: "another", Dimensions: w.embed.Model().Dimensions})
		must(t, err)
		index := vector.New(x)
		return projection.NewReindexer(projection.ReindexerConfig{Log: w.log, Index: index, Embedder: kept, Batch: 16, Percent: 90}), index
	}
	begun, _ := follower()
	must(t, begun.Follow(first))
	if n := len(model.texts); n != 21 {
		t.Fatalf("it was killed after %d texts", n)
	}
	model.after = nil
	again, index := follower()
	ctx, stop := context.WithCancel(within(t))
	var done sync.WaitGroup
	done.Go(func() {
		if err := again.Follow(ctx); err != nil {
			t.Error(err)
		}
	})
	defer done.Wait()
	defer stop()
	same := func() {
		t.Helper()
		head, err := w.log.Head(within(t), s)
		must(t, err)
		must(t, again.Await(within(t), s, head.Size))
		must(t, w.worker.Projector.CatchUp(within(t), s, nil))
		want, err := w.vector.Digest(within(t), s)
		must(t, err)
		got, err := index.Digest(within(t), s)
		must(t, err)
		if got != want {
			t.Error("the follower's index is not what the projector makes")
		}
	}
	same()
	twice := 0
	for _, n := range model.texts {
		twice += n - 1
	}
	if twice > 1 {
		t.Errorf("%d texts were embedded twice", twice)
	}
	w.put(t, recorded(t, "later", "noted while it follows"), "indexed")
	w.publish(t, "acme", forgetting(t, "gone", "i3", "i7"))
	w.receipt(t, "acme", "gone")
	same()
	must(t, again.Reset(within(t), s))
	same()
}

// TestFollowerGivesWay: it hardly embeds while requests are answered, but for what an erasure needs.
func TestFollowerGivesWay(t *testing.T) {
	t.Parallel()
	w := setup(t)
	s := system(t, "acme")
	for i := range 3 {
		w.put(t, recorded(t, fmt.Sprint("i", i), fmt.Sprintf("note %d of the lake house", i)), "logged")
	}
	model := &counts{Embedder: w.embed, texts: map[string]int{}}
	var busy atomic.Bool
	busy.Store(true)
	asked := make(chan struct{}, 1)
	x, err := vectormem.Open(vectormem.Config{Model: "another", Dimensions: w.embed.Model().Dimensions})
	must(t, err)
	index := vector.New(x)
	follower := projection.NewReindexer(projection.ReindexerConfig{Log: w.log, Index: index, Embedder: model, Batch: 2, Percent: 100, Busy: func() bool {
		select {
		case asked <- struct{}{}:
		default:
		}
		return busy.Load()
	}})
	ctx, stop := context.WithCancel(within(t))
	var done sync.WaitGroup
	done.Go(func() {
		if err := follower.Follow(ctx); err != nil {
			t.Error(err)
		}
	})
	defer done.Wait()
	defer stop()
	for range 3 { // the second look begins after the first has said busy
		<-asked
	}
	model.mu.Lock()
	if len(model.texts) > 1 {
		t.Error("it embeds while requests are answered")
	}
	model.mu.Unlock()
	w.publish(t, "acme", forgetting(t, "gone", "i1"))
	w.receipt(t, "acme", "gone")
	must(t, follower.Forget(within(t), s))
	if at, err := index.Checkpoint(within(t), s); err != nil || at < 1 {
		t.Errorf("after an erasure it is at %d (%v), want what the erasure needs", at, err)
	}
	busy.Store(false)
	head, err := w.log.Head(within(t), s)
	must(t, err)
	must(t, follower.Await(within(t), s, head.Size))
}
