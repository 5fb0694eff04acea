package memory

import (
	"fmt"

	"satchel/pipeline/language"
	"satchel/pipeline/store/keyword"
)

// keptAnalyzers is how many analyzers stay for the next batch.
const keptAnalyzers = 64

// inOrder checks the order of positions, and that every document put has an id.
func inOrder(changes []keyword.Change, upTo int64) error {
	last := int64(0)
	for i := range changes {
		c := &changes[i]
		if c.Position < last || c.Position > upTo {
			return fmt.Errorf("position %d after %d, up to %d: %w", c.Position, last, upTo, ErrOrder)
		}
		last = c.Position
		if c.Put != nil && c.Put.ID == "" {
			return fmt.Errorf("position %d: item has no id", c.Position)
		}
	}
	return nil
}

// Prepare implements sharedState: it analyses the texts.
func (s *keywordState) Prepare(changes []keyword.Change) func() error {
	for len(s.analyzers) < len(changes) {
		s.analyzers = append(s.analyzers, language.Analyzer{})
	}
	for i := range changes {
		if changes[i].Put != nil {
			s.analyzers[i].Analyze(changes[i].Put.Text)
		}
	}
	return func() error {
		for i := range changes {
			c := &changes[i]
			for _, id := range c.Remove {
				s.removeDocument(id)
			}
			if d := c.Put; d != nil {
				if err := s.putDocument(d.ID, d.Position, d.Facets, &s.analyzers[i]); err != nil {
					return err
				}
			}
		}
		s.analyzers = s.analyzers[:min(len(s.analyzers), keptAnalyzers)]
		return nil
	}
}
