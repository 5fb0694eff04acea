package pipeline

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"

	"satchel/pipeline/aside"
	"satchel/pipeline/scope"
	"satchel/pipeline/store/eventlog"
	"satchel/schemas"
)

// typed returns the error a caller may see: what is typed already as it is, a spent
// deadline by its name, and anything else without its words, which may quote.
func typed(ctx context.Context, err error) *schemas.Error {
	var known *schemas.Error
	switch {
	case errors.As(err, &known):
		return known
	case ctx.Err() != nil, errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		return &schemas.Error{Code: schemas.CodeDeadlineExceeded, Message: "the request's time ran out"}
	}
	return &schemas.Error{Code: schemas.CodeSearch, Message: "the request could not be served"}
}

// policyDown is what leaves when there is no verdict: nothing, and the reason, which is
// a spent deadline when there is one.
func policyDown(ctx context.Context, cause error) error {
	if ctx.Err() != nil {
		return fmt.Errorf("%w: %w", ctx.Err(), cause)
	}
	down := &schemas.Error{Code: schemas.CodePolicyDenied, Message: "policy gave no verdict, so nothing may leave"}
	return fmt.Errorf("%w: %w", down, cause)
}

// refuse writes request.refused for a request that failed for a reason of ours or of
// policy. What the caller got wrong, and what ran out of time, is not logged: anyone
// could fill the log with it. The refusal stands even when it cannot be written.
func (t *turn) refuse(ctx context.Context, s scope.Scope, cause error) *schemas.Error {
	out := typed(ctx, cause)
	t.e.cfg.Logger.LogAttrs(ctx, slog.LevelWarn, "context request refused",
		slog.String("tenant", s.Tenant()), slog.String("request", t.request), slog.String("code", string(out.Code)))
	var panicked *aside.Panic
	if errors.As(cause, &panicked) {
		t.e.cfg.Logger.LogAttrs(ctx, slog.LevelError, "context request panicked", slog.String("tenant", s.Tenant()),
			slog.String("request", t.request), slog.String("type", panicked.Type), slog.String("stack", panicked.Stack))
	}
	switch out.Code {
	case schemas.CodePolicyDenied, schemas.CodeSearch, schemas.CodeStorage, schemas.CodeEmbedding, schemas.CodeCompaction:
	default:
		return out
	}
	data, err := json.Marshal(schemas.Refusal{
		RequestID: t.request, Principal: s.Principal().ID, Code: out.Code, Message: out.Message,
	})
	if err == nil {
		_, err = t.e.cfg.Log.Append(ctx, eventlog.Batch{Drafts: []eventlog.Draft{
			t.draft(s, schemas.TypeRequestRefused, t.e.cfg.IDs(), data),
		}})
	}
	if err != nil {
		t.e.cfg.Logger.LogAttrs(ctx, slog.LevelError, "refusal could not be logged",
			slog.String("tenant", s.Tenant()), slog.String("request", t.request))
	}
	return out
}
