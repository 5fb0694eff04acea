package worker_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"satchel/pipeline/model"
	"satchel/pipeline/model/cache"
	inmemory "satchel/pipeline/store/memory"
	"satchel/pipeline/store/vector"
	"satchel/schemas"
	"satchel/worker/projection"
)

// fails embeds until it is told to fail.
type fails struct {
	model.Embedder
	err error
}

func (f *fails) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	if f.err != nil {
		return nil, f.err
	}
	return f.Embedder.Embed(ctx, texts)
}

func (w *world) shadow(t *testing.T, batch int, e model.Embedder) (*projection.Reindexer, *vector.Vectors) {
	t.Helper()
	x, err := inmemory.OpenVector(inmemory.VectorConfig{Model: "another", Dimensions: w.embed.Model().Dimensions})
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

// TestShadowForgets: an erasure reaches an index that is far behind while the model is away.
func TestShadowForgets(t *testing.T) {
	t.Parallel()
	w := setup(t)
	s := system(t, "acme")
	for i := range 10 {
		w.put(t, recorded(t, fmt.Sprint("i", i), fmt.Sprintf("note %d of the lake house", i)), "logged")
	}
	model := &fails{Embedder: w.embed}
	shadow, index := w.shadow(t, 3, model)
	away := errors.New("away")
	err := shadow.Fill(within(t), s, func(done, _ int64) {
		if done >= 6 {
			model.err = away
		}
	})
	if !errors.Is(err, away) {
		t.Fatalf("the fill ended with %v", err)
	}
	w.wantFound(t, index, 6)
	w.publish(t, "acme", forgetting(t, "gone", "i2", "i9"))
	w.receipt(t, "acme", "gone")
	must(t, shadow.Forget(within(t), s))
	w.wantFound(t, index, 5, "i2")
	model.err = nil
	must(t, shadow.Run(within(t)))
	w.wantFound(t, index, 8, "i2", "i9")
}

// hangs answers no text until it is given up, and says when it is asked.
type hangs struct {
	model.Embedder
	asked chan struct{}
}

func (h hangs) Embed(ctx context.Context, _ []string) ([][]float32, error) {
	select {
	case h.asked <- struct{}{}:
	default:
	}
	<-ctx.Done()
	return nil, ctx.Err()
}

// TestShadowForgetsBeforeTheNextBatch: while the model hangs an erasure ends the batch and goes before the next one.
func TestShadowForgetsBeforeTheNextBatch(t *testing.T) {
	t.Parallel()
	w := setup(t)
	s := system(t, "acme")
	w.put(t, recorded(t, "i1", "a note of the lake house"), "logged")
	model := hangs{w.embed, make(chan struct{}, 1)}
	shadow, _ := w.shadow(t, 3, model)
	ctx, stop := context.WithCancel(within(t))
	var done sync.WaitGroup
	done.Go(func() {
		if err := shadow.Run(ctx); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	})
	defer done.Wait()
	defer stop()
	for range 20 {
		<-model.asked
		must(t, shadow.Forget(within(t), s))
	}
}

// slow embeds few texts before it is interrupted.
type slow struct {
	model.Embedder
	interrupt func()
}

func (s *slow) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	if len(texts) <= 3 {
		return s.Embedder.Embed(ctx, texts)
	}
	go s.interrupt()
	<-ctx.Done()
	return nil, ctx.Err()
}

// TestShadowEndsBetweenErasures: erasures that come faster than a batch is embedded do not keep a tenant from its
// vectors.
func TestShadowEndsBetweenErasures(t *testing.T) {
	t.Parallel()
	w := setup(t)
	for i := range 20 {
		w.put(t, recorded(t, fmt.Sprint("i", i), fmt.Sprintf("note %d of the lake house", i)), "logged")
	}
	model := &slow{Embedder: w.embed}
	shadow, index := w.shadow(t, 16, model)
	model.interrupt = func() { shadow.Interrupt("acme") }
	must(t, shadow.Run(within(t)))
	w.wantFound(t, index, 20)
}

// TestShadowLeavesOutWhatAnotherErases: a batch that was read before another worker's erasure does not bring back what
// that has removed.
func TestShadowLeavesOutWhatAnotherErases(t *testing.T) {
	t.Parallel()
	w := setup(t)
	s := system(t, "acme")
	for i := range 10 {
		w.put(t, recorded(t, fmt.Sprint("i", i), fmt.Sprintf("note %d of the lake house", i)), "logged")
	}
	var index *vector.Vectors
	found := 0
	model := &counts{Embedder: w.embed, texts: map[string]int{}, after: func(n int) {
		if n != 6 {
			return
		}
		w.publish(t, "acme", forgetting(t, "gone", "i2", "i4", "i9"))
		w.receipt(t, "acme", "gone")
		other := projection.NewReindexer(projection.ReindexerConfig{Log: w.log, Index: index, Embedder: w.embed})
		must(t, other.Forget(within(t), s))
	}}
	var shadow *projection.Reindexer
	shadow, index = w.shadow(t, 3, model)
	must(t, shadow.Fill(within(t), s, func(done, _ int64) {
		if done == 6 {
			found = len(w.found(t, index))
		}
	}))
	if found != 4 {
		t.Errorf("of six items of which two were erased it finds %d", found)
	}
	w.wantFound(t, index, 7, "i2", "i4", "i9")
}

// found lists what an index finds of acme.
func (w *world) found(t *testing.T, index *vector.Vectors) (ids []string) {
	t.Helper()
	r, err := index.Search(within(t), system(t, "acme"), vector.Query{Vector: mustEmbed(t, w.embed, "note 2 of the lake house"), Limit: 20, Filter: schemas.MatchAll()})
	must(t, err)
	for _, hit := range r.Hits {
		ids = append(ids, hit.ID)
	}
	return ids
}

// wantFound checks how many items of acme an index finds, and that some are not among them.
func (w *world) wantFound(t *testing.T, index *vector.Vectors, want int, gone ...string) {
	t.Helper()
	ids := w.found(t, index)
	if len(ids) != want {
		t.Errorf("it finds %d, want %d", len(ids), want)
	}
	for _, id := range gone {
		if slices.Contains(ids, id) {
			t.Errorf("what was erased is still found: %s", id)
		}
	}
}

func mustEmbed(t *testing.T, e model.Embedder, text string) []float32 {
	t.Helper()
	v, err := e.Embed(within(t), []string{text})
	must(t, err)
	return v[0]
}

// counts notes how often each text is embedded.
type counts struct {
	model.Embedder
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
		x, err := inmemory.OpenVector(inmemory.VectorConfig{Model: "another", Dimensions: w.embed.Model().Dimensions})
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

// TestFollowerGivesWay: it hardly embeds while requests are answered, and an erasure does not wait for it.
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
	x, err := inmemory.OpenVector(inmemory.VectorConfig{Model: "another", Dimensions: w.embed.Model().Dimensions})
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
	if slices.Contains(w.found(t, index), "i1") {
		t.Error("what was erased is still found")
	}
	busy.Store(false)
	head, err := w.log.Head(within(t), s)
	must(t, err)
	must(t, follower.Await(within(t), s, head.Size))
}

// TestPassagesAreEmbedded: those of an item that everybody sees whole have vectors of their own, which go with it.
func TestPassagesAreEmbedded(t *testing.T) {
	t.Parallel()
	w := setup(t)
	s := system(t, "acme")
	text := "func Retry() {\n"
	for i := range 6 {
		text += fmt.Sprintf("\t// Step %d waits until the queue has room again, and gives up when its context is done.\n\twait(ctx, %d)\n\tcheck(ctx, %d)\n\n", i, i, i)
	}
	text += "}\n"
	code := func(d map[string]any) { d["kind"] = "code" }
	hidden := func(d map[string]any) {
		d["kind"], d["security_label"] = "code", []string{"level:internal", "pii:medical"}
	}
	w.put(t, recorded(t, "code", text, code), "logged")
	w.put(t, recorded(t, "hidden", text, hidden), "logged")
	w.put(t, recorded(t, "talk", text), "logged")
	_, index := w.shadow(t, 3, w.embed)
	filler := projection.NewReindexer(projection.ReindexerConfig{Log: w.log, Index: index, Embedder: w.embed, Passages: true})
	must(t, filler.Run(within(t)))
	question, err := w.embed.Embed(within(t), []string{"when does it give up?"})
	must(t, err)
	passages := func() (n []int) {
		t.Helper()
		scores, err := index.ScoreChunks(within(t), s, vector.Query{Vector: question[0], Axis: vector.AxisPassage, Filter: schemas.MatchAll()}, []string{"code", "hidden", "talk"})
		must(t, err)
		for _, list := range scores {
			n = append(n, len(list))
		}
		return n
	}
	if n := passages(); n[0] < 2 || n[1] != 0 || n[2] != 0 {
		t.Errorf("passages of code, of hidden code and of talk: %v", n)
	}
	w.publish(t, "acme", forgetting(t, "gone", "code"))
	w.receipt(t, "acme", "gone")
	must(t, filler.Forget(within(t), s))
	if n := passages(); n[0] != 0 {
		t.Errorf("of erased code %d passages are left", n[0])
	}
}
