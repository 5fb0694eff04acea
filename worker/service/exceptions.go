package service

import (
	"context"
	"errors"
	"fmt"

	"satchel/pipeline/scope"
	"satchel/policies"
	"satchel/schemas"
)

// Exception answers ctx.v1.<tenant>.exception: it registers, revokes or lists.
func (v *Service) Exception(ctx context.Context, tenant string, body []byte) (any, error) {
	req, err := decodeRequest(body, schemas.Decode[schemas.ExceptionRequest])
	if err != nil {
		return nil, err
	}
	s, err := v.Scope(ctx, tenant, req.From, "")
	if err != nil {
		return nil, err
	}
	if v.cfg.Exceptions == nil {
		return nil, &schemas.Error{Code: schemas.CodePolicyDenied, Message: "this worker keeps no governed exceptions"}
	}
	reply := schemas.ExceptionReply{Exceptions: []schemas.ExceptionState{}}
	var one schemas.ExceptionState
	switch {
	case req.Add != nil:
		if err := v.mayWrite(ctx, tenant); err != nil {
			return nil, err
		}
		one, err = v.cfg.Exceptions.Add(ctx, s, *req.Add)
	case req.Revoke != "":
		one, err = v.cfg.Exceptions.Revoke(ctx, s, req.Revoke)
	default:
		if err := v.mayFollow(ctx, s, schemas.LedgerException); err != nil {
			return nil, err
		}
		if reply.Exceptions, err = v.cfg.Exceptions.List(ctx, s, req.Ended); err != nil {
			return nil, storageError(ctx, "read the exceptions", err)
		}
		return reply, nil
	}
	if err != nil {
		return nil, err
	}
	reply.Exceptions = append(reply.Exceptions, one)
	return reply, nil
}

// mayFollow asks policy whether s may see a kind of the ledger.
func (v *Service) mayFollow(ctx context.Context, s scope.Scope, kind schemas.LedgerKind) error {
	r := policies.Resource{ID: string(kind), Facets: schemas.Facets{Kind: schemas.Kind(kind), Labels: []string{}}}
	d, err := v.cfg.PDP.Decide(ctx, s, policies.Request{Action: "follow", Now: v.cfg.Clock(), Resources: []policies.Resource{r}})
	switch {
	case err != nil || len(d.Verdicts) != 1:
		return errors.Join(&schemas.Error{Code: schemas.CodePolicyDenied, Undecided: true, Message: "policy gave no verdict on this kind of the ledger"}, err)
	case !d.Verdicts[0].Allow:
		return &schemas.Error{Code: schemas.CodePolicyDenied, Message: fmt.Sprintf("policy does not let you follow the kind %s of the ledger; docs/reference/policy.md names the roles that may", kind)}
	}
	return nil
}
