package schemas

import (
	"slices"
	"time"
)

// HoldRequest asks ctx.v1.<tenant>.hold to place or to release a legal hold, or, with
// neither, to list them.
type HoldRequest struct {
	From     *Agent   `json:"from,omitempty"`     // who asks; policy says who may place, release and list
	Place    *NewHold `json:"place,omitempty"`    // places one
	Release  string   `json:"release,omitempty"`  // releases the one with this id
	Reason   string   `json:"reason,omitempty"`   // why it is released
	Released bool     `json:"released,omitempty"` // lists those that were released, too
}

// NewHold is a legal hold to be placed. It names items, or a session, a label or an agent whose
// items it keeps: one of the four.
type NewHold struct {
	Items   []string `json:"items,omitempty"`   // these items
	Absent  bool     `json:"absent,omitempty"`  // items may be ids that are not there, or not yet
	Session string   `json:"session,omitempty"` // every item of this session
	Label   string   `json:"label,omitempty"`   // every item that carries this label
	Agent   string   `json:"agent,omitempty"`   // every item that this agent published
	Matter  string   `json:"matter,omitempty"`  // the case that it is for
	Reason  string   `json:"reason"`            // why the items are kept
}

// HoldReply answers a HoldRequest.
type HoldReply struct {
	Holds []HoldState `json:"holds"` // the one placed or released, or the list, oldest first
}

// HoldState is a legal hold as it stands.
type HoldState struct {
	LegalHold
	Live          bool      `json:"live"`                     // it keeps its items now
	Position      int64     `json:"position,omitempty"`       // log position of its placing
	ReleasedAt    time.Time `json:"released_at,omitzero"`     // when it was released
	ReleasedBy    string    `json:"released_by,omitempty"`    // who released it
	ReleaseReason string    `json:"release_reason,omitempty"` // why it was released
}

// Validate returns what is wrong with the request, nil when it may be served.
func (r *HoldRequest) Validate() []Issue {
	var c checker
	c.checkAgent("/from", r.From)
	c.checkOptionalID("/release", r.Release)
	if r.Place != nil && r.Release != "" {
		c.addIssue("/release", "must not be given together with place")
	}
	c.checkShort("/reason", r.Reason, MaxReason)
	if r.Place != nil {
		c.checkNewHold("/place", r.Place)
	}
	return c.issues
}

func (c *checker) checkNewHold(pointer string, n *NewHold) {
	c.checkCount(pointer+"/items", len(n.Items), MaxRefs, "entries")
	c.checkEachID(pointer+"/items", n.Items)
	c.checkShort(pointer+"/session", n.Session, MaxName)
	if n.Label != "" && !ValidLabel(n.Label) {
		c.addIssue(pointer+"/label", "must be a label name:value")
	}
	c.checkOptionalToken(pointer+"/agent", n.Agent)
	named := slices.DeleteFunc([]bool{len(n.Items) > 0, n.Session != "", n.Label != "", n.Agent != ""}, func(given bool) bool { return !given })
	if len(named) != 1 {
		c.addIssue(pointer, "must name items, a session, a label or an agent, and one of these alone")
	}
	if n.Absent && len(n.Items) == 0 {
		c.addIssue(pointer+"/absent", "is for a hold on items")
	}
	c.checkShort(pointer+"/matter", n.Matter, MaxName)
	c.checkGiven(pointer+"/reason", n.Reason)
	c.checkShort(pointer+"/reason", n.Reason, MaxReason)
}
