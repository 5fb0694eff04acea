package profile

import (
	"encoding/binary"
	"errors"
	"math"

	"satchel/schemas"

	"satchel/pipeline/store/internal/idtable"
)

// ErrCorrupt is returned by Decode for bytes that AppendTo did not write.
var ErrCorrupt = errors.New("profile snapshot is damaged")

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

// Decode reads a snapshot from the head of src and returns the dictionary and what follows.
func Decode(src []byte) (*Dict, []byte, error) {
	d := New()
	r := &reader{b: src}
	for range r.count() {
		f := r.words()
		code := string(appendWords(nil, &f))
		if _, dup := d.wordsByCode[code]; dup || r.bad {
			return nil, nil, ErrCorrupt
		}
		d.wordsByCode[code] = uint32(len(d.words))
		d.words = append(d.words, f)
		d.size += 2*len(code) + 400
	}
	sessions, rest, err := idtable.Decode(r.b)
	if r.bad || err != nil || sessions.Live() != sessions.Len() {
		return nil, nil, ErrCorrupt
	}
	for i := range sessions.Len() {
		if sessions.ID(uint32(i))[0] != '=' {
			return nil, nil, ErrCorrupt
		}
	}
	d.sessions, r.b = sessions, rest
	for range r.count() {
		n := numbers{r.fixed(), r.fixed()}
		if int(d.internNumbers(n))+1 != len(d.numbers) || r.bad {
			return nil, nil, ErrCorrupt
		}
	}
	for i := range r.count() {
		k := key{r.number(len(d.words)), r.number(sessions.Len()), r.number(len(d.numbers))}
		if r.bad || d.put(k) != uint32(i) {
			return nil, nil, ErrCorrupt
		}
	}
	if r.bad {
		return nil, nil, ErrCorrupt
	}
	return d, r.b, nil
}

// reader takes values from the head of b; bad is set once something does not fit.
type reader struct {
	b   []byte
	bad bool
}

func (r *reader) uvarint() uint64 {
	v, n := binary.Uvarint(r.b)
	if n <= 0 {
		r.bad, r.b = true, nil
		return 0
	}
	r.b = r.b[n:]
	return v
}

// count reads how many elements follow; each takes a byte at least.
func (r *reader) count() int {
	v := r.uvarint()
	if v > uint64(len(r.b)) {
		r.bad = true
		return 0
	}
	return int(v)
}

func (r *reader) number(below int) uint32 {
	v := r.uvarint()
	if v >= uint64(below) {
		r.bad = true
		return 0
	}
	return uint32(v)
}

func (r *reader) fixed() uint64 {
	if len(r.b) < 8 {
		r.bad, r.b = true, nil
		return 0
	}
	v := binary.LittleEndian.Uint64(r.b)
	r.b = r.b[8:]
	return v
}

func (r *reader) str() string {
	n := r.count()
	s := string(r.b[:n])
	r.b = r.b[n:]
	return s
}

func (r *reader) list() []string {
	var out []string
	for range r.count() {
		out = append(out, r.str())
	}
	return out
}

func (r *reader) words() schemas.Facets {
	f := schemas.Facets{Kind: schemas.Kind(r.str()), Type: schemas.MemoryType(r.str()), Category: r.str(), Signer: r.str()}
	f.Labels, f.Groups, f.Purposes = r.list(), r.list(), r.list()
	level, n := binary.Varint(r.b)
	if n <= 0 || n >= len(r.b) || level < math.MinInt32 || level > math.MaxInt32 {
		r.bad = true
		return f
	}
	flags := r.b[n]
	r.b = r.b[n+1:]
	f.Level, f.PII, f.Credentials = schemas.Level(level), flags&1 != 0, flags&2 != 0
	r.bad = r.bad || flags > 3
	return f
}
