package pipeline

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"

	"satchel/pipeline/infra/parallel"
	"satchel/pipeline/store/eventlog"
	"satchel/schemas"
)

// Typed returns the error that a client may see. A typed error stays as it is, and a spent
// deadline has its code, also where a store said that it failed. Any other error loses its words, which may quote content.
func Typed(ctx context.Context, err error) *schemas.Error {
	var known *schemas.Error
	switch {
	case errors.As(err, &known) && (known.Code != schemas.CodeStorage || ctx.Err() == nil):
		return known
	case ctx.Err() != nil, errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		return &schemas.Error{Code: schemas.CodeDeadlineExceeded, Message: "the request's time ran out"}
	}
	return &schemas.Error{Code: schemas.CodeSearch, Message: "the request could not be served"}
}

// Invalid is the error of a client's mistake in a field.
func Invalid(field, message string) error {
	return &schemas.Error{Code: schemas.CodeValidation, Field: field, Message: message}
}

// StorageError is the error of a store that did not serve.
func StorageError(message string) error {
	return &schemas.Error{Code: schemas.CodeStorage, Message: message}
}

// NoScope is the error of a request without a scope.
func NoScope() error {
	return &schemas.Error{Code: schemas.CodePolicyDenied, Message: "the request has no scope"}
}

type refusing struct {
	log     eventlog.Appender
	process Process
}

// entry writes request.refused for a request that failed in the engine or by policy. A client's
// mistake and a spent deadline are not logged: anyone could fill the log with them. The
// refusal stands even when it cannot be written.
func (r *refusing) entry(ctx context.Context, rec *Recorder, req Request, cause error) *schemas.Error {
	out := Typed(ctx, cause)
	log := r.process.Logger
	tenant := slog.String("tenant", req.Scope.Tenant())
	id := slog.String("request", req.ID)
	log.LogAttrs(ctx, slog.LevelWarn, "context request refused", tenant, id, slog.String("code", string(out.Code)))
	var panicked *parallel.Panic
	if errors.As(cause, &panicked) {
		log.LogAttrs(ctx, slog.LevelError, "context request panicked", tenant, id,
			slog.String("type", panicked.Type), slog.String("stack", panicked.Stack))
	}
	switch out.Code {
	case schemas.CodePolicyDenied, schemas.CodeSearch, schemas.CodeStorage, schemas.CodeEmbedding, schemas.CodeCompaction:
	default:
		return out
	}
	data, err := json.Marshal(schemas.Refusal{
		RequestID: req.ID, Principal: req.Scope.Principal().ID, Code: out.Code, Message: out.Message,
	})
	if err == nil {
		_, err = r.log.Append(ctx, eventlog.Batch{Drafts: []eventlog.Draft{
			newDraft(rec, req, schemas.TypeRequestRefused, r.process.IDs(), data),
		}})
	}
	if err != nil {
		log.LogAttrs(ctx, slog.LevelError, "refusal could not be logged", tenant, id)
	}
	return out
}
