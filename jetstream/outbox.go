package jetstream

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"satchel/jetstream/cloudevent"
	"satchel/schemas"
	"satchel/worker/transport"
)

// ErrTooLarge is returned for an event that MEMORY would not take. A *schemas.Error beside it
// names the limit.
var ErrTooLarge = errors.New("event is over the size limit")

// ErrFull is returned when MEMORY refuses because the events that are not logged yet fill it:
// come back later. A *schemas.Error beside it says so to a caller.
var ErrFull = errors.New("stream is full")

// ErrNoAck is returned when the server does not say that it has an event, which it may have
// or not: a server whose disk was full answers nothing more until it is started anew. A
// *schemas.Error beside it says so to a caller.
var ErrNoAck = errors.New("NATS did not acknowledge")

// ackLimit is how long one event may go without an acknowledgement: most callers wait for 30 s,
// and shall hear why.
const ackLimit = 10 * time.Second

// Guard returns a context that ends with ctx, and with a reason as its cause when the server
// takes nothing more. Both ends MUST be let go by the function.
type Guard func(ctx context.Context) (context.Context, context.CancelFunc)

// guardContext guards ctx; without a guard it is ctx itself.
func (g Guard) guardContext(ctx context.Context) (context.Context, context.CancelFunc) {
	if g == nil {
		return ctx, func() {}
	}
	return g(ctx)
}

// explainError is err, or, when the server takes nothing more, the reason.
func (g Guard) explainError(ctx, guarded context.Context, err error) error {
	if err != nil && guarded.Err() != nil && ctx.Err() == nil {
		return context.Cause(guarded)
	}
	return err
}

// Outbox publishes events to MEMORY. It is safe for concurrent use.
type Outbox struct {
	nc    *nats.Conn
	js    jetstream.JetStream
	guard Guard
}

var _ transport.Outbox = (*Outbox)(nil)

// NewOutbox returns an Outbox on nc.
func NewOutbox(nc *nats.Conn, js jetstream.JetStream) *Outbox { return &Outbox{nc: nc, js: js} }

// Guarded returns an Outbox that refuses with the reason while the server takes nothing.
func (o *Outbox) Guarded(guard Guard) *Outbox { return &Outbox{nc: o.nc, js: o.js, guard: guard} }

// PublishMemory stores one event and returns where once the server has it on the disk. It
// waits 10 s for that, and no longer than four fifths of what ctx has left: ErrNoAck.
func (o *Outbox) PublishMemory(ctx context.Context, tenant, agent string, ev event.Event) (stream string, seq uint64, err error) {
	msg, err := MemoryMessage(tenant, agent, ev)
	if err != nil {
		return "", 0, err
	}
	guarded, done := o.guard.guardContext(ctx)
	defer done()
	limit := ackLimit
	if end, bounded := ctx.Deadline(); bounded {
		limit = min(limit, time.Until(end)*4/5)
	}
	limited, cancel := context.WithTimeout(guarded, limit)
	defer cancel()
	ack, err := o.js.PublishMsg(limited, msg)
	if err != nil {
		return "", 0, fmt.Errorf("publish event of %q: %w", tenant, publishError(o.guard.explainError(ctx, guarded, err)))
	}
	return ack.Stream, ack.Sequence, nil
}

// PublishAll stores events of one agent, all or none, in order, and returns where the
// last one is. At most MaxBatch events. While others have opened as many batches as the server
// allows, it stores them one by one: after an error the first ones may be stored.
func (o *Outbox) PublishAll(ctx context.Context, tenant, agent string, events []event.Event) (stream string, last uint64, err error) {
	messages := make([]*nats.Msg, len(events))
	for n, ev := range events {
		if messages[n], err = MemoryMessage(tenant, agent, ev); err != nil {
			return "", 0, fmt.Errorf("event %d: %w", n, err)
		}
	}
	if len(events) == 1 {
		return o.PublishMemory(ctx, tenant, agent, events[0])
	}
	stream, last, err = PublishBatch(ctx, o.nc, messages)
	if !isCrowded(err) {
		return stream, last, publishError(err)
	}
	for n, ev := range events {
		stream, last, err = o.PublishMemory(ctx, tenant, agent, ev)
		if err != nil {
			return "", 0, fmt.Errorf("event %d: %w", n, err)
		}
	}
	return stream, last, nil
}

// isCrowded reports whether a batch was refused for the batches of others: none may be begun, or the server gave this
// one up.
func isCrowded(err error) bool {
	const incomplete, tooMany = 10176, 10210 // JSAtomicPublishIncompleteBatchErr, JSAtomicPublishTooManyInflight
	var api *jetstream.APIError
	return errors.As(err, &api) && (api.ErrorCode == incomplete || api.ErrorCode == tooMany)
}

// MemoryMessage returns the message that carries ev to MEMORY.
func MemoryMessage(tenant, agent string, ev event.Event) (*nats.Msg, error) {
	subject, err := MemorySubject(tenant, agent)
	if err != nil {
		return nil, err
	}
	header, data, err := cloudevent.Encode(ev, cloudevent.Binary)
	if err != nil {
		return nil, err
	}
	msg := &nats.Msg{Subject: subject, Header: header, Data: data}
	if msg.Size() > MaxEventSize {
		return nil, fmt.Errorf("publish event of %q: %w: %w", tenant, ErrTooLarge, &schemas.Error{Code: schemas.CodeTooLarge, Field: "/event",
			Message: fmt.Sprintf("has %d bytes, at most %d; store heavy content as an artifact", msg.Size(), MaxEventSize)})
	}
	return msg, nil
}

// publishError names the refusals a publisher can act on.
func publishError(err error) error {
	const notStored, maxSize = 10077, 10054 // JSStreamStoreFailed, JSStreamMessageExceedsMaximum
	var api *jetstream.APIError
	if errors.As(err, &api) {
		switch api.ErrorCode {
		case notStored:
			if !strings.HasPrefix(api.Description, "maximum ") { // the disk, not a limit of the stream
				return fmt.Errorf("%w: %w", &schemas.Error{Code: schemas.CodeStorage, Message: "NATS could not store the event: see its log and satchel doctor"}, err)
			}
			return fmt.Errorf("%w: %w: %w", ErrFull, &schemas.Error{Code: schemas.CodeOverloaded,
				Message: "the queue of events that are not logged yet is full: send it again later; satchel doctor says whether the log takes any"}, err)
		case maxSize:
			return errors.Join(ErrTooLarge, err)
		}
	}
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, nats.ErrTimeout) {
		return fmt.Errorf("%w: %w: %w", ErrNoAck, &schemas.Error{Code: schemas.CodeDeadlineExceeded,
			Message: "NATS did not acknowledge the event in time: the disk of its streams may be or have been full; see its log and satchel doctor, and send it again later"}, err)
	}
	return err
}
