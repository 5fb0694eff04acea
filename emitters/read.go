package emitters

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/nats-io/nats.go"

	"satchel/jetstream"
	"satchel/schemas"
)

// Search returns the items that a query finds, best first.
func (e *Emitter) Search(ctx context.Context, req schemas.SearchRequest) (reply schemas.SearchReply, err error) {
	if req.From == nil {
		req.From = e.makeClaim()
	}
	return reply, e.requestContext(ctx, "search", req, &reply)
}

// Explain returns why an item is, or is not, in a pack, and what would change that.
func (e *Emitter) Explain(ctx context.Context, pack, item string) (reply schemas.ExplainReply, err error) {
	return reply, e.requestContext(ctx, "explain", schemas.ExplainRequest{From: e.makeClaim(), PackID: pack, ItemID: item}, &reply)
}

// Recover returns items whole that a pack left out or shortened.
func (e *Emitter) Recover(ctx context.Context, pack string, items []string) (reply schemas.RecoverReply, err error) {
	return reply, e.requestContext(ctx, "recover", schemas.RecoverRequest{From: e.makeClaim(), PackID: pack, ItemIDs: items}, &reply)
}

// Items returns items by their ids, or a page of those that pass a filter, newest first.
func (e *Emitter) Items(ctx context.Context, req schemas.ItemsRequest) (reply schemas.ItemsReply, err error) {
	if req.From == nil {
		req.From = e.makeClaim()
	}
	return reply, e.requestContext(ctx, "items", req, &reply)
}

// Status returns the size of the tenant's log, and up to which position each index has everything.
func (e *Emitter) Status(ctx context.Context) (reply schemas.StatusReply, err error) {
	return reply, e.requestContext(ctx, "status", schemas.StatusRequest{From: e.makeClaim()}, &reply)
}

// Plan returns what Forget of the items would take. It is refused as Forget would be.
func (e *Emitter) Plan(ctx context.Context, items []string) (reply schemas.PlanReply, err error) {
	subject, err := jetstream.PlanSubject(e.cfg.Tenant)
	if err != nil {
		return reply, err
	}
	e.waitUntilLogged(ctx) // the service looks for the items in the log
	return reply, e.sendRequest(ctx, subject, schemas.PlanRequest{From: e.makeClaim(), Items: items}, &reply)
}

// Head returns the signed head of the tenant's log.
func (e *Emitter) Head(ctx context.Context) (reply schemas.HeadReply, err error) {
	return reply, e.requestLog(ctx, "head", struct{}{}, &reply)
}

// Pack returns the result of an earlier request, as its principal saw it.
func (e *Emitter) Pack(ctx context.Context, id string) (reply schemas.ContextResult, err error) {
	return reply, e.requestLog(ctx, "pack", schemas.PackRequest{From: e.makeClaim(), PackID: id}, &reply)
}

// Entries returns entries of the log as the ledger shows them, of the kinds that the agent may follow.
func (e *Emitter) Entries(ctx context.Context, req schemas.EntriesRequest) (reply schemas.EntriesReply, err error) {
	if req.From == nil {
		req.From = e.makeClaim()
	}
	return reply, e.requestLog(ctx, "entries", req, &reply)
}

// Prove returns proofs that an entry is in the log, or that an earlier head is part of the present one. The
// entry is of a kind that the agent may follow.
func (e *Emitter) Prove(ctx context.Context, req schemas.ProveRequest) (reply schemas.ProveReply, err error) {
	if req.From == nil {
		req.From = e.makeClaim()
	}
	return reply, e.requestLog(ctx, "prove", req, &reply)
}

// Correction says what is true instead of an item: a text, or another item.
type Correction struct {
	Text   string
	By     string // id of the item that replaces it, instead of Text
	Reason string // kept with the correction
	Labels []string
}

// Correct replaces an item, which stays in the log, and returns the id of what replaces it. An
// item that the agent cannot see is not found.
func (e *Emitter) Correct(ctx context.Context, item string, c Correction, opts *Options) (by string, _ schemas.Receipt, err error) {
	if (c.Text == "") == (c.By == "") {
		return "", schemas.Receipt{}, &schemas.Error{Code: schemas.CodeValidation, Field: "/text",
			Message: "give either text, what is true instead, or by, the item that replaces it"}
	}
	if err := e.refuseUnseenItems(ctx, map[string]string{"/item": item, "/by": c.By}); err != nil {
		return "", schemas.Receipt{}, err
	}
	if c.By != "" {
		r, err := e.Supersede(ctx, item, c.By, c.Reason, opts)
		return c.By, r, err
	}
	next := schemas.MemoryItem{ID: e.cfg.NewID(), Content: schemas.TextContent(c.Text), SecurityLabel: c.Labels,
		Links: []schemas.Link{{Rel: schemas.RelSupersedes, To: item}}}
	if c.Reason != "" {
		if next.Attributes, err = json.Marshal(map[string]string{"reason": c.Reason}); err != nil {
			return "", schemas.Receipt{}, fmt.Errorf("encode reason: %w", err)
		}
	}
	r, err := e.Remember(ctx, next, opts)
	return next.ID, r, err
}

// refuseUnseenItems refuses ids, by the field that names them, of which there is no item that the agent may see.
func (e *Emitter) refuseUnseenItems(ctx context.Context, ids map[string]string) error {
	var asked []string
	for _, id := range ids {
		if id != "" {
			asked = append(asked, id)
		}
	}
	reply, err := e.Items(ctx, schemas.ItemsRequest{ItemIDs: asked})
	if err != nil {
		return err
	}
	for _, field := range slices.Sorted(maps.Keys(ids)) {
		id := ids[field]
		if slices.Contains(reply.Missing, id) && !slices.ContainsFunc(reply.Dropped, func(d schemas.Drop) bool { return d.ItemID == id }) {
			return &schemas.Error{Code: schemas.CodeNotFound, Field: field, Message: fmt.Sprintf("there is no item %q that you may see", id)}
		}
	}
	return nil
}

// NewID returns an id for an item.
func (e *Emitter) NewID() string { return e.cfg.NewID() }

// Refusal is what a door answers when a call ended with err: the error of the contract.
func Refusal(err error) *schemas.Error {
	var known *schemas.Error
	switch {
	case errors.As(err, &known):
		return known
	case errors.Is(err, context.DeadlineExceeded):
		return &schemas.Error{Code: schemas.CodeDeadlineExceeded, Message: "Satchel did not answer in time"}
	case errors.Is(err, ErrNotConnected), errors.Is(err, nats.ErrNoResponders), errors.Is(err, jetstream.ErrNoService):
		return &schemas.Error{Code: schemas.CodeStorage, Message: "Satchel does not answer: is satchel up running?"}
	}
	return &schemas.Error{Code: schemas.CodeValidation, Message: err.Error()}
}

func (e *Emitter) requestContext(ctx context.Context, verb string, request, reply any) error {
	subject, err := jetstream.ContextSubject(e.cfg.Tenant, verb)
	if err != nil {
		return err
	}
	return e.sendRequest(ctx, subject, request, reply)
}

func (e *Emitter) requestLog(ctx context.Context, verb string, request, reply any) error {
	subject, err := jetstream.LogSubject(e.cfg.Tenant, verb)
	if err != nil {
		return err
	}
	return e.sendRequest(ctx, subject, request, reply)
}
