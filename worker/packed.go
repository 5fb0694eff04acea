package worker

import (
	"bytes"
	"encoding/json"
	"time"
)

// packed is what counts of a schemas.ContextPack once it is logged.
type packed struct {
	CreatedAt time.Time `json:"created_at"`
	Sections  []struct {
		Items []struct {
			ID string `json:"id"`
		} `json:"items"`
	} `json:"sections"`
}

// readPacked returns when a logged pack was made and the ids of the items it shows. Nearly
// all of a pack is something else, so it is passed over unread; a pack that is not written
// as the engine writes one is decoded.
func readPacked(data []byte) (at time.Time, ids []string, err error) {
	c := cursor{rest: data}
	c.object(func(name []byte) {
		switch string(name) {
		case "created_at":
			c.failed = at.UnmarshalJSON(c.value()) != nil || c.failed
		case "sections":
			c.each("items", func() {
				c.each("id", func() { ids = append(ids, string(c.text())) })
			})
		default:
			c.value()
		}
	})
	if !c.failed && len(c.rest) == 0 {
		return at, ids, nil
	}
	var p packed
	if err := json.Unmarshal(data, &p); err != nil {
		return time.Time{}, nil, err
	}
	ids = nil
	for _, section := range p.Sections {
		for _, item := range section.Items {
			ids = append(ids, item.ID)
		}
	}
	return p.CreatedAt, ids, nil
}

// cursor walks over valid JSON without white space, as encoding/json writes it. What it
// does not understand makes it fail, and then it stands still.
type cursor struct {
	rest   []byte
	failed bool
}

// take passes over the byte b, or fails.
func (c *cursor) take(b byte) {
	if c.failed = c.failed || len(c.rest) == 0 || c.rest[0] != b; !c.failed {
		c.rest = c.rest[1:]
	}
}

// at reports whether b comes next.
func (c *cursor) at(b byte) bool { return !c.failed && len(c.rest) > 0 && c.rest[0] == b }

// list calls element for each element between open and end; it has to pass over it.
func (c *cursor) list(open, end byte, element func()) {
	c.take(open)
	if c.at(end) {
		c.take(end)
		return
	}
	for !c.failed {
		element()
		if c.at(end) {
			c.take(end)
			return
		}
		c.take(',')
	}
}

// each calls found at the member that is called name of each object of an array; it has to
// pass over its value.
func (c *cursor) each(name string, found func()) {
	c.list('[', ']', func() {
		c.object(func(other []byte) {
			if string(other) == name {
				found()
			} else {
				c.value()
			}
		})
	})
}

// object calls member for each member, which has to pass over its value.
func (c *cursor) object(member func(name []byte)) {
	c.list('{', '}', func() {
		name := c.text()
		c.take(':')
		if !c.failed {
			member(name)
		}
	})
}

// text passes over a string without escapes and returns it.
func (c *cursor) text() []byte {
	raw := c.value()
	if c.failed || len(raw) < 2 || raw[0] != '"' || bytes.IndexByte(raw, '\\') >= 0 {
		c.failed = true
		return nil
	}
	return raw[1 : len(raw)-1]
}

// value passes over a value and returns it.
func (c *cursor) value() []byte {
	depth := 0
	for i := 0; i < len(c.rest) && !c.failed; i++ {
		switch c.rest[i] {
		case '"':
			i += stringEnd(c.rest[i:])
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		}
		if depth == 0 && (i+1 == len(c.rest) || ends(c.rest[i+1])) {
			raw := c.rest[:i+1]
			c.rest = c.rest[i+1:]
			return raw
		}
	}
	c.failed = true
	return nil
}

// ends reports whether b comes behind a value only.
func ends(b byte) bool { return b == ',' || b == ':' || b == '}' || b == ']' }

// stringEnd returns the offset of the quote that ends the string at the start of b, that of
// the last byte when none does.
func stringEnd(b []byte) int {
	for i := 1; i < len(b); i++ {
		n := bytes.IndexByte(b[i:], '"')
		if n < 0 {
			break
		}
		i += n
		if before := bytes.TrimRight(b[1:i], "\\"); (i-1-len(before))%2 == 0 {
			return i
		}
	}
	return len(b) - 1
}
