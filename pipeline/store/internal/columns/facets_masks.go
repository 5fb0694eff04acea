package columns

import (
	"encoding/binary"
	"slices"
	"unsafe"

	"satchel/schemas"
)

// MaxFilters is how many filters Masks takes at once.
const MaxFilters = 8

// maxMasked bounds the lists of several filters whose masks are kept, a byte a profile each.
const maxMasked = 64

// masked is the masks of a list of filters over the profiles known so far. Like
// answer.allowed they are only ever appended to.
type masked struct {
	used  uint64
	masks []uint8
}

// Masks reports for every profile which of at most MaxFilters filters let it through, the
// first in the lowest bit: the result has Len elements and MUST NOT be changed. Answers
// are cached by the list of filters and extended when the dictionary has grown; those of a
// list of one are what Allowed keeps.
func (d *Dict) Masks(filters []schemas.Filter) []uint8 {
	if len(filters) == 1 {
		return asBytes(d.Allowed(filters[0]))
	}
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
		a := d.cache.obtainAnswer(string(appendConds(nil, conds)), conds)
		d.extendAnswer(a)
		for i, allowed := range asBytes(a.allowed[from:len(d.profiles)]) {
			m.masks[from+i] |= allowed << bit
		}
	}
	return m.masks[:len(d.profiles):len(d.profiles)]
}

// asBytes is b seen as bytes: true is 1, false 0.
func asBytes(b []bool) []uint8 {
	return unsafe.Slice((*uint8)(unsafe.Pointer(unsafe.SliceData(b))), len(b))
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
