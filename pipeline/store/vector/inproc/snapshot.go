package inproc

import (
	"bufio"
	"encoding/binary"
	"errors"

	"satchel/pipeline/store/internal/profile"
	"satchel/pipeline/store/internal/snapfile"
)

// ErrDamaged is what Config.OnError is told of a snapshot that cannot be read.
var ErrDamaged = snapfile.ErrDamaged

// errForeign says that a snapshot holds vectors of another model or dimension.
var errForeign = errors.New("vector snapshot is of another model")

// A snapshot is: magic; the tenant; the model; uvarints of the dimension and the
// checkpoint; the axes' names; the facets with their length before them; the items (id,
// position, profile, chunks: axis, start, length, numbers), each list with its count
// before it; SHA-256 of all that. Strings carry their length. Profiles are numbered anew,
// so that only live ones are there.
const magic = "satchel vector 1\n"

// encoder returns what writes the tenant's snapshot.
func (c *Config) encoder(tenant string, s *state) func(*bufio.Writer) error {
	return func(w *bufio.Writer) error {
		b := appendString(appendString([]byte(magic), tenant), c.Model)
		if _, err := w.Write(binary.AppendUvarint(b, uint64(c.Dimensions))); err != nil {
			return err
		}
		return s.encode(w, c.Dimensions)
	}
}

// encode writes the live part of s.
func (s *state) encode(w *bufio.Writer, dims int) error {
	b := binary.AppendUvarint(nil, uint64(s.checkpoint))
	b = binary.AppendUvarint(b, uint64(len(s.axes)))
	number := make(map[string]uint64, len(s.axes))
	for i := range s.axes {
		number[s.axes[i].name] = uint64(i)
		b = appendString(b, s.axes[i].name)
	}
	facets := profile.New()
	profiles := make([]uint32, s.facets.Len())
	for p, live := range s.live {
		if live > 0 {
			profiles[p] = facets.Intern(s.facets.Facets(uint32(p)))
		}
	}
	b = appendString(b, string(facets.AppendTo(nil)))
	b = binary.AppendUvarint(b, uint64(s.docs))
	if _, err := w.Write(b); err != nil {
		return err
	}
	var chunks []chunk
	rows := s.walk()
	for ord := range uint32(s.ids.Len()) {
		prof := s.profile(ord)
		if prof == gone {
			continue
		}
		chunks = rows.of(chunks[:0], ord)
		b = appendString(b[:0], s.ids.ID(ord))
		b = binary.AppendUvarint(b, uint64(s.items[ord/pageSize].positions[ord%pageSize].int64()))
		b = binary.AppendUvarint(b, uint64(profiles[prof]))
		b = binary.AppendUvarint(b, uint64(len(chunks)))
		for _, c := range chunks {
			b = binary.AppendUvarint(b, number[c.axis])
			b = binary.AppendUvarint(b, uint64(c.start))
			b = binary.AppendUvarint(b, uint64(c.end-c.start))
			b = append(b, asBytes(c.row[:dims])...)
		}
		if _, err := w.Write(b); err != nil {
			return err
		}
	}
	return nil
}
