// It says how new an item is: 1 minus the highest cosine to the items that were
// recorded before it in its session. A Scorer gives the novelties that change with a batch of
// changes, so that a rebuild from the log gives what the live run gave. It stores nothing: the
// projector writes what it returns with the items of the batch.

package projection

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"satchel/pipeline/infra/cache"
	"satchel/pipeline/isolation"
	"satchel/pipeline/model"
	"satchel/pipeline/pii"
	"satchel/pipeline/scope"
	"satchel/pipeline/store/items"
	"satchel/pipeline/store/vector"
	"satchel/schemas"
)

// NoveltyWindow is how many items before one it is compared with.
const NoveltyWindow = 256

// summariesBytes are those of the summaries that are kept: about 64,000 with a model of 256 dimensions.
const summariesBytes = 24 << 20

// ErrEmbed says that the model made no vectors.
var ErrEmbed = errors.New("embed what was remembered")

// newRank is the rank of the first new item of a batch: above those of all that are stored.
const newRank = 1 << 62

// NoveltyScorer says how new items are: 1 − the highest cosine to the last Window items that were
// recorded before it in its session of the tenant. Items without a session are compared
// with each other, and an item only with those of its population (see isolation.Population): its
// novelty tells its reader nothing of what only others may see. It is safe for concurrent use.
//
// A novelty is a function of what the items hold, not of how they came to it: where an
// item is replaced, moved or erased, those behind it are scored again, in the same batch.
// So a rebuild from the log gives the same, as long as the model is the same.
//
// An item of several chunks counts as the mean of their vectors, and one in which the model
// reads nothing has no novelty. Vectors are compared in 8 bits a number, in integers: every
// machine gets the same.
type NoveltyScorer struct {
	items     items.Store
	order     items.Novelties
	window    int
	sanitizer *pii.Sanitizer // leaves of an item what everybody may see

	mu      sync.Mutex
	tenants map[string]*tenant
	kept    *cache.Cache // of what summary.append wrote
}

// tenant is what a Scorer knows of one. Summaries of an older age are not used.
type tenant struct {
	upTo  int64
	model string
	age   uint64
}

// NewNovelty returns a Scorer of the items of store, in their order, that compares each with window
// items before it. The sanitizer takes from an item what only some readers may see.
func NewNovelty(store items.Store, order items.Novelties, sanitizer *pii.Sanitizer, window int) *NoveltyScorer {
	return &NoveltyScorer{items: store, order: order, window: window, sanitizer: sanitizer, tenants: map[string]*tenant{}, kept: cache.New(summariesBytes)}
}

// updateSummaryAge returns the age of a tenant's summaries, a new one when the items are not where
// the Scorer left them, or the model is another.
func (j *NoveltyScorer) updateSummaryAge(name, model string, from, upTo int64) uint64 {
	j.mu.Lock()
	defer j.mu.Unlock()
	t, ok := j.tenants[name]
	if !ok {
		t = &tenant{}
		j.tenants[name] = t
	}
	if t.upTo != from || t.model != model {
		t.age = t.age + 1
		t.model = model
	}
	t.upTo = upTo
	return t.age
}

// Forget drops the summaries of what changes erase: they are made of its text.
func (j *NoveltyScorer) Forget(tenant string, changes []items.Change) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for i := range changes {
		for _, id := range changes[i].Erased {
			j.kept.Delete(tenant, id)
		}
	}
}

// batchScorer scores one batch.
type batchScorer struct {
	*NoveltyScorer
	scope     scope.Scope
	embedder  model.Embedder // nil: no model answers, and those that would be scored lose their novelty
	age       uint64
	moved     map[string]*itemAfterBatch // of ids that the batch puts or erases; one that is gone has no session list
	next      int64                      // the rank of the next new item
	windows   []items.Window
	displaced int // items that were there and are put or erased
}

// itemAfterBatch is where an item of the batch stands behind it.
type itemAfterBatch struct {
	place   items.SessionPosition
	gone    bool
	summary *summary
}

// NoveltyChanges are a batch of what the log changes: Vectors has the vectors of what Items puts.
type NoveltyChanges struct {
	Items   []items.Change
	Vectors []vector.Change
}

// Batch returns the novelties by id that change with the changes after position from, -1 for
// items that lose theirs. Without an embedder, all that would be scored lose theirs. An error
// wraps ErrEmbed when the model made no vectors of stored items.
func (j *NoveltyScorer) Batch(ctx context.Context, s scope.Scope, embedder model.Embedder, p NoveltyChanges, from, upTo int64) (map[string]float64, error) {
	var ids []string
	for i := range p.Items {
		if c := &p.Items[i]; c.Position > from {
			if c.Put != nil {
				ids = append(ids, c.Put.ID)
			}
			ids = append(ids, c.Erased...)
		}
	}
	model := ""
	if embedder != nil {
		model = embedder.Model().String()
	}
	h := &batchScorer{NoveltyScorer: j, scope: s, embedder: embedder, age: j.updateSummaryAge(s.Tenant(), model, from, upTo), moved: map[string]*itemAfterBatch{}, next: newRank}
	if len(ids) == 0 {
		return nil, nil
	}
	places, err := j.order.SessionPositions(ctx, s, ids)
	if err != nil {
		return nil, err
	}
	h.replayBatch(p, from, places)
	h.collectWindows(places)
	neighbours, err := j.order.Windows(ctx, s, h.windows)
	if err != nil {
		return nil, err
	}
	return h.scoreBatch(ctx, neighbours)
}

// Again returns the novelties of ids that are stored, and of those behind them.
func (j *NoveltyScorer) Again(ctx context.Context, s scope.Scope, embedder model.Embedder, ids []string) (map[string]float64, error) {
	places, err := j.order.SessionPositions(ctx, s, ids)
	if err != nil {
		return nil, err
	}
	h := &batchScorer{NoveltyScorer: j, scope: s, embedder: embedder, age: j.updateSummaryAge(s.Tenant(), embedder.Model().String(), -1, -1)}
	for _, p := range places {
		h.windows = append(h.windows, items.Window{SessionPosition: p, Before: j.window, After: j.window + 1})
	}
	neighbours, err := j.order.Windows(ctx, s, h.windows)
	if err != nil {
		return nil, err
	}
	return h.scoreBatch(ctx, neighbours)
}

// replayBatch finds where the items of the batch stand behind it.
func (h *batchScorer) replayBatch(p NoveltyChanges, from int64, places map[string]items.SessionPosition) {
	indexed := map[int64]*vector.Doc{}
	for i := range p.Vectors {
		if c := &p.Vectors[i]; c.Put != nil {
			indexed[c.Position] = c.Put
		}
	}
	for i := range p.Items {
		c := &p.Items[i]
		if c.Position <= from {
			continue
		}
		if c.Put != nil {
			now := h.moved[c.Put.ID]
			place, there := places[c.Put.ID]
			switch {
			case now == nil && there:
				now = &itemAfterBatch{place: place}
			case now == nil || now.gone:
				now = &itemAfterBatch{place: items.SessionPosition{Rank: h.next}}
				h.next++
			}
			now.place.Session = c.Put.SessionID()
			doc := indexed[c.Position]
			if h.embedder != nil && doc != nil {
				now.summary = h.keepSummary(doc)
			}
			h.moved[c.Put.ID] = now
		}
		for _, id := range c.Erased {
			if _, there := places[id]; there || h.moved[id] != nil {
				h.moved[id] = &itemAfterBatch{gone: true}
			}
		}
	}
	for id := range h.moved {
		if _, there := places[id]; there {
			h.displaced++
		}
	}
}

// collectWindows asks for who stands around what the batch changes: everyone whose window it
// reaches, and their windows.
func (h *batchScorer) collectWindows(places map[string]items.SessionPosition) {
	ends := map[string]bool{}
	before := h.window + h.displaced
	for id, now := range h.moved {
		place, there := places[id]
		if there {
			h.windows = append(h.windows, items.Window{SessionPosition: place, Before: before, After: before + 1})
		}
		if moved := !there || now.place != place; !now.gone && moved && now.place.Rank < newRank {
			h.windows = append(h.windows, items.Window{SessionPosition: now.place, Before: before, After: before + 1})
		}
		if s := now.place.Session; !now.gone && now.place.Rank >= newRank && !ends[s] {
			ends[s] = true
			h.windows = append(h.windows, items.Window{SessionPosition: items.SessionPosition{Session: s, Rank: newRank}, Before: before})
		}
	}
}

// scoreBatch scores the items of the batch and everyone from a spot's rank on.
func (h *batchScorer) scoreBatch(ctx context.Context, neighbours [][]items.Member) (map[string]float64, error) {
	lists := map[string][]items.Member{}
	out := map[string]float64{}
	for i, list := range neighbours {
		a := &h.windows[i]
		for _, m := range list {
			if h.moved[m.ID] != nil {
				continue
			}
			lists[a.Session] = append(lists[a.Session], m)
			if m.Rank >= a.Rank {
				out[m.ID] = -1
			}
		}
	}
	for id, now := range h.moved {
		if !now.gone {
			lists[now.place.Session] = append(lists[now.place.Session], items.Member{ID: id, Rank: now.place.Rank})
			out[id] = -1
		}
	}
	if h.embedder == nil || len(out) == 0 {
		return out, nil
	}
	for _, list := range lists {
		slices.SortFunc(list, func(a, b items.Member) int { return cmp.Compare(a.Rank, b.Rank) })
		list = slices.Compact(list)
		row, err := h.findSummaries(ctx, list)
		if err != nil {
			return nil, err
		}
		row.compareSummaries(list, h.window, out)
	}
	return out, nil
}

// findSummaries returns the summaries of a list.
func (h *batchScorer) findSummaries(ctx context.Context, list []items.Member) (*vectorSet, error) {
	out := newVectorSet(len(list), h.embedder.Model().Dimensions)
	missing := map[string]int{}
	ids := h.setKnownSummaries(list, out, missing)
	for part := range slices.Chunk(ids, NoveltyWindow) {
		records, err := h.items.Get(ctx, h.scope, part)
		if err != nil {
			return nil, err
		}
		if err := h.loadSummaries(ctx, records, func(id string, f *summary) { out.setSummary(missing[id], f) }); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// setKnownSummaries sets those of a list that are in memory, and returns the ids of the others, and in
// missing where they belong.
func (h *batchScorer) setKnownSummaries(list []items.Member, out *vectorSet, missing map[string]int) (ids []string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for i, m := range list {
		if now := h.moved[m.ID]; now != nil {
			out.setSummary(i, now.summary)
		} else if !out.readSummary(i, h.kept.Get(h.scope.Tenant(), m.ID), h.age) {
			missing[m.ID] = i
			ids = append(ids, m.ID)
		}
	}
	return ids
}

// loadSummaries makes the summaries of stored items.
func (h *batchScorer) loadSummaries(ctx context.Context, records []schemas.Record, found func(string, *summary)) error {
	var texts []string
	docs := make([]vector.Doc, len(records))
	for i := range records {
		r := &records[i]
		shown := isolation.Public(h.scope.Tenant(), h.sanitizer, r)
		docs[i] = vector.Doc{ID: r.ID, Facets: isolation.Indexed(r, shown)}
		docs[i].Chunks = vector.ChunksOf(shown, schemas.SearchText(&shown.MemoryItem), &texts)
	}
	vectors, err := h.embedder.Embed(ctx, texts)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrEmbed, err)
	}
	for i := range docs {
		for c := range docs[i].Chunks {
			docs[i].Chunks[c].Vector = vectors[0]
			vectors = vectors[1:]
		}
		found(docs[i].ID, h.keepSummary(&docs[i]))
	}
	return nil
}

// keepSummary makes an item's summary and keeps it.
func (h *batchScorer) keepSummary(doc *vector.Doc) *summary {
	f := summarizeItem(doc, h.embedder.Model().Dimensions)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.kept.Put(h.scope.Tenant(), doc.ID, f.appendSummary(nil, h.age))
	return f
}
