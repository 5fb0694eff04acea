package projection

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"satchel/pipeline/isolation"
	"satchel/pipeline/language"
	"satchel/pipeline/model"
	"satchel/pipeline/passage"
	"satchel/pipeline/pii"
	"satchel/pipeline/store/eventlog"
	"satchel/pipeline/store/graph"
	"satchel/pipeline/store/items"
	"satchel/pipeline/store/keyword"
	"satchel/pipeline/store/vector"
	"satchel/pipeline/write"
	"satchel/policies"
	"satchel/schemas"
)

// projection is what a run of log entries changes in each index.
type projection struct {
	items   []items.Change
	keyword []keyword.Change
	private []keyword.Change // of items that a reader without roles sees in part
	vector  []vector.Change
	graph   []graph.Change

	rules      rules
	shown      []*schemas.Record // of vector: what is indexed of each
	whole      []bool            // of vector: everybody sees the whole of it
	unanalysed []int64           // positions of items that are hidden whole, for they could not be analysed
}

// rules are what an item counts for, beside what its writer says of it.
type rules struct {
	sanitizer *pii.Sanitizer     // takes from an item what only some readers may see
	registry  *policies.Registry // grants trust; nil: nobody has more than the default
}

// projectEntries turns entries into changes. It is a pure function of the entries, the embedding
// model, the detector of personal data and the registry, so that a rebuild gives what the live run gave.
// Keywords, vectors and entities are those of what a reader without roles may see of an
// item; passages says whether those of an item that is not hidden in part are embedded, too.
// Without an embedder the vector changes have no chunks and must not be applied.
func projectEntries(ctx context.Context, embedder model.Embedder, by rules, passages bool, entries []eventlog.Entry) (projection, error) {
	p := projection{rules: by}
	var texts []string
	var chunks []*vector.Chunk
	for i := range entries {
		e := &entries[i]
		if e.Erased {
			continue
		}
		if err := p.addEntry(e); err != nil {
			return projection{}, fmt.Errorf("project position %d: %w", e.Position, err)
		}
	}
	for i := range p.vector {
		if p.vector[i].Put == nil {
			continue
		}
		text := p.keyword[i].Put.Text
		doc := p.vector[i].Put
		doc.Chunks = vector.ChunksOf(p.shown[i], text, &texts)
		if passages && p.whole[i] {
			for _, t := range passage.Texts(p.shown[i]) {
				doc.Chunks = append(doc.Chunks, vector.Chunk{Axis: vector.AxisPassage, Span: t.Span})
				texts = append(texts, t.Text)
			}
		}
		for c := range doc.Chunks {
			chunks = append(chunks, &doc.Chunks[c])
		}
	}
	if len(texts) == 0 || embedder == nil {
		return p, nil
	}
	vectors, err := embedder.Embed(ctx, texts)
	if err != nil {
		return projection{}, fmt.Errorf("%w: %w", ErrEmbed, err)
	}
	for i, c := range chunks {
		c.Vector = vectors[i]
	}
	return p, nil
}

func (p *projection) addEntry(e *eventlog.Entry) error {
	switch e.Type {
	case schemas.TypeMemoryRecorded:
		return p.addRecorded(e)
	case schemas.TypeMemoryLinked:
		var l schemas.MemoryLinked
		if err := json.Unmarshal(e.Data, &l); err != nil {
			return fmt.Errorf("decode links: %w", err)
		}
		p.items = append(p.items, items.Change{Position: e.Position, Link: &l, At: e.RecordedAt})
		p.markSuperseded(e, l.From, l.Links)
		p.graph = append(p.graph, graph.Change{Position: e.Position, Link: &l})
	case schemas.TypeMemorySuperseded:
		var s schemas.MemorySuperseded
		if err := json.Unmarshal(e.Data, &s); err != nil {
			return fmt.Errorf("decode supersession: %w", err)
		}
		p.items = append(p.items, items.Change{Position: e.Position, Superseded: &s, At: e.RecordedAt})
		p.graph = append(p.graph, graph.Change{Position: e.Position, Link: &schemas.MemoryLinked{
			From: s.By, Links: []schemas.Link{{Rel: schemas.RelSupersedes, To: s.Item}}}})
	case schemas.TypeMemoryAccessed:
		var a schemas.MemoryAccessed
		if err := json.Unmarshal(e.Data, &a); err != nil {
			return fmt.Errorf("decode accesses: %w", err)
		}
		p.items = append(p.items, items.Change{Position: e.Position, Accessed: slices.Compact(slices.Sorted(slices.Values(a.Items))), At: e.Time})
	case schemas.TypeContextPacked:
		return p.addPacked(e)
	case schemas.TypeMemoryErased:
		return p.addErased(e)
	}
	return nil
}

func (p *projection) addRecorded(e *eventlog.Entry) error {
	item, err := write.Item(*e)
	if err != nil {
		return fmt.Errorf("decode item: %w", err)
	}
	rec := schemas.Record{MemoryItem: item, Position: e.Position, RecordedAt: e.RecordedAt}
	if !write.Own(e.Source) {
		rec.Author = e.Agent
		p.rules.registry.Grant(e.Tenant, rec.Author, &rec.MemoryItem)
	}
	rec.Facets = rec.MemoryItem.Facets()
	a, ok := p.analyseItem(e.Tenant, &rec)
	if !ok {
		p.unanalysed = append(p.unanalysed, e.Position)
	}
	shown := a.shown
	text := a.text
	rec.Terms = a.terms
	p.items = append(p.items, items.Change{Position: e.Position, Put: &rec, At: e.RecordedAt})
	p.markSuperseded(e, rec.ID, rec.Links)
	facets := isolation.Indexed(&rec, shown)
	p.keyword = append(p.keyword, keyword.Change{Position: e.Position, Put: &keyword.Doc{
		ID: rec.ID, Position: e.Position, Text: text, Facets: facets}})
	p.addPrivate(&rec, facets.Labels, a.private)
	p.vector = append(p.vector, vector.Change{Position: e.Position, Put: &vector.Doc{
		ID: rec.ID, Position: e.Position, Facets: facets}})
	p.shown = append(p.shown, shown)
	p.whole = append(p.whole, shown == &rec)
	p.graph = append(p.graph, graph.Change{Position: e.Position, Put: &graph.Node{
		ID: rec.ID, Position: e.Position, Facets: facets, Links: rec.Links, Entities: a.entities}})
	return nil
}

// analysis is what the indexes hold of an item.
type analysis struct {
	shown    *schemas.Record // see isolation.Public
	text     string          // of that, as it is searched
	private  string          // the whole, where more is to be searched; "" otherwise
	terms    int
	entities []string
}

// analyseItem reads an item. Where ok is false it could not, and nothing of it is to be found.
func (p *projection) analyseItem(tenant string, rec *schemas.Record) (a analysis, ok bool) {
	shown, public := isolation.Analyse(tenant, p.rules.sanitizer, rec)
	a, ok = analyseTexts(rec, shown)
	if !ok {
		return analysis{shown: isolation.Hidden(rec)}, false
	}
	return a, public
}

// analyseTexts analyses the texts of an item, of which shown is the public part. ok is false when that fails.
func analyseTexts(rec, shown *schemas.Record) (a analysis, ok bool) {
	defer func() { ok = recover() == nil }()
	a = analysis{shown: shown, text: schemas.SearchText(&shown.MemoryItem)}
	a.terms = language.CountTerms(a.text)
	a.entities = language.Mentions(shown.Content.Text(), shown.Speaker, shown.Attributes)
	if whole := schemas.SearchText(&rec.MemoryItem); whole != a.text {
		a.private = whole
		language.CountTerms(whole) // as the index will
	}
	return a, true
}

// addPrivate indexes the whole text of an item, where that differs from its public text. Another item,
// whose whole is "", is removed: an earlier version of it may have differed. labels are those of the indexes.
func (p *projection) addPrivate(rec *schemas.Record, labels []string, whole string) {
	c := keyword.Change{Position: rec.Position}
	if whole != "" {
		facets := rec.Facets
		facets.Labels = labels
		c.Put = &keyword.Doc{ID: rec.ID, Position: rec.Position, Text: whole, Facets: facets}
	} else {
		c.Remove = []string{rec.ID}
	}
	p.private = append(p.private, c)
}

// markSuperseded marks what the links of an item replace.
func (p *projection) markSuperseded(e *eventlog.Entry, by string, links []schemas.Link) {
	for _, l := range links {
		if l.Rel == schemas.RelSupersedes {
			p.items = append(p.items, items.Change{Position: e.Position, At: e.RecordedAt, Superseded: &schemas.MemorySuperseded{Item: l.To, By: by}})
		}
	}
}

// addPacked counts the shown items as accessed.
func (p *projection) addPacked(e *eventlog.Entry) error {
	at, ids, err := readPacked(e.Data)
	if err != nil {
		return fmt.Errorf("decode pack: %w", err)
	}
	if len(ids) > 0 {
		p.items = append(p.items, items.Change{Position: e.Position, Accessed: ids, At: at})
	}
	return nil
}

func (p *projection) addErased(e *eventlog.Entry) error {
	var er schemas.MemoryErased
	if err := json.Unmarshal(e.Data, &er); err != nil {
		return fmt.Errorf("decode erasure: %w", err)
	}
	if er.Receipt != nil {
		return nil // the record of an erasure that was projected when it was asked for
	}
	p.items = append(p.items, items.Change{Position: e.Position, Erased: er.Items, At: e.RecordedAt})
	p.keyword = append(p.keyword, keyword.Change{Position: e.Position, Remove: er.Items})
	p.private = append(p.private, keyword.Change{Position: e.Position, Remove: er.Items})
	p.vector = append(p.vector, vector.Change{Position: e.Position, Remove: er.Items})
	p.shown = append(p.shown, nil)
	p.whole = append(p.whole, false)
	p.graph = append(p.graph, graph.Change{Position: e.Position, Remove: er.Items})
	return nil
}
