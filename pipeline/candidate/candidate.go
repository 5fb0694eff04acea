// Package candidate is what one stage of the pipeline hands to the next: an item with
// its scores, evidence, verdict and cost. Stages add to it; none takes away.
package candidate

import "satchel/schemas"

// Candidate is one item under consideration.
type Candidate struct {
	Record   schemas.Record
	Channels Channels           // shared with no other candidate
	Signals  *Signals           // shared with no other candidate; nil: they were not measured
	Fused    float64            // fused z-score
	Score    float64            // what it is ranked by, 0–1
	Span     *schemas.Span      // the best matching chunk
	Verdict  schemas.Verdict    // set by slicing; the zero verdict denies
	Text     string             // what would be shown, after redaction
	Tokens   int                // of Text as rendered
	Referred bool               // the session was shown it before: its content is a reference
	Extract  *Extract           // its content is an extract of the whole; nil: it is the whole
	Suspect  bool               // it may carry instructions: shown within a fence
	Place    int                // in the order in which a pack chose, from 1; 0 before
	Drop     schemas.DropReason // "" while it is kept
	Detail   string             // words about the drop
	Of       string             // id of the item that says the same, with schemas.DropDuplicate; "" where several do together
}

// ReasonRedacted is the reason of an item that policy allows but for all of its content.
const ReasonRedacted = "redacted_whole"

// Denial is why policy keeps a candidate back that is dropped for it: the reason of its
// verdict or, where that allows the item, ReasonRedacted.
func (c *Candidate) Denial() string {
	switch {
	case c.Verdict.Allow:
		return ReasonRedacted
	case c.Verdict.Reason == "":
		return "denied"
	}
	return c.Verdict.Reason
}

// Kept reports whether the candidate is still to be shown.
func (c *Candidate) Kept() bool { return c.Drop == "" }

// Masked reports whether policy lets the item be shown in part only: something of it is
// redacted, masked or cut.
func (c *Candidate) Masked() bool { return c.Verdict.Redact || c.Verdict.Obligations != nil }
