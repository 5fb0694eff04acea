package service

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"

	"satchel/pipeline/scope"
	"satchel/pipeline/store/eventlog"
	"satchel/pipeline/write"
	"satchel/policies"
	"satchel/policies/exception"
	"satchel/schemas"
	"satchel/worker/authorship"
	"satchel/worker/erasure"
	"satchel/worker/transport"
)

// Engine answers context requests; pipeline.Engine is the one there is.
type Engine interface {
	Reply(ctx context.Context, s scope.Scope, req schemas.ContextRequest) (json.RawMessage, error)
}

// Indexes are what requests search: those of a projection.Projector.
type Indexes interface {
	// Await waits until every index has applied position.
	Await(ctx context.Context, s scope.Scope, position int64) error
	// Enter notes that a request searches, once the indexes have what was acknowledged.
	Enter(ctx context.Context, s scope.Scope) (leave func(), err error)
}

// Items read the current versions of items.
type Items interface {
	Get(ctx context.Context, s scope.Scope, ids []string) ([]schemas.Record, error)
}

// Reviewer decides on events that touch existing items: an authorship.Reviewer.
type Reviewer interface {
	Review(ctx context.Context, s scope.Scope, drafts []*write.Prepared) ([]*write.Rejection, error)
}

// Ingest is what takes published events into the log: an ingest.Appender.
type Ingest interface {
	// Admit returns why nothing may be written for a tenant.
	Admit(ctx context.Context, tenant string) (refused *write.Rejection, err error)
	// Refusal returns a channel that gets the refusal of an event.
	Refusal(ctx context.Context, tenant, source, id string, data []byte) <-chan *schemas.Error
	// Stopped says why a tenant's events are not logged for good; nil: they are.
	Stopped(tenant string) error
	// Delayed says why a tenant's events are not logged at present; nil: they may be.
	Delayed(tenant string, since time.Time) error
}

// Eraser decides on erasures: an erasure.Eraser.
type Eraser interface {
	// Refuses returns why the agent of d may not erase items.
	Refuses(ctx context.Context, s scope.Scope, d *write.Prepared, ids []string) (
		refused *write.Rejection, all []string, searched int64, err error)
	// Outline returns what an erasure of items would take, or why it would be refused.
	Outline(ctx context.Context, s, who scope.Scope, claimed schemas.Level, ids []string) (
		refused *write.Rejection, o erasure.Outline, err error)
	// Allows reports whether policy lets who erase every version of items.
	Allows(ctx context.Context, s, who scope.Scope, claimed schemas.Level, ids []string) (bool, error)
	// Delayed says why an erasure's receipt is not logged at present; nil: it may be.
	Delayed(tenant, id string, since time.Time) error
}

// Config is what a Service is made of. Everything but Outbox, Registry and Exceptions is required.
type Config struct {
	Engine     Engine
	Log        *eventlog.Log
	Writer     *write.Writer
	Outbox     transport.Outbox // takes the events of put; nil: Put MUST NOT be called
	Indexes    Indexes
	Items      Items
	PDP        policies.PDP
	Registry   *policies.Registry // nil: claims count on loopback only
	Loopback   bool
	Exceptions *exception.Registry // nil: there are none
	Eraser     Eraser
	Reviewer   Reviewer
	Ingest     Ingest
	Clock      func() time.Time
}

// Service answers requests: context, writes with a receipt, and the log's head,
// proofs, receipts and packs. It takes the tenant from the transport, the principal
// from the registry, and bodies as JSON; every error is a *schemas.Error.
// Safe for concurrent use.
type Service struct {
	cfg   Config
	waits entryWaits // calls that wait for the log
}

// New returns a Service.
func New(cfg Config) *Service {
	cfg.PDP = policies.Sourced(cfg.PDP, cfg.Items.Get)
	return &Service{cfg: cfg, waits: entryWaits{log: cfg.Log}}
}

// begin notes that a request that searches begins, once the tenant's indexes have what was
// acknowledged; the caller MUST call leave when it has ended.
func (v *Service) begin(ctx context.Context, tenant string) (leave func(), err error) {
	s, err := scope.System(tenant)
	if err != nil {
		return nil, &schemas.Error{Code: schemas.CodeValidation, Message: err.Error()}
	}
	if leave, err = v.cfg.Indexes.Enter(ctx, s); err != nil {
		return nil, storageError(ctx, "bring the indexes up to the log", err)
	}
	return leave, nil
}

// Scope resolves the principal of a request. The claim counts at most for what the registry
// grants, and a caller that the transport vouches for acts as itself alone.
func (v *Service) Scope(ctx context.Context, tenant string, from *schemas.Agent, purpose string) (scope.Scope, error) {
	if from == nil || from.ID == "" {
		return scope.Scope{}, &schemas.Error{Code: schemas.CodeValidation, Message: "say who asks", Field: "/meta/from/id"}
	}
	if err := mayActAs(ctx, from.ID, "/meta/from/id"); err != nil {
		return scope.Scope{}, err
	}
	p, err := v.cfg.Registry.Resolve(tenant, *from, v.cfg.Loopback)
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
	s, err := v.Scope(ctx, tenant, req.Meta.From, req.Payload.Purpose)
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
	res, err := v.cfg.Engine.Reply(ctx, s, req)
	if err != nil {
		return nil, err
	}
	return res, nil
}

// Serve runs one of the engine's other doors for who asks, so that an erasure waits
// for it as it does for Request, and it for the indexes.
func (v *Service) Serve(ctx context.Context, tenant string, from *schemas.Agent, purpose string, run func(s scope.Scope) (any, error)) (any, error) {
	s, err := v.Scope(ctx, tenant, from, purpose)
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

// Put validates one event and publishes it. It returns the receipt, or, when one of a level
// was asked for that takes time, a [Wait] that returns it. What is refused was not published.
// A published event is answered with a receipt, of a lower level with a warning when the one
// asked for could not be waited for.
func (v *Service) Put(ctx context.Context, tenant string, body []byte) (any, error) {
	req, err := decode(body, schemas.DecodePutRequest)
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
	prepared, err := v.cfg.Writer.Prepare(tenant, req.Agent, ev)
	if err != nil {
		return nil, rejected(err)
	}
	draft := &prepared.Draft
	s, err := scope.System(tenant)
	if err != nil {
		return nil, &schemas.Error{Code: schemas.CodeValidation, Message: err.Error()}
	}
	if err := v.mayWrite(ctx, tenant); err != nil {
		return nil, err
	}
	receipt := schemas.Receipt{Level: schemas.ReceiptAccepted, Tenant: tenant, Source: draft.Source, ID: draft.ID}
	level := schemas.ReceiptLevel(req.Wait)
	var refused <-chan *schemas.Error
	wait := Wait(func(ctx context.Context) (any, error) { return v.settlePut(ctx, s, receipt, draft, refused, level) })
	entry, err := v.cfg.Log.Find(ctx, s, draft.Source, draft.ID)
	switch {
	case err == nil:
		if err := taken(&entry, draft); err != nil {
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
		if err := v.mayPublish(ctx, s, &prepared); err != nil {
			if held, found := v.cfg.Log.Find(ctx, s, draft.Source, draft.ID); found == nil && taken(&held, draft) == nil { // logged meanwhile
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

// taken returns the error of a draft whose key the log has for another event, or for one that
// was erased: of that nobody can tell any more whether it was the same, and nothing is stored
// again. It is nil when the entry is of the same event. An erasure is logged with what it takes
// along.
func taken(held *eventlog.Entry, d *eventlog.Draft) error {
	var same bool
	if d.Type == schemas.TypeMemoryErased {
		var req schemas.MemoryErased
		same = json.Unmarshal(d.Data, &req) == nil && erasure.Repeats(held, &req)
	} else {
		same = bytes.Equal(held.Data, d.Data)
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
		return &schemas.Error{Code: schemas.CodePolicyDenied, Message: "policy gave no verdict, so nothing is changed"}
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
	refused, _, _, err := v.cfg.Eraser.Refuses(ctx, s, d, req.Items)
	return refusal(ctx, refused, err, "/event")
}

// Receipt returns a [Wait] until an event has reached a level.
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
	return Wait(func(ctx context.Context) (any, error) {
		ctx, cancel := context.WithTimeout(ctx, beforeEnd(timeout))
		defer cancel()
		entry, err := v.awaitEntry(ctx, s, req.Source, req.ID, nil)
		if err != nil {
			return nil, storageError(ctx, "wait for the log", err)
		}
		r := schemas.Receipt{Tenant: tenant, Source: req.Source, ID: req.ID}
		if err := v.raise(ctx, s, &r, &entry, req.Level); err != nil {
			return nil, err
		}
		if entry.Erased {
			r.Warnings = append(r.Warnings, "what this event stored was erased")
		}
		return r, nil
	}), nil
}

// reachable refuses to wait for a position that the log does not have.
func (v *Service) reachable(ctx context.Context, tenant string, position int64) error {
	if position <= 0 {
		return nil
	}
	s, err := scope.System(tenant)
	if err != nil {
		return &schemas.Error{Code: schemas.CodeValidation, Message: err.Error()}
	}
	head, err := v.cfg.Log.Head(ctx, s)
	if err != nil {
		return storageError(ctx, "read the log's head", err)
	}
	if position > head.Size {
		return &schemas.Error{Code: schemas.CodeValidation, Field: "/payload/min_position", Message: fmt.Sprintf("is beyond the log, which has %d entries", head.Size)}
	}
	return nil
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
	code := schemas.CodeValidation
	if why.Reason == write.Oversized {
		code = schemas.CodeTooLarge
	}
	return &schemas.Error{Code: code, Message: why.Error(), Field: why.Pointer, Problems: why.Issues}
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
		return &schemas.Error{Code: schemas.CodeNotFound, Message: "there is no such entry"}
	case errors.Is(err, eventlog.ErrErased):
		return &schemas.Error{Code: schemas.CodePolicyDenied, Message: "the content was erased"}
	}
	return &schemas.Error{Code: schemas.CodeStorage, Message: "could not " + what}
}
