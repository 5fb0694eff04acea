// Package cache keeps vectors, so that the same text is not sent to an embedding model
// twice: not by a repeated question, not by a rebuild, not after a restart.
//
// It owns one SQLite file and a smaller copy in memory. A vector's key is the model with
// its revision and the SHA-256 of the text; the text itself is not kept. What is too old
// (TTL) or used longest ago (MaxBytes) goes first.
//
// # Promises
//
//   - A [Cache] is an embed.Embedder and gives exactly the vectors of the one inside.
//   - A cache that cannot be read or written never fails an Embed: the model is asked
//     instead and OnError is told. A damaged file is replaced by an empty one.
//   - Scrub leaves nothing of any text: a vector tells of its text, and which ones came
//     from an erased text is not known afterwards, so an erasure empties the cache.
//   - An Embed that runs while Scrub does keeps nothing.
package cache

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"

	"satchel/pipeline/model"
)

// Config says what is cached and where. Embedder is required; a zero of any other field
// is its default.
type Config struct {
	// Embedder makes the vectors that are not there.
	Embedder model.Embedder
	// Path is the file, whose folder must exist; "" keeps vectors in memory only.
	Path string
	// ReadOnly uses what the file holds and keeps nothing in it, for who runs beside the
	// process whose file it is: what that one scrubs must not come back.
	ReadOnly bool
	// MaxBytes bounds the vectors in the file. Default 512 MiB.
	MaxBytes int64
	// MemoryBytes bounds those in memory. Default 32 MiB.
	MemoryBytes int64
	// TTL is how long a vector is kept. Default 30 days; negative: for ever.
	TTL time.Duration
	// Clock is for the TTL. Default time.Now.
	Clock func() time.Time
	// OnError is told what went wrong with the file. Default: nobody.
	OnError func(error)
}

// Cache is an embedder that remembers. It is safe for concurrent use. The caller MUST
// call Close.
type Cache struct {
	inner  model.Embedder
	model  model.EmbeddingModel
	ttl    time.Duration
	now    func() time.Time
	report func(error)

	file   *file // nil: memory only
	recent *lru.Cache[key, entry]

	epoch        sync.RWMutex // held for writing by Scrub
	scrubs       int
	hits, misses atomic.Int64
}

var _ model.Embedder = (*Cache)(nil)

// key is the SHA-256 of a text.
type key [sha256.Size]byte

type entry struct {
	vector []float32 // never changed
	made   time.Time
}

// Open opens or creates the file.
func Open(ctx context.Context, cfg Config) (*Cache, error) {
	if cfg.Embedder == nil {
		return nil, errors.New("open embedding cache: no embedder")
	}
	if cfg.MaxBytes < 0 || cfg.MemoryBytes < 0 {
		return nil, errors.New("open embedding cache: a size is negative")
	}
	if cfg.MaxBytes == 0 {
		cfg.MaxBytes = 512 << 20
	}
	if cfg.MemoryBytes == 0 {
		cfg.MemoryBytes = 32 << 20
	}
	if cfg.TTL == 0 {
		cfg.TTL = 30 * 24 * time.Hour
	}
	if cfg.Clock == nil {
		cfg.Clock = time.Now
	}
	if cfg.OnError == nil {
		cfg.OnError = func(error) {}
	}
	c := &Cache{inner: cfg.Embedder, model: cfg.Embedder.Model(), ttl: cfg.TTL, now: cfg.Clock, report: cfg.OnError}
	var err error
	if c.recent, err = lru.New[key, entry](max(16, int(cfg.MemoryBytes/int64(4*c.model.Dimensions+128)))); err != nil {
		return nil, fmt.Errorf("open embedding cache: %w", err)
	}
	if cfg.Path != "" {
		if c.file, err = openFile(ctx, cfg, c.model); err != nil {
			return nil, fmt.Errorf("open embedding cache: %w", err)
		}
		if cfg.TTL > 0 && !cfg.ReadOnly {
			if err := c.file.expireEntries(ctx, cfg.Clock().Add(-cfg.TTL)); err != nil {
				c.report(err)
			}
		}
	}
	return c, nil
}

// Close closes the file.
func (c *Cache) Close() error {
	if c.file == nil {
		return nil
	}
	return c.file.closeFile()
}

// Model is that of the embedder inside.
func (c *Cache) Model() model.EmbeddingModel { return c.model }

// Embed implements [embed.Embedder]: it asks the embedder inside for the texts it has
// not, each once.
func (c *Cache) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("embed %d texts: %w", len(texts), err)
	}
	keys := make([]key, len(texts))
	for i, text := range texts {
		keys[i] = sha256.Sum256([]byte(text))
	}
	c.epoch.RLock()
	scrubs := c.scrubs
	found := c.lookUpVectors(ctx, keys)
	c.epoch.RUnlock()
	var missing []string
	var missed []key
	for i, k := range keys {
		if _, ok := found[k]; !ok {
			found[k] = nil // to be asked for once
			missing = append(missing, texts[i])
			missed = append(missed, k)
		}
	}
	c.misses.Add(int64(len(missing)))
	c.hits.Add(int64(len(texts) - len(missing)))
	if len(missing) > 0 {
		vectors, err := c.inner.Embed(ctx, missing)
		if err != nil {
			return nil, err
		}
		for i, k := range missed {
			found[k] = vectors[i]
		}
		c.keepVectors(ctx, scrubs, missed, vectors)
	}
	out := make([][]float32, len(texts))
	numbers := make([]float32, len(texts)*c.model.Dimensions)
	for i, k := range keys {
		out[i] = numbers[:c.model.Dimensions:c.model.Dimensions]
		numbers = numbers[c.model.Dimensions:]
		copy(out[i], found[k])
	}
	return out, nil
}

// lookUpVectors returns what is in memory or in the file, and young enough.
func (c *Cache) lookUpVectors(ctx context.Context, keys []key) map[key][]float32 {
	found := make(map[key][]float32, len(keys))
	var rest []key
	for _, k := range keys {
		if e, ok := c.recent.Get(k); ok && c.isStillFresh(e.made) {
			found[k] = e.vector
		} else {
			rest = append(rest, k)
		}
	}
	if c.file == nil || len(rest) == 0 {
		return found
	}
	entries, err := c.file.readEntries(ctx, rest, c.now())
	if err != nil && ctx.Err() == nil {
		c.report(err)
	}
	for k, e := range entries {
		if c.isStillFresh(e.made) {
			found[k] = e.vector
			c.recent.Add(k, e)
		}
	}
	return found
}

func (c *Cache) isStillFresh(made time.Time) bool { return c.ttl < 0 || c.now().Sub(made) < c.ttl }

// keepVectors remembers what the embedder made, unless a Scrub has begun since it was asked.
func (c *Cache) keepVectors(ctx context.Context, scrubs int, keys []key, vectors [][]float32) {
	c.epoch.RLock()
	defer c.epoch.RUnlock()
	if c.scrubs != scrubs {
		return
	}
	made := c.now()
	entries := make(map[key]entry, len(keys))
	for i, k := range keys {
		e := entry{vector: append([]float32(nil), vectors[i]...), made: made}
		entries[k] = e
		c.recent.Add(k, e)
	}
	if c.file == nil || c.file.readOnly {
		return
	}
	// What was paid for is kept, even if the caller has gone.
	if err := c.file.writeEntries(context.WithoutCancel(ctx), entries); err != nil {
		c.report(err)
	}
}

// Scrub empties the cache and overwrites what the file held.
func (c *Cache) Scrub(ctx context.Context) error {
	c.epoch.Lock()
	defer c.epoch.Unlock()
	c.scrubs++
	c.recent.Purge()
	if c.file == nil {
		return nil
	}
	return c.file.scrubFile(ctx)
}

// Stats are counts since Open, and what is kept now.
type Stats struct {
	Hits    int64   `json:"hits"`
	Misses  int64   `json:"misses"`
	HitRate float64 `json:"hit_rate"` // of all texts, 0 before the first
	Entries int64   `json:"entries"`
	Bytes   int64   `json:"bytes"` // of the vectors in the file
}

// Stats returns the counts.
func (c *Cache) Stats() Stats {
	s := Stats{Hits: c.hits.Load(), Misses: c.misses.Load(), Entries: int64(c.recent.Len())}
	if all := s.Hits + s.Misses; all > 0 {
		s.HitRate = float64(s.Hits) / float64(all)
	}
	if c.file != nil {
		s.Entries, s.Bytes = c.file.measureSize()
	}
	return s
}
