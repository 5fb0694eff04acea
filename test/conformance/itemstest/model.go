package itemstest

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"satchel/pipeline/scope"
	"satchel/pipeline/store/items"
	"satchel/schemas"
	"satchel/test/conformance/internal/folded"
)

func testModel(t *testing.T, f *fixture) {
	folded.Model(t, f.Items, changes(), func(s scope.Scope) (func([]items.Change), func(*rapid.T)) {
		m, f := &model{}, &fixture{Items: f.Items, scope: s}
		return m.apply, func(rt *rapid.T) { m.check(rt, t.Context(), f) }
	})
}

// model is the plainest store that keeps the contract of package items.
type model struct {
	items map[string]*modelItem
	added map[string][]schemas.Link
}

type modelItem struct {
	schemas.Record
	first  int64
	claims bool // it has a novelty of its own
}

func (m *model) apply(log []items.Change) {
	if m.items == nil {
		m.items, m.added = map[string]*modelItem{}, map[string][]schemas.Link{}
	}
	for _, c := range log {
		switch {
		case c.Put != nil:
			next := &modelItem{Record: *c.Put, first: c.Position, claims: c.Put.Novelty != nil}
			if old := m.items[c.Put.ID]; old != nil {
				next.first, next.AccessCount, next.LastAccess = old.first, old.AccessCount, old.LastAccess
			}
			m.items[c.Put.ID] = next
		case c.Link != nil:
			for _, l := range c.Link.Links {
				if !slices.Contains(m.added[c.Link.From], l) {
					m.added[c.Link.From] = append(m.added[c.Link.From], l)
				}
			}
		case c.Superseded != nil:
			if it := m.items[c.Superseded.Item]; it != nil {
				it.SupersededBy = c.Superseded.By
			}
		}
		for id, n := range c.Novelty {
			if it := m.items[id]; it != nil && !it.claims {
				it.Novelty = &n
			}
		}
		for _, id := range c.Accessed {
			if it := m.items[id]; it != nil {
				it.AccessCount++
				if c.At.After(it.LastAccess) {
					it.LastAccess = c.At
				}
			}
		}
		for _, id := range c.Erased {
			delete(m.items, id)
			delete(m.added, id)
		}
	}
}

func (m *model) get(id string) (schemas.Record, bool) {
	it, ok := m.items[id]
	if !ok {
		return schemas.Record{}, false
	}
	r := it.Record
	r.First = it.first
	r.Links = slices.Concat(r.Links, m.added[id])
	return r, true
}

func (m *model) byFirst() []*modelItem {
	return slices.SortedFunc(maps.Values(m.items), func(a, b *modelItem) int { return cmp.Compare(a.first, b.first) })
}

func (m *model) neighbours(radius int) map[string][]items.Neighbour {
	sessions := map[string][]*modelItem{}
	for _, it := range m.byFirst() {
		if s := it.SessionID(); s != "" {
			sessions[s] = append(sessions[s], it)
		}
	}
	out := map[string][]items.Neighbour{}
	for _, list := range sessions {
		slices.SortStableFunc(list, func(a, b *modelItem) int { return cmp.Compare(a.Seq, b.Seq) })
		for i, it := range list {
			for j := max(0, i-radius); j <= min(len(list)-1, i+radius); j++ {
				if i != j {
					out[it.ID] = append(out[it.ID], items.Neighbour{ID: list[j].ID, Offset: j - i, Terms: list[j].Terms})
				}
			}
		}
	}
	return out
}

func (m *model) recent(f schemas.Filter, limit int) []string {
	list := slices.DeleteFunc(m.byFirst(), func(it *modelItem) bool { return !f.Match(&it.Facets) })
	slices.SortFunc(list, func(a, b *modelItem) int {
		return cmp.Or(b.CreatedAt.Compare(a.CreatedAt), cmp.Compare(b.first, a.first))
	})
	var ids []string
	for _, it := range list[:min(limit, len(list))] {
		ids = append(ids, it.ID)
	}
	return ids
}

func (m *model) stats() items.Stats {
	s := items.Stats{Items: len(m.items)}
	for _, it := range m.byFirst() {
		if it.Speaker != "" && !slices.Contains(s.Speakers, it.Speaker) && len(s.Speakers) < 51 {
			s.Speakers = append(s.Speakers, it.Speaker)
		}
		if it.Role == "user" || it.Speaker == "user" {
			s.UserTurns++
		}
		if it.SessionID() != "" {
			s.Turns++
		}
		if s.FirstCreated.IsZero() || it.CreatedAt.Before(s.FirstCreated) {
			s.FirstCreated = it.CreatedAt
		}
		s.LastCreated = later(s.LastCreated, it.CreatedAt)
	}
	return s
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// check compares everything the store says with the model.
func (m *model) check(t *rapid.T, ctx context.Context, f *fixture) {
	ids := []string{"a", "b", "c", "d", "e", "f", "0198c0de-0000-7000-8000-0123456789ab", "unknown"}
	var want []schemas.Record
	for _, id := range ids {
		if r, ok := m.get(id); ok {
			want = append(want, r)
		}
	}
	got, err := f.Get(ctx, f.scope, ids)
	folded.Equal(t, "records", got, want, err)
	for radius := 1; radius <= 2; radius++ {
		near, err := f.Neighbours(ctx, f.scope, ids, radius)
		folded.Equal(t, "neighbours", near, m.neighbours(radius), err)
	}
	for _, filter := range []schemas.Filter{schemas.MatchAll(), schemas.MatchNone(),
		schemas.Where(schemas.Cond{Field: schemas.FieldLevel, Op: schemas.AtMost, Number: 1})} {
		for _, limit := range []int{1, 3, 100} {
			recent, err := f.Recent(ctx, f.scope, filter, items.Place{}, limit)
			folded.Equal(t, fmt.Sprintf("%d recent", limit), recent, m.recent(filter, limit), err)
		}
	}
	m.checkOrder(t, ctx, f, ids)
	stats, err := f.Stats(ctx, f.scope)
	folded.Equal(t, "stats", stats, m.stats(), err)
}
