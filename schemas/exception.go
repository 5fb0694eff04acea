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
	Path            string    `json:"path"`                 // action:reason, for which policy denies
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

// ExceptionPaths lists what an exception can lift of the built-in policy: an action and the
// reason for which it denies, "pii" for a redaction. Nothing lifts the tenant.
func ExceptionPaths() []string {
	paths := make([]string, 0, 24)
	for _, action := range []string{"read", "open"} {
		for _, reason := range []string{"credentials", "clearance", "sensitivity", "groups", "purpose", "export", "trust", "expired", "no_longer_valid", "pii"} {
			paths = append(paths, action+":"+reason)
		}
	}
	return append(paths, "erase:role", "change:role", "relabel:role", "use:safety", "use:safety_untagged")
}

// exceptionPath reports whether an exception can name a path: one of ExceptionPaths, or
// another reason, which a policy of one's own may deny for.
func exceptionPath(path string) bool {
	if slices.Contains(ExceptionPaths(), path) {
		return true
	}
	action, reason, _ := strings.Cut(path, ":")
	switch action {
	case "read", "open", "write", "erase", "change", "relabel", "register", "follow", "act", "use":
	default:
		return false
	}
	switch reason {
	case "", "allowed", "tenant", "action", "source", "policy_error", "exception", "pii",
		"credentials", "clearance", "sensitivity", "groups", "purpose", "export", "trust", "expired", "no_longer_valid", "role", "safety", "safety_untagged":
		return false // none of these is lifted but as ExceptionPaths says
	}
	return len(reason) <= 64 && strings.Trim(reason, "abcdefghijklmnopqrstuvwxyz0123456789_") == ""
}

// Validate returns what is wrong with the request, nil when it may be served.
func (r *ExceptionRequest) Validate() []Issue {
	var c checker
	c.checkAgent("/from", r.From)
	c.checkOptionalID("/revoke", r.Revoke)
	if r.Add != nil && r.Revoke != "" {
		c.addIssue("/revoke", "must not be given together with add")
	}
	if r.Add != nil {
		c.checkNewException("/add", r.Add)
	}
	return c.issues
}

func (c *checker) checkNewException(pointer string, n *NewException) {
	c.checkID(pointer+"/owner", n.Owner)
	if !exceptionPath(n.Path) {
		c.addIssue(pointer+"/path", orRequired(n.Path, "must be one of "+strings.Join(ExceptionPaths(), ", ")+", or ACTION:REASON of a reason of the policy's own"))
	}
	if len(n.Principals) == 0 {
		c.addIssue(pointer+"/principals", "must name who may use it")
	}
	c.checkCount(pointer+"/principals", len(n.Principals), MaxRefs, "entries")
	c.checkEachID(pointer+"/principals", n.Principals)
	c.checkShort(pointer+"/session", n.Session, MaxName)
	c.checkCount(pointer+"/labels", len(n.Labels), MaxLabels, "entries")
	for i, l := range n.Labels {
		if !ValidLabel(l) {
			c.addIssue(pointerAt(pointer+"/labels", i), "must be a label name:value")
		}
	}
	c.checkPurpose(pointer+"/purpose", n.Purpose)
	c.checkGiven(pointer+"/reason", n.Reason)
	c.checkShort(pointer+"/reason", n.Reason, MaxReason)
	if n.ExpiresAt.IsZero() {
		c.addIssue(pointer+"/expires_at", required)
	}
	c.checkGiven(pointer+"/rollback_trigger", n.RollbackTrigger)
	c.checkShort(pointer+"/rollback_trigger", n.RollbackTrigger, MaxName)
	c.checkOptionalToken(pointer+"/audit_hook", n.AuditHook)
}
