package jetstream

import (
	"context"
	"errors"
	"fmt"

	"github.com/cloudevents/sdk-go/v2/event"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"satchel/schemas"
	"satchel/worker/transport"
)

// ErrTooLarge is returned for an event that MEMORY would not take. A *schemas.Error beside it
// names the limit.
var ErrTooLarge = errors.New("event is over the size limit")

// ErrFull is returned when MEMORY refuses because it is full: come back later.
var ErrFull = errors.New("stream is full")

// Outbox publishes events to MEMORY. It is safe for concurrent use.
type Outbox struct {
	nc *nats.Conn
	js jetstream.JetStream
}

var _ transport.Outbox = (*Outbox)(nil)

// NewOutbox returns an Outbox on nc.
func NewOutbox(nc *nats.Conn, js jetstream.JetStream) *Outbox { return &Outbox{nc: nc, js: js} }

// PublishMemory stores one event and returns where once the server has it on the disk.
func (o *Outbox) PublishMemory(ctx context.Context, tenant, agent string, ev event.Event) (stream string, seq uint64, err error) {
	msg, err := MemoryMessage(tenant, agent, ev)
	if err != nil {
		return "", 0, err
	}
	ack, err := o.js.PublishMsg(ctx, msg)
	if err != nil {
		return "", 0, fmt.Errorf("publish event of %q: %w", tenant, publishError(err))
	}
	return ack.Stream, ack.Sequence, nil
}

// PublishAll stores events of one agent, all or none, in order, and returns where the
// last one is. At most MaxBatch events.
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
	return stream, last, publishError(err)
}

// MemoryMessage returns the message that carries ev to MEMORY.
func MemoryMessage(tenant, agent string, ev event.Event) (*nats.Msg, error) {
	subject, err := MemorySubject(tenant, agent)
	if err != nil {
		return nil, err
	}
	header, data, err := Encode(ev, Binary)
	if err != nil {
		return nil, err
	}
	msg := &nats.Msg{Subject: subject, Header: header, Data: data}
	if msg.Size() > MaxEventSize {
		return nil, fmt.Errorf("publish event of %q: %w: %w", tenant, ErrTooLarge, &schemas.Error{Code: schemas.CodeValidation, Field: "/event",
			Message: fmt.Sprintf("has %d bytes, at most %d; store heavy content as an artifact", msg.Size(), MaxEventSize)})
	}
	return msg, nil
}

// publishError names the refusals a publisher can act on.
func publishError(err error) error {
	const maxBytes, maxSize = 10077, 10054 // JSStreamStoreFailed, JSStreamMessageExceedsMaximum
	var api *jetstream.APIError
	if errors.As(err, &api) {
		switch api.ErrorCode {
		case maxBytes:
			return errors.Join(ErrFull, err)
		case maxSize:
			return errors.Join(ErrTooLarge, err)
		}
	}
	return err
}
