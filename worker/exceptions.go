package worker

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"satchel/pipeline/scope"
	"satchel/pipeline/store/eventlog"
	"satchel/policies"
	"satchel/policies/exception"
	"satchel/schemas"
)

// sweepEvery is how soon after its end an exception's end is in the log. The exception
// itself holds no longer than it should.
const sweepEvery = time.Second

// sweeper writes the ends of governed exceptions.
type sweeper struct {
	log        *eventlog.Log
	exceptions *exception.Registry
	logger     *slog.Logger
}

func (w *sweeper) run(ctx context.Context) error {
	tenants, err := w.log.Tenants(ctx)
	if err != nil && ctx.Err() == nil {
		w.logger.Warn("governed exceptions are not swept at start", "error", err)
	}
	tick := time.NewTicker(sweepEvery)
	defer tick.Stop()
	for {
		for _, tenant := range tenants {
			s, err := scope.System(tenant)
			if err == nil {
				err = w.exceptions.Sweep(ctx, s)
			}
			if err != nil && ctx.Err() == nil {
				w.logger.Warn("sweep governed exceptions", "tenant", tenant, "error", err)
			}
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
			tenants = w.exceptions.Pending()
		}
	}
}

// Exception answers ctx.v1.<tenant>.exception: it registers, revokes or lists.
func (v *Service) Exception(ctx context.Context, tenant string, body []byte) (any, error) {
	req, err := decode(body, schemas.Decode[schemas.ExceptionRequest])
	if err != nil {
		return nil, err
	}
	s, err := v.Scope(ctx, tenant, req.From, "")
	if err != nil {
		return nil, err
	}
	if v.exceptions == nil {
		return nil, &schemas.Error{Code: schemas.CodePolicyDenied, Message: "this worker keeps no governed exceptions"}
	}
	reply := schemas.ExceptionReply{Exceptions: []schemas.ExceptionState{}}
	var one schemas.ExceptionState
	switch {
	case req.Add != nil:
		if err := v.tenants.mayWrite(ctx, tenant); err != nil {
			return nil, err
		}
		one, err = v.exceptions.Add(ctx, s, *req.Add)
	case req.Revoke != "":
		one, err = v.exceptions.Revoke(ctx, s, req.Revoke)
	default:
		if err := v.mayFollow(ctx, s, schemas.LedgerException); err != nil {
			return nil, err
		}
		if reply.Exceptions, err = v.exceptions.List(ctx, s, req.Ended); err != nil {
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
	d, err := v.pdp.Decide(ctx, s, policies.Request{Action: "follow", Now: v.now(), Resources: []policies.Resource{r}})
	if err != nil || len(d.Verdicts) != 1 || !d.Verdicts[0].Allow {
		return errors.Join(&schemas.Error{Code: schemas.CodePolicyDenied, Message: "policy does not allow this kind of the ledger"}, err)
	}
	return nil
}
