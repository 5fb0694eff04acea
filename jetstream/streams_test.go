package jetstream_test

import (
	"errors"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"
	"github.com/nats-io/nats.go"
	natsjs "github.com/nats-io/nats.go/jetstream"

	"satchel/jetstream"
	"satchel/schemas"
)

func TestEnsureStreams(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ctx := within(t, time.Minute)
	if err := jetstream.EnsureStreams(ctx, b.js, jetstream.Config{}); err != nil {
		t.Fatalf("second call: %v", err)
	}
	err := jetstream.EnsureStreams(ctx, b.js, jetstream.Config{MemoryBytes: 1 << 20})
	if !errors.Is(err, jetstream.ErrStreamDiffers) || !strings.Contains(err.Error(), "max_bytes is 4294967296, want 1048576") {
		t.Fatalf("error = %v, want the differing field", err)
	}
	stream, err := b.js.Stream(ctx, jetstream.MemoryStream)
	if err != nil {
		t.Fatal(err)
	}
	if got := stream.CachedInfo().Config.MaxBytes; got != 4<<30 {
		t.Errorf("max bytes = %d: the stream was altered", got)
	}
	if err := jetstream.EnsureStreams(ctx, b.js, jetstream.Config{Replicas: -1}); err == nil {
		t.Error("a negative limit was accepted")
	}
}

func TestMemoryRefusesWhenFull(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ctx := within(t, time.Minute)
	if err := b.js.DeleteStream(ctx, jetstream.MemoryStream); err != nil {
		t.Fatal(err)
	}
	if err := jetstream.EnsureStreams(ctx, b.js, jetstream.Config{MemoryBytes: 8 << 10}); err != nil {
		t.Fatal(err)
	}
	outbox := jetstream.NewOutbox(b.nc, b.js)
	stored := 0
	for {
		_, _, err := outbox.PublishMemory(ctx, "acme", "a", sample("1"))
		if err != nil {
			isFull(t, err)
			break
		}
		stored++
	}
	_, _, err := outbox.PublishAll(ctx, "globex", "a", []event.Event{sample("2"), sample("3")})
	isFull(t, err)
	stream, err := b.js.Stream(ctx, jetstream.MemoryStream)
	if err != nil {
		t.Fatal(err)
	}
	if got := stream.CachedInfo().State.Msgs; stored == 0 || got != uint64(stored) {
		t.Errorf("stream has %d messages, %d were acknowledged", got, stored)
	}
}

// Batches that somebody has begun and does not end stop no other publisher.
func TestOpenBatchesStopNobody(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ctx := within(t, time.Minute)
	subject, err := jetstream.MemorySubject("acme", "eve")
	if err != nil {
		t.Fatal(err)
	}
	const allowed = 50 // of the server, for a stream
	for n := range allowed {
		msg := nats.NewMsg(subject)
		msg.Header.Set("Nats-Batch-Id", "open"+strconv.Itoa(n))
		msg.Header.Set("Nats-Batch-Sequence", "1")
		if err := b.nc.PublishMsg(msg); err != nil {
			t.Fatal(err)
		}
	}
	outbox := jetstream.NewOutbox(b.nc, b.js)
	_, seq, err := outbox.PublishAll(ctx, "globex", "a", []event.Event{sample("1"), sample("2"), sample("3")})
	if err != nil || seq != 3 {
		t.Errorf("stored up to %d: %v", seq, err)
	}
}

// isFull wants an error that tells a program and its user that the queue is full, and nothing
// of a disk.
func isFull(t *testing.T, err error) {
	t.Helper()
	var typed *schemas.Error
	if !errors.Is(err, jetstream.ErrFull) || !errors.As(err, &typed) || typed.Code != schemas.CodeOverloaded || !strings.Contains(typed.Message, "queue") || strings.Contains(typed.Message, "disk") {
		t.Fatalf("error = %v, want ErrFull and overloaded", err)
	}
}

func TestPublishTooLarge(t *testing.T) {
	t.Parallel()
	b := setup(t)
	e := sample("1")
	e.DataEncoded = []byte(`"` + strings.Repeat("x", jetstream.MaxEventSize) + `"`)
	if _, _, err := jetstream.NewOutbox(b.nc, b.js).PublishMemory(within(t, time.Second), "acme", "a", e); !errors.Is(err, jetstream.ErrTooLarge) {
		t.Fatalf("error = %v, want ErrTooLarge", err)
	} else if typed := (*schemas.Error)(nil); !errors.As(err, &typed) || typed.Code != schemas.CodeTooLarge || !strings.Contains(typed.Message, strconv.Itoa(jetstream.MaxEventSize)) {
		t.Errorf("error = %v, want too_large with the limit", err)
	}
}

func TestPublishBatchIsAllOrNone(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ctx := within(t, time.Minute)
	good, err := jetstream.MemoryMessage("acme", "a", sample("1"))
	if err != nil {
		t.Fatal(err)
	}
	bad, err := jetstream.MemoryMessage("acme", "a", sample("2"))
	if err != nil {
		t.Fatal(err)
	}
	bad.Header.Set(natsjs.ExpectedLastSeqHeader, "99")
	if _, _, err = jetstream.PublishBatch(ctx, b.nc, []*nats.Msg{good, bad}); !errors.Is(err, jetstream.ErrBatchRefused) {
		t.Fatalf("error = %v, want ErrBatchRefused", err)
	}
	stream, err := b.js.Stream(ctx, jetstream.MemoryStream)
	if err != nil {
		t.Fatal(err)
	}
	if got := stream.CachedInfo().State.Msgs; got != 0 {
		t.Errorf("%d messages of a refused batch are stored", got)
	}
	if _, _, err := jetstream.PublishBatch(ctx, b.nc, nil); err == nil {
		t.Error("an empty batch was accepted")
	}
}
