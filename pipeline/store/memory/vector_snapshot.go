package memory

import (
	"bufio"
	"encoding/binary"

	"satchel/pipeline/store/internal/columns"
)

// A snapshot is, between what snapshotFolder puts before and after it: magic; the tenant;
// the model; uvarints of the dimension and the checkpoint; the axes' names; the facets with
// their length before them; the items (id, position, profile, chunks: axis, start, length,
// numbers), each list with its count before it. Strings carry their length. Profiles are
// numbered again, so that only live ones are there.
const vectorMagic = "satchel vector 1\n"

// encodeVectorState writes the live part of s.
func (c *VectorConfig) encodeVectorState(w *bufio.Writer, tenant string, s *vectorState) error {
	b := columns.AppendString(columns.AppendString([]byte(vectorMagic), tenant), c.Model)
	b = binary.AppendUvarint(b, uint64(c.Dimensions))
	b = binary.AppendUvarint(b, uint64(s.Checkpoint))
	b = binary.AppendUvarint(b, uint64(len(s.axes)))
	number := make(map[string]uint64, len(s.axes))
	for i := range s.axes {
		number[s.axes[i].name] = uint64(i)
		b = columns.AppendString(b, s.axes[i].name)
	}
	dict, profiles := s.LiveFacets()
	b = columns.AppendString(b, string(dict.AppendTo(nil)))
	b = binary.AppendUvarint(b, uint64(s.Docs))
	if _, err := w.Write(b); err != nil {
		return err
	}
	var chunks []chunk
	rows := s.startWalk()
	for ord := range uint32(s.IDs.Len()) {
		prof := s.loadProfile(ord)
		if prof == vectorGone {
			continue
		}
		chunks = rows.readItemChunks(chunks[:0], ord)
		b = columns.AppendString(b[:0], s.IDs.ID(ord))
		b = binary.AppendUvarint(b, uint64(s.findPosition(ord)))
		b = binary.AppendUvarint(b, uint64(profiles[prof]))
		b = binary.AppendUvarint(b, uint64(len(chunks)))
		for _, ch := range chunks {
			b = binary.AppendUvarint(b, number[ch.axis])
			b = binary.AppendUvarint(b, uint64(ch.start))
			b = binary.AppendUvarint(b, uint64(ch.end-ch.start))
			b = append(b, asBytes(ch.row[:c.Dimensions])...)
		}
		if _, err := w.Write(b); err != nil {
			return err
		}
	}
	return nil
}
