package emitters

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"

	"satchel/jetstream"
	"satchel/schemas"
)

// send publishes one event and waits for the level asked for. With an outbox an event
// that NATS does not take now is kept, and the receipt says queued.
func (e *Emitter) send(ctx context.Context, ev event.Event, opts *Options) (schemas.Receipt, error) {
	receipts, err := e.sendAll(ctx, []event.Event{ev})
	if err != nil {
		return schemas.Receipt{}, err
	}
	r := receipts[0]
	if opts == nil || opts.Wait == "" || opts.Wait == schemas.ReceiptAccepted || r.Level == schemas.ReceiptQueued {
		return r, nil
	}
	return e.Receipt(ctx, r.Source, r.ID, opts.Wait)
}

// Receipt waits until an event has reached level, or ctx is done.
func (e *Emitter) Receipt(ctx context.Context, source, id string, level schemas.ReceiptLevel) (schemas.Receipt, error) {
	subject, err := jetstream.LogSubject(e.cfg.Tenant, "receipt")
	if err != nil {
		return schemas.Receipt{}, err
	}
	req := schemas.ReceiptRequest{Source: source, ID: id, Level: level}
	if deadline, ok := ctx.Deadline(); ok {
		req.Timeout = int(min(time.Until(deadline), time.Minute).Milliseconds())
	}
	var r schemas.Receipt
	return r, e.request(ctx, subject, req, &r)
}

// sendAll publishes events in order, in atomic batches.
func (e *Emitter) sendAll(ctx context.Context, events []event.Event) ([]schemas.Receipt, error) {
	receipts := make([]schemas.Receipt, 0, len(events))
	for len(events) > 0 {
		n := min(len(events), jetstream.MaxBatch)
		batch, err := e.sendBatch(ctx, events[:n])
		if err != nil {
			return receipts, err
		}
		receipts, events = append(receipts, batch...), events[n:]
	}
	return receipts, nil
}

func (e *Emitter) sendBatch(ctx context.Context, events []event.Event) ([]schemas.Receipt, error) {
	receipts := make([]schemas.Receipt, len(events))
	for i := range events {
		receipts[i] = schemas.Receipt{Level: schemas.ReceiptAccepted, Tenant: e.cfg.Tenant, Source: events[i].Source(), ID: events[i].ID()}
	}
	err := e.Flush(ctx) // what waits goes first, so that order is kept
	if err == nil {
		err = e.publish(ctx, events)
	}
	if err == nil {
		return receipts, nil
	}
	if e.outbox == nil || !worthKeeping(err) {
		return nil, err
	}
	if err := e.outbox.add(events); err != nil {
		return nil, err
	}
	for i := range receipts {
		receipts[i].Level = schemas.ReceiptQueued
	}
	return receipts, nil
}

// publish stores events in MEMORY. An unknown outcome is tried again once: the events
// keep their ids, so that nothing is stored twice in the log.
func (e *Emitter) publish(ctx context.Context, events []event.Event) error {
	if !e.nc.IsConnected() {
		return fmt.Errorf("publish %d events: %w", len(events), errAway)
	}
	send := func() error {
		if len(events) == 1 {
			_, _, err := e.stream.PublishMemory(ctx, e.cfg.Tenant, e.cfg.Agent, events[0])
			return err
		}
		_, _, err := e.stream.PublishAll(ctx, e.cfg.Tenant, e.cfg.Agent, events)
		return err
	}
	err := send()
	if errors.Is(err, jetstream.ErrBatchUnknown) && ctx.Err() == nil {
		err = send()
	}
	return err
}

// errAway is returned while the connection is down and there is no outbox.
var errAway = errors.New("NATS is not connected")

// worthKeeping reports whether an event that was not taken may be taken later.
func worthKeeping(err error) bool {
	return !errors.Is(err, jetstream.ErrTooLarge) && !errors.Is(err, jetstream.ErrNotCloudEvent) && !errors.Is(err, jetstream.ErrAttribute)
}

// request sends a request as JSON and decodes the reply. A refusal is a *schemas.Error.
func (e *Emitter) request(ctx context.Context, subject string, request, reply any) error {
	body, err := json.Marshal(request)
	if err != nil {
		return fmt.Errorf("encode request: %w", err)
	}
	raw, err := jetstream.Request(ctx, e.nc, subject, body)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(raw, reply); err != nil {
		return fmt.Errorf("decode reply of %q: %w", subject, err)
	}
	return nil
}

// awaitErasure waits for the receipt of an erasure on the ledger.
func (e *Emitter) awaitErasure(ctx context.Context, eventID string) (schemas.ErasureReceipt, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	if _, err := e.Receipt(ctx, e.cfg.Source, eventID+".receipt", schemas.ReceiptLogged); err != nil {
		return schemas.ErasureReceipt{}, fmt.Errorf("wait for the erasure: %w", err)
	}
	var found *schemas.ErasureReceipt
	err := e.FollowLedger(ctx, FollowOptions{Kinds: []schemas.LedgerKind{schemas.LedgerErasure}}, func(l LedgerEvent) error {
		if l.Gap != nil || l.Event.ID() != eventID+".receipt" {
			return nil
		}
		var ref schemas.LedgerReference
		if err := json.Unmarshal(l.Event.Data(), &ref); err != nil {
			return fmt.Errorf("decode erasure receipt: %w", err)
		}
		found = ref.Receipt
		return ErrStop
	})
	if err != nil {
		return schemas.ErasureReceipt{}, err
	}
	if found == nil {
		return schemas.ErasureReceipt{}, errors.New("the ledger has no receipt for the erasure")
	}
	return *found, nil
}
