package service

import (
	"context"
	"errors"
	"strings"

	"satchel/pipeline/scope"
	"satchel/schemas"
	"satchel/worker/authorship"
)

// Revoke answers art.v1.<tenant>.revoke.
func (d *Artifacts) Revoke(ctx context.Context, tenant string, body []byte) (any, error) {
	req, err := decodeRequest(body, schemas.Decode[schemas.RevokeRequest])
	if err != nil {
		return nil, err
	}
	s, err := d.service.Scope(ctx, tenant, req.From, "")
	if err != nil {
		var typed *schemas.Error
		if errors.As(err, &typed) {
			typed.Field = strings.TrimPrefix(typed.Field, "/meta")
		}
		return nil, err
	}
	what := itemName(req.ItemID)
	if req.Handle != "" {
		claim, err := d.sealer.Open(tenant, req.Handle)
		if err != nil || claim.Principal != s.Principal().ID {
			return nil, newOpeningRefusal()
		}
		what = handleName(claim.ID)
	} else if ok, err := d.mayErase(ctx, s, claimedLevel(req.From), req.ItemID); err != nil || !ok {
		return nil, errors.Join(err, &schemas.Error{Code: schemas.CodePolicyDenied, Message: "policy does not allow to revoke this"})
	}
	at := d.service.cfg.Clock().UTC()
	if err := d.artifacts.Revoke(ctx, tenant, what, at); err != nil {
		return nil, storageError(ctx, "revoke", err)
	}
	return schemas.RevokeReply{RevokedAt: at}, nil
}

// mayErase reports whether policy would let the principal, which claims a clearance, erase the
// item, every version of it.
func (d *Artifacts) mayErase(ctx context.Context, s scope.Scope, claimed schemas.Level, id string) (bool, error) {
	system, err := scope.System(s.Tenant())
	if err != nil {
		return false, nil //nolint:nilerr // there is no such tenant
	}
	records, err := d.service.cfg.Items.Get(ctx, s, []string{id})
	if err != nil {
		return false, storageError(ctx, "read the item", err)
	}
	if len(records) != 1 {
		return false, nil
	}
	ok, err := d.service.cfg.Eraser.Allows(ctx, system, s, claimed, []string{id})
	if err != nil && !errors.Is(err, authorship.ErrNoVerdict) {
		return false, storageError(ctx, "read the item", err)
	}
	return ok, nil // no verdict is a denial in the same words, as of an item that is not there
}
