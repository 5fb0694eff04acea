package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"

	"satchel/cmd/internal/config"
	"satchel/pipeline/embed"
	"satchel/pipeline/embed/cache"
	"satchel/pipeline/embed/encoder"
	"satchel/pipeline/embed/static"
	"satchel/pipeline/scope"
	"satchel/pipeline/store/vector"
	"satchel/worker/erasure"
	"satchel/worker/follow"
	"satchel/worker/projection"
)

// encoding is the index of the sentence encoder's vectors. It follows the log behind that of the table, which is
// there as soon as an item is indexed. A tenant's searches use it once it had all that the other has; see waiting.
type encoding struct {
	VectorTarget
	reindexer *projection.Reindexer
	busy      func() bool              // whether requests are answered, or entries indexed
	owns      func(tenant string) bool // whether this process encodes the tenant's items
	shared    bool                     // the workers share the indexes
	waits     sync.Map                 // *waiting by tenant
}

// openEncoder opens the sentence encoder in the binary, if that is its name.
func (a *App) openEncoder(ctx context.Context, name string, words *static.Embedder, logger *slog.Logger) (*Maker, error) {
	if name != encoder.Name {
		return nil, config.Usagef("EMBEDDINGS_MODEL is %s, and EMBEDDINGS_URL, which would say where to ask it, is not set; the model in the binary is %s", name, encoder.Name)
	}
	made, err := encoder.OpenDocuments(words, max(1, a.EncoderPercent/100))
	if err != nil {
		return nil, &config.UsageError{Err: err}
	}
	kept, err := a.openCache(ctx, made, logger)
	if err != nil {
		return nil, err
	}
	asked, err := cache.Open(ctx, cache.Config{Embedder: made, MemoryBytes: 1 << 20}) // a question is not worth a write to the file
	if err != nil {
		return nil, errors.Join(err, kept.Close())
	}
	return &Maker{Embedder: kept, cache: kept, asked: asked, Questions: embed.Questions{Embedder: asked, Cosines: embed.OfEncoder, Here: words}}, nil
}

// openCache keeps what a model has embedded, over restarts.
func (a *App) openCache(ctx context.Context, model embed.Embedder, logger *slog.Logger) (*cache.Cache, error) {
	if err := os.MkdirAll(a.Path("index"), 0o700); err != nil {
		return nil, fmt.Errorf("open data folder: %w", err)
	}
	return cache.Open(ctx, cache.Config{Embedder: model, Path: a.Path("index", cacheFile), ReadOnly: a.Beside, MaxBytes: int64(a.EmbedCacheMB) << 20,
		TTL: time.Duration(a.EmbedCacheHours) * time.Hour, OnError: func(err error) { logger.Warn("embedding cache", "error", err) }})
}

// cacheFile has the vectors that a model made, under index/.
const cacheFile = "embeddings.db"

// openEncoding makes what follows the log with the encoder's vectors, once its index is open.
func (a *App) openEncoding(s *Stores, logger *slog.Logger) {
	e := s.Embedder.encoding
	e.shared = s.shared.Vector
	e.busy, e.owns = func() bool { return false }, func(string) bool { return true }
	e.reindexer = projection.NewReindexer(projection.ReindexerConfig{Log: s.Log, Index: encodedIndex{e.index, e}, Embedder: e, Sanitizer: s.public, Registry: s.grants, Batch: 16, Passages: true, Logger: logger,
		Percent: a.EncoderPercent, Busy: func() bool { return e.busy() }, Owns: func(tenant string) bool { return e.owns(tenant) }})
}

// encode has the encoder's vectors follow the log until ctx is done.
func (n *Node) encode(ctx context.Context) {
	e := n.Embedder.encoding
	if e == nil {
		return
	}
	e.busy = func() bool { return !n.Worker.Projector.Calm() }
	if owns := n.ownsVectors(); owns != nil {
		e.owns = owns
	}
	if err := e.reindexer.LookAtAll(ctx); err != nil {
		n.logger.Warn("how many items the encoder has to encode", "error", err)
	}
	n.background.Go(func() {
		err := follow.Retry{}.Do(ctx, n.logger, "encode items", func(error) bool { return true }, func() error { return e.reindexer.Follow(ctx) })
		if err != nil && ctx.Err() == nil {
			n.logger.Error("encode items", "error", err)
		}
	})
}

// AwaitEncoded waits until the encoder's vectors have all that a tenant's log has now; where there is no encoder it
// returns at once.
func (n *Node) AwaitEncoded(ctx context.Context, tenant string) error {
	e := n.Embedder.encoding
	if e == nil {
		return nil
	}
	s, err := scope.System(tenant)
	if err != nil {
		return err
	}
	head, err := n.Log.Head(ctx, s)
	if err != nil {
		return err
	}
	return e.reindexer.Await(ctx, s, head.Size)
}

// Questions implements [rank.Meanings].
func (e *embedding) Questions(ctx context.Context, s scope.Scope) embed.Questions {
	now := e.now.Load()
	if e.encoding != nil && now.Questions.Cosines == embed.OfTable && e.encoding.serves(ctx, s, now.index) {
		return e.encoding.Questions
	}
	return now.Questions
}

// waitingFor is what the table's index has of a tenant and the encoder's has not.
func (e *encoding) waitingFor(s scope.Scope) *waiting {
	w, ok := e.waits.Load(s.Tenant())
	if !ok {
		w, _ = e.waits.LoadOrStore(s.Tenant(), new(waiting))
	}
	return w.(*waiting)
}

// serves reports whether a tenant's searches use the encoder's vectors.
func (e *encoding) serves(ctx context.Context, s scope.Scope, table vector.Index) bool {
	if !e.shared {
		return e.waitingFor(s).serves(upTo(ctx, s, e.index), upTo(ctx, s, table))
	}
	done, err := e.index.Checkpoint(ctx, s) // another process may feed the table's index
	if err != nil {
		return false
	}
	needed, err := table.Checkpoint(ctx, s)
	return err == nil && done >= needed
}

func upTo(ctx context.Context, s scope.Scope, index vector.Index) checkpoint {
	return func() (int64, error) { return index.Checkpoint(ctx, s) }
}

// encodedToo is the table's index as the projector feeds it: the encoder's follows, and is emptied with it.
type encodedToo struct {
	vector.Index
	encoding *encoding
}

// Apply implements vector.Index.
func (i encodedToo) Apply(ctx context.Context, s scope.Scope, changes []vector.Change, position int64) error {
	if !i.encoding.shared {
		i.encoding.waitingFor(s).add(changes, upTo(ctx, s, i.Index))
	}
	return i.Index.Apply(ctx, s, changes, position)
}

// Reset implements vector.Index.
func (i encodedToo) Reset(ctx context.Context, s scope.Scope) error {
	if err := i.encoding.reindexer.Reset(ctx, s); err != nil {
		return err
	}
	return i.Index.Reset(ctx, s)
}

// encodedIndex is the encoder's index as the reindexer fills it.
type encodedIndex struct {
	*vector.Vectors
	encoding *encoding
}

// Apply implements vector.Index.
func (i encodedIndex) Apply(ctx context.Context, s scope.Scope, changes []vector.Change, position int64) error {
	err := i.Vectors.Apply(ctx, s, changes, position)
	if err == nil {
		i.encoding.waitingFor(s).drop(position)
	}
	return err
}

// Reset implements vector.Index.
func (i encodedIndex) Reset(ctx context.Context, s scope.Scope) error {
	defer i.encoding.waitingFor(s).reset()
	return i.Vectors.Reset(ctx, s)
}

// projected is the index of a side as the projector feeds it.
func (e *embedding) projected(side *VectorTarget) vector.Index {
	if e.encoding == nil {
		return side.index
	}
	return encodedToo{side.index, e.encoding}
}

// scrubBehind cleans an index that a reindexer fills, after an erasure; get may return nil when none does.
func scrubBehind(store string, side *VectorTarget, shared bool, get func() *projection.Reindexer) erasure.Scrubber {
	return erasure.Scrubber{Store: store, Shared: shared, Remaining: side.erase.remaining,
		Scrub: func(ctx context.Context, sc scope.Scope) error {
			if h := get(); h != nil {
				if err := h.Forget(ctx, sc); err != nil {
					return err
				}
			}
			return side.erase.scrub(ctx, sc)
		}}
}

// encodingState is how far the sentence encoder is.
type encodingState struct {
	Model string `json:"model"`
	Done  int64  `json:"done"` // log entries
	Total int64  `json:"total"`
}

func (e *encoding) state() *encodingState {
	done, total := e.reindexer.Progress()
	return &encodingState{Model: e.Model().String(), Done: done, Total: total}
}

// String is for people to read.
func (s *encodingState) String() string {
	if s.Done >= s.Total {
		return "every item has its vector of " + s.Model
	}
	return fmt.Sprintf("%s: the items of %d of %d log entries have its vectors", s.Model, s.Done, s.Total)
}

// behind is how many log entries wait for the encoder.
func (e *encoding) behind() float64 {
	done, total := e.reindexer.Progress()
	return float64(total - done)
}
