package worker

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"

	"satchel/pipeline/embed"
	"satchel/pipeline/infra/bytecache"
	"satchel/pipeline/isolation"
	"satchel/pipeline/pii"
	"satchel/pipeline/scope"
	"satchel/pipeline/store/items"
	"satchel/pipeline/store/vector"
	"satchel/schemas"
)

// Bounds of a judge.
const (
	noveltyWindow = 256      // items before one that it is compared with
	keptPrints    = 24 << 20 // bytes of the fingerprints that are kept: about 64,000 with a model of 256 dimensions
)

// newRank is the rank of the first new item of a batch: above those of all that are stored.
const newRank = 1 << 62

// judge says how new items are: 1 − the highest cosine to the last 256 items that were
// recorded before it in its session of the tenant. Items without a session are compared
// with each other, and an item only with those of the same labels, so that its novelty
// tells its reader nothing of what only others may see.
//
// A novelty is a function of what the items hold, not of how they came to it: where an
// item is replaced, moved or erased, those behind it are judged again, in the same batch.
// So a rebuild from the log gives the same, as long as the model is the same.
//
// An item of several chunks counts as the mean of their vectors, and one in which the model
// reads nothing has no novelty. Vectors are compared in 8 bits a number, in integers: every
// machine gets the same.
type judge struct {
	items     items.Store
	order     items.Novelties
	window    int            // noveltyWindow
	sanitizer *pii.Sanitizer // leaves of an item what everybody may see

	mu      sync.Mutex
	tenants map[string]*judged
	kept    *bytecache.Cache // of what fingerprint.append wrote
}

// judged is what a judge knows of a tenant. Fingerprints of an older age are not used.
type judged struct {
	upTo  int64
	model string
	age   uint64
}

func newJudge(stores Stores, sanitizer *pii.Sanitizer) *judge {
	if stores.Novelty == nil {
		return nil
	}
	return &judge{items: stores.Items, order: stores.Novelty, window: noveltyWindow, sanitizer: sanitizer, tenants: map[string]*judged{}, kept: bytecache.New(keptPrints)}
}

// open returns the age of a tenant's fingerprints, a new one when the items are not where
// the judge left them, or the model is another.
func (j *judge) open(tenant, model string, from, upTo int64) uint64 {
	j.mu.Lock()
	defer j.mu.Unlock()
	t, ok := j.tenants[tenant]
	if !ok {
		t = &judged{}
		j.tenants[tenant] = t
	}
	if t.upTo != from || t.model != model {
		t.age, t.model = t.age+1, model
	}
	t.upTo = upTo
	return t.age
}

// forget drops the fingerprints of what changes erase: they are made of its text.
func (j *judge) forget(tenant string, changes []items.Change) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for i := range changes {
		for _, id := range changes[i].Erased {
			j.kept.Delete(tenant, id)
		}
	}
}

// hearing is one batch before a judge.
type hearing struct {
	*judge
	scope    scope.Scope
	embedder embed.Embedder // nil: no model answers, and those that would be judged lose their novelty
	age      uint64
	seats    map[string]*seat // of ids that the batch puts or erases; one that is gone has no session list
	next     int64            // the rank of the next new item
	spots    []items.Window
	disturb  int // items that were there and are put or erased
}

// seat is where an item of the batch stands behind it.
type seat struct {
	place items.SessionPosition
	gone  bool
	print *fingerprint
}

// batch returns the novelties that change with the changes of items after from.
func (j *judge) batch(ctx context.Context, s scope.Scope, embedder embed.Embedder, p *projection, from, upTo int64) (map[string]float64, error) {
	var ids []string
	for i := range p.items {
		if c := &p.items[i]; c.Position > from {
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
	h := &hearing{judge: j, scope: s, embedder: embedder, age: j.open(s.Tenant(), model, from, upTo), seats: map[string]*seat{}, next: newRank}
	if len(ids) == 0 {
		return nil, nil
	}
	places, err := j.order.SessionPositions(ctx, s, ids)
	if err != nil {
		return nil, err
	}
	h.replay(p, from, places)
	h.look(places)
	around, err := j.order.Windows(ctx, s, h.spots)
	if err != nil {
		return nil, err
	}
	return h.verdicts(ctx, around)
}

// again returns the novelties of ids that are stored, and of those behind them.
func (j *judge) again(ctx context.Context, s scope.Scope, embedder embed.Embedder, ids []string) (map[string]float64, error) {
	places, err := j.order.SessionPositions(ctx, s, ids)
	if err != nil {
		return nil, err
	}
	h := &hearing{judge: j, scope: s, embedder: embedder, age: j.open(s.Tenant(), embedder.Model().String(), -1, -1)}
	for _, p := range places {
		h.spots = append(h.spots, items.Window{SessionPosition: p, Before: j.window, After: j.window + 1})
	}
	around, err := j.order.Windows(ctx, s, h.spots)
	if err != nil {
		return nil, err
	}
	return h.verdicts(ctx, around)
}

// replay finds where the items of the batch stand behind it.
func (h *hearing) replay(p *projection, from int64, places map[string]items.SessionPosition) {
	chunks := map[int64][]vector.Chunk{}
	for i := range p.vector {
		if c := &p.vector[i]; c.Put != nil {
			chunks[c.Position] = c.Put.Chunks
		}
	}
	for i := range p.items {
		c := &p.items[i]
		if c.Position <= from {
			continue
		}
		if c.Put != nil {
			now := h.seats[c.Put.ID]
			place, there := places[c.Put.ID]
			switch {
			case now == nil && there:
				now = &seat{place: place}
			case now == nil || now.gone:
				now = &seat{place: items.SessionPosition{Rank: h.next}}
				h.next++
			}
			now.place.Session = c.Put.SessionID()
			if h.embedder != nil {
				now.print = h.keep(c.Put, chunks[c.Position])
			}
			h.seats[c.Put.ID] = now
		}
		for _, id := range c.Erased {
			if _, there := places[id]; there || h.seats[id] != nil {
				h.seats[id] = &seat{gone: true}
			}
		}
	}
	for id := range h.seats {
		if _, there := places[id]; there {
			h.disturb++
		}
	}
}

// look asks for who stands around what the batch changes: everyone whose window it
// reaches, and their windows.
func (h *hearing) look(places map[string]items.SessionPosition) {
	ends := map[string]bool{}
	before := h.window + h.disturb
	for id, now := range h.seats {
		place, there := places[id]
		if there {
			h.spots = append(h.spots, items.Window{SessionPosition: place, Before: before, After: before + 1})
		}
		if moved := !there || now.place != place; !now.gone && moved && now.place.Rank < newRank {
			h.spots = append(h.spots, items.Window{SessionPosition: now.place, Before: before, After: before + 1})
		}
		if s := now.place.Session; !now.gone && now.place.Rank >= newRank && !ends[s] {
			ends[s] = true
			h.spots = append(h.spots, items.Window{SessionPosition: items.SessionPosition{Session: s, Rank: newRank}, Before: before})
		}
	}
}

// verdicts judges the items of the batch and everyone from a spot's rank on.
func (h *hearing) verdicts(ctx context.Context, around [][]items.Member) (map[string]float64, error) {
	lists, out := map[string][]items.Member{}, map[string]float64{}
	for i, list := range around {
		a := &h.spots[i]
		for _, m := range list {
			if h.seats[m.ID] != nil {
				continue
			}
			lists[a.Session] = append(lists[a.Session], m)
			if m.Rank >= a.Rank {
				out[m.ID] = -1
			}
		}
	}
	for id, now := range h.seats {
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
		row, err := h.lineUp(ctx, list)
		if err != nil {
			return nil, err
		}
		row.compare(list, h.window, out)
	}
	return out, nil
}

// lineUp returns the fingerprints of a list.
func (h *hearing) lineUp(ctx context.Context, list []items.Member) (*lineup, error) {
	out := newLineup(len(list), h.embedder.Model().Dimensions)
	missing := map[string]int{}
	ids := h.known(list, out, missing)
	for part := range slices.Chunk(ids, noveltyWindow) {
		records, err := h.items.Get(ctx, h.scope, part)
		if err != nil {
			return nil, err
		}
		if err := h.load(ctx, records, func(id string, f *fingerprint) { out.set(missing[id], f) }); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// known lines up those of a list that are in memory, and returns the ids of the others, and in
// missing where they belong.
func (h *hearing) known(list []items.Member, out *lineup, missing map[string]int) (ids []string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for i, m := range list {
		if now := h.seats[m.ID]; now != nil {
			out.set(i, now.print)
		} else if !out.read(i, h.kept.Get(h.scope.Tenant(), m.ID), h.age) {
			missing[m.ID] = i
			ids = append(ids, m.ID)
		}
	}
	return ids
}

// load makes the fingerprints of stored items.
func (h *hearing) load(ctx context.Context, records []schemas.Record, found func(string, *fingerprint)) error {
	var texts []string
	chunks := make([][]vector.Chunk, len(records))
	for i := range records {
		shown := isolation.Public(h.scope.Tenant(), h.sanitizer, &records[i])
		chunks[i] = chunksOf(shown, schemas.SearchText(&shown.MemoryItem), &texts)
	}
	vectors, err := h.embedder.Embed(ctx, texts)
	if err != nil {
		return fmt.Errorf("%w: %w", errEmbed, err)
	}
	for i := range records {
		for c := range chunks[i] {
			chunks[i][c].Vector, vectors = vectors[0], vectors[1:]
		}
		found(records[i].ID, h.keep(&records[i], chunks[i]))
	}
	return nil
}

// keep makes an item's fingerprint and keeps it.
func (h *hearing) keep(r *schemas.Record, chunks []vector.Chunk) *fingerprint {
	f := printOf(r, chunks, h.embedder.Model().Dimensions)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.kept.Put(h.scope.Tenant(), r.ID, f.append(nil, h.age))
	return f
}
