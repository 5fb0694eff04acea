package cache_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	port "satchel/pipeline/model"
	"satchel/pipeline/model/cache"
	"satchel/pipeline/model/static"
	"satchel/test/conformance/embedtest"
)

// counted is the static model, counting what it is asked.
type counted struct {
	*static.Embedder
	revision string
	texts    atomic.Int64
	during   func() // called within Embed
	fail     error
}

func (c *counted) Model() port.EmbeddingModel {
	m := c.Embedder.Model()
	m.Revision += c.revision
	return m
}

func (c *counted) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	c.texts.Add(int64(len(texts)))
	if c.during != nil {
		c.during()
	}
	if c.fail != nil {
		return nil, c.fail
	}
	return c.Embedder.Embed(ctx, texts)
}

func cacheModel(t testing.TB) *counted {
	t.Helper()
	e, err := static.New()
	if err != nil {
		t.Fatal(err)
	}
	return &counted{Embedder: e}
}

func open(t testing.TB, cfg cache.Config) *cache.Cache {
	t.Helper()
	if cfg.OnError == nil {
		cfg.OnError = func(err error) { t.Error(err) }
	}
	c, err := cache.Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return c
}

func ask(t testing.TB, c *cache.Cache, texts ...string) [][]float32 {
	t.Helper()
	v, err := c.Embed(t.Context(), texts)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestConformance(t *testing.T) {
	t.Parallel()
	embedtest.Run(t, func(t *testing.T) port.Embedder {
		return open(t, cache.Config{Embedder: cacheModel(t), Path: filepath.Join(t.TempDir(), "c.db")})
	})
}

func TestHitsAndRestart(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "c.db")
	m := cacheModel(t)
	c := open(t, cache.Config{Embedder: m, Path: path})
	first := ask(t, c, "kiln", "glaze", "kiln", "")
	if n := m.texts.Load(); n != 3 {
		t.Errorf("asked for %d texts, want 3", n)
	}
	again := ask(t, c, "kiln", "glaze", "kiln", "")
	if diff := cmp.Diff(first, again); diff != "" {
		t.Errorf("cached vectors (-first +again):\n%s", diff)
	}
	want := cache.Stats{Hits: 5, Misses: 3, HitRate: 5. / 8, Entries: 3, Bytes: 3 * (4*256 + 96)}
	if diff := cmp.Diff(want, c.Stats()); diff != "" {
		t.Errorf("stats (-want +got):\n%s", diff)
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	fresh := cacheModel(t)
	c = open(t, cache.Config{Embedder: fresh, Path: path})
	if diff := cmp.Diff(first, ask(t, c, "kiln", "glaze", "kiln", "")); diff != "" || fresh.texts.Load() != 0 {
		t.Errorf("after a restart %d texts were asked for, (-first +again):\n%s", fresh.texts.Load(), diff)
	}
	other := cacheModel(t)
	other.revision = "x"
	if ask(t, open(t, cache.Config{Embedder: other, Path: path}), "kiln"); other.texts.Load() != 1 {
		t.Error("another revision was given the vectors of this one")
	}
}

func TestTTL(t *testing.T) {
	t.Parallel()
	now := time.Unix(1e9, 0)
	m := cacheModel(t)
	cfg := cache.Config{Embedder: m, Path: filepath.Join(t.TempDir(), "c.db"), TTL: time.Hour, Clock: func() time.Time { return now }}
	c := open(t, cfg)
	ask(t, c, "kiln")
	now = now.Add(59 * time.Minute)
	if ask(t, c, "kiln"); m.texts.Load() != 1 {
		t.Error("it was forgotten too early")
	}
	now = now.Add(time.Minute)
	if ask(t, c, "kiln"); m.texts.Load() != 2 {
		t.Error("it was not forgotten")
	}
	now = now.Add(59 * time.Minute)
	if ask(t, c, "kiln"); m.texts.Load() != 2 {
		t.Error("a new vector kept the old one's age")
	}
	now = now.Add(time.Hour)
	if n := open(t, cfg).Stats().Entries; n != 0 {
		t.Errorf("%d entries after the TTL and a restart", n)
	}
}

func TestSizeEvictsWhatWasUsedLongestAgo(t *testing.T) {
	t.Parallel()
	now := time.Unix(1e9, 0)
	m := cacheModel(t)
	const each = 4*256 + 96
	c := open(t, cache.Config{Embedder: m, Path: filepath.Join(t.TempDir(), "c.db"), MaxBytes: 100 * each, MemoryBytes: 1, Clock: func() time.Time { return now }})
	for i := range 100 {
		now = now.Add(time.Minute)
		ask(t, c, fmt.Sprint("note ", i))
	}
	now = now.Add(2 * time.Hour)
	ask(t, c, "note 0") // the oldest is used again
	asked := m.texts.Load()
	now = now.Add(time.Minute)
	ask(t, c, "one more")
	if s := c.Stats(); s.Bytes > 100*each || s.Entries < 85 {
		t.Errorf("stats %+v", s)
	}
	if ask(t, c, "note 0", "note 99"); m.texts.Load() != asked+1 {
		t.Error("what was used lately was evicted")
	}
	if ask(t, c, "note 1"); m.texts.Load() != asked+2 {
		t.Error("what was used longest ago was kept")
	}
}

func TestScrubLeavesNothing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "c.db")
	m := cacheModel(t)
	c := open(t, cache.Config{Embedder: m, Path: path})
	v := ask(t, c, "the kiln exploded")[0]
	trace := make([]byte, 0, 16)
	for _, x := range v[:4] {
		trace = append(trace, bytesOf(x)...)
	}
	if !foundIn(t, dir, trace) {
		t.Fatal("the vector is not in the file: the test sees nothing")
	}
	m.during = func() { // an erasure while a vector is being made
		if err := c.Scrub(t.Context()); err != nil {
			t.Error(err)
		}
	}
	ask(t, c, "the glaze ran")
	m.during = nil
	if s := c.Stats(); s.Entries != 0 || s.Bytes != 0 {
		t.Errorf("after scrub %+v", s)
	}
	if foundIn(t, dir, trace) {
		t.Error("the vector is still in a file")
	}
	if asked := m.texts.Load(); len(ask(t, c, "the glaze ran")) != 1 || m.texts.Load() != asked+1 {
		t.Error("what was made during a scrub was kept")
	}
}

func TestTroubleWithTheFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "c.db")
	if err := os.WriteFile(path, []byte("this is no database, but it is long enough to be looked at as if it were one…"), 0o600); err != nil {
		t.Fatal(err)
	}
	var told []error
	c := open(t, cache.Config{Embedder: cacheModel(t), Path: path, OnError: func(err error) { told = append(told, err) }})
	if ask(t, c, "kiln"); len(told) != 1 || c.Stats().Entries != 1 {
		t.Errorf("a damaged file: told %v, stats %+v", told, c.Stats())
	}
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.ExecContext(t.Context(), "DROP TABLE vectors"); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if got := ask(t, c, "glaze"); len(got) != 1 || len(told) < 2 {
		t.Errorf("without its table: %d vectors, told %v", len(got), told)
	}
}

func TestErrorsAreNotKept(t *testing.T) {
	t.Parallel()
	m := cacheModel(t)
	m.fail = errors.New("away")
	c := open(t, cache.Config{Embedder: m})
	if _, err := c.Embed(t.Context(), []string{"kiln"}); !errors.Is(err, m.fail) {
		t.Errorf("error %v", err)
	}
	m.fail = nil
	ask(t, c, "kiln")
	if n := m.texts.Load(); n != 2 {
		t.Errorf("asked %d times", n)
	}
}

func TestReadOnlyKeepsNothing(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "cache.db")
	ask(t, open(t, cache.Config{Embedder: cacheModel(t), Path: path}), "kept")
	m := cacheModel(t)
	c := open(t, cache.Config{Embedder: m, Path: path, ReadOnly: true})
	ask(t, c, "kept", "new")
	ask(t, c, "new")
	if m.texts.Load() != 1 {
		t.Errorf("the model was asked for %d texts, want 1", m.texts.Load())
	}
	again := cacheModel(t)
	ask(t, open(t, cache.Config{Embedder: again, Path: path}), "kept", "new")
	if again.texts.Load() != 1 {
		t.Errorf("afterwards the model was asked for %d texts, want 1", again.texts.Load())
	}
	const text = "this is no database, and long enough to be read as one that is damaged"
	bad, told := filepath.Join(t.TempDir(), "damaged"), 0
	if err := os.WriteFile(bad, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	ask(t, open(t, cache.Config{Embedder: cacheModel(t), Path: bad, ReadOnly: true, OnError: func(error) { told++ }}), "any")
	if raw, err := os.ReadFile(bad); err != nil || string(raw) != text || told != 1 {
		t.Errorf("a damaged file was changed, or nobody was told of it (%d): %v", told, err)
	}
}
