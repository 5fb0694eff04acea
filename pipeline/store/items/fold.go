package items

import (
	"fmt"
	"slices"
	"time"

	"satchel/schemas"
)

// Batch is what one Apply commits.
type Batch struct {
	UpTo    int64 // the checkpoint after it
	changes []Change
	used    map[string]use // by Fold: items that were accessed and not changed otherwise
}

// use is how an item stands after accesses.
type use struct {
	count int64
	last  time.Time
}

// NewBatch checks that changes are in order of position and complete.
func NewBatch(changes []Change, upTo int64) (*Batch, error) {
	last := int64(0)
	for i := range changes {
		c := &changes[i]
		if c.Position < 1 || c.Position < last {
			return nil, fmt.Errorf("change %d: position %d is out of order", i, c.Position)
		}
		if c.Put != nil && c.Put.ID == "" {
			return nil, fmt.Errorf("change at position %d: item has no id", c.Position)
		}
		last = c.Position
	}
	return &Batch{UpTo: max(upTo, last), changes: changes}, nil
}

// IDs returns every id that Fold may need the head of, each once.
func (b *Batch) IDs() []string {
	seen := make(map[string]struct{}, len(b.changes))
	ids := make([]string, 0, len(b.changes))
	add := func(id string) {
		if _, ok := seen[id]; !ok && id != "" {
			seen[id] = struct{}{}
			ids = append(ids, id)
		}
	}
	for i := range b.changes {
		c := &b.changes[i]
		if c.Put != nil {
			add(c.Put.ID)
		}
		if c.Link != nil {
			add(c.Link.From)
		}
		if c.Superseded != nil {
			add(c.Superseded.Item)
		}
		for id := range c.Novelty {
			add(id)
		}
		for _, id := range c.Accessed {
			add(id)
		}
		for _, id := range c.Erased {
			add(id)
		}
	}
	return ids
}

// Row is what a driver reads and writes of an id.
type Row struct {
	Head    Head
	Key     int64           // the driver's own, 0 for a row that is to be inserted
	Old     int64           // with Key 0: the key of a row that was erased before; it is to be removed
	Put     *schemas.Record // a new version: its body and tokens are to be written
	Changed bool            // the row is to be written
	Erased  bool            // the row is to be removed
}

// Fold applies the changes after checkpoint to rows: what is stored, by id. It adds,
// changes and marks rows; the driver writes those that are Changed and removes those
// that are Erased.
func (b *Batch) Fold(checkpoint int64, rows map[string]*Row) {
	row := func(id string) *Row {
		r, ok := rows[id]
		switch {
		case !ok:
			r = &Row{}
			rows[id] = r
		case r.Erased:
			*r = Row{Old: r.Key}
		}
		return r
	}
	for i := range b.changes {
		c := &b.changes[i]
		if c.Position <= checkpoint {
			continue
		}
		switch {
		case c.Put != nil:
			row(c.Put.ID).put(c.Position, c.Put)
		case c.Link != nil && c.Link.From != "" && len(c.Link.Links) > 0:
			row(c.Link.From).link(c.Link.Links)
		case c.Superseded != nil:
			if r, ok := rows[c.Superseded.Item]; ok && r.there() {
				r.Head.SupersededBy, r.Changed = c.Superseded.By, true
			}
		}
		for id, n := range c.Novelty {
			if r, ok := rows[id]; ok && r.there() {
				r.Head.SetNovelty(n)
				r.Changed = true
			}
		}
		for _, id := range c.Accessed {
			if r, ok := rows[id]; ok && r.there() {
				r.access(c.At)
			}
		}
		for _, id := range c.Erased {
			if r, ok := rows[id]; ok && r.Key|r.Old != 0 {
				*r = Row{Key: r.Key | r.Old, Erased: true}
			} else if ok {
				delete(rows, id)
			}
		}
	}
	b.note(rows)
}

// note keeps how the items stand that were accessed and not changed otherwise.
func (b *Batch) note(rows map[string]*Row) {
	b.used = map[string]use{}
	for i := range b.changes {
		for _, id := range b.changes[i].Accessed {
			if r, ok := rows[id]; ok && r.there() {
				b.used[id] = use{r.Head.AccessCount, r.Head.LastAccess}
			}
		}
	}
	for i := range b.changes {
		c := &b.changes[i]
		if c.Put != nil {
			delete(b.used, c.Put.ID)
		}
		if c.Link != nil {
			delete(b.used, c.Link.From)
		}
		if c.Superseded != nil {
			delete(b.used, c.Superseded.Item)
		}
		for id := range c.Novelty {
			delete(b.used, id)
		}
		for _, id := range c.Erased {
			delete(b.used, id)
		}
	}
}

// there reports whether there is an item, and not only links that wait for one.
func (r *Row) there() bool { return !r.Erased && r.Head.Position > 0 }

func (r *Row) put(position int64, rec *schemas.Record) {
	if r.Head.Position >= position {
		return
	}
	h := NewHead(rec)
	h.Position, h.First = position, position
	if r.Head.Position > 0 {
		h.First = r.Head.First
	}
	h.AccessCount, h.LastAccess = r.Head.AccessCount, r.Head.LastAccess
	h.Added = r.Head.Added
	r.Head, r.Put, r.Changed = h, rec, true
}

func (r *Row) link(links []schemas.Link) {
	for _, l := range links {
		if !slices.Contains(r.Head.Added, l) {
			r.Head.Added, r.Changed = append(slices.Clip(r.Head.Added), l), true
		}
	}
}

func (r *Row) access(at time.Time) {
	r.Head.AccessCount++
	if at.After(r.Head.LastAccess) {
		r.Head.LastAccess = at
	}
	r.Changed = true
}
