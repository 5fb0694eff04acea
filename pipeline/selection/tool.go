package selection

import (
	"strings"

	"satchel/pipeline/candidate"
	"satchel/schemas"
)

// Sign leaves of every kept tool whose attributes have a signature that and its safety
// notes: what was written to find it by does not leave. Call it after redaction; a tool
// whose attributes policy redacts shows its redacted content.
func Sign(cs []candidate.Candidate) {
	for i := range cs {
		r := &cs[i].Record
		if !cs[i].Kept() || r.Kind != schemas.KindTool {
			continue
		}
		a, err := r.Tool()
		if err != nil || a.Signature == "" {
			continue // nothing else is known of it than its content
		}
		parts := []string{a.Signature}
		if a.SafetyNotes != "" {
			parts = append(parts, "safety: "+a.SafetyNotes)
		}
		if len(a.SafetyTags) > 0 {
			parts = append(parts, "safety tags: "+strings.Join(a.SafetyTags, ", "))
		}
		r.Content, r.Tokens, r.Summary = schemas.TextContent(strings.Join(parts, "\n")), 0, nil
		cs[i].Span = nil
	}
}
