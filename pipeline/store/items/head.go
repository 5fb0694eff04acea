package items

import (
	"encoding/binary"
	"time"

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
}

// NewHead returns the head of a record that was just recorded.
func NewHead(r *schemas.Record) Head {
	return Head{
		Position: r.Position, First: r.Position,
		Session: r.SessionID(), Seq: r.Seq, Terms: r.Terms,
		Speaker: r.Speaker, Role: r.Role, Created: r.CreatedAt, Facets: r.Facets,
	}
}

// headVersion is the first byte of an encoded head.
const headVersion = 1

// Append appends the encoded head.
func (h *Head) Append(b []byte) []byte {
	b = append(b, headVersion)
	b = binary.AppendUvarint(b, uint64(h.Position))
	b = binary.AppendUvarint(b, uint64(h.First))
	b = binary.AppendUvarint(b, uint64(h.AccessCount))
	b = appendTime(b, h.LastAccess)
	b = appendString(b, h.SupersededBy)
	b = appendLinks(b, h.Added)
	b = binary.AppendVarint(b, h.Seq)
	b = binary.AppendUvarint(b, uint64(h.Terms))
	b = appendTime(b, h.Created)
	b = appendString(b, h.Session)
	b = appendString(b, h.Speaker)
	b = appendString(b, h.Role)
	return appendFacets(b, &h.Facets, h.Session)
}

// DecodeHead reads what Append wrote; an error wraps ErrCorrupt.
func DecodeHead(b []byte) (Head, error) {
	h, c := openHead(b)
	c.facets(&h.Facets, h.Session)
	return h, c.end("head")
}

// DecodeHeadLess is DecodeHead without Facets: it returns their encoding instead, so
// that a reader of many heads can decode each distinct one once, by DecodeFacets.
func DecodeHeadLess(b []byte) (Head, string, error) {
	h, c := openHead(b)
	facets := c.s
	if c.bad || facets == "" {
		return Head{}, "", corrupt("head")
	}
	return h, facets, nil
}

// DecodeFacets reads the facets of a head with that session.
func DecodeFacets(code, session string) (schemas.Facets, error) {
	var f schemas.Facets
	c := cursor{s: code}
	c.facets(&f, session)
	return f, c.end("facets")
}

func openHead(b []byte) (Head, *cursor) {
	c := &cursor{s: string(b)}
	c.version(headVersion)
	h := Head{Position: int64(c.uvarint()), First: int64(c.uvarint()), AccessCount: int64(c.uvarint())}
	h.LastAccess = c.time()
	h.SupersededBy = c.str()
	h.Added = c.links()
	h.Seq = c.varint()
	h.Terms = int(c.uvarint())
	h.Created = c.time()
	h.Session, h.Speaker, h.Role = c.str(), c.str(), c.str()
	return h, c
}

// Flags of encoded facets.
const (
	facetPII = 1 << iota
	facetCredentials
	facetOwnSession // the session is not the head's
)

func appendFacets(b []byte, f *schemas.Facets, session string) []byte {
	var flags byte
	if f.PII {
		flags |= facetPII
	}
	if f.Credentials {
		flags |= facetCredentials
	}
	if f.Session != session {
		flags |= facetOwnSession
	}
	b = append(b, flags)
	if f.Session != session {
		b = appendString(b, f.Session)
	}
	b = appendString(b, string(f.Kind))
	b = appendString(b, string(f.Type))
	b = appendString(b, f.Category)
	b = appendString(b, f.Signer)
	b = appendList(b, f.Labels)
	b = appendList(b, f.Groups)
	b = appendList(b, f.Purposes)
	b = binary.AppendVarint(b, int64(f.Level))
	return appendFloat(appendFloat(b, f.Trust), f.Sensitivity)
}

func (c *cursor) facets(f *schemas.Facets, session string) {
	flags := c.byte()
	f.PII, f.Credentials = flags&facetPII != 0, flags&facetCredentials != 0
	f.Session = session
	if flags&facetOwnSession != 0 {
		f.Session = c.str()
	}
	f.Kind, f.Type = schemas.Kind(c.str()), schemas.MemoryType(c.str())
	f.Category, f.Signer = c.str(), c.str()
	f.Labels, f.Groups, f.Purposes = c.list(), c.list(), c.list()
	f.Level = schemas.Level(c.varint())
	f.Trust, f.Sensitivity = c.float(), c.float()
}
