package items

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"time"

	"satchel/schemas"
)

// ErrCorrupt is returned for a stored row that cannot be what was written.
var ErrCorrupt = errors.New("item store is damaged")

func corrupt(what string) error { return fmt.Errorf("decode %s: %w", what, ErrCorrupt) }

func appendString(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

func appendList(b []byte, list []string) []byte {
	b = binary.AppendUvarint(b, uint64(len(list)))
	for _, s := range list {
		b = appendString(b, s)
	}
	return b
}

func appendLinks(b []byte, links []schemas.Link) []byte {
	b = binary.AppendUvarint(b, uint64(len(links)))
	for _, l := range links {
		b = appendString(appendString(b, string(l.Rel)), l.To)
	}
	return b
}

func appendFloat(b []byte, v float64) []byte {
	return binary.LittleEndian.AppendUint64(b, math.Float64bits(v))
}

// appendTime writes 0 for the zero time, else 1 + nanoseconds and the Unix seconds.
func appendTime(b []byte, t time.Time) []byte {
	if t.IsZero() {
		return append(b, 0)
	}
	return binary.AppendVarint(binary.AppendUvarint(b, uint64(t.Nanosecond())+1), t.Unix())
}

// cursor reads values from the head of s. Strings it returns share the memory of s.
// bad is set once something does not fit; values are zero from then on.
type cursor struct {
	s   string
	bad bool
}

func (c *cursor) fail() { c.s, c.bad = "", true }

// end reports whether everything was read and fitted.
func (c *cursor) end(what string) error {
	if c.bad || c.s != "" {
		return corrupt(what)
	}
	return nil
}

func (c *cursor) version(want byte) {
	if c.byte() != want {
		c.fail()
	}
}

func (c *cursor) byte() byte {
	if c.s == "" {
		c.fail()
		return 0
	}
	v := c.s[0]
	c.s = c.s[1:]
	return v
}

func (c *cursor) uvarint() uint64 {
	var v uint64
	for i := 0; i < len(c.s) && i < binary.MaxVarintLen64; i++ {
		b := c.s[i]
		v |= uint64(b&0x7f) << (7 * i)
		if b < 0x80 {
			c.s = c.s[i+1:]
			return v
		}
	}
	c.fail()
	return 0
}

func (c *cursor) varint() int64 {
	v := c.uvarint()
	return int64(v>>1) ^ -int64(v&1)
}

// count reads how many elements follow; each takes a byte at least.
func (c *cursor) count() int {
	v := c.uvarint()
	if v > uint64(len(c.s)) {
		c.fail()
		return 0
	}
	return int(v)
}

func (c *cursor) str() string {
	n := c.count()
	s := c.s[:n]
	c.s = c.s[n:]
	return s
}

func (c *cursor) list() []string {
	n := c.count()
	if n == 0 {
		return nil
	}
	out := make([]string, n)
	for i := range out {
		out[i] = c.str()
	}
	return out
}

func (c *cursor) links() []schemas.Link {
	n := c.count()
	if n == 0 {
		return nil
	}
	out := make([]schemas.Link, n)
	for i := range out {
		out[i] = schemas.Link{Rel: schemas.Rel(c.str()), To: c.str()}
	}
	return out
}

func (c *cursor) float() float64 {
	if len(c.s) < 8 {
		c.fail()
		return 0
	}
	v := binary.LittleEndian.Uint64([]byte(c.s[:8]))
	c.s = c.s[8:]
	return math.Float64frombits(v)
}

func (c *cursor) time() time.Time {
	nanos := c.uvarint()
	if nanos == 0 {
		return time.Time{}
	}
	sec := c.varint()
	if nanos > 1e9 {
		c.fail()
		return time.Time{}
	}
	return time.Unix(sec, int64(nanos)-1).UTC()
}
