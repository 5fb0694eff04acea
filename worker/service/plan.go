package service

import (
	"context"
	"errors"

	"satchel/pipeline/scope"
	"satchel/pipeline/write"
	"satchel/schemas"
	"satchel/worker/authorship"
)

// Plan answers what an erasure of items would take. It refuses what the erasure would be refused
// for, and changes nothing.
func (v *Service) Plan(ctx context.Context, tenant string, body []byte) (any, error) {
	req, err := decodeRequest(body, schemas.Decode[schemas.PlanRequest])
	if err != nil {
		return nil, err
	}
	who, err := v.Scope(ctx, tenant, req.From, "erasure")
	if err != nil {
		return nil, err
	}
	s, err := scope.System(tenant)
	if err != nil {
		return nil, &schemas.Error{Code: schemas.CodeValidation, Message: err.Error()}
	}
	refused, outline, err := v.cfg.Eraser.Outline(ctx, s, who, claimedLevel(req.From), req.Items)
	if err := eraseError(ctx, refused, err, ""); err != nil {
		return nil, err
	}
	reply := schemas.PlanReply{Items: req.Items, Summaries: []string{}, Packs: outline.Packs, Artifacts: outline.Artifacts, Position: outline.Position}
	reply.Summaries = append(reply.Summaries, outline.Items[len(req.Items):]...)
	return reply, nil
}

// eraseError is the error of an erasure that is refused, or could not be checked. pointer is where
// the request has the erasure.
func eraseError(ctx context.Context, refused *write.Rejection, err error, pointer string) error {
	switch {
	case errors.Is(err, authorship.ErrNoVerdict) && ctx.Err() == nil:
		return &schemas.Error{Code: schemas.CodePolicyDenied, Undecided: true, Message: "policy gave no verdict, so nothing is erased"}
	case err != nil:
		return storageError(ctx, "check the erasure", err)
	case refused == nil:
		return nil
	case refused.Reason == write.UnknownItem:
		return &schemas.Error{Code: schemas.CodeValidation, Field: pointer + refused.Pointer, Message: refused.Cause}
	}
	return &schemas.Error{Code: schemas.CodePolicyDenied, Message: refused.Cause, Holds: refused.Holds}
}

// claimedLevel returns the clearance that an agent claims, the highest when it claims none.
func claimedLevel(from *schemas.Agent) schemas.Level {
	if level, ok := schemas.ParseLevel(from.SecurityLevel); ok {
		return level
	}
	return schemas.Restricted // Service.Scope refuses what is no level
}
