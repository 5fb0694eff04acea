package graph

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"satchel/pipeline/store/internal/columns"
	"satchel/schemas"
)

// ErrCorrupt is returned for a stored row that cannot be what was written.
var ErrCorrupt = errors.New("graph store is damaged")

// Row is a node as it is stored. A row whose Position is 0 holds links that wait for
// their node.
type Row struct {
	Position int64 // of the current version
	Facets   schemas.Facets
	Links    []schemas.Link // the node's own
	Entities []string
	Added    []Added // by link changes

	Key     int64 // the driver's own, 0 for a row that is to be inserted
	Old     int64 // with Key 0: the key of a row that was removed before; it is to be removed
	Changed bool  // the row is to be written
	Removed bool  // the row is to be removed
}

// Added is a link with the position that added it.
type Added struct {
	schemas.Link
	Position int64
}

// rowVersion is the first byte of an encoded row.
const rowVersion = 1

// Append appends the encoded row.
func (r *Row) Append(b []byte) []byte {
	b = binary.AppendUvarint(append(b, rowVersion), uint64(r.Position))
	b = columns.AppendFacets(b, &r.Facets, "")
	b = columns.AppendLinks(b, r.Links)
	b = columns.AppendList(b, r.Entities)
	b = binary.AppendUvarint(b, uint64(len(r.Added)))
	for _, a := range r.Added {
		b = columns.AppendString(columns.AppendString(b, string(a.Rel)), a.To)
		b = binary.AppendUvarint(b, uint64(a.Position))
	}
	return b
}

// DecodeRow reads what Append wrote; an error wraps ErrCorrupt.
func DecodeRow(b []byte) (Row, error) {
	c := columns.NewCursor(string(b))
	c.Version(rowVersion)
	r := Row{Position: int64(c.Uvarint())}
	c.Facets(&r.Facets, "")
	r.Links = c.Links()
	r.Entities = c.List()
	for range c.Count() {
		r.Added = append(r.Added, Added{schemas.Link{Rel: schemas.Rel(c.Str()), To: c.Str()}, int64(c.Uvarint())})
	}
	if !c.Done() {
		return Row{}, fmt.Errorf("decode node: %w", ErrCorrupt)
	}
	return r, nil
}

// Batch is what one Apply commits.
type Batch struct {
	UpTo    int64 // the checkpoint after it
	changes []Change
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
			return nil, fmt.Errorf("change at position %d: node has no id", c.Position)
		}
		last = c.Position
	}
	return &Batch{UpTo: max(upTo, last), changes: changes}, nil
}

// IDs returns every id that Fold may need the row of, each once.
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
		for _, id := range c.Remove {
			add(id)
		}
	}
	return ids
}

// Fold applies the changes after checkpoint to rows: what is stored, by id. It adds,
// changes and marks rows; the driver writes those that are Changed and removes those
// that are Removed.
func (b *Batch) Fold(checkpoint int64, rows map[string]*Row) {
	row := func(id string) *Row {
		r, ok := rows[id]
		switch {
		case !ok:
			r = &Row{}
			rows[id] = r
		case r.Removed:
			*r = Row{Old: r.Key}
		}
		return r
	}
	for i := range b.changes {
		c := &b.changes[i]
		if c.Position <= checkpoint {
			continue
		}
		if c.Put != nil {
			row(c.Put.ID).storeNode(c.Position, c.Put)
		}
		if c.Link != nil && c.Link.From != "" && len(c.Link.Links) > 0 {
			row(c.Link.From).addLinks(c.Position, c.Link.Links)
		}
		for _, id := range c.Remove {
			if r, ok := rows[id]; ok && r.Key|r.Old != 0 {
				*r = Row{Key: r.Key | r.Old, Removed: true}
			} else if ok {
				delete(rows, id)
			}
		}
	}
}

func (r *Row) storeNode(position int64, n *Node) {
	if r.Position >= position {
		return
	}
	r.Position = position
	r.Facets = n.Facets
	r.Changed = true
	r.Links, r.Entities = removeRepeats(n.Links), removeRepeats(n.Entities)
}

// removeRepeats returns list without empty ones and repetitions, in the order of the first.
func removeRepeats[T comparable](list []T) []T {
	var none T
	out := make([]T, 0, len(list))
	for _, v := range list {
		if v != none && !slices.Contains(out, v) {
			out = append(out, v)
		}
	}
	return out
}

func (r *Row) addLinks(position int64, links []schemas.Link) {
	for _, l := range links {
		known := slices.ContainsFunc(r.Added, func(a Added) bool { return a.Link == l })
		if !known && l.To != "" {
			r.Added = append(slices.Clip(r.Added), Added{l, position})
		}
	}
	r.Changed = true
}
