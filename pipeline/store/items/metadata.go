package items

import (
	"encoding/binary"
	"time"

	"satchel/pipeline/store/internal/columns"
	"satchel/schemas"
)

// Metadata is the part of a row that changes after writing, and what a directory of all
// items needs. Metadata whose Position is 0 holds links that wait for their item.
type Metadata struct {
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

// NewMetadata returns the metadata of a record that was just recorded.
func NewMetadata(r *schemas.Record) Metadata {
	return Metadata{
		Position: r.Position, First: r.Position,
		Session: r.SessionID(), Seq: r.Seq, Terms: r.Terms,
		Speaker: r.Speaker, Role: r.Role, Created: r.CreatedAt, Facets: r.Facets,
	}
}

// The first byte of encoded metadata; any other is refused. Novelties of the former are left out: they
// told of items that their readers may not see.
const (
	metadataOldNovelty = 2
	metadataVersion    = 3
)

// Append appends the encoded metadata.
func (h *Metadata) Append(b []byte) []byte {
	b = append(b, metadataVersion)
	b = binary.AppendUvarint(b, uint64(h.Position))
	b = binary.AppendUvarint(b, uint64(h.First))
	b = binary.AppendUvarint(b, uint64(h.AccessCount))
	b = columns.AppendTime(b, h.LastAccess)
	b = columns.AppendString(b, h.SupersededBy)
	b = columns.AppendLinks(b, h.Added)
	b = binary.AppendVarint(b, h.Seq)
	b = binary.AppendUvarint(b, uint64(h.Terms))
	b = columns.AppendTime(b, h.Created)
	b = columns.AppendString(b, h.Session)
	b = columns.AppendString(b, h.Speaker)
	b = columns.AppendString(b, h.Role)
	b = binary.AppendUvarint(b, h.novelty)
	return columns.AppendFacets(b, &h.Facets, h.Session)
}

// DecodeMetadata reads what Append wrote; an error wraps ErrCorrupt.
func DecodeMetadata(b []byte) (Metadata, error) {
	h, c := openMetadata(b)
	c.Facets(&h.Facets, h.Session)
	return h, checkFullyRead(c, "head")
}

// DecodeWithoutFacets is DecodeMetadata without Facets: it returns their encoding instead, so
// that a reader of many rows can decode each distinct one once, by DecodeFacets.
func DecodeWithoutFacets(b []byte) (Metadata, string, error) {
	h, c := openMetadata(b)
	facets, ok := c.Rest()
	if !ok {
		return Metadata{}, "", newCorruptError("head")
	}
	return h, facets, nil
}

// DecodeFacets reads the facets of metadata with that session.
func DecodeFacets(code, session string) (schemas.Facets, error) {
	var f schemas.Facets
	c := columns.NewCursor(code)
	c.Facets(&f, session)
	return f, checkFullyRead(c, "facets")
}

func openMetadata(b []byte) (Metadata, *columns.Cursor) {
	c := columns.NewCursor(string(b))
	version := c.Byte()
	if version != metadataOldNovelty && version != metadataVersion {
		c.Fail()
	}
	h := Metadata{Position: int64(c.Uvarint()), First: int64(c.Uvarint()), AccessCount: int64(c.Uvarint())}
	h.LastAccess = c.Time()
	h.SupersededBy = c.Str()
	h.Added = c.Links()
	h.Seq = c.Varint()
	h.Terms = int(c.Uvarint())
	h.Created = c.Time()
	h.Session, h.Speaker, h.Role = c.Str(), c.Str(), c.Str()
	h.novelty = c.Uvarint()
	if version == metadataOldNovelty {
		h.novelty = 0
	}
	return h, c
}
