package exception

import (
	"slices"
	"strings"
	"time"

	"satchel/policies"
	"satchel/schemas"
)

func actionOf(path string) string {
	action, _, _ := strings.Cut(path, ":")
	return action
}

func reasonOf(path string) string {
	_, reason, _ := strings.Cut(path, ":")
	return reason
}

// reasonPII is the reason of an exception that lifts a redaction, reasonUnavailable of
// one that lets the local rules stand in for a decision point that does not answer.
const (
	reasonPII         = "pii"
	reasonUnavailable = "unavailable"
)

// spare returns the item as if a reason for denial did not concern it; false for a
// reason that cannot be lifted. principal is who asks.
func spare(r policies.Resource, reason, principal string) (policies.Resource, bool) {
	switch reason {
	case "credentials":
		r.Facets.Credentials = false
	case "clearance":
		r.Facets.Level = schemas.Public
	case "groups":
		r.Facets.Groups = nil
	case "purpose":
		r.Facets.Purposes = nil
	case "export":
		r.Facets.Labels = without(r.Facets.Labels, "export:")
	case "trust":
		r.Facets.Trust = 1
	case "expired":
		r.ExpiresAt = time.Time{}
	case "no_longer_valid":
		r.ValidTo = time.Time{}
	case reasonPII:
		r.Facets.PII, r.PIIFlags = false, nil
		r.Facets.Labels = without(r.Facets.Labels, "pii:")
	case "role":
		r.Facets.Signer = principal
	case "safety", "safety_untagged":
		r.Facets.Labels = append(without(r.Facets.Labels, "safety:"), "safety:read_only")
	default:
		return r, false
	}
	return r, true
}

func without(labels []string, prefix string) []string {
	return slices.DeleteFunc(slices.Clone(labels), func(l string) bool { return strings.HasPrefix(l, prefix) })
}
