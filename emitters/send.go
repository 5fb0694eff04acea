package emitters

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"
	"github.com/nats-io/nats.go"

	"satchel/jetstream"
	"satchel/jetstream/cloudevent"
	"satchel/schemas"
)

// maxBatchBytes bounds one atomic batch, so that it does not fill the server's buffer.
const maxBatchBytes = 8 << 20

// publishLimit is how long one attempt to publish may take.
const publishLimit = 15 * time.Second

// ErrNotConnected is returned while the connection is down and there is no outbox.
var ErrNotConnected = errors.New("NATS is not connected")

// sendEvent publishes one event and waits for the level asked for. With an outbox an event
// that NATS does not take now is kept, and the receipt says queued.
func (e *Emitter) sendEvent(ctx context.Context, ev event.Event, opts *Options) (schemas.Receipt, error) {
	level := schemas.ReceiptAccepted
	if opts != nil && opts.Wait != "" {
		level = opts.Wait
	}
	switch level {
	case schemas.ReceiptAccepted, schemas.ReceiptLogged, schemas.ReceiptIndexed, schemas.ReceiptProved:
	default:
		return schemas.Receipt{}, fmt.Errorf("wait for level %q: want accepted, logged, indexed or proved", level)
	}
	if level != schemas.ReceiptAccepted {
		r, err := e.writeEvent(ctx, ev, level)
		if err == nil || e.outbox == nil || !worthKeeping(ctx, err) {
			return r, err
		}
	}
	receipts, err := e.sendAll(ctx, []event.Event{ev})
	if err != nil {
		return schemas.Receipt{}, err
	}
	r := receipts[0]
	if level == schemas.ReceiptAccepted || r.Level == schemas.ReceiptQueued {
		return r, nil
	}
	return e.Receipt(ctx, r.Source, r.ID, level)
}

// writeEvent writes one event through the service, which validates it before it publishes it
// and replies when it has reached level.
func (e *Emitter) writeEvent(ctx context.Context, ev event.Event, level schemas.ReceiptLevel) (schemas.Receipt, error) {
	var r schemas.Receipt
	if !e.nc.IsConnected() {
		return r, fmt.Errorf("publish event: %w", ErrNotConnected)
	}
	if err := e.checkSize([]event.Event{ev}); err != nil {
		return r, err
	}
	if err := e.Flush(ctx); err != nil {
		return r, err
	}
	subject, err := jetstream.PutSubject(e.cfg.Tenant)
	if err != nil {
		return r, err
	}
	raw, err := json.Marshal(ev)
	if err != nil {
		return r, fmt.Errorf("encode event: %w", err)
	}
	wait := level
	if level == schemas.ReceiptProved {
		wait = schemas.ReceiptIndexed
	}
	if err := e.sendRequest(ctx, subject, schemas.PutRequest{Agent: e.cfg.Agent, Event: raw, Wait: string(wait)}, &r); err != nil {
		return schemas.Receipt{}, err
	}
	if level != schemas.ReceiptProved {
		return r, nil
	}
	proved, err := e.Receipt(ctx, r.Source, r.ID, level)
	proved.Duplicate = r.Duplicate
	return proved, err
}

// Receipt waits until an event has reached level, or ctx is done.
func (e *Emitter) Receipt(ctx context.Context, source, id string, level schemas.ReceiptLevel) (schemas.Receipt, error) {
	subject, err := jetstream.LogSubject(e.cfg.Tenant, "receipt")
	if err != nil {
		return schemas.Receipt{}, err
	}
	req := schemas.ReceiptRequest{Source: source, ID: id, Level: level}
	if deadline, ok := ctx.Deadline(); ok {
		req.Timeout = int(min(max(time.Until(deadline), time.Millisecond), time.Minute).Milliseconds())
	}
	var r schemas.Receipt
	err = e.sendRequest(ctx, subject, req, &r)
	return r, err
}

// checkSize refuses events that the stream would never take, before any is published.
func (e *Emitter) checkSize(events []event.Event) error {
	const sure = jetstream.MaxEventSize - 64<<10 // less than this fits whatever the headers are
	for i := range events {
		if len(events[i].Data()) < sure {
			continue
		}
		if _, err := jetstream.MemoryMessage(e.cfg.Tenant, e.cfg.Agent, events[i]); err != nil {
			return fmt.Errorf("event %d: %w", i, err)
		}
	}
	return nil
}

// batchSize returns how many of events, which are not empty, go in one batch.
func batchSize(events []event.Event) int {
	size := 0
	for i := range events[:min(len(events), jetstream.MaxBatch)] {
		size += len(events[i].Data()) + 1<<10
		if size > maxBatchBytes && i > 0 {
			return i
		}
	}
	return min(len(events), jetstream.MaxBatch)
}

// sendAll publishes events in order, in atomic batches.
func (e *Emitter) sendAll(ctx context.Context, events []event.Event) ([]schemas.Receipt, error) {
	if err := e.checkSize(events); err != nil {
		return nil, err
	}
	receipts := make([]schemas.Receipt, 0, len(events))
	for len(events) > 0 {
		n := batchSize(events)
		batch, err := e.sendBatch(ctx, events[:n])
		if err != nil {
			return receipts, err
		}
		receipts = append(receipts, batch...)
		events = events[n:]
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
		err = e.publishEvents(ctx, events)
	}
	if err == nil {
		return receipts, nil
	}
	if e.outbox == nil || !worthKeeping(ctx, err) {
		return nil, err
	}
	if err := e.outbox.addEvents(events); err != nil {
		return nil, err
	}
	e.watching.Do(func() { e.watchConnection(ctx) })
	select {
	case e.queued <- struct{}{}:
	default:
	}
	for i := range receipts {
		receipts[i].Level = schemas.ReceiptQueued
	}
	return receipts, nil
}

// publishEvents stores events in MEMORY. An unknown outcome is tried again once: the events
// keep their ids, so that nothing is stored twice in the log.
func (e *Emitter) publishEvents(ctx context.Context, events []event.Event) error {
	if !e.nc.IsConnected() {
		return fmt.Errorf("publish %d events: %w", len(events), ErrNotConnected)
	}
	send := func() error {
		ctx, cancel := context.WithTimeout(ctx, publishLimit)
		defer cancel()
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
	if err == nil {
		last := events[len(events)-1]
		e.last.Store(&published{last.Source(), last.ID()})
	}
	return err
}

// worthKeeping reports whether an event that was not taken may be taken later and its
// caller still wants it.
func worthKeeping(ctx context.Context, err error) bool {
	if errors.Is(ctx.Err(), context.Canceled) {
		return false
	}
	for _, final := range []error{jetstream.ErrTooLarge, cloudevent.ErrNotCloudEvent, cloudevent.ErrAttribute, jetstream.ErrSubject} {
		if errors.Is(err, final) {
			return false
		}
	}
	var refused *schemas.Error
	return !errors.As(err, &refused) || refused.Code.HTTPStatus() >= 429
}

// sendRequest sends a request as JSON and decodes the reply. A refusal is a *schemas.Error.
func (e *Emitter) sendRequest(ctx context.Context, subject string, request, reply any) error {
	body, err := json.Marshal(request)
	if err != nil {
		return fmt.Errorf("encode request: %w", err)
	}
	if err := e.awaitConnection(ctx); err != nil {
		return fmt.Errorf("request %q: %w", subject, err)
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

// connectLimit is how long a request without an end waits for the connection.
const connectLimit = 30 * time.Second

// awaitConnection waits until the connection stands, which it may never have done yet: what the
// server can do is not known before.
func (e *Emitter) awaitConnection(ctx context.Context) error {
	if e.nc.IsConnected() {
		return nil
	}
	if _, bounded := ctx.Deadline(); !bounded {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, connectLimit)
		defer cancel()
	}
	status := e.nc.StatusChanged(nats.CONNECTED, nats.CLOSED)
	defer e.nc.RemoveStatusListener(status)
	for !e.nc.IsConnected() {
		if e.nc.IsClosed() {
			return fmt.Errorf("%w: %w", ErrNotConnected, nats.ErrConnectionClosed)
		}
		select {
		case <-status:
		case <-ctx.Done():
			return fmt.Errorf("%w: %w", ErrNotConnected, ctx.Err())
		}
	}
	return nil
}

// published names an event in the stream.
type published struct{ source, id string }

// settleLimit is how long Forget waits for what was published before: that may have become
// a dead letter, of which nobody tells.
const settleLimit = 5 * time.Second

// waitUntilLogged waits until what this emitter published is logged, for a while.
func (e *Emitter) waitUntilLogged(ctx context.Context) {
	if !e.nc.IsConnected() || e.Flush(ctx) != nil {
		return // the caller's own event meets the same
	}
	last := e.last.Load()
	if last == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, settleLimit)
	defer cancel()
	if _, err := e.Receipt(ctx, last.source, last.id, schemas.ReceiptLogged); err == nil {
		e.last.CompareAndSwap(last, nil)
	}
}

// retryTimeouts calls try until it ends otherwise than by running out of its time, or ctx is done:
// the worker that was asked may have ended meanwhile.
func retryTimeouts[T any](ctx context.Context, each time.Duration, try func(ctx context.Context) (T, error)) (T, error) {
	for {
		part, cancel := context.WithTimeout(ctx, each)
		v, err := try(part)
		cancel()
		var refused *schemas.Error
		late := errors.Is(err, context.DeadlineExceeded) || errors.As(err, &refused) && refused.Code == schemas.CodeDeadlineExceeded
		if !late || ctx.Err() != nil {
			return v, err
		}
	}
}

// underWay is the state of an erasure that is not known to be finished, and what it waits for.
func underWay(id, message string, missing ...string) *schemas.Error {
	return &schemas.Error{Code: schemas.CodeUnderWay, Erasure: id, Message: message, Missing: missing}
}

// awaitErasure waits for the receipt of an erasure on the ledger. missing is what it is known to wait for.
func (e *Emitter) awaitErasure(ctx context.Context, eventID string, missing []string) (schemas.ErasureReceipt, error) {
	if _, err := retryTimeouts(ctx, e.patience, func(ctx context.Context) (schemas.Receipt, error) {
		return e.Receipt(ctx, e.cfg.Source, eventID+".receipt", schemas.ReceiptLogged)
	}); err != nil {
		return schemas.ErasureReceipt{}, notFinished(ctx, eventID, err, missing)
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
		return schemas.ErasureReceipt{}, notFinished(ctx, eventID, err, []string{"the ledger, which does not have the receipt yet"})
	}
	if found == nil {
		return schemas.ErasureReceipt{}, errors.New("the ledger has no receipt for the erasure")
	}
	return *found, nil
}

// notFinished says of an erasure whose receipt did not come in time that it is under way. Other errors stay, as that
// there is no such erasure.
func notFinished(ctx context.Context, id string, err error, missing []string) error {
	var refused *schemas.Error
	typed := errors.As(err, &refused)
	switch {
	case typed && (refused.Code == schemas.CodeUnderWay || refused.Code == schemas.CodeNotFound):
		return refused
	case errors.Is(err, context.DeadlineExceeded), typed && refused.Code == schemas.CodeDeadlineExceeded, ctx.Err() != nil:
		return underWay(id, "the erasure is under way: wait for its receipt", missing...)
	}
	return fmt.Errorf("wait for the receipt of erasure %q, which is under way: %w", id, err)
}
