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

// reasonPII is the reason of an exception that lifts a redaction.
const reasonPII = "pii"

// spareReason returns the item as if a reason for denial did not concern it; false for a
// reason that cannot be lifted. Of a reason of the policy's own, policy is told that it does
// not count. principal is who asks.
func spareReason(r policies.Resource, reason, principal string) (policies.Resource, bool) {
	switch reason {
	case "credentials":
		r.Facets.Credentials = false
	case "clearance":
		r.Facets.Level = schemas.Public
	case "sensitivity":
		r.Facets.Sensitivity = 0
	case "groups":
		r.Facets.Groups = nil
	case "purpose":
		r.Facets.Purposes = nil
	case "export":
		r.Facets.Labels = dropPrefixed(r.Facets.Labels, "export:")
	case "trust":
		r.Facets.Trust = 1
	case "expired":
		r.ExpiresAt = time.Time{}
	case "no_longer_valid":
		r.ValidTo = time.Time{}
	case reasonPII:
		r.Facets.PII = false
		r.PIIFlags = nil
		r.Facets.Labels = dropPrefixed(r.Facets.Labels, "pii:")
	case "role":
		r.Facets.Signer = principal
	case "safety", "safety_untagged":
		r.Facets.Labels = append(dropPrefixed(r.Facets.Labels, "safety:"), "safety:read_only")
	case "tenant", "action", policies.ReasonSource, policies.ReasonError, policies.ReasonAllowed:
		return r, false
	default:
		r.Spared = append(slices.Clone(r.Spared), reason)
	}
	return r, true
}

func dropPrefixed(labels []string, prefix string) []string {
	return slices.DeleteFunc(slices.Clone(labels), func(l string) bool { return strings.HasPrefix(l, prefix) })
}
