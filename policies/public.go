package policies

import (
	"slices"
	"strings"

	"satchel/schemas"
)

// Public returns what the built-in policy hides of an item from a reader without roles: the
// JSON paths to remove and the obligations to meet. Indexes hold an item without it, so that
// no hidden word moves what a reader finds.
func Public(r *Resource) (paths []string, o schemas.Obligations) {
	detected := []string{}
	labelled := false
	for _, l := range r.Facets.Labels {
		if t, ok := strings.CutPrefix(l, "detected:"); ok {
			detected = append(detected, t)
		}
		if n, ok := strings.CutPrefix(l, "extract:"); ok {
			if least := extractTokens(n); o.Summarise == 0 || least < o.Summarise {
				o.Summarise = least
			}
		}
		labelled = labelled || strings.HasPrefix(l, "pii:") && l != "pii:none"
	}
	if len(detected) > 0 {
		slices.Sort(detected)
		o.PII, o.Types = schemas.PIIRedact, slices.Compact(detected)
	}
	detectedAlone := len(detected) > 0 && len(r.PIIFlags) == 0 && !labelled
	if !r.Facets.PII || detectedAlone {
		return nil, o
	}
	vague := func(flag string) bool { return !strings.HasPrefix(flag, "$.") }
	if len(r.PIIFlags) == 0 || slices.ContainsFunc(r.PIIFlags, vague) {
		return []string{"$.content"}, o
	}
	return r.PIIFlags, o
}

// extractTokens is how many tokens the label extract:TEXT shows, 1 for a text that is no number
// from 1 to 999999.
func extractTokens(text string) int {
	n := 0
	for i, c := range []byte(text) {
		if c < '0' || c > '9' || i == 6 || i == 0 && c == '0' {
			return 1
		}
		n = 10*n + int(c-'0')
	}
	return max(1, n)
}
