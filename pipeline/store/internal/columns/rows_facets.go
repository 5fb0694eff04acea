package columns

import (
	"encoding/binary"

	"satchel/schemas"
)

// Flags of encoded facets.
const (
	facetPII = 1 << iota
	facetCredentials
	facetOwnSession // the session is not the head's
)

// AppendFacets appends facets; their session costs nothing when it is the given one.
func AppendFacets(b []byte, f *schemas.Facets, session string) []byte {
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
		b = AppendString(b, f.Session)
	}
	b = AppendString(b, string(f.Kind))
	b = AppendString(b, string(f.Type))
	b = AppendString(b, f.Category)
	b = AppendString(b, f.Signer)
	b = AppendList(b, f.Labels)
	b = AppendList(b, f.Groups)
	b = AppendList(b, f.Purposes)
	b = binary.AppendVarint(b, int64(f.Level))
	return AppendFloat(AppendFloat(b, f.Trust), f.Sensitivity)
}

// Facets reads what AppendFacets wrote, given the same session.
func (c *Cursor) Facets(f *schemas.Facets, session string) {
	flags := c.Byte()
	f.PII = flags&facetPII != 0
	f.Credentials = flags&facetCredentials != 0
	f.Session = session
	if flags&facetOwnSession != 0 {
		f.Session = c.Str()
	}
	f.Kind, f.Type = schemas.Kind(c.Str()), schemas.MemoryType(c.Str())
	f.Category, f.Signer = c.Str(), c.Str()
	f.Labels, f.Groups, f.Purposes = c.List(), c.List(), c.List()
	f.Level = schemas.Level(c.Varint())
	f.Trust, f.Sensitivity = c.Float(), c.Float()
}
