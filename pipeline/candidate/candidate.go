// Package candidate is what one stage of the pipeline hands to the next: an item with
// its scores, evidence, verdict and cost. Stages add to it; none takes away.
package candidate

import "satchel/schemas"

// Candidate is one item under consideration.
type Candidate struct {
	Record   schemas.Record
	Channels map[string]schemas.Channel // by retriever
	Signals  map[string]float64         // H4R signals, 0–1
	Fused    float64                    // fused z-score
	Score    float64                    // what it is ranked by, 0–1
	Span     *schemas.Span              // the best matching chunk
	Verdict  schemas.Verdict            // set by slicing; the zero verdict denies
	Text     string                     // what would be shown, after redaction
	Tokens   int                        // of Text as rendered
	Referred bool                       // the session was shown it before: its content is a reference
	Extract  *Extract                   // its content is an extract of the whole; nil: it is the whole
	Suspect  bool                       // it may carry instructions: shown within a fence
	Place    int                        // in the order in which a pack chose, from 1; 0 before
	Drop     schemas.DropReason         // "" while it is kept
	Detail   string                     // words about the drop
}

// Kept reports whether the candidate is still to be shown.
func (c *Candidate) Kept() bool { return c.Drop == "" }
