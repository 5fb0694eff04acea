package policies

import (
	"slices"
	"strings"

	"satchel/schemas"
)

// Origin is an item that another one is made of, as the principal sees it.
type Origin struct {
	Item   *schemas.MemoryItem
	Facets *schemas.Facets
}

// Class names the items that may be summarised together: those that every principal may
// see alike, for they carry the same labels. It is false for an item of which a principal
// may see less than another: with fields flagged as personal, with credentials, or
// redacted already. Such an item is not copied into a summary.
func Class(o Origin, v *schemas.Verdict) (string, bool) {
	if v == nil || !v.Allow || v.Redact || len(o.Item.PIIFlags) > 0 || o.Facets.PII || o.Facets.Credentials {
		return "", false
	}
	return strings.Join(slices.Sorted(slices.Values(o.Item.SecurityLabel)), "\x00"), true
}

// Derive gives an item the labels and limits of what it was made from, which must be of
// one class: their labels, the lowest trust and confidence, the highest sensitivity, and
// a life no longer than the shortest. created_at must be set.
func Derive(m *schemas.MemoryItem, from []Origin) {
	for i, o := range from {
		r := o.Item
		if i == 0 {
			m.SecurityLabel = slices.Sorted(slices.Values(r.SecurityLabel))
			m.Scope.Org = r.Scope.Org
			m.Scope.Project = r.Scope.Project
		}
		m.Trust = chooseLowest(m.Trust, r.Trust)
		m.Confidence = chooseLowest(m.Confidence, r.Confidence)
		if r.Sensitivity != nil && (m.Sensitivity == nil || *r.Sensitivity > *m.Sensitivity) {
			m.Sensitivity = r.Sensitivity
		}
		if end := r.ExpiresAt(); !end.IsZero() {
			left := max(1, int64(end.Sub(m.CreatedAt).Seconds()))
			if m.TTL == 0 || left < m.TTL {
				m.TTL = left
			}
		}
		if !r.ValidTo.IsZero() && (m.ValidTo.IsZero() || r.ValidTo.Before(m.ValidTo)) {
			m.ValidTo = r.ValidTo
		}
	}
}

func chooseLowest(a, b *float64) *float64 {
	if a == nil || b != nil && *b < *a {
		return b
	}
	return a
}
