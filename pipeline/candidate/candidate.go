// Package candidate is what one stage of the pipeline hands to the next: an item as the
// principal may see it, with its scores, evidence, verdict and cost. Each stage sets the
// fields that are its own and changes no others.
package candidate

import (
	"time"

	"satchel/schemas"
)

// NothingMentions begins the line of a pack that has the names which nothing here has.
const NothingMentions = "Nothing here mentions: "

// Candidate is one item under consideration. Policy allows it: an item that policy denies
// never becomes a candidate. Copies of a Candidate share what its pointers lead to.
type Candidate struct {
	// Set by ranking.
	*Visible
	Verdict  schemas.Verdict // of the policy
	Channels Channels        // shared with no other candidate
	Signals  *Signals        // shared with no other candidate; nil: they were not measured
	Fused    float64         // fused z-score
	Standing float64         // what it is ordered and chosen by among the candidates of one request, 0–1
	Score    float64         // how much it bears on the question, 0–1; it compares between requests
	Linked   string          // the item by whose links it bears on the question, itself where the request names it; "" for none
	Needed   bool            // a pack must not leave it out for being worth less than others
	Span     *schemas.Span   // the best matching chunk
	Given    Given           // it is in the request without a search

	// Set by ranking to the whole; a tool's signature, a reference to an earlier pack or
	// an extract may replace it later.
	Content       schemas.Content
	ContentTokens int // cl100k tokens of "speaker: content" plus newline; 0: unknown

	// Set by the defenses and by packing.
	Suspect     bool               // it may carry instructions: shown within a fence
	Unjudged    bool               // nobody can tell whether it does: shown within a fence
	Withheld    []string           // names of the fields that look like injected instructions; Visible lacks them
	judged      bool               // every string of Visible was read for them
	Abbreviated bool               // the session was shown it before: its content is a reference
	Extract     *Extract           // its content is an extract of the whole; nil: it is the whole
	Quote       *Quote             // it is shown as a quotation from a document, code or a history; nil: it is not
	Drop        schemas.DropReason // "" while it is kept
	Detail      string             // words about the drop
	Also        []time.Time        // when the same text was written before
	Newer       string             // id of the newest version of what it says; "" where it is that itself
	Difference  string             // what it says otherwise than the newest
	Of          string             // id of the item that says the same, with schemas.DropDuplicate; "" where several do together

	// Set by packing.
	Credit Credit // where its writer is named
	Text   string // what would be shown
	Tokens int    // of Text as rendered
	Place  int    // in the order in which a pack chose, from 1; 0 before
}

// Credit says where a text names the writer of an item that has a speaker.
type Credit int8

// The places.
const (
	CreditOther  Credit = iota // beside a speaker that is another
	CreditAbove                // before all items
	CreditBeside               // beside whatever speaker
)

// Given says why an item is shown that no search has to find.
type Given int8

// The reasons.
const (
	NotGiven  Given = iota
	GivenNode       // a context node that the turn needs
	GivenTurn       // a turn of the request's session
)

// New returns a candidate of what may be seen of an item.
func New(v *Visible, verdict schemas.Verdict) Candidate {
	return Candidate{Visible: v, Verdict: verdict, Content: v.Content, ContentTokens: v.Counted}
}

// SetScore sets the score, and the standing to the same.
func (c *Candidate) SetScore(score float64) { c.Score, c.Standing = score, score }

// Replace puts another content in the place of the whole.
func (c *Candidate) Replace(text string) {
	c.Content = schemas.TextContent(text)
	c.ContentTokens = 0
}

// Fenced reports whether the text is shown within a fence that says that it is no
// instruction.
func (c *Candidate) Fenced() bool { return c.Suspect || c.Unjudged }

// Kept reports whether the candidate is still to be shown.
func (c *Candidate) Kept() bool { return c.Drop == "" }

// NotRead is the detail of a drop whose item was found and never read.
const NotRead = "not read"

// FillShows ends the detail of a drop that is for a pack which ends before its budget.
const FillShows = "; fill shows it"

// WorthLess is the detail of a drop where others are worth far more.
const WorthLess = "others are worth far more for their tokens" + FillShows

// Unread is an item that was found and never became a candidate: enough others stood before it.
type Unread struct {
	ID      string
	Signals *Signals
}

// Denied is an item that the principal may not see, and why: for the log and for auditors.
type Denied struct{ ID, Reason string }
