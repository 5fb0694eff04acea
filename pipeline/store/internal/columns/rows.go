// It encodes the fields of stored rows and snapshots: strings and lists by length, numbers
// as varints, times by second and nanosecond, links and facets. What one version wrote
// the next must read: a change of an encoding needs a new version byte in the row.
// Ports and their drivers may import it.

package columns

import (
	"encoding/binary"
	"math"
	"time"

	"satchel/schemas"
)

// AppendString appends a string after its length.
func AppendString(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

// AppendList appends strings after their count.
func AppendList(b []byte, list []string) []byte {
	b = binary.AppendUvarint(b, uint64(len(list)))
	for _, s := range list {
		b = AppendString(b, s)
	}
	return b
}

// AppendLinks appends links after their count.
func AppendLinks(b []byte, links []schemas.Link) []byte {
	b = binary.AppendUvarint(b, uint64(len(links)))
	for _, l := range links {
		b = AppendString(AppendString(b, string(l.Rel)), l.To)
	}
	return b
}

// AppendFloat appends the bits of v, little endian.
func AppendFloat(b []byte, v float64) []byte {
	return binary.LittleEndian.AppendUint64(b, math.Float64bits(v))
}

// AppendTime writes 0 for the zero time, else 1 + nanoseconds and the Unix seconds.
func AppendTime(b []byte, t time.Time) []byte {
	if t.IsZero() {
		return append(b, 0)
	}
	return binary.AppendVarint(binary.AppendUvarint(b, uint64(t.Nanosecond())+1), t.Unix())
}

// Cursor reads values from the head of s. Strings it returns share the memory of s.
// bad is set once something does not fit; values are zero from then on.
type Cursor struct {
	s   string
	bad bool
}

// NewCursor returns a cursor at the head of s.
func NewCursor(s string) *Cursor { return &Cursor{s: s} }

// Rest returns what was not read yet, and false when something did not fit.
func (c *Cursor) Rest() (string, bool) { return c.s, !c.bad }

// OK reports whether everything that was read fitted.
func (c *Cursor) OK() bool { return !c.bad }

// Done reports whether everything was read and fitted.
func (c *Cursor) Done() bool { return !c.bad && c.s == "" }

// Fail says that what was read cannot be.
func (c *Cursor) Fail() { c.s, c.bad = "", true }

// Version reads a byte that must be want.
func (c *Cursor) Version(want byte) {
	if c.Byte() != want {
		c.Fail()
	}
}

// Byte reads a byte.
func (c *Cursor) Byte() byte {
	if c.s == "" {
		c.Fail()
		return 0
	}
	v := c.s[0]
	c.s = c.s[1:]
	return v
}

// Uvarint reads an unsigned varint.
func (c *Cursor) Uvarint() uint64 {
	var v uint64
	for i := 0; i < len(c.s) && i < binary.MaxVarintLen64; i++ {
		b := c.s[i]
		v |= uint64(b&0x7f) << (7 * i)
		if b < 0x80 {
			c.s = c.s[i+1:]
			return v
		}
	}
	c.Fail()
	return 0
}

// Varint reads a signed varint.
func (c *Cursor) Varint() int64 {
	v := c.Uvarint()
	return int64(v>>1) ^ -int64(v&1)
}

// Count reads how many elements follow; each takes a byte at least.
func (c *Cursor) Count() int {
	v := c.Uvarint()
	if v > uint64(len(c.s)) {
		c.Fail()
		return 0
	}
	return int(v)
}

// Str reads what AppendString wrote.
func (c *Cursor) Str() string { return c.Bytes(c.Count()) }

// Bytes reads n bytes.
func (c *Cursor) Bytes(n int) string {
	if n > len(c.s) {
		c.Fail()
		return ""
	}
	s := c.s[:n]
	c.s = c.s[n:]
	return s
}

// Fixed reads eight bytes, little endian.
func (c *Cursor) Fixed() uint64 {
	b := c.Bytes(8)
	if b == "" {
		return 0
	}
	return binary.LittleEndian.Uint64([]byte(b))
}

// List reads what AppendList wrote, nil for none.
func (c *Cursor) List() []string {
	n := c.Count()
	if n == 0 {
		return nil
	}
	out := make([]string, n)
	for i := range out {
		out[i] = c.Str()
	}
	return out
}

// Links reads what AppendLinks wrote, nil for none.
func (c *Cursor) Links() []schemas.Link {
	n := c.Count()
	if n == 0 {
		return nil
	}
	out := make([]schemas.Link, n)
	for i := range out {
		out[i] = schemas.Link{Rel: schemas.Rel(c.Str()), To: c.Str()}
	}
	return out
}

// Float reads what AppendFloat wrote.
func (c *Cursor) Float() float64 { return math.Float64frombits(c.Fixed()) }

// Time reads what AppendTime wrote, in UTC.
func (c *Cursor) Time() time.Time {
	nanos := c.Uvarint()
	if nanos == 0 {
		return time.Time{}
	}
	sec := c.Varint()
	if nanos > 1e9 {
		c.Fail()
		return time.Time{}
	}
	return time.Unix(sec, int64(nanos)-1).UTC()
}
