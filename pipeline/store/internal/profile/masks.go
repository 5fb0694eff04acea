package profile

import (
	"encoding/binary"
	"slices"

	"satchel/schemas"
)

// MaxFilters is how many filters Masks takes at once.
const MaxFilters = 8

// maxMasked bounds the lists of filters whose masks are kept.
const maxMasked = 32

// masked is the masks of a list of filters over the profiles known so far. Like
// answer.allowed they are only ever appended to.
type masked struct {
	used  uint64
	masks []uint8
}

// Masks reports for every profile which of at most MaxFilters filters let it through, the
// first in the lowest bit: the result has Len elements and MUST NOT be changed. Answers
// are cached by the list of filters and extended when the dictionary has grown.
func (d *Dict) Masks(filters []schemas.Filter) []uint8 {
	var name []byte
	for _, f := range filters {
		conds := f.Conds()
		count := uint64(len(conds)) + 1
		if f.IsNone() {
			count = 0
		}
		name = appendConds(binary.AppendUvarint(name, count), conds)
	}
	d.cache.mu.Lock()
	defer d.cache.mu.Unlock()
	m := d.cache.masksOf(string(name))
	from := len(m.masks)
	if from == len(d.profiles) {
		return m.masks[:from:from]
	}
	m.masks = slices.Grow(m.masks, len(d.profiles)-from)[:len(d.profiles)]
	clear(m.masks[from:])
	for bit, f := range filters {
		if f.IsNone() {
			continue
		}
		conds := f.Conds()
		a := d.cache.get(string(appendConds(nil, conds)), conds)
		d.extend(a)
		for i := from; i < len(d.profiles); i++ {
			if a.allowed[i] {
				m.masks[i] |= 1 << bit
			}
		}
	}
	return m.masks[:len(d.profiles):len(d.profiles)]
}

func (c *cache) masksOf(name string) *masked {
	c.clock++
	m, ok := c.masks[name]
	if !ok {
		if c.masks == nil {
			c.masks = map[string]*masked{}
		}
		if len(c.masks) >= maxMasked {
			oldest := ""
			for n, other := range c.masks {
				if oldest == "" || other.used < c.masks[oldest].used {
					oldest = n
				}
			}
			delete(c.masks, oldest)
		}
		m = &masked{}
		c.masks[name] = m
	}
	m.used = c.clock
	return m
}
