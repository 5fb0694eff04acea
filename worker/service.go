package worker

import (
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"

	"satchel/pipeline/isolation/exception"
	"satchel/pipeline/scope"
	"satchel/pipeline/store/eventlog"
	"satchel/pipeline/write"
	"satchel/policies"
	"satchel/schemas"
)

// systemAgent is the <agent> token of what Satchel itself publishes.
const systemAgent = "satchel"

// Engine answers context requests; pipeline.Engine is the one there is.
type Engine interface {
	Reply(ctx context.Context, s scope.Scope, req schemas.ContextRequest) (json.RawMessage, error)
}

// Service answers requests: context, writes with a receipt, and the log's head,
// proofs, receipts and packs. It takes the tenant from the transport, the principal
// from the registry, and bodies as JSON; every error is a *schemas.Error.
// Safe for concurrent use.
type Service struct {
	engine     Engine
	log        *eventlog.Log
	writer     *write.Writer
	outbox     Outbox
	projector  *Projector
	pdp        policies.PDP
	registry   *policies.Registry
	loopback   bool
	exceptions *exception.Registry
	stores     Stores
	eraser     *eraser
	logs       func(tenant string) error // why a tenant's events are not logged for good; nil: they are
	lags       func(tenant string) error // why they are not logged at present; nil: they are
	now        func() time.Time
	requests   barrier // context requests under way

	mu    sync.Mutex
	waits map[string]int // calls that wait for the log, by tenant
}

// Scope resolves who asks. The claim counts at most for what the registry grants.
func (v *Service) Scope(tenant string, from *schemas.Agent, purpose string) (scope.Scope, error) {
	if from == nil || from.ID == "" {
		return scope.Scope{}, &schemas.Error{Code: schemas.CodeValidation, Message: "say who asks", Field: "/meta/from/id"}
	}
	p, err := v.registry.Resolve(tenant, *from, v.loopback)
	if err != nil {
		return scope.Scope{}, &schemas.Error{Code: schemas.CodePolicyDenied, Message: "the principal is not known here", Field: "/meta/from/id"}
	}
	s, err := scope.New(tenant, p, purpose)
	if err != nil {
		return scope.Scope{}, &schemas.Error{Code: schemas.CodeValidation, Message: err.Error(), Field: "/meta/from"}
	}
	return s, nil
}

// Request answers a ContextRequest.
func (v *Service) Request(ctx context.Context, tenant string, body []byte) (any, error) {
	req, err := decode(body, schemas.DecodeContextRequest)
	if err != nil {
		return nil, err
	}
	if t := req.Payload.Tenant; t != "" && t != tenant {
		return nil, &schemas.Error{Code: schemas.CodeValidation, Field: "/payload/tenant", Message: "is not the tenant of the subject"}
	}
	s, err := v.Scope(tenant, req.Meta.From, req.Payload.Purpose)
	if err != nil {
		return nil, err
	}
	if err := v.reachable(ctx, tenant, req.Payload.MinPosition); err != nil {
		return nil, err
	}
	leave, err := v.begin(ctx, tenant)
	if err != nil {
		return nil, err
	}
	defer leave()
	res, err := v.engine.Reply(ctx, s, req)
	if err != nil {
		return nil, err
	}
	return res, nil
}

// Serve runs one of the engine's other doors for who asks, so that an erasure waits
// for it as it does for Request, and it for the indexes.
func (v *Service) Serve(ctx context.Context, tenant string, from *schemas.Agent, purpose string, run func(s scope.Scope) (any, error)) (any, error) {
	s, err := v.Scope(tenant, from, purpose)
	if err != nil {
		var typed *schemas.Error
		if errors.As(err, &typed) {
			typed.Field = strings.TrimPrefix(typed.Field, "/meta")
		}
		return nil, err
	}
	leave, err := v.begin(ctx, tenant)
	if err != nil {
		return nil, err
	}
	defer leave()
	return run(s)
}

// Put validates one event, publishes it and waits for the receipt asked for.
func (v *Service) Put(ctx context.Context, tenant string, body []byte) (any, error) {
	req, err := decode(body, schemas.DecodePutRequest)
	if err != nil {
		return nil, err
	}
	var ev event.Event
	if err := json.Unmarshal(req.Event, &ev); err != nil {
		return nil, &schemas.Error{Code: schemas.CodeValidation, Field: "/event", Message: "is not a CloudEvent in structured mode"}
	}
	draft, err := v.writer.Prepare(tenant, req.Agent, ev)
	if err != nil {
		return nil, rejected(err)
	}
	s, err := scope.System(tenant)
	if err != nil {
		return nil, &schemas.Error{Code: schemas.CodeValidation, Message: err.Error()}
	}
	receipt := schemas.Receipt{Level: schemas.ReceiptAccepted, Tenant: tenant, Source: draft.Source, ID: draft.ID}
	entry, err := v.log.Find(ctx, s, draft.Source, draft.ID)
	switch {
	case err == nil:
		receipt.Duplicate = true
	case errors.Is(err, eventlog.ErrNotFound):
		if err := v.logs(tenant); err != nil {
			return nil, err
		}
		if err := v.mayErase(ctx, s, &draft); err != nil {
			if held, found := v.log.Find(ctx, s, draft.Source, draft.ID); found == nil && same(&held, &draft) { // logged meanwhile
				receipt.Duplicate = true
				return v.receipt(ctx, s, receipt, &held, schemas.ReceiptLevel(req.Wait))
			}
			return nil, err
		}
		if receipt.Stream, receipt.StreamSeq, err = v.outbox.PublishMemory(ctx, tenant, req.Agent, ev); err != nil {
			return nil, storageError(ctx, "publish the event", err)
		}
		if req.Wait == "" || req.Wait == string(schemas.ReceiptAccepted) {
			return receipt, nil
		}
		if entry, err = v.awaitEntry(ctx, s, draft.Source, draft.ID); err != nil {
			return nil, storageError(ctx, "wait for the log", err)
		}
	default:
		return nil, storageError(ctx, "look the event up", err)
	}
	if !same(&entry, &draft) {
		return nil, &schemas.Error{Code: schemas.CodeValidation, Field: "/event/id", Message: string(write.IDReuse) + ": source and id were used before for another event"}
	}
	return v.receipt(ctx, s, receipt, &entry, schemas.ReceiptLevel(req.Wait))
}

// same reports whether an entry may be of the event that a draft is of. Of an entry that was
// erased nobody can tell any more, and an erasure is logged with what it takes along.
func same(held *eventlog.Entry, d *eventlog.Draft) bool {
	if d.Type == schemas.TypeMemoryErased {
		var req schemas.MemoryErased
		return json.Unmarshal(d.Data, &req) == nil && repeats(held, &req)
	}
	return held.Erased || bytes.Equal(held.Data, d.Data)
}

// mayErase refuses an erasure now that would be refused when the log takes it.
func (v *Service) mayErase(ctx context.Context, s scope.Scope, d *eventlog.Draft) error {
	if d.Type != schemas.TypeMemoryErased {
		return nil
	}
	var req schemas.MemoryErased
	if err := json.Unmarshal(d.Data, &req); err != nil {
		return &schemas.Error{Code: schemas.CodeValidation, Field: "/event/data", Message: "is not an erasure"}
	}
	switch refused, _, _, err := v.eraser.refuses(ctx, s, d, req.Items); {
	case errors.Is(err, errNoVerdict) && ctx.Err() == nil:
		return &schemas.Error{Code: schemas.CodePolicyDenied, Message: "policy gave no verdict, so nothing is erased"}
	case err != nil:
		return storageError(ctx, "check the erasure", err)
	case refused != nil && refused.Reason == write.UnknownItem:
		return &schemas.Error{Code: schemas.CodeValidation, Field: "/event" + refused.Pointer, Message: refused.Cause}
	case refused != nil:
		return &schemas.Error{Code: schemas.CodePolicyDenied, Message: refused.Cause}
	}
	return nil
}

// Receipt waits until an event has reached a level.
func (v *Service) Receipt(ctx context.Context, tenant string, body []byte) (any, error) {
	req, err := decode(body, schemas.Decode[schemas.ReceiptRequest])
	if err != nil {
		return nil, err
	}
	s, err := scope.System(tenant)
	if err != nil {
		return nil, &schemas.Error{Code: schemas.CodeValidation, Message: err.Error()}
	}
	timeout := 5 * time.Second
	if req.Timeout > 0 {
		timeout = min(time.Duration(req.Timeout)*time.Millisecond, time.Minute)
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	entry, err := v.awaitEntry(ctx, s, req.Source, req.ID)
	if err != nil {
		return nil, storageError(ctx, "wait for the log", err)
	}
	return v.receipt(ctx, s, schemas.Receipt{Tenant: tenant, Source: req.Source, ID: req.ID}, &entry, req.Level)
}

func (v *Service) receipt(ctx context.Context, s scope.Scope, r schemas.Receipt, entry *eventlog.Entry, level schemas.ReceiptLevel) (any, error) {
	r.Level, r.Position, r.Leaf = schemas.ReceiptLogged, entry.Position, hex.EncodeToString(entry.Leaf[:])
	if level == schemas.ReceiptIndexed || level == schemas.ReceiptProved {
		if err := v.projector.Await(ctx, s, entry.Position); err != nil {
			return nil, storageError(ctx, "wait for the indexes", err)
		}
		r.Level = schemas.ReceiptIndexed
	}
	if level == schemas.ReceiptProved {
		checkpoint, proof, err := v.prove(ctx, s, entry.Position)
		if err != nil {
			return nil, storageError(ctx, "prove the entry", err)
		}
		r.Level, r.Checkpoint, r.Inclusion = schemas.ReceiptProved, checkpoint, proof
	}
	return r, nil
}

// Busy reports whether requests are answered at the moment.
func (v *Service) Busy() bool { return v.requests.busy() }

// reachable refuses to wait for a position that the log does not have.
func (v *Service) reachable(ctx context.Context, tenant string, position int64) error {
	if position <= 0 {
		return nil
	}
	s, err := scope.System(tenant)
	if err != nil {
		return &schemas.Error{Code: schemas.CodeValidation, Message: err.Error()}
	}
	head, err := v.log.Head(ctx, s)
	if err != nil {
		return storageError(ctx, "read the log's head", err)
	}
	if position > head.Size {
		return &schemas.Error{Code: schemas.CodeValidation, Field: "/payload/min_position", Message: fmt.Sprintf("is beyond the log, which has %d entries", head.Size)}
	}
	return nil
}

// maxWaits is how many calls of one tenant may wait for the log at a time.
const maxWaits = 24

// wait takes one of the tenant's places for a call that waits, or refuses.
func (v *Service) wait(tenant string) (leave func(), err error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.waits[tenant] >= maxWaits {
		return nil, &schemas.Error{Code: schemas.CodeOverloaded, Message: "too many calls of this tenant wait at a time"}
	}
	if v.waits == nil {
		v.waits = map[string]int{}
	}
	v.waits[tenant]++
	return func() {
		v.mu.Lock()
		defer v.mu.Unlock()
		if v.waits[tenant]--; v.waits[tenant] == 0 {
			delete(v.waits, tenant)
		}
	}, nil
}

// patience is how long a call waits for the log before it asks whether that can be written.
const patience = 5 * time.Second

func (v *Service) awaitEntry(ctx context.Context, s scope.Scope, source, id string) (eventlog.Entry, error) {
	if entry, err := v.log.Find(ctx, s, source, id); err == nil || !errors.Is(err, eventlog.ErrNotFound) {
		return entry, err
	}
	if err := v.logs(s.Tenant()); err != nil {
		return eventlog.Entry{}, err
	}
	leave, err := v.wait(s.Tenant())
	if err != nil {
		return eventlog.Entry{}, err
	}
	defer leave()
	for {
		head, err := v.log.Head(ctx, s)
		if err != nil {
			return eventlog.Entry{}, err
		}
		entry, err := v.log.Find(ctx, s, source, id)
		if err == nil || !errors.Is(err, eventlog.ErrNotFound) {
			return entry, err
		}
		part, cancel := context.WithTimeout(ctx, patience)
		_, err = v.log.Await(part, s, head.Size)
		cancel()
		if err != nil && errors.Is(part.Err(), context.DeadlineExceeded) && ctx.Err() == nil {
			err = v.lags(s.Tenant())
		}
		if err != nil {
			return eventlog.Entry{}, err
		}
	}
}

// decode reads a body strictly: unknown and repeated names, wrong types and everything
// that validation finds are named at once.
func decode[T any](body []byte, read func([]byte) (T, []schemas.Issue)) (T, error) {
	v, issues := read(body)
	if err := schemas.Invalid(issues); err != nil {
		return v, err
	}
	return v, nil
}

// rejected turns a refused write into the error its sender sees.
func rejected(err error) error {
	var why *write.Rejection
	if !errors.As(err, &why) {
		return &schemas.Error{Code: schemas.CodeValidation, Message: "the event was refused"}
	}
	e := &schemas.Error{Code: schemas.CodeValidation, Message: why.Error(), Field: why.Pointer, Problems: why.Issues}
	return e
}

// storageError hides the cause, which may name files, behind what could not be done.
func storageError(ctx context.Context, what string, err error) error {
	var typed *schemas.Error
	switch {
	case errors.As(err, &typed):
		return typed
	case errors.Is(err, context.DeadlineExceeded), ctx.Err() != nil:
		return &schemas.Error{Code: schemas.CodeDeadlineExceeded, Message: "could not " + what + " in time"}
	case errors.Is(err, eventlog.ErrNotFound):
		return &schemas.Error{Code: schemas.CodeValidation, Message: "there is no such entry"}
	case errors.Is(err, eventlog.ErrErased):
		return &schemas.Error{Code: schemas.CodePolicyDenied, Message: "the content was erased"}
	}
	return &schemas.Error{Code: schemas.CodeStorage, Message: "could not " + what}
}
