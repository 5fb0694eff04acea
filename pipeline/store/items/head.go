package items

import (
	"encoding/binary"
	"time"

	"satchel/pipeline/store/internal/field"
	"satchel/schemas"
)

// Head is the part of a row that changes after writing, and what a directory of all
// items needs. A head whose Position is 0 holds links that wait for their item.
type Head struct {
	Position     int64 // of the current version
	First        int64 // of the first version
	SupersededBy string
	AccessCount  int64
	LastAccess   time.Time
	Added        []schemas.Link // by linked events, apart from the item's own

	Session string // SessionID
	Seq     int64
	Terms   int
	Speaker string
	Role    string
	Created time.Time
	Facets  schemas.Facets

	novelty uint64 // computed: see SetNovelty
}

// NewHead returns the head of a record that was just recorded.
func NewHead(r *schemas.Record) Head {
	return Head{
		Position: r.Position, First: r.Position,
		Session: r.SessionID(), Seq: r.Seq, Terms: r.Terms,
		Speaker: r.Speaker, Role: r.Role, Created: r.CreatedAt, Facets: r.Facets,
	}
}

// headVersion is the first byte of an encoded head; version 1 has no novelty.
const headVersion = 2

// Append appends the encoded head.
func (h *Head) Append(b []byte) []byte {
	b = append(b, headVersion)
	b = binary.AppendUvarint(b, uint64(h.Position))
	b = binary.AppendUvarint(b, uint64(h.First))
	b = binary.AppendUvarint(b, uint64(h.AccessCount))
	b = field.AppendTime(b, h.LastAccess)
	b = field.AppendString(b, h.SupersededBy)
	b = field.AppendLinks(b, h.Added)
	b = binary.AppendVarint(b, h.Seq)
	b = binary.AppendUvarint(b, uint64(h.Terms))
	b = field.AppendTime(b, h.Created)
	b = field.AppendString(b, h.Session)
	b = field.AppendString(b, h.Speaker)
	b = field.AppendString(b, h.Role)
	b = binary.AppendUvarint(b, h.novelty)
	return field.AppendFacets(b, &h.Facets, h.Session)
}

// DecodeHead reads what Append wrote; an error wraps ErrCorrupt.
func DecodeHead(b []byte) (Head, error) {
	h, c := openHead(b)
	c.Facets(&h.Facets, h.Session)
	return h, end(c, "head")
}

// DecodeHeadLess is DecodeHead without Facets: it returns their encoding instead, so
// that a reader of many heads can decode each distinct one once, by DecodeFacets.
func DecodeHeadLess(b []byte) (Head, string, error) {
	h, c := openHead(b)
	facets, ok := c.Rest()
	if !ok {
		return Head{}, "", corrupt("head")
	}
	return h, facets, nil
}

// DecodeFacets reads the facets of a head with that session.
func DecodeFacets(code, session string) (schemas.Facets, error) {
	var f schemas.Facets
	c := field.NewCursor(code)
	c.Facets(&f, session)
	return f, end(c, "facets")
}

func openHead(b []byte) (Head, *field.Cursor) {
	c := field.NewCursor(string(b))
	version := c.VersionUpTo(headVersion)
	h := Head{Position: int64(c.Uvarint()), First: int64(c.Uvarint()), AccessCount: int64(c.Uvarint())}
	h.LastAccess = c.Time()
	h.SupersededBy = c.Str()
	h.Added = c.Links()
	h.Seq = c.Varint()
	h.Terms = int(c.Uvarint())
	h.Created = c.Time()
	h.Session, h.Speaker, h.Role = c.Str(), c.Str(), c.Str()
	if version > 1 {
		h.novelty = c.Uvarint()
	}
	return h, c
}
