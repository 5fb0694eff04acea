package worker

import (
	"context"
	"errors"
	"math"

	"satchel/pipeline/scope"
	"satchel/pipeline/write"
	"satchel/schemas"
)

// Plan answers what an erasure of items would take. It refuses what the erasure would be refused
// for, and changes nothing.
func (v *Service) Plan(ctx context.Context, tenant string, body []byte) (any, error) {
	req, err := decode(body, schemas.Decode[schemas.PlanRequest])
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
	refused, all, _, err := v.eraser.refusesWhom(ctx, s, who, claimedLevel(req.From), req.Items)
	if err := refusal(ctx, refused, err, ""); err != nil {
		return nil, err
	}
	reply := schemas.PlanReply{Items: req.Items, Summaries: []string{}}
	reply.Summaries = append(reply.Summaries, all[len(req.Items):]...)
	showing, err := v.eraser.packs(ctx, s, all)
	if err != nil {
		return nil, storageError(ctx, "find the packs", err)
	}
	plan, err := v.eraser.plan(ctx, s, all, showing, math.MaxInt64)
	if err != nil {
		return nil, storageError(ctx, "plan the erasure", err)
	}
	hashes, err := v.eraser.hashes(ctx, s, plan.positions)
	if err != nil {
		return nil, storageError(ctx, "find the artifacts", err)
	}
	reply.Packs, reply.Artifacts = len(plan.packs), len(hashes)
	if n := len(plan.positions); n > 0 {
		reply.Position = plan.positions[n-1]
	}
	return reply, nil
}

// refusal is the error of an erasure that is refused, or could not be checked. pointer is where
// the request has the erasure.
func refusal(ctx context.Context, refused *write.Rejection, err error, pointer string) error {
	switch {
	case errors.Is(err, errNoVerdict) && ctx.Err() == nil:
		return &schemas.Error{Code: schemas.CodePolicyDenied, Message: "policy gave no verdict, so nothing is erased"}
	case err != nil:
		return storageError(ctx, "check the erasure", err)
	case refused == nil:
		return nil
	case refused.Reason == write.UnknownItem:
		return &schemas.Error{Code: schemas.CodeValidation, Field: pointer + refused.Pointer, Message: refused.Cause}
	}
	return &schemas.Error{Code: schemas.CodePolicyDenied, Message: refused.Cause}
}
