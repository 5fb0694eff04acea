package rot

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"satchel/cmd/internal/lab/measure"
	"satchel/pipeline/language"
	"satchel/schemas"
)

// loadSet reads a set. Of its questions it keeps those that name relevant memories, and those that nothing answers.
func loadSet(dir, name string) (*measure.Set, error) {
	set, err := measure.Load(dir, name)
	if err != nil {
		return nil, err
	}
	set.Queries = slices.DeleteFunc(set.Queries, func(q measure.Query) bool { return q.BySession() || strings.TrimSpace(q.Text) == "" })
	set.Memories = slices.DeleteFunc(set.Memories, func(m measure.Memory) bool { return strings.TrimSpace(m.Text) == "" })
	if len(set.Memories) == 0 || !slices.ContainsFunc(set.Queries, func(q measure.Query) bool { return q.Scored() }) {
		return nil, fmt.Errorf("set %q has no memories, or no question that names them", name)
	}
	return &set, nil
}

// setHistory has all memories of a set, of every tenant of it, and n of its questions, other ones for each seed.
func setHistory(tenant string, seed uint64, d distortion, n int, set *measure.Set) (*history, error) {
	words, err := measure.NewCorpus(tenant, seed)
	if err != nil {
		return nil, err
	}
	h := &history{seed: seed, distort: d, byID: map[string]int{}, words: words}
	begin := h.spread(set)
	at := map[string]int{} // by tenant and id, in planted
	for i := range set.Memories {
		m := &set.Memories[i]
		item := schemas.MemoryItem{
			ID: fmt.Sprintf("note-%05d", i), Type: schemas.Episodic, Kind: schemas.KindMemory, Scope: schemas.MemoryScope{Tenant: tenant},
			CreatedAt: m.TS.Time, Session: m.Session, Speaker: m.Speaker, SecurityLabel: []string{"level:internal"}, Content: schemas.TextContent(m.Text),
		}
		if m.Session != "" {
			item.Session = fmt.Sprintf("%.40s %.80s", m.Tenant, m.Session)
		}
		if item.CreatedAt.IsZero() {
			item.CreatedAt = begin
		}
		if m.Tool {
			item.Kind = schemas.KindTool
			item.Type = schemas.Procedural
		}
		at[m.Tenant+"\x00"+m.ID] = len(h.planted)
		h.planted = append(h.planted, entry{item, m.Text, filler, -1})
	}
	queries := slices.Clone(set.Queries)
	rng := rand.New(rand.NewPCG(seed, 11))
	rng.Shuffle(len(queries), func(i, j int) { queries[i], queries[j] = queries[j], queries[i] })
	for i := range queries[:min(n, len(queries))] {
		h.questions = append(h.questions, h.question(&queries[i], i, at))
	}
	return h, nil
}

// spread has the filler lie between the oldest and the newest memory of a set, and returns the oldest time.
func (h *history) spread(set *measure.Set) time.Time {
	var first, last time.Time
	for i := range set.Memories {
		ts := set.Memories[i].TS.Time
		if ts.IsZero() {
			continue
		}
		if first.IsZero() || ts.Before(first) {
			first = ts
		}
		if ts.After(last) {
			last = ts
		}
	}
	if first.IsZero() {
		first = now().Add(-span)
		last = now()
	}
	h.end, h.span = last.Add(margin), last.Add(margin).Sub(first)+margin
	return first
}

// question makes a question of a set's; at has the places of its memories in planted.
func (h *history) question(labels *measure.Query, number int, at map[string]int) question {
	q := question{id: labels.Tenant + "/" + labels.ID, text: labels.Text, number: number, labels: labels, relevant: map[string]bool{}, asked: cmp.Or(labels.TS.Time, h.end)}
	terms := language.Analyze(labels.Text)
	found := map[string]bool{}
	for _, id := range labels.Relevant {
		i, known := at[labels.Tenant+"\x00"+id]
		if !known {
			continue
		}
		e := &h.planted[i]
		if len(q.relevant) == 0 {
			q.place = min(1, max(0, 1-h.end.Sub(e.item.CreatedAt).Seconds()/h.span.Seconds()))
		}
		q.relevant[e.item.ID] = true
		for _, term := range language.Analyze(e.text) {
			if slices.Contains(terms, term) {
				found[term] = true
			}
		}
	}
	q.words = min(3, len(found))
	q.absent = len(q.relevant) == 0
	return q
}
