package memory

import (
	"math"

	"satchel/pipeline/infra/vecmath"
	"satchel/pipeline/store/vector"
)

// Prepare implements sharedState: it quantises the vectors.
func (s *vectorState) Prepare(changes []vector.Change) func() error {
	ready := make([][]chunk, len(changes))
	var arena []int8
	for i := range changes {
		if changes[i].Put != nil {
			ready[i], arena = quantiseChunks(changes[i].Put, s.stride, arena)
		}
	}
	return func() error {
		for i := range changes {
			c := &changes[i]
			for _, id := range c.Remove {
				s.removeItem(id)
			}
			if d := c.Put; d != nil {
				if err := s.putVectorItem(d.ID, d.Position, d.Facets, ready[i]); err != nil {
					return err
				}
			}
		}
		return nil
	}
}

// quantiseChunks returns the chunks of d, their rows in arena, which it grows.
func quantiseChunks(d *vector.Doc, stride int, arena []int8) ([]chunk, []int8) {
	chunks := make([]chunk, len(d.Chunks))
	for i, c := range d.Chunks {
		at := len(arena)
		arena = append(arena, make([]int8, stride)...)
		row := arena[at : at+stride : at+stride]
		start := min(max(c.Span.Start, 0), math.MaxUint32)
		end := min(max(c.Span.End, start), math.MaxUint32)
		chunks[i] = chunk{axis: c.Axis, start: uint32(start), end: uint32(end), row: row, scale: vecmath.Quantise(row, c.Vector)}
	}
	return chunks, arena
}
