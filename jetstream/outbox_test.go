package jetstream_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"satchel/jetstream"
	"satchel/schemas"
)

// deaf has whoever publishes to MEMORY wait for an acknowledgement that never comes, as a
// server does whose disk was full.
func (b *bundle) deaf(t *testing.T) (heard <-chan *nats.Msg) {
	t.Helper()
	if err := b.js.DeleteStream(within(t, time.Minute), jetstream.MemoryStream); err != nil {
		t.Fatal(err)
	}
	messages := make(chan *nats.Msg, 16)
	if _, err := b.nc.ChanSubscribe("mem.v1.>", messages); err != nil {
		t.Fatal(err)
	}
	return messages
}

// Without an acknowledgement a caller is told why in time to pass it on.
func TestNoAcknowledgement(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.deaf(t)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	_, _, err := jetstream.NewOutbox(b.nc, b.js).PublishMemory(ctx, "main", "a", sample("e-1"))
	var refusal *schemas.Error
	if !errors.Is(err, jetstream.ErrNoAck) || !errors.Is(err, context.DeadlineExceeded) || !errors.As(err, &refusal) || refusal.Code != schemas.CodeDeadlineExceeded {
		t.Errorf("error = %v, want ErrNoAck with a deadline_exceeded for the caller", err)
	}
	if ctx.Err() != nil {
		t.Error("there is no time left to tell the caller")
	}
}

// What waits for an acknowledgement ends when the server takes nothing more, and what
// comes later does not wait.
func TestGuardedOutbox(t *testing.T) {
	t.Parallel()
	b := setup(t)
	heard := b.deaf(t)
	full := &schemas.Error{Code: schemas.CodeStorage, Message: "the disk is full"}
	stalled, stall := context.WithCancelCause(t.Context())
	guard := func(ctx context.Context) (context.Context, context.CancelFunc) {
		guarded, cancel := context.WithCancelCause(ctx)
		stop := context.AfterFunc(stalled, func() { cancel(context.Cause(stalled)) })
		return guarded, func() { stop(); cancel(nil) }
	}
	go func() {
		<-heard
		stall(full)
	}()
	for range 2 {
		ctx := within(t, time.Minute)
		if _, _, err := jetstream.NewOutbox(b.nc, b.js).Guarded(guard).PublishMemory(ctx, "main", "a", sample("e-1")); !errors.Is(err, full) {
			t.Errorf("error = %v, want %v", err, full)
		}
		if err := jetstream.NewArtifacts(b.js).Guarded(guard).Revoke(ctx, "main", "x", time.Now()); !errors.Is(err, full) {
			t.Errorf("error = %v, want %v", err, full)
		}
	}
}
