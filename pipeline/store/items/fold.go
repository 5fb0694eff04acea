package items

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"satchel/schemas"
)

// Batch is what one Apply commits.
type Batch struct {
	UpTo    int64 // the checkpoint after it
	changes []Change
	used    map[string]use // how items stand that were accessed and not changed otherwise
}

// use is how an item is after accesses.
type use struct {
	count int64
	last  time.Time
}

// Use is what a batch adds to the accesses of an item.
type Use struct {
	ID    string
	First int64 // Metadata.First of the item
	Count int64
	Last  time.Time // of these accesses
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

// IDs returns every id that Fold may need the metadata of, each once.
func (b *Batch) IDs() []string {
	changed, accessed := b.Parts()
	return append(changed, accessed...)
}

// Parts returns the ids that FoldApart may need the metadata of, and those that are accessed and
// nothing else, each once.
func (b *Batch) Parts() (changed, accessed []string) {
	seen := make(map[string]struct{}, len(b.changes))
	add := func(id string) {
		if _, ok := seen[id]; !ok && id != "" {
			seen[id] = struct{}{}
			changed = append(changed, id)
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
		for _, id := range c.Erased {
			add(id)
		}
	}
	for i := range b.changes {
		for _, id := range b.changes[i].Accessed {
			if _, ok := seen[id]; !ok && id != "" {
				seen[id] = struct{}{}
				accessed = append(accessed, id)
			}
		}
	}
	return changed, accessed
}

// Row is what a driver reads and writes of an id.
type Row struct {
	Metadata Metadata
	Key      int64           // the driver's own, 0 for a row that is to be inserted
	Old      int64           // with Key 0: the key of a row that was erased before; it is to be removed
	Put      *schemas.Record // a new version: its payload and tokens are to be written
	Changed  bool            // the row is to be written
	Erased   bool            // the row is to be removed
}

// Fold applies the changes after checkpoint to rows: what is stored, by id. It adds,
// changes and marks rows; the driver writes those that are Changed and removes those
// that are Erased.
func (b *Batch) Fold(checkpoint int64, rows map[string]*Row) {
	b.foldChanges(checkpoint, rows, func(id string, at time.Time) {
		if r, ok := rows[id]; ok && r.hasStoredItem() {
			r.noteAccess(at)
		}
	})
	_, accessed := b.Parts()
	for _, id := range accessed {
		if r, ok := rows[id]; ok && r.hasStoredItem() {
			b.Stands(id, r.Metadata.AccessCount, r.Metadata.LastAccess)
		}
	}
}

// FoldApart is Fold for a driver that keeps accesses apart from metadata: it leaves those of rows
// as they are and returns what is to be added, by First. rows has the changed ids of Parts,
// firsts says Metadata.First of those of the accessed ones that are there. The driver calls Stands
// once it has committed.
func (b *Batch) FoldApart(checkpoint int64, rows map[string]*Row, firsts map[string]int64) []Use {
	uses := map[int64]*Use{}
	b.foldChanges(checkpoint, rows, func(id string, at time.Time) {
		first := firsts[id]
		if r, ok := rows[id]; ok && r.hasStoredItem() {
			first = r.Metadata.First
		}
		if first == 0 {
			return
		}
		u, ok := uses[first]
		if !ok {
			u = &Use{ID: id, First: first}
			uses[first] = u
		}
		u.Count++
		if at.After(u.Last) {
			u.Last = at
		}
	})
	all := make([]Use, 0, len(uses))
	for _, u := range uses {
		all = append(all, *u)
	}
	slices.SortFunc(all, func(a, b Use) int { return cmp.Compare(a.First, b.First) })
	return all
}

// Stands says how often an item was accessed that the batch does not change otherwise. What is
// kept in memory of one that nothing is said of is read again.
func (b *Batch) Stands(id string, count int64, last time.Time) {
	if b.used == nil {
		b.used = map[string]use{}
	}
	b.used[id] = use{count, last}
}

func (b *Batch) foldChanges(checkpoint int64, rows map[string]*Row, access func(id string, at time.Time)) {
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
			row(c.Put.ID).storeRecord(c.Position, c.Put)
		case c.Link != nil && c.Link.From != "" && len(c.Link.Links) > 0:
			row(c.Link.From).addLinks(c.Link.Links)
		case c.Superseded != nil:
			if r, ok := rows[c.Superseded.Item]; ok && r.hasStoredItem() {
				r.Metadata.SupersededBy = c.Superseded.By
				r.Changed = true
			}
		}
		for id, n := range c.Novelty {
			if r, ok := rows[id]; ok && r.hasStoredItem() {
				r.Metadata.SetNovelty(n)
				r.Changed = true
			}
		}
		for _, id := range c.Accessed {
			access(id, c.At)
		}
		for _, id := range c.Erased {
			if r, ok := rows[id]; ok && r.Key|r.Old != 0 {
				*r = Row{Key: r.Key | r.Old, Erased: true}
			} else if ok {
				delete(rows, id)
			}
		}
	}
}

// hasStoredItem reports whether there is an item, and not only links that wait for one.
func (r *Row) hasStoredItem() bool { return !r.Erased && r.Metadata.Position > 0 }

func (r *Row) storeRecord(position int64, rec *schemas.Record) {
	if r.Metadata.Position >= position {
		return
	}
	h := NewMetadata(rec)
	h.Position = position
	h.First = position
	if r.Metadata.Position > 0 {
		h.First = r.Metadata.First
	}
	h.AccessCount = r.Metadata.AccessCount
	h.LastAccess = r.Metadata.LastAccess
	h.Added = r.Metadata.Added
	r.Metadata = h
	r.Put = rec
	r.Changed = true
}

func (r *Row) addLinks(links []schemas.Link) {
	for _, l := range links {
		if !slices.Contains(r.Metadata.Added, l) {
			r.Metadata.Added = append(slices.Clip(r.Metadata.Added), l)
			r.Changed = true
		}
	}
}

func (r *Row) noteAccess(at time.Time) {
	r.Metadata.AccessCount++
	if at.After(r.Metadata.LastAccess) {
		r.Metadata.LastAccess = at
	}
	r.Changed = true
}
