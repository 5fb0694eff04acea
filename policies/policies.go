package policies

import (
	"context"
	"errors"
	"time"

	"satchel/pipeline/scope"
	"satchel/schemas"
)

// ErrUnavailable is returned when the decision point cannot answer. It always means deny.
var ErrUnavailable = errors.New("policy decision point is unavailable")

// Resource is what policy sees of an item.
type Resource struct {
	ID        string
	Facets    schemas.Facets
	PIIFlags  []string // JSON paths, $.content…
	ExpiresAt time.Time
	ValidTo   time.Time
	CreatedAt time.Time

	// What else the writer said of it.
	Confidence *float64
	PolicyTags []string
	Project    string
	SourceURI  string
	Speaker    string

	Sources []string // ids of what a summary was made of; no policy sees them, Sourced does
	Spared  []string // reasons that are not to count, as a governed exception lifts them
}

// ConfidenceOr1 is the writer's confidence, 1 without one.
func (r *Resource) ConfidenceOr1() float64 {
	if r.Confidence == nil {
		return 1
	}
	return *r.Confidence
}

// Request asks for a verdict on every resource. The tenant, the principal and the
// purpose are the scope's.
type Request struct {
	Action    string // "read", "write", "open", "erase", "change", "relabel", "register", "follow", "act", "use", "except", "revoke", "hold", "release"
	Now       time.Time
	Resources []Resource

	// RequestID and DecisionID name the request and the decision in the log; "" for none.
	// No verdict depends on them.
	RequestID  string
	DecisionID string

	// Unhashed says that the caller makes the InputHash itself, beside the decision, or needs
	// none. The decision may then be without it.
	Unhashed bool
}

// Verdict is the answer for one resource, in the order of the request.
type Verdict struct {
	Allow  bool
	Reason string   // short, stable, snake_case: "allowed", "clearance", "tenant", "expired", …
	Redact []string // JSON paths to remove before the item is shown

	// Obligations must be met before the item is shown; whoever cannot meet them shows
	// nothing of it.
	Obligations schemas.Obligations

	Exception string // id of the governed exception that lifted the denial or the redaction, "" for none
}

// Decision is the answer to a request.
type Decision struct {
	Revision  string // bundle revision
	InputHash string // hex SHA-256 over the canonical policy input; may be "" when Unhashed
	Verdicts  []Verdict
	// Warnings are sentences for the requester about how it was decided, as that a
	// fallback stood in; they hold no content and no secret.
	Warnings []string
}

// PDP is a policy decision point. An error means deny everything.
type PDP interface {
	Decide(ctx context.Context, s scope.Scope, r Request) (Decision, error)
	// Filter returns what of the policy can be pushed down to the stores for this
	// scope and action. It may let through more than Decide allows, never less.
	Filter(ctx context.Context, s scope.Scope, action string) (schemas.Filter, error)
	Revision() string
}
