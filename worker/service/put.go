package service

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/cloudevents/sdk-go/v2/event"

	"satchel/pipeline/scope"
	"satchel/pipeline/store/eventlog"
	"satchel/pipeline/write"
	"satchel/schemas"
	"satchel/worker/authorship"
	"satchel/worker/erasure"
)

// Put validates one event and publishes it. It returns the receipt, or, when one of a level
// was asked for that takes time, a [Wait] that returns it. What is refused here was not published.
// A published event is answered with a receipt, of a lower level with a warning when the one
// asked for could not be waited for, or with an error where the log refused it.
func (v *Service) Put(ctx context.Context, tenant string, body []byte) (any, error) {
	req, err := decodeRequest(body, schemas.DecodePutRequest)
	if err != nil {
		return nil, err
	}
	var ev event.Event
	if err := json.Unmarshal(req.Event, &ev); err != nil {
		return nil, &schemas.Error{Code: schemas.CodeValidation, Field: "/event", Message: "is not a CloudEvent in structured mode"}
	}
	if err := mayActAs(ctx, req.Agent, "/agent"); err != nil {
		return nil, err
	}
	if err := v.puts.admitEvent(v.cfg.Clock(), tenant, payerOf(ctx), len(body)); err != nil {
		return nil, err
	}
	prepared, err := v.cfg.Writer.Prepare(tenant, req.Agent, ev)
	if err != nil {
		return nil, convertRejection(err)
	}
	return v.publishTraced(ctx, tenant, &prepared, func(ctx context.Context) (any, error) {
		return v.publishEvent(ctx, tenant, req, ev, &prepared)
	})
}

// publishEvent is Put for an event that is as it must be.
func (v *Service) publishEvent(ctx context.Context, tenant string, req schemas.PutRequest, ev event.Event, prepared *write.Prepared) (any, error) {
	draft := &prepared.Draft
	s, err := scope.System(tenant)
	if err != nil {
		return nil, &schemas.Error{Code: schemas.CodeValidation, Message: err.Error()}
	}
	if err := v.mayWrite(ctx, tenant); err != nil {
		return nil, err
	}
	receipt := schemas.Receipt{Level: schemas.ReceiptAccepted, Tenant: tenant, Source: draft.Source, ID: draft.ID, Warnings: v.warnLoweredTrust(prepared)}
	level := schemas.ReceiptLevel(req.Wait)
	var refused <-chan *schemas.Error
	wait := Wait(func(ctx context.Context) (any, error) { return v.settlePut(ctx, s, receipt, draft, refused, level) })
	entry, err := v.cfg.Log.Find(ctx, s, draft.Source, draft.ID)
	switch {
	case err == nil:
		if err := newTakenError(&entry, draft); err != nil {
			return nil, err
		}
		receipt.Duplicate = true
		if level != schemas.ReceiptIndexed && level != schemas.ReceiptProved { // it is there
			return wait(ctx)
		}
		return wait, nil
	case errors.Is(err, eventlog.ErrNotFound):
		if err := v.cfg.Ingest.Stopped(tenant); err != nil {
			return nil, err
		}
		if err := v.mayPublish(ctx, s, prepared); err != nil {
			if held, found := v.cfg.Log.Find(ctx, s, draft.Source, draft.ID); found == nil && newTakenError(&held, draft) == nil { // logged meanwhile
				receipt.Duplicate = true
				return wait, nil
			}
			return nil, err
		}
		refused = v.cfg.Ingest.Refusal(ctx, tenant, draft.Source, draft.ID, ev.Data())
		if receipt.Stream, receipt.StreamSeq, err = v.cfg.Outbox.PublishMemory(ctx, tenant, req.Agent, ev); err != nil {
			return nil, storageError(ctx, "publish the event", err)
		}
		if level == "" || level == schemas.ReceiptAccepted {
			return receipt, nil
		}
		return wait, nil
	default:
		return nil, storageError(ctx, "look the event up", err)
	}
}

// warnLoweredTrust says that an item counts with less trust than it claims, nothing where it does not.
func (v *Service) warnLoweredTrust(d *write.Prepared) []string {
	granted := v.cfg.Registry.Trust(d.Tenant, d.Agent)
	if d.Trust <= granted {
		return nil
	}
	return []string{fmt.Sprintf("trust %g counts as %g: %s is granted no more, see the registry of principals", d.Trust, granted, d.Agent)}
}

// newTakenError returns the error of a draft whose key the log has for another event, or for one that
// was erased: of that nobody can tell any more whether it was the same, and nothing is stored
// again. It is nil when the entry is of the same event, and, but for an erasure, of the same agent: another
// could check guesses at what it may not read. An erasure is logged with what it takes along.
func newTakenError(held *eventlog.Entry, d *eventlog.Draft) error {
	var same bool
	if d.Type == schemas.TypeMemoryErased {
		var req schemas.MemoryErased
		same = json.Unmarshal(d.Data, &req) == nil && erasure.Repeats(held, &req)
	} else {
		same = held.Agent == d.Agent && bytes.Equal(held.Data, d.Data)
	}
	switch {
	case held.Erased:
		return &schemas.Error{Code: schemas.CodeConflict, Field: "/event/id", Message: "erased: what was stored under this source and id was erased, and nothing is stored under them again; use another id"}
	case !same:
		return &schemas.Error{Code: schemas.CodeConflict, Field: "/event/id", Message: string(write.IDReuse) + ": source and id were used before for another event"}
	}
	return nil
}

// mayPublish refuses an event now that would be refused when the log takes it.
func (v *Service) mayPublish(ctx context.Context, s scope.Scope, d *write.Prepared) error {
	if d.Type == schemas.TypeMemoryErased {
		return v.mayErase(ctx, s, d)
	}
	if d.Type == schemas.TypeMemoryLinked {
		switch latest, err := v.cfg.Log.Latest(ctx, s, []string{d.Subject}); {
		case err != nil:
			return storageError(ctx, "check the change", err)
		case latest[0] == 0: // the item may be on its way; the log will tell
			return nil
		}
	}
	switch refused, err := v.cfg.Reviewer.Review(ctx, s, []*write.Prepared{d}); {
	case errors.Is(err, authorship.ErrNoVerdict) && ctx.Err() == nil:
		return &schemas.Error{Code: schemas.CodePolicyDenied, Undecided: true, Message: "policy gave no verdict, so nothing is changed"}
	case err != nil:
		return storageError(ctx, "check the change", err)
	case refused[0] != nil:
		return &schemas.Error{Code: schemas.CodePolicyDenied, Field: "/event" + refused[0].Pointer, Message: refused[0].Cause}
	}
	return nil
}

// mayWrite refuses what would be written for a tenant that is not admitted.
func (v *Service) mayWrite(ctx context.Context, tenant string) error {
	refused, err := v.cfg.Ingest.Admit(ctx, tenant)
	switch {
	case err != nil:
		return storageError(ctx, "look the tenant up", err)
	case refused != nil:
		return &schemas.Error{Code: schemas.CodePolicyDenied, Message: refused.Cause}
	}
	return nil
}

// mayErase refuses an erasure now that would be refused when the log takes it.
func (v *Service) mayErase(ctx context.Context, s scope.Scope, d *write.Prepared) error {
	var req schemas.MemoryErased
	if err := json.Unmarshal(d.Data, &req); err != nil {
		return &schemas.Error{Code: schemas.CodeValidation, Field: "/event/data", Message: "is not an erasure"}
	}
	refused, _, err := v.cfg.Eraser.Refuses(ctx, s, d, req.Items)
	if refused != nil {
		v.cfg.Metrics.Refused(s.Tenant(), len(refused.Holds) > 0)
	}
	return eraseError(ctx, refused, err, "/event")
}

// convertRejection turns a refused write into the error its sender sees.
func convertRejection(err error) error {
	var why *write.Rejection
	if !errors.As(err, &why) {
		return &schemas.Error{Code: schemas.CodeValidation, Message: "the event was refused"}
	}
	code := schemas.CodeValidation
	if why.Reason == write.Oversized {
		code = schemas.CodeTooLarge
	}
	return &schemas.Error{Code: code, Message: why.Error(), Field: why.Pointer, Problems: why.Issues}
}
