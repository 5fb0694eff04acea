package schemas

import "time"

// Handover is the data of role.handed_over: one role passed work to the next.
type Handover struct {
	ID        string    `json:"id"`                // of the handover
	RequestID string    `json:"request_id"`        // the request it belongs to
	From      string    `json:"from"`              // role
	To        string    `json:"to"`                // role
	PackID    string    `json:"pack_id,omitempty"` // context handed over
	Reason    string    `json:"reason"`            // why this role is next
	Principal string    `json:"principal"`         // for whom
	CreatedAt time.Time `json:"created_at"`        // when

	Policy        AppliedPolicy    `json:"policy"`               // the verdict that let the role act
	MessageSHA256 string           `json:"message_sha256"`       // hex, of the message handed over, which is attached and has a salt
	External      bool             `json:"external,omitempty"`   // another process played the role
	Steps         int              `json:"steps,omitempty"`      // of the planner's plan
	Cited         []string         `json:"cited,omitempty"`      // items that the answer cites
	Invocation    *ModelInvocation `json:"invocation,omitempty"` // of the synthesizer, its hashes salted
	Checks        []Check          `json:"checks,omitempty"`     // of the verifier
	Findings      []Finding        `json:"findings,omitempty"`   // of the sentinel
}

// Artifact is the data of artifact.stored and artifact.opened: heavy content kept
// outside the model's context.
type Artifact struct {
	ID        string      `json:"id"`                    // of the artifact: "sha256:" and the hex hash
	Ref       ArtifactRef `json:"ref"`                   // where its bytes are
	MediaType string      `json:"media_type"`            // of the bytes
	ItemID    string      `json:"item_id,omitempty"`     // the item whose content is an extract of it
	RequestID string      `json:"request_id,omitempty"`  // the request that opened it
	Principal string      `json:"principal"`             // who stored or opened it
	Purpose   string      `json:"purpose,omitempty"`     // what it was opened for
	Decision  string      `json:"decision_id,omitempty"` // the verdict that allowed it
	HandleID  string      `json:"handle_id,omitempty"`   // of the handle it was opened by
	Via       string      `json:"via,omitempty"`         // nats or http
	Offset    int         `json:"offset,omitempty"`      // first byte that was to be shown
	Masked    bool        `json:"masked,omitempty"`      // masking of personal data was applied
	ExpiresAt time.Time   `json:"expires_at,omitzero"`   // of the handle
	CreatedAt time.Time   `json:"created_at"`            // when it was stored or opened
}

// GovernedException is the data of exception.registered, exception.used and
// exception.ended: a path that may step around policy for a while, with an owner.
type GovernedException struct {
	ID              string      `json:"id"`                     // of the exception
	Owner           string      `json:"owner"`                  // who answers for it
	Scope           MemoryScope `json:"scope"`                  // where it holds: the tenant, and a session if one is named
	Path            string      `json:"path"`                   // what it lets through: action:reason, as read:clearance
	Principals      []string    `json:"principals"`             // who may use it
	Labels          []string    `json:"labels,omitempty"`       // an item must carry all of them
	Purpose         string      `json:"purpose,omitempty"`      // only for requests with this purpose
	Reason          string      `json:"reason"`                 // why it is needed
	ExpiresAt       time.Time   `json:"expires_at"`             // it ends then at the latest
	RollbackTrigger string      `json:"rollback_trigger"`       // what ends it at once: COUNTER>=N, or COUNTER>=N/DURATION
	AuditHook       string      `json:"audit_hook,omitempty"`   // the agent token under which the ledger tells of every use
	Decisions       []string    `json:"decision_ids,omitempty"` // the decision that registered it, or that it was used in
	RequestID       string      `json:"request_id,omitempty"`   // the request that used it
	Principal       string      `json:"principal,omitempty"`    // who registered, used or ended it
	Action          string      `json:"action,omitempty"`       // of a use
	Lifted          int         `json:"lifted,omitempty"`       // denials and redactions that a use lifted
	Cause           string      `json:"cause,omitempty"`        // of its end: expired, revoked or triggered
	At              time.Time   `json:"at"`                     // when this happened
}

// LegalHold is the data of hold.placed and hold.released: items that nothing erases until the hold
// is released.
type LegalHold struct {
	ID        string      `json:"id"`                     // of the hold
	Scope     MemoryScope `json:"scope"`                  // where it holds: the tenant, and a session if one is named
	Items     []string    `json:"items,omitempty"`        // the items that it keeps
	Label     string      `json:"label,omitempty"`        // it keeps every item that carries it
	Agent     string      `json:"agent,omitempty"`        // it keeps every item that this agent published
	Matter    string      `json:"matter,omitempty"`       // the case that it is for
	Reason    string      `json:"reason,omitempty"`       // why it was placed, or released
	Decisions []string    `json:"decision_ids,omitempty"` // the decision that allowed it
	Principal string      `json:"principal"`              // who placed or released it
	At        time.Time   `json:"at"`                     // when this happened
}

// LogCheckpoint is the data of log.checkpointed: a signed head of a tenant's log.
type LogCheckpoint struct {
	Size       int64     `json:"size"`       // leaves
	Root       string    `json:"root"`       // hex
	Checkpoint string    `json:"checkpoint"` // signed C2SP checkpoint
	CreatedAt  time.Time `json:"created_at"` // when
}
