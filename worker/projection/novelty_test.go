package projection

import (
	"context"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"satchel/pipeline/isolation"
	"satchel/pipeline/model"
	"satchel/pipeline/model/static"
	"satchel/pipeline/scope"
	"satchel/pipeline/store/items"
	"satchel/pipeline/store/postgres"
	"satchel/pipeline/store/sqlite"
	"satchel/pipeline/store/vector"
	"satchel/schemas"
	"satchel/test/testenv/postgrestest"
)

var staticOnce = sync.OnceValues(func() (model.Embedder, error) { return static.New() })

// fold scores a log of changes with the items of one driver.
type fold struct {
	items    *items.Items
	scorer   *NoveltyScorer
	embedder model.Embedder
	scope    scope.Scope
}

func newFold(t *testing.T, driver items.Driver, window int) *fold {
	t.Helper()
	c := &fold{items: items.NewShared(driver)}
	var err error
	if c.embedder, err = staticOnce(); err != nil {
		t.Fatal(err)
	}
	if c.scope, err = scope.System("acme"); err != nil {
		t.Fatal(err)
	}
	c.scorer = NewNovelty(c.items, c.items, nil, window)
	return c
}

// batch applies changes as the projector would.
func (c *fold) batch(t fataler, changes []items.Change) {
	ctx := context.Background()
	from, err := c.items.Checkpoint(ctx, c.scope)
	if err != nil {
		t.Fatal(err)
	}
	p := NoveltyChanges{Items: slices.Clone(changes)}
	for i := range changes {
		r := changes[i].Put
		if r == nil {
			continue
		}
		var texts []string
		doc := &vector.Doc{ID: r.ID, Facets: isolation.Indexed(r, r), Chunks: vector.ChunksOf(r, schemas.SearchText(&r.MemoryItem), &texts)}
		vectors, err := c.embedder.Embed(ctx, texts)
		if err != nil {
			t.Fatal(err)
		}
		for k := range doc.Chunks {
			doc.Chunks[k].Vector = vectors[k]
		}
		p.Vectors = append(p.Vectors, vector.Change{Position: changes[i].Position, Put: doc})
	}
	upTo := changes[len(changes)-1].Position
	novelties, err := c.scorer.Batch(ctx, c.scope, c.embedder, p, from, upTo)
	if err != nil {
		t.Fatal(err)
	}
	if len(novelties) > 0 {
		p.Items = append(p.Items, items.Change{Position: upTo, Novelty: novelties})
	}
	c.scorer.Forget("acme", p.Items)
	if err := c.items.Apply(ctx, c.scope, p.Items, upTo); err != nil {
		t.Fatal(err)
	}
}

type fataler interface{ Fatal(...any) }

func (c *fold) state(t fataler) ([]schemas.Record, [32]byte) {
	var ids []string
	for i := range 40 {
		ids = append(ids, fmt.Sprint("i", i))
	}
	records, err := c.items.Get(context.Background(), c.scope, ids)
	if err != nil {
		t.Fatal(err)
	}
	digest, err := c.items.Digest(context.Background(), c.scope)
	if err != nil {
		t.Fatal(err)
	}
	return records, digest
}

func openItems(t *testing.T) items.Driver {
	t.Helper()
	db, err := sqlite.OpenItems(t.Context(), sqlite.IndexConfig{Path: filepath.Join(t.TempDir(), "items.db")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return db
}

// sayings draws a log of items that are put, replaced, moved and erased.
func sayings(t *rapid.T) []items.Change {
	words := []string{"the red door", "a lake house", "Ann likes tea", "servers restart at night", "the lake house has a red door", ""}
	log := make([]items.Change, rapid.IntRange(5, 60).Draw(t, "length"))
	for i := range log {
		log[i].Position = int64(i + 1)
		id := fmt.Sprint("i", rapid.IntRange(0, 39).Draw(t, "id"))
		if rapid.IntRange(0, 6).Draw(t, "kind") == 0 {
			log[i].Erased = []string{id}
			continue
		}
		r := &schemas.Record{Position: log[i].Position}
		r.ID, r.Type, r.Kind, r.CreatedAt = id, schemas.Episodic, schemas.KindMemory, time.Date(2026, 1, 2, 3, 4, i, 0, time.UTC)
		r.Session = rapid.SampledFrom([]string{"", "s", "s", "t"}).Draw(t, "session")
		r.Scope = schemas.MemoryScope{Tenant: "acme", Session: r.Session}
		r.Seq = rapid.Int64Range(0, 2).Draw(t, "seq")
		r.SecurityLabel = []string{rapid.SampledFrom([]string{"level:internal", "level:internal", "level:secret"}).Draw(t, "label")}
		r.Content = schemas.TextContent(rapid.SampledFrom(words).Draw(t, "text") + " " + rapid.SampledFrom(words).Draw(t, "more"))
		r.TTL = rapid.SampledFrom([]int64{0, 0, 60}).Draw(t, "ttl")
		r.Trust = rapid.SampledFrom([]*float64{nil, nil, new(.1)}).Draw(t, "trust")
		r.Facets = r.MemoryItem.Facets()
		log[i].Put = r
	}
	return log
}

// behind is what is left of the log behind its erasures: what a rebuild reads.
func behind(log []items.Change) []items.Change {
	erased, out := map[string]bool{}, slices.Clone(log)
	for i := len(out) - 1; i >= 0; i-- {
		for _, id := range out[i].Erased {
			erased[id] = true
		}
		if out[i].Put != nil && erased[out[i].Put.ID] {
			out[i].Put = nil
		}
	}
	return out
}

// plain is the contract: novelties by id, from nothing but the final items in order.
func plain(t fataler, c *fold, log []items.Change, window int) map[string]float64 {
	var order []*schemas.Record
	for i := range log {
		if r := log[i].Put; r != nil {
			at := slices.IndexFunc(order, func(o *schemas.Record) bool { return o.ID == r.ID })
			if at < 0 {
				order = append(order, r)
			} else {
				order[at] = r
			}
		}
		order = slices.DeleteFunc(order, func(o *schemas.Record) bool { return slices.Contains(log[i].Erased, o.ID) })
	}
	texts := make([]string, len(order))
	for i, r := range order {
		texts[i] = schemas.SearchText(&r.MemoryItem)
	}
	vectors, err := c.embedder.Embed(context.Background(), texts)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]float64{}
	for i, r := range order {
		if dotOf(vectors[i], vectors[i]) == 0 {
			continue
		}
		best, seen := 0.0, 0
		for k := i - 1; k >= 0 && seen < window; k-- {
			if order[k].SessionID() != r.SessionID() {
				continue
			}
			seen++
			if order[k].TTL == 0 && order[k].Facets.Trust == r.Facets.Trust && order[k].SecurityLabel[0] == r.SecurityLabel[0] {
				best = max(best, dotOf(vectors[i], vectors[k]))
			}
		}
		out[r.ID] = 1 - best
	}
	return out
}

func dotOf(a, b []float32) (sum float64) {
	for i := range a {
		sum += float64(a[i]) * float64(b[i])
	}
	return sum
}

// TestNoveltyIsAFoldOfTheLog feeds random logs in random batches and compares with the
// formula, and with a rebuild in other batches from what erasures have left.
func TestNoveltyIsAFoldOfTheLog(t *testing.T) {
	t.Parallel()
	const window = 4
	live, rebuilt := newFold(t, openItems(t), window), newFold(t, openItems(t), window)
	rapid.Check(t, func(t *rapid.T) {
		log := sayings(t)
		for _, c := range []*fold{live, rebuilt} {
			if err := c.items.Reset(context.Background(), c.scope); err != nil {
				t.Fatal(err)
			}
		}
		for rest := log; len(rest) > 0; {
			n := rapid.IntRange(1, len(rest)).Draw(t, "batch")
			live.batch(t, rest[:n])
			rest = rest[n:]
		}
		left := behind(log)
		half := rapid.IntRange(1, len(log)-1).Draw(t, "half")
		rebuilt.batch(t, left[:half])
		rebuilt.batch(t, left[half:])
		records, digest := live.state(t)
		again, other := rebuilt.state(t)
		got := map[string]float64{}
		for i := range records {
			if records[i].Novelty != nil {
				got[records[i].ID] = *records[i].Novelty
			}
		}
		want := plain(t, live, log, window)
		near := cmp.Comparer(func(a, b float64) bool { return math.Abs(a-b) < .02 })
		if diff := cmp.Diff(want, got, near); diff != "" {
			t.Fatalf("novelties (-want +got):\n%s", diff)
		}
		if digest != other {
			t.Fatalf("a rebuild differs:\n%s", cmp.Diff(records, again, cmp.AllowUnexported(schemas.Content{})))
		}
	})
}

// TestErasedItemsAreForgotten: what was made of an item's text goes with it, also of one
// that the same batch put, and its neighbours' stays.
func TestErasedItemsAreForgotten(t *testing.T) {
	t.Parallel()
	c := newFold(t, openItems(t), 4)
	put := func(position int64, id string) items.Change {
		r := &schemas.Record{Position: position}
		r.ID, r.Type, r.Kind, r.CreatedAt = id, schemas.Episodic, schemas.KindMemory, time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
		r.Scope, r.SecurityLabel = schemas.MemoryScope{Tenant: "acme"}, []string{"level:internal"}
		r.Content = schemas.TextContent("the lake house has a red door")
		r.Facets = r.MemoryItem.Facets()
		return items.Change{Position: position, Put: r}
	}
	c.batch(t, []items.Change{put(1, "i0"), put(2, "i1")})
	c.batch(t, []items.Change{put(3, "i2"), {Position: 4, Erased: []string{"i0", "i2", "unknown"}}})
	if n := c.scorer.kept.Len(); n != 1 || c.scorer.kept.Get("acme", "i1") == nil {
		t.Errorf("%d summaries are kept, that of i1 or not", n)
	}
}

// TestNoveltyIsTheSameOnPostgres folds one log with both drivers.
func TestNoveltyIsTheSameOnPostgres(t *testing.T) {
	t.Parallel()
	db, err := postgres.OpenItems(t.Context(), postgres.ItemsConfig{URL: postgrestest.Open(t), Schema: "novelty", MaxConns: 4})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	here, there := newFold(t, openItems(t), 3), newFold(t, db, 3)
	log := rapid.Custom(sayings).Filter(func(l []items.Change) bool { return len(l) > 40 }).Example(7)
	for part := range slices.Chunk(log, 9) {
		here.batch(t, part)
	}
	for part := range slices.Chunk(log, 4) {
		there.batch(t, part)
	}
	records, a := here.state(t)
	_, b := there.state(t)
	if a != b {
		t.Error("the digests differ")
	}
	if !slices.ContainsFunc(records, func(r schemas.Record) bool { return r.Novelty != nil && *r.Novelty > 0 && *r.Novelty < 1 }) {
		t.Error("nothing was compared")
	}
}
