// Package emitters is what an agent imports to remember and to ask: remember, link,
// supersede, forget, ask, follow the ledger.
//
// It promises that a memory whose Receipt was returned is in JetStream, synced to
// disk, or, with an Outbox, in the outbox's folder until it is; that a call repeated
// with the same event id stores nothing twice; and that it carries no server, policy
// engine or database into the agent's binary.
//
// # Writing
//
// Every write is a CloudEvent of the agent. Without [Options] a call returns when
// JetStream has it (accepted). With Options.Wait at logged, indexed or proved the
// event goes through the service, which validates it first and replies when it has
// come that far; what it refuses is a *schemas.Error that names the fields, and is not
// published. When the wait ends too early the receipt has a lower level and a warning. An event
// that was accepted and turns out to be wrong becomes a dead letter instead.
//
// # Outbox
//
// With Config.Outbox an event that NATS does not take now is kept on disk, and its
// receipt says queued. The calls that publish send what waits first, so that order is
// kept; [Emitter.Flush] does nothing else, and after a reconnect it is called for you, again
// until nothing waits. An event that can never be taken is refused
// at once, and a call whose context was cancelled keeps nothing.
//
// # Keys
//
// Where Satchel has a principal registry on its embedded NATS, the connection carries the key of
// the agent (nats.NkeyOptionFromSeed), and Config.Agent is the principal of that key.
//
// An Emitter is safe for concurrent use. It owns neither the connection nor the
// process: Close flushes what is buffered and leaves the connection open; with an Outbox it
// MUST be called.
package emitters

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"github.com/cloudevents/sdk-go/v2/event"
	"github.com/google/uuid"
	"github.com/nats-io/nats.go"
	js "github.com/nats-io/nats.go/jetstream"

	"satchel/jetstream"
	"satchel/schemas"
)

// Config says who emits. Tenant and Agent are required subject tokens.
type Config struct {
	Tenant string
	Agent  string
	Source string   // CloudEvents source, default "satchel://agents/<tenant>/<agent>"
	Labels []string // security labels of items that carry none; without it they are refused

	// SigningSeed is an nkey seed; with it every event is signed as KeyID, or as the
	// seed's public key when KeyID is empty.
	SigningSeed []byte
	KeyID       string

	// Outbox is a folder of this emitter's own that keeps events while NATS is away; ""
	// keeps none. OutboxLimit bounds it in events, default 10,000.
	Outbox      string
	OutboxLimit int

	// Sandbox lets Remember store a content over SandboxOver as an artifact, as Store does,
	// which wants the service; without it a content that does not fit an event is refused.
	Sandbox bool

	// Clearance and Roles are claimed in each request and event. Where there is a registry, a
	// claim narrows what that grants: with any role here, the others do not count. No event
	// changes or erases what is above Clearance; "" claims public in a request, nothing in an event.
	Clearance string // public, internal, confidential, restricted
	Roles     []string
	Groups    []string // claimed in each request

	Clock func() time.Time // default time.Now
	NewID func() string    // event and item ids, default UUIDv7
}

// Emitter publishes an agent's memories and asks on its behalf.
type Emitter struct {
	cfg    Config
	nc     *nats.Conn
	stream *jetstream.Outbox
	outbox *outbox
	last   atomic.Pointer[published] // not known to be logged

	watching sync.Once     // watch, with the first event that is queued
	queued   chan struct{} // capacity 1: something was
	quit     func()        // ends watch, and waits for it; nil: it does not run

	patience time.Duration // with one worker, of what may be asked of another
}

// New returns an emitter over an open connection. What an earlier run left in the
// outbox goes out with the first call that publishes, or with Flush.
func New(nc *nats.Conn, cfg Config) (*Emitter, error) {
	if nc == nil {
		return nil, errors.New("emitter needs a NATS connection")
	}
	for _, name := range [][2]string{{"tenant", cfg.Tenant}, {"agent", cfg.Agent}} {
		if !schemas.ValidToken(name[1]) {
			return nil, fmt.Errorf("emitter: the name of the %s %q must be 1 to 64 of the characters A-Z a-z 0-9 _ -", name[0], name[1])
		}
	}
	if cfg.Source == "" {
		cfg.Source = schemas.AgentSource(cfg.Tenant, cfg.Agent)
	}
	if err := checkConfig(cfg); err != nil {
		return nil, fmt.Errorf("emitter of agent %q in tenant %q: %w", cfg.Agent, cfg.Tenant, err)
	}
	if cfg.Clock == nil {
		cfg.Clock = time.Now
	}
	if cfg.NewID == nil {
		cfg.NewID = func() string { return uuid.Must(uuid.NewV7()).String() }
	}
	conn, err := js.New(nc)
	if err != nil {
		return nil, fmt.Errorf("emitter of agent %q: %w", cfg.Agent, err)
	}
	e := &Emitter{cfg: cfg, nc: nc, stream: jetstream.NewOutbox(nc, conn), patience: 10 * time.Second, queued: make(chan struct{}, 1)}
	if cfg.Outbox != "" {
		if e.outbox, err = openOutbox(cfg.Outbox, cfg.OutboxLimit); err != nil {
			return nil, err
		}
	}
	return e, nil
}

// checkConfig finds what would make every event of the emitter a dead letter, or every
// request of it invalid.
func checkConfig(cfg Config) error {
	if len(cfg.Source) > schemas.MaxURI {
		return fmt.Errorf("source has more than %d characters", schemas.MaxURI)
	}
	if _, ok := schemas.ParseLevel(cfg.Clearance); !ok && cfg.Clearance != "" {
		return fmt.Errorf("clearance %q: want public, internal, confidential or restricted", cfg.Clearance)
	}
	if len(cfg.SigningSeed) == 0 {
		return nil
	}
	probe := event.New()
	probe.SetSubject("probe")
	return schemas.Sign(cfg.SigningSeed, cfg.KeyID, &probe)
}

// Options steer one call; nil means the defaults.
type Options struct {
	EventID string               // idempotency key together with the source; default a new one
	Wait    schemas.ReceiptLevel // accepted (default), logged, indexed or proved
}

// Remember publishes one item. Empty id, created_at, tenant, type, kind and labels
// are filled in. A *schemas.Error names every field that is wrong; nothing is
// published then. To record an item again that another agent has recorded wants the role
// editor, to lower its labels declassifier.
func (e *Emitter) Remember(ctx context.Context, item schemas.MemoryItem, opts *Options) (schemas.Receipt, error) {
	item, err := e.lightenItem(ctx, item)
	if err != nil {
		return schemas.Receipt{}, err
	}
	ev, err := e.buildRecordedEvent(item, opts)
	if err != nil {
		return schemas.Receipt{}, err
	}
	return e.sendEvent(ctx, ev, opts)
}

// RememberAll publishes items in order as atomic batches of at most 500 items and 8
// MiB, each all or nothing. Nothing is published when an item is wrong: the error
// names it. It returns a receipt an item; on an error, those of the batches that went.
func (e *Emitter) RememberAll(ctx context.Context, items []schemas.MemoryItem) ([]schemas.Receipt, error) {
	events := make([]event.Event, len(items))
	for i := range items {
		item, err := e.lightenItem(ctx, items[i])
		if err != nil {
			return nil, fmt.Errorf("item %d: %w", i, err)
		}
		ev, err := e.buildRecordedEvent(item, nil)
		if err != nil {
			return nil, fmt.Errorf("item %d: %w", i, err)
		}
		events[i] = ev
	}
	return e.sendAll(ctx, events)
}

// Link adds edges from an item to others. The item must be there, and be the agent's, unless
// it is an editor.
func (e *Emitter) Link(ctx context.Context, from string, links []schemas.Link, opts *Options) (schemas.Receipt, error) {
	data := schemas.MemoryLinked{Scope: e.makeScope(), From: from, Links: links}
	return e.sendData(ctx, schemas.TypeMemoryLinked, from, data, schemas.Invalid(data.Validate()), opts)
}

// Supersede says that by replaces item; item is shown no longer, and stays in the log. The
// item must be the agent's, unless it is an editor.
func (e *Emitter) Supersede(ctx context.Context, item, by, reason string, opts *Options) (schemas.Receipt, error) {
	data := schemas.MemorySuperseded{Scope: e.makeScope(), Item: item, By: by, Reason: reason}
	return e.sendData(ctx, schemas.TypeMemorySuperseded, item, data, schemas.Invalid(data.Validate()), opts)
}

// Accessed says that the agent used items outside a pack.
func (e *Emitter) Accessed(ctx context.Context, items []string, opts *Options) (schemas.Receipt, error) {
	data := schemas.MemoryAccessed{Scope: e.makeScope(), Items: items}
	return e.sendData(ctx, schemas.TypeMemoryAccessed, "accessed", data, schemas.Invalid(data.Validate()), opts)
}

// forgetLimit is how long Forget and Erasure wait.
const forgetLimit = time.Minute

// Forget asks for the erasure of items and waits, until ctx is done and a minute at most, for its receipt,
// which says store by store what is gone. An erasure that takes longer is a *schemas.Error with the code under_way:
// Erasure waits for it, by the id in the error. The agent's registry entry must allow it, or,
// where there is no registry, Config.Roles must have the role eraser, unless the agent
// signed every version of the items and of the summaries that go with them: a refusal is a
// *schemas.Error, and erases none of the items; so does an item that is not there. ErrQueued
// says that the request waits in the outbox.
func (e *Emitter) Forget(ctx context.Context, items []string, reason string) (schemas.ErasureReceipt, error) {
	opts := &Options{EventID: e.cfg.NewID(), Wait: schemas.ReceiptLogged}
	ctx, cancel := context.WithTimeout(ctx, forgetLimit)
	defer cancel()
	e.waitUntilLogged(ctx) // the service looks for the items in the log
	once := map[string]bool{}
	items = slices.DeleteFunc(slices.Clone(items), func(id string) bool {
		again := once[id]
		once[id] = true
		return again
	})
	data := schemas.MemoryErased{Scope: e.makeScope(), Items: items, Reason: reason}
	patience := e.patience
	if e.outbox != nil { // which would take what is late
		patience = time.Minute
	}
	r, err := retryTimeouts(ctx, patience, func(ctx context.Context) (schemas.Receipt, error) {
		return e.sendData(ctx, schemas.TypeMemoryErased, "erasure", data, schemas.Invalid(data.Validate()), opts)
	})
	if err == nil && r.Level == schemas.ReceiptQueued {
		err = fmt.Errorf("forget %d items: %w", len(items), ErrQueued)
	}
	var refused *schemas.Error
	switch {
	case errors.As(err, &refused) || errors.Is(err, ErrQueued):
		return schemas.ErasureReceipt{}, err
	case errors.Is(err, context.DeadlineExceeded):
		return schemas.ErasureReceipt{}, underWay(opts.EventID, "it is not known whether the erasure was logged: wait for it, or ask again", "the answer of the log")
	case err != nil:
		return schemas.ErasureReceipt{}, fmt.Errorf("forget %d items: it is not known whether the erasure was logged, so ask again: %w", len(items), err)
	}
	receipt, err := e.awaitErasure(ctx, opts.EventID, r.Warnings)
	receipt.Reason = reason
	return receipt, err
}

// Erasure waits for the receipt of an erasure that this agent asked for, as Forget does. id is that of the error
// under_way.
func (e *Emitter) Erasure(ctx context.Context, id string) (schemas.ErasureReceipt, error) {
	ctx, cancel := context.WithTimeout(ctx, forgetLimit)
	defer cancel()
	return e.awaitErasure(ctx, id, nil)
}

// Ask sends a context request. An empty meta.from is filled with the agent and what
// the Config claims.
func (e *Emitter) Ask(ctx context.Context, req schemas.ContextRequest) (schemas.ContextResult, error) {
	var res schemas.ContextResult
	if req.Meta.Type == "" {
		req.Meta.Type = schemas.MessageContextRequest
	}
	if req.Meta.From == nil {
		req.Meta.From = e.makeClaim()
	}
	return res, e.requestContext(ctx, "request", req, &res)
}

// Source is the CloudEvents source of the emitter's events.
func (e *Emitter) Source() string { return e.cfg.Source }

func (e *Emitter) makeClaim() *schemas.Agent {
	return &schemas.Agent{Type: "agent", ID: e.cfg.Agent, SecurityLevel: e.cfg.Clearance, Groups: e.cfg.Groups, Roles: e.cfg.Roles}
}

func (e *Emitter) makeScope() schemas.MemoryScope { return schemas.MemoryScope{Tenant: e.cfg.Tenant} }

// fillItem is an item with what is missing in it.
func (e *Emitter) fillItem(item schemas.MemoryItem) schemas.MemoryItem {
	if item.ID == "" {
		item.ID = e.cfg.NewID()
	}
	if item.CreatedAt.IsZero() {
		item.CreatedAt = e.cfg.Clock().UTC()
	}
	if item.Scope.Tenant == "" {
		item.Scope.Tenant = e.cfg.Tenant
	}
	if item.Kind == "" {
		item.Kind = schemas.KindMemory
	}
	if item.Type == "" {
		item.Type = schemas.Episodic
	}
	if len(item.SecurityLabel) == 0 {
		item.SecurityLabel = e.cfg.Labels
	}
	return item
}

func (e *Emitter) buildRecordedEvent(item schemas.MemoryItem, opts *Options) (event.Event, error) {
	item = e.fillItem(item)
	if !utf8.ValidString(item.Content.Text()) || !utf8.ValidString(item.Speaker) {
		return event.Event{}, &schemas.Error{Code: schemas.CodeValidation, Field: "/content", Message: "content and speaker must be UTF-8"}
	}
	if err := schemas.Invalid(item.Validate()); err != nil {
		return event.Event{}, err
	}
	return e.buildEvent(schemas.TypeMemoryRecorded, item.ID, item, opts)
}

// buildEvent builds and signs an event.
func (e *Emitter) buildEvent(eventType, subject string, data any, opts *Options) (event.Event, error) {
	raw, err := json.Marshal(data)
	if err != nil {
		return event.Event{}, fmt.Errorf("encode event: %w", err)
	}
	ev := event.New()
	ev.SetType(eventType)
	ev.SetSource(e.cfg.Source)
	ev.SetSubject(subject)
	ev.SetTime(e.cfg.Clock().UTC())
	ev.SetDataSchema(schemas.DataSchema(eventType))
	ev.SetID(e.cfg.NewID())
	if opts != nil && opts.EventID != "" {
		ev.SetID(opts.EventID)
	}
	if !schemas.ValidID(ev.ID()) {
		return event.Event{}, schemas.Invalid([]schemas.Issue{{Pointer: "/id", Message: "the event id must be 1 to 128 of the characters A-Z a-z 0-9 . _ : -"}})
	}
	ev.SetDataContentType(event.ApplicationJSON)
	ev.DataEncoded = raw
	if len(e.cfg.Roles) > 0 {
		ev.SetExtension(schemas.ExtensionRoles, strings.Join(e.cfg.Roles, ","))
	}
	if e.cfg.Clearance != "" {
		ev.SetExtension(schemas.ExtensionLevel, e.cfg.Clearance)
	}
	if len(e.cfg.SigningSeed) > 0 {
		if err := schemas.Sign(e.cfg.SigningSeed, e.cfg.KeyID, &ev); err != nil {
			return event.Event{}, fmt.Errorf("sign event: %w", err)
		}
	}
	return ev, nil
}

func (e *Emitter) sendData(ctx context.Context, eventType, subject string, data any, invalid *schemas.Error, opts *Options) (schemas.Receipt, error) {
	if invalid != nil {
		return schemas.Receipt{}, invalid
	}
	ev, err := e.buildEvent(eventType, subject, data, opts)
	if err != nil {
		return schemas.Receipt{}, err
	}
	return e.sendEvent(ctx, ev, opts)
}
