package policies_test

import (
	"testing"

	"satchel/policies"
)

// TestReadRefusesTwoReadings has a filter and obligations say two things, or say one in a
// spelling that only encoding/json would take for it.
func TestReadRefusesTwoReadings(t *testing.T) {
	t.Parallel()
	for raw, whole := range map[string]bool{
		`{"match": "all"}`:                    true,
		`{"m\u0061tch": "all"}`:               true,
		`{"match": "none", "match": "all"}`:   false,
		`{"match": "none", "Match": "all"}`:   false,
		`{"match": "none", "m\u0061tch": ""}`: false,
		`{"Match": "all"}`:                    false,
		`{"match": "all"} {}`:                 false,
		`{"match": "where", "conditions": [{"field": "kind", "op": "in", "values": ["memory"]}]}`:                       true,
		`{"match": "where", "conditions": [{"field": "kind", "op": "in", "values": ["memory"], "values": ["code"]}]}`:   false,
		`{"match": "where", "conditions": [{"field": "kind", "op": "in", "op": "not_in", "values": ["memory"]}]}`:       false,
		`{"match": "where", "conditions": [{"field": "kind", "op": "in", "values": ["memory"]}], "conditions": [null]}`: false,
	} {
		f, err := policies.ReadFilter([]byte(raw))
		if (err == nil) != whole || !whole && !f.IsNone() {
			t.Errorf("filter %s: none %t, error %v", raw, f.IsNone(), err)
		}
	}
	for raw, whole := range map[string]bool{
		`{"pii": "redact", "types": ["email"]}`:                     true,
		`{"pii": "redact", "pii": ""}`:                              false,
		`{"pii": "redact", "PII": ""}`:                              false,
		`{"pii": "redact", "types": ["email"], "types": ["phone"]}`: false,
		`{"summarise": 4, "ſummarise": 4000}`:                       false,
		`{"summarise": 4} null`:                                     false,
	} {
		if _, err := policies.ReadObligations([]byte(raw)); (err == nil) != whole {
			t.Errorf("obligations %s: error %v", raw, err)
		}
	}
}
