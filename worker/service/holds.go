package service

import (
	"context"

	"satchel/schemas"
)

// Hold answers ctx.v1.<tenant>.hold: it places, releases or lists legal holds.
func (v *Service) Hold(ctx context.Context, tenant string, body []byte) (any, error) {
	req, err := decodeRequest(body, schemas.Decode[schemas.HoldRequest])
	if err != nil {
		return nil, err
	}
	s, err := v.Scope(ctx, tenant, req.From, "")
	if err != nil {
		return nil, err
	}
	reply := schemas.HoldReply{Holds: []schemas.HoldState{}}
	var one schemas.HoldState
	switch {
	case req.Place != nil:
		if err := v.mayWrite(ctx, tenant); err != nil {
			return nil, err
		}
		one, err = v.cfg.Holds.Place(ctx, s, *req.Place)
	case req.Release != "":
		one, err = v.cfg.Holds.Release(ctx, s, req.Release, req.Reason)
	default:
		if err := v.mayFollow(ctx, s, schemas.LedgerHold); err != nil {
			return nil, err
		}
		if reply.Holds, err = v.cfg.Holds.List(ctx, s, req.Released); err != nil {
			return nil, storageError(ctx, "read the holds", err)
		}
		return reply, nil
	}
	if err != nil {
		return nil, err
	}
	reply.Holds = append(reply.Holds, one)
	return reply, nil
}
