package pipeline

import (
	"context"

	"satchel/pipeline/candidate"
	"satchel/pipeline/scope"
	"satchel/pipeline/selection"
	"satchel/schemas"
)

// vouch returns a function that keeps those records which policy lets the asker see whole
// and which no defence refuses, so that nothing else says what a name means. When policy
// cannot be asked it keeps none.
func (t *turn) vouch(s scope.Scope) func(context.Context, []schemas.Record) []schemas.Record {
	return func(ctx context.Context, records []schemas.Record) []schemas.Record {
		if len(records) == 0 {
			return nil
		}
		cs := make([]candidate.Candidate, len(records))
		for i := range records {
			cs[i].Record = records[i]
		}
		var unsaid []string // what is shown is decided on again, and says it
		if _, err := selection.Slice(ctx, s, t.asking(heard{warnings: &unsaid}), t.e.cfg.Sanitizer, t.policyNow, t.e.cfg.IDs(), cs); err != nil {
			return nil
		}
		selection.NotYet(cs, t.now)
		t.e.defence.Guard(cs, false, t.policyNow)
		var kept []schemas.Record
		for i := range cs {
			if v := &cs[i].Verdict; cs[i].Kept() && !v.Redact && v.Obligations == nil {
				kept = append(kept, cs[i].Record)
			}
		}
		return kept
	}
}
