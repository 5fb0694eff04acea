package pipeline

import (
	"context"
	"errors"

	"satchel/pipeline/chat"
	"satchel/pipeline/pack"
)

// abstract has a model write the TL;DR, when there is one. Whatever goes wrong, the
// extractive one stays, and a warning says why.
func (t *turn) abstract(ctx context.Context) error {
	m := t.e.cfg.Summarizer
	if m == nil || len(t.packed.Shown) == 0 {
		return nil
	}
	tldr, err := m.Summarize(ctx, t.query, t.ranking.Candidates, t.packed.Shown)
	switch {
	case err == nil:
		t.packed.TLDR = tldr
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, pack.ErrCitation):
		t.warnings = append(t.warnings, "tldr: the model's summary did not hold against what it cites; it is extractive")
	case errors.Is(err, chat.ErrRefused):
		t.warnings = append(t.warnings, "tldr: the model refused; it is extractive")
	default:
		t.warnings = append(t.warnings, "tldr: the model gave no answer; it is extractive")
	}
	return nil
}
