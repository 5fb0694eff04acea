package schemas

import (
	"slices"
	"strings"
	"time"
)

// ExceptionRequest asks ctx.v1.<tenant>.exception to add or to revoke a governed
// exception, or, with neither, to list them.
type ExceptionRequest struct {
	From   *Agent        `json:"from,omitempty"`   // who asks; policy says who may add and revoke
	Add    *NewException `json:"add,omitempty"`    // registers one
	Revoke string        `json:"revoke,omitempty"` // ends the one with this id
	Ended  bool          `json:"ended,omitempty"`  // lists those that have ended, too
}

// NewException is an exception to be registered.
type NewException struct {
	Owner           string    `json:"owner"`                // who answers for it, not who registers it
	Path            string    `json:"path"`                 // action:reason, one of ExceptionPaths
	Principals      []string  `json:"principals"`           // who may use it
	Session         string    `json:"session,omitempty"`    // only items of this session
	Labels          []string  `json:"labels,omitempty"`     // only items that carry all of them
	Purpose         string    `json:"purpose,omitempty"`    // only for requests with this purpose
	Reason          string    `json:"reason"`               // why it is needed
	ExpiresAt       time.Time `json:"expires_at"`           // it ends then at the latest
	RollbackTrigger string    `json:"rollback_trigger"`     // COUNTER>=N, or COUNTER>=N/DURATION
	AuditHook       string    `json:"audit_hook,omitempty"` // the agent token under which the ledger tells of every use; default satchel
}

// ExceptionReply answers an ExceptionRequest.
type ExceptionReply struct {
	Exceptions []ExceptionState `json:"exceptions"` // the one added or revoked, or the list, oldest first
}

// ExceptionState is an exception as it stands.
type ExceptionState struct {
	GovernedException
	Live     bool      `json:"live"`               // it can be used now
	Uses     int       `json:"uses"`               // so far
	EndedAt  time.Time `json:"ended_at,omitzero"`  // when it ended
	Position int64     `json:"position,omitempty"` // log position of its registration
}

// ExceptionPaths lists what an exception can lift: an action of policy and the reason
// for which it denies, "pii" for a redaction and "unavailable" for a decision point that
// does not answer. Nothing lifts the tenant.
func ExceptionPaths() []string {
	paths := make([]string, 0, 24)
	for _, action := range []string{"read", "open"} {
		for _, reason := range []string{"credentials", "clearance", "groups", "purpose", "export", "trust", "expired", "no_longer_valid", "pii", "unavailable"} {
			paths = append(paths, action+":"+reason)
		}
	}
	return append(paths, "erase:role", "use:safety", "use:safety_untagged")
}

// Validate returns what is wrong with the request, nil when it may be served.
func (r *ExceptionRequest) Validate() []Issue {
	var c checker
	c.agent("/from", r.From)
	if r.Revoke != "" {
		c.id("/revoke", r.Revoke)
	}
	if r.Add != nil && r.Revoke != "" {
		c.add("/revoke", "must not be given together with add")
	}
	if r.Add != nil {
		c.newException("/add", r.Add)
	}
	return c.issues
}

func (c *checker) newException(pointer string, n *NewException) {
	c.id(pointer+"/owner", n.Owner)
	if !slices.Contains(ExceptionPaths(), n.Path) {
		c.add(pointer+"/path", orRequired(n.Path, "must be one of "+strings.Join(ExceptionPaths(), ", ")))
	}
	if len(n.Principals) == 0 {
		c.add(pointer+"/principals", "must name who may use it")
	}
	if len(n.Principals) > MaxRefs {
		c.add(pointer+"/principals", "must have at most 256 entries")
	}
	for i, p := range n.Principals {
		c.id(at(pointer+"/principals", i), p)
	}
	c.short(pointer+"/session", n.Session, MaxName)
	if len(n.Labels) > MaxLabels {
		c.add(pointer+"/labels", "must have at most 64 entries")
	}
	for i, l := range n.Labels {
		if !ValidLabel(l) {
			c.add(at(pointer+"/labels", i), "must be a label name:value")
		}
	}
	c.purpose(pointer+"/purpose", n.Purpose)
	if isBlank(n.Reason) {
		c.add(pointer+"/reason", required)
	}
	c.short(pointer+"/reason", n.Reason, MaxReason)
	if n.ExpiresAt.IsZero() {
		c.add(pointer+"/expires_at", required)
	}
	if isBlank(n.RollbackTrigger) {
		c.add(pointer+"/rollback_trigger", required)
	}
	c.short(pointer+"/rollback_trigger", n.RollbackTrigger, MaxName)
	if n.AuditHook != "" {
		c.token(pointer+"/audit_hook", n.AuditHook)
	}
}
