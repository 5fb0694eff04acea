package schemas

import "time"

// RuntimeState is what an agent run keeps beside the model: references, the fields
// the model may see, and what it cost. Only ExposedFields and sanitised snippets
// reach the model.
type RuntimeState struct {
	Session         SessionMetadata   `json:"session"`         // whose run it is
	SelectedContext []PackMetadata    `json:"selectedContext"` // ids, titles and labels only
	ExposedFields   ExposedFields     `json:"exposedFields"`   // allow-listed values shown to the model
	Sandboxes       []SandboxRef      `json:"sandboxes"`       // heavy artifacts kept outside
	Policies        []AppliedPolicy   `json:"policies"`        // what was decided by which revision
	Metrics         TokenCostEnvelope `json:"metrics"`         // what it took
}

// ExposedFields are the fields of a run that can be shown at all. A role has those of its
// whitelist; what a model is asked is the synthesizer's.
type ExposedFields struct {
	Task        string             `json:"task,omitempty"`         // what is to be done
	TokenBudget int                `json:"token_budget,omitempty"` // of the context
	Plan        []PlanStep         `json:"plan,omitempty"`         // the task's questions
	Pack        string             `json:"pack,omitempty"`         // id of the context
	Labels      map[string]string  `json:"labels,omitempty"`       // of the context's items, by id, joined by ","
	Tools       []string           `json:"tools,omitempty"`        // kept from the model
	Answer      string             `json:"answer,omitempty"`       // to be verified
	Snippets    []Snippet          `json:"snippets,omitempty"`     // of the context
	Metrics     *TokenCostEnvelope `json:"metrics,omitempty"`      // what it took
	Findings    []Finding          `json:"findings,omitempty"`     // of the sentinel
}

// Snippet is a piece of the context, as policy lets the principal see it.
type Snippet struct {
	Number int    `json:"n"`    // from 1
	ItemID string `json:"item"` // the item it is of
	Text   string `json:"text"` // what is shown of it

	Flagged Flag `json:"flagged,omitempty"` // why the text is to be quoted, and not followed
}

// SessionMetadata names the session of a run.
type SessionMetadata struct {
	ID        string    `json:"id"`                   // session
	Tenant    string    `json:"tenant"`               // whose
	Principal string    `json:"principal"`            // for whom
	Purpose   string    `json:"purpose,omitempty"`    // what for
	StartedAt time.Time `json:"started_at,omitzero"`  // when
	RequestID string    `json:"request_id,omitempty"` // the latest request
}

// PackMetadata is a selected item without its content.
type PackMetadata struct {
	ID            string `json:"id"`             // item
	Title         string `json:"title"`          // first words, as policy lets them be seen
	SecurityLabel string `json:"security_label"` // labels joined by ","
}

// SandboxRef points to an artifact by a signed, short-lived handle.
type SandboxRef struct {
	ID        string    `json:"id"`                  // artifact: "sha256:" and the hex hash
	Handle    string    `json:"handle"`              // for art.v1.<tenant>.open and GET /artifacts/<handle>
	MediaType string    `json:"media_type"`          // of the bytes
	Name      string    `json:"name,omitempty"`      // as a file would be called
	Size      int       `json:"size"`                // bytes
	Extract   string    `json:"extract,omitempty"`   // the few lines shown instead
	ExpiresAt time.Time `json:"expires_at,omitzero"` // of the handle
}

// AppliedPolicy is a policy revision and the decisions it made in a run.
type AppliedPolicy struct {
	Revision   string `json:"revision"`    // bundle revision
	DecisionID string `json:"decision_id"` // policy.decided
	Allowed    int    `json:"allowed"`     // items
	Redacted   int    `json:"redacted"`    // items
	Denied     int    `json:"denied"`      // items
}

// TokenCostEnvelope is what a run took.
type TokenCostEnvelope struct {
	TokenBudget int     `json:"token_budget"` // given
	TokenActual int     `json:"token_actual"` // used
	LatencyMS   float64 `json:"latency_ms"`   // wall clock
	Cost        float64 `json:"cost"`         // in the caller's unit; 0 when not priced
}
