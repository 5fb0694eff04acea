package columns

import (
	"encoding/binary"
	"errors"
	"math"
	"strings"

	"satchel/schemas"
)

// ErrCorruptDict is returned by Decode for bytes that AppendTo did not write.
var ErrCorruptDict = errors.New("profile snapshot is damaged")

// AppendTo appends a snapshot: the words, the sessions, the numbers and the profiles,
// each in order of number with its count before it.
func (d *Dict) AppendTo(b []byte) []byte {
	b = binary.AppendUvarint(b, uint64(len(d.words)))
	for i := range d.words {
		b = appendWords(b, &d.words[i])
	}
	b = d.sessions.AppendTo(b)
	b = binary.AppendUvarint(b, uint64(len(d.numbers)))
	for _, n := range d.numbers {
		b = binary.LittleEndian.AppendUint64(b, n.trust)
		b = binary.LittleEndian.AppendUint64(b, n.sensitivity)
	}
	b = binary.AppendUvarint(b, uint64(len(d.profiles)))
	for _, k := range d.profiles {
		b = binary.AppendUvarint(b, uint64(k.words))
		b = binary.AppendUvarint(b, uint64(k.session))
		b = binary.AppendUvarint(b, uint64(k.numbers))
	}
	return b
}

// DecodeDict reads what AppendTo appended. What it keeps is copied.
func DecodeDict(c *Cursor) (*Dict, error) {
	d := NewDict()
	for range c.Count() {
		f := readWords(c)
		code := string(appendWords(nil, &f))
		if _, dup := d.wordsByCode[code]; dup || !c.OK() {
			return nil, ErrCorruptDict
		}
		d.wordsByCode[code] = uint32(len(d.words))
		d.words = append(d.words, f)
		d.size += 2*len(code) + 400
	}
	sessions, err := DecodeIDs(c)
	if err != nil || sessions.Live() != sessions.Len() {
		return nil, ErrCorruptDict
	}
	for i := range sessions.Len() {
		if sessions.ID(uint32(i))[0] != '=' {
			return nil, ErrCorruptDict
		}
	}
	d.sessions = sessions
	for range c.Count() {
		n := numbers{c.Fixed(), c.Fixed()}
		if int(d.internNumbers(n))+1 != len(d.numbers) || !c.OK() {
			return nil, ErrCorruptDict
		}
	}
	number := func(below int) uint32 {
		v := c.Uvarint()
		if v >= uint64(below) {
			c.Fail()
		}
		return uint32(v)
	}
	for i := range c.Count() {
		k := key{number(len(d.words)), number(sessions.Len()), number(len(d.numbers))}
		if !c.OK() || d.addProfile(k) != uint32(i) {
			return nil, ErrCorruptDict
		}
	}
	if !c.OK() {
		return nil, ErrCorruptDict
	}
	return d, nil
}

// readWords reads what appendWords appended, into memory of its own.
func readWords(c *Cursor) schemas.Facets {
	word := func() string { return strings.Clone(c.Str()) }
	list := func() []string {
		out := c.List()
		for i := range out {
			out[i] = strings.Clone(out[i])
		}
		return out
	}
	f := schemas.Facets{Kind: schemas.Kind(word()), Type: schemas.MemoryType(word()), Category: word(), Signer: word()}
	f.Labels, f.Groups, f.Purposes = list(), list(), list()
	level := c.Varint()
	flags := c.Byte()
	if level < math.MinInt32 || level > math.MaxInt32 || flags > 3 {
		c.Fail()
	}
	f.Level = schemas.Level(level)
	f.PII = flags&1 != 0
	f.Credentials = flags&2 != 0
	return f
}
