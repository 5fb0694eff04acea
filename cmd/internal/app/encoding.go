package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"sync"
	"time"

	"satchel/cmd/internal/config"
	"satchel/pipeline"
	"satchel/pipeline/model"
	"satchel/pipeline/model/cache"
	"satchel/pipeline/model/encoder"
	"satchel/pipeline/scope"
	"satchel/pipeline/store/eventlog"
	"satchel/pipeline/store/memory"
	"satchel/pipeline/store/vector"
	"satchel/schemas"
	"satchel/worker/erasure"
	"satchel/worker/follow"
	"satchel/worker/projection"
)

// encoding is the index of the sentence encoder's vectors. It follows the log behind that of the table, which is
// there as soon as an item is indexed. It has no vector of what an item was: see encodedToo.
type encoding struct {
	VectorTarget
	reindexer *projection.Reindexer
	log       *eventlog.Log
	busy      func() bool              // whether requests are answered, or entries indexed
	owns      func(tenant string) bool // whether this process encodes the tenant's items
	changing  sync.Map                 // *sync.Mutex by tenant, of who changes the index
	settled   sync.Map                 // tenants that settle has done
}

// encoderInBinary is the sentence encoder in the binary, if that is its name.
func (a *App) encoderInBinary(name string) (*encoder.Encoder, error) {
	if name != encoder.Name {
		return nil, config.Usagef("EMBEDDINGS_MODEL is %s, and EMBEDDINGS_URL, which would say where to ask it, is not set; the models in the binary are %s and %s", name, encoder.Name, TableName)
	}
	made, err := encoder.Open(encoder.Config{Threads: max(1, a.EncoderPercent/100)})
	if err != nil {
		return nil, &config.UsageError{Err: err}
	}
	return made, nil
}

// openEncoder opens the sentence encoder in the binary with what is kept of its vectors.
func (a *App) openEncoder(ctx context.Context, name string, logger *slog.Logger) (*Maker, error) {
	made, err := a.encoderInBinary(name)
	if err != nil {
		return nil, err
	}
	kept, err := a.openCache(ctx, made, logger)
	if err != nil {
		return nil, err
	}
	asked, err := cache.Open(ctx, cache.Config{Embedder: made, MemoryBytes: 1 << 20}) // a question is not worth a write to the file
	if err != nil {
		return nil, errors.Join(err, kept.Close())
	}
	return &Maker{Embedder: kept, cache: kept, asked: asked, sentences: true, Questions: model.QuestionForm{Embedder: asked}}, nil
}

// openCache keeps what a model has embedded, over restarts.
func (a *App) openCache(ctx context.Context, model model.Embedder, logger *slog.Logger) (*cache.Cache, error) {
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
	e.busy = func() bool { return false }
	e.owns = func(string) bool { return true }
	e.log = s.Log
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

// Encode has an engine ask the sentence encoder, where there is one.
func (n *Node) Encode(cfg *pipeline.Config) {
	if e := n.Embedder.encoding; e != nil {
		cfg.Encoder = e.Questions
		cfg.Encoded = encodedSearches{e.index, e}
	}
}

// Questions implements [rank.Meanings].
func (e *embedding) Questions(context.Context, scope.Scope) model.QuestionForm {
	return e.now.Load().Questions
}

// change waits until no one else changes a tenant's vectors of the encoder.
func (e *encoding) change(s scope.Scope) (done func()) {
	m, _ := e.changing.LoadOrStore(s.Tenant(), new(sync.Mutex))
	m.(*sync.Mutex).Lock()
	return m.(*sync.Mutex).Unlock
}

// encodedToo is the table's index as the projector feeds it: the encoder's follows, and is emptied with it. A vector of
// what an item was goes at once, so that no search meets its former labels; the next one comes when it is encoded.
type encodedToo struct {
	vector.Index
	encoding *encoding
}

// Apply implements vector.Index.
func (i encodedToo) Apply(ctx context.Context, s scope.Scope, changes []vector.Change, position int64) error {
	if err := i.encoding.outdate(ctx, s, changes); err != nil {
		return err
	}
	return i.Index.Apply(ctx, s, changes, position)
}

// outdate takes out the vectors of what the items of the changes were before.
func (e *encoding) outdate(ctx context.Context, s scope.Scope, changes []vector.Change) error {
	defer e.change(s)()
	byPosition := map[int64][]string{} // of the last change of each item
	last := map[string]int64{}
	for n := range changes {
		c := &changes[n]
		for _, id := range c.Remove {
			last[id] = c.Position + 1 // what was put at the position, too
		}
		if c.Put != nil {
			last[c.Put.ID] = c.Position
		}
	}
	for id, at := range last {
		byPosition[at] = append(byPosition[at], id)
	}
	for at, ids := range byPosition {
		if err := e.index.Remove(ctx, s, ids, at-1); err != nil && !errors.Is(err, memory.ErrVectorLost) { // which begins again
			return err
		}
	}
	return nil
}

// settle takes out, once for each tenant, what a crash may have brought back: the index kept in the process is older on
// disk than the log.
func (e *encoding) settle(ctx context.Context, s scope.Scope) error {
	if _, done := e.settled.Load(s.Tenant()); done {
		return nil
	}
	at, err := e.index.Checkpoint(ctx, s)
	for err == nil && at > 0 { // it has nothing before
		var entries []eventlog.Entry
		if entries, err = e.log.Read(ctx, s, at, settleBatch); err != nil || len(entries) == 0 {
			break
		}
		var changes []vector.Change
		for n := range entries {
			at = entries[n].Position
			if entries[n].Type == schemas.TypeMemoryRecorded {
				changes = append(changes, vector.Change{Position: at, Put: &vector.Doc{ID: entries[n].Subject}})
			}
		}
		err = e.outdate(ctx, s, changes)
	}
	if err == nil {
		e.settled.Store(s.Tenant(), true)
	}
	return err
}

// settleBatch is how many entries settle reads at once.
const settleBatch = 256

// encodedSearches is the encoder's index as requests search it.
type encodedSearches struct {
	*vector.Vectors
	encoding *encoding
}

// Search implements vector.Index.
func (i encodedSearches) Search(ctx context.Context, s scope.Scope, q vector.Query) (vector.Result, error) {
	if err := i.encoding.settle(ctx, s); err != nil {
		return vector.Result{}, err
	}
	return i.Vectors.Search(ctx, s, q)
}

// SearchEach implements vector.Batch.
func (i encodedSearches) SearchEach(ctx context.Context, s scope.Scope, q vector.Query, filters []schemas.Filter) ([]vector.Result, error) {
	if err := i.encoding.settle(ctx, s); err != nil {
		return nil, err
	}
	return i.Vectors.SearchEach(ctx, s, q, filters)
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

// Apply implements vector.Index. An item of which the log has a later version gets no vector of this one: the projector
// may have taken it out already.
func (i encodedIndex) Apply(ctx context.Context, s scope.Scope, changes []vector.Change, position int64) error {
	defer i.encoding.change(s)()
	var ids []string
	for n := range changes {
		if c := &changes[n]; c.Put != nil {
			ids = append(ids, c.Put.ID)
		}
	}
	latest, err := i.encoding.log.Latest(ctx, s, ids)
	if err != nil {
		return err
	}
	current := slices.Clone(changes)
	for n := range current {
		c := &current[n]
		if c.Put == nil {
			continue
		}
		if latest[0] > c.Position { // it may be a link
			later, err := i.encoding.log.BySubjectAfter(ctx, s, c.Put.ID, c.Position, schemas.TypeMemoryRecorded)
			if err != nil {
				return err
			}
			if len(later) > 0 {
				*c = vector.Change{Position: c.Position, Remove: []string{c.Put.ID}}
			}
		}
		latest = latest[1:]
	}
	return i.Vectors.Apply(ctx, s, current, position)
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
	return erasure.Scrubber{Store: store, Shared: shared, Remaining: side.kept.remaining,
		Scrub: func(ctx context.Context, sc scope.Scope) error {
			if h := get(); h != nil {
				if err := h.Forget(ctx, sc); err != nil {
					return err
				}
			}
			return side.kept.scrub(ctx, sc)
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
