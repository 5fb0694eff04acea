package service

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"satchel/pipeline/meter"
	"satchel/pipeline/scope"
	"satchel/pipeline/store/eventlog"
	"satchel/pipeline/write"
	"satchel/policies"
	"satchel/policies/exception"
	"satchel/policies/hold"
	"satchel/schemas"
	"satchel/worker/erasure"
	"satchel/worker/metrics"
	"satchel/worker/transport"
)

// Engine answers context requests; op.Operations is the one there is.
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
	// Waits reports whether an event of a tenant may be published that the log does not have yet.
	Waits(ctx context.Context, tenant string) (bool, error)
}

// Eraser decides on erasures: an erasure.Eraser.
type Eraser interface {
	// Refuses returns why the agent of d may not erase items.
	Refuses(ctx context.Context, s scope.Scope, d *write.Prepared, ids []string) (
		refused *write.Rejection, found erasure.Found, err error)
	// Outline returns what an erasure of items would take, or why it would be refused.
	Outline(ctx context.Context, s, who scope.Scope, claimed schemas.Level, ids []string) (
		refused *write.Rejection, o erasure.Outline, err error)
	// Allows reports whether policy lets who erase every version of items.
	Allows(ctx context.Context, s, who scope.Scope, claimed schemas.Level, ids []string) (bool, error)
	// Delayed says why an erasure's receipt is not logged at present; nil: it may be.
	Delayed(tenant, id string, since time.Time) error
}

// Witnesses keep the cosigned heads: a witness.Client.
type Witnesses interface {
	// Newest returns a tenant's newest head that enough witnesses cosigned, "" for none.
	Newest(tenant string) string
}

// Config is what a Service is made of. Everything but Outbox, Registry, Exceptions, Witnesses and Tracer is
// required.
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
	Holds      *hold.Registry
	Eraser     Eraser
	Reviewer   Reviewer
	Ingest     Ingest
	Metrics    *metrics.Metrics
	Witnesses  Witnesses    // nil: there are none
	Tracer     meter.Tracer // of writes; zero: none is traced
	Clock      func() time.Time
	Quota      Quota // of what one principal puts
}

// Service answers requests: context, writes with a receipt, and the log's head,
// proofs, receipts and packs. It takes the tenant from the transport, the principal
// from the registry, and bodies as JSON; every error is a *schemas.Error.
// Safe for concurrent use.
type Service struct {
	cfg   Config
	waits entryWaits // calls that wait for the log
	puts  *meters
}

// New returns a Service.
func New(cfg Config) *Service {
	cfg.PDP = policies.Sourced(cfg.PDP, cfg.Items.Get)
	return &Service{cfg: cfg, waits: newEntryWaits(cfg.Log), puts: newMeters(cfg.Quota)}
}

// beginSearch notes that a request that searches begins, once the tenant's indexes have what was
// acknowledged; the caller MUST call leave when it has ended.
func (v *Service) beginSearch(ctx context.Context, tenant string) (leave func(), err error) {
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
	req, err := decodeRequest(body, schemas.DecodeContextRequest)
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
	if err := v.refuseUnreachable(ctx, tenant, req.Payload.MinPosition); err != nil {
		return nil, err
	}
	leave, err := v.beginSearch(ctx, tenant)
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
	leave, err := v.beginSearch(ctx, tenant)
	if err != nil {
		return nil, err
	}
	defer leave()
	return run(s)
}

// Receipt returns a [Wait] until an event has reached a level.
func (v *Service) Receipt(ctx context.Context, tenant string, body []byte) (any, error) {
	req, err := decodeRequest(body, schemas.Decode[schemas.ReceiptRequest])
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
		var entry eventlog.Entry
		err := v.isAsked(ctx, s, req.Source, req.ID)
		if err == nil {
			entry, err = v.awaitEntry(ctx, s, req.Source, req.ID, nil)
		}
		if err == nil {
			err = v.mayKnow(ctx, tenant, &entry)
		}
		if err != nil {
			return nil, storageError(ctx, "wait for the log", err)
		}
		r := schemas.Receipt{Tenant: tenant, Source: req.Source, ID: req.ID}
		if err := v.raiseReceipt(ctx, s, &r, &entry, req.Level); err != nil {
			return nil, err
		}
		if entry.Erased {
			r.Warnings = append(r.Warnings, "what this event stored was erased")
		}
		return r, nil
	}), nil
}

// isAsked refuses to wait for the receipt of an erasure that nobody asked for: the log has none, and no event waits to be
// logged.
func (v *Service) isAsked(ctx context.Context, s scope.Scope, source, id string) error {
	of, isReceipt := strings.CutSuffix(id, erasure.ReceiptSuffix)
	if !isReceipt {
		return nil
	}
	if waits, err := v.cfg.Ingest.Waits(ctx, s.Tenant()); err != nil || waits {
		return err
	}
	if _, err := v.cfg.Log.Find(ctx, s, source, id); !errors.Is(err, eventlog.ErrNotFound) {
		return err
	}
	entry, err := v.cfg.Log.Find(ctx, s, source, of)
	if errors.Is(err, eventlog.ErrNotFound) || err == nil && entry.Type != schemas.TypeMemoryErased {
		return &schemas.Error{Code: schemas.CodeNotFound, Message: "there is no such erasure: the log has none of this source and id"}
	}
	return err
}

// refuseUnreachable refuses to wait for a position that the log does not have.
func (v *Service) refuseUnreachable(ctx context.Context, tenant string, position int64) error {
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

// decodeRequest reads a body strictly: unknown and repeated names, wrong types and everything
// that validation finds are named at once.
func decodeRequest[T any](body []byte, read func([]byte) (T, []schemas.Issue)) (T, error) {
	v, issues := read(body)
	if err := schemas.Invalid(issues); err != nil {
		return v, err
	}
	return v, nil
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
