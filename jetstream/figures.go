package jetstream

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Backlog is what MEMORY holds that the appenders have not acknowledged.
type Backlog struct {
	Pending uint64
	Oldest  time.Time // when the first of it came; zero: nothing is pending
}

// ReadBacklog asks the server how far the appenders of all partitions are behind.
func ReadBacklog(ctx context.Context, js jetstream.JetStream) (Backlog, error) {
	stream, err := js.Stream(ctx, MemoryStream)
	if err != nil {
		return Backlog{}, fmt.Errorf("read backlog: %w", err)
	}
	var b Backlog
	consumers := stream.ListConsumers(ctx)
	for info := range consumers.Info() {
		waiting := info.NumPending + uint64(max(info.NumAckPending, 0))
		if !strings.HasPrefix(info.Name, "append-") || waiting == 0 {
			continue
		}
		b.Pending += waiting
		first, err := readStored(ctx, js.Conn(), MemoryStream, lookup{Seq: info.AckFloor.Stream + 1, Next: info.Config.FilterSubject})
		switch {
		case errors.Is(err, jetstream.ErrMsgNotFound): // acknowledged meanwhile
		case err != nil:
			return Backlog{}, fmt.Errorf("read the first message that waits for %q: %w", info.Name, err)
		case b.Oldest.IsZero() || first.at.Before(b.Oldest):
			b.Oldest = first.at
		}
	}
	if err := consumers.Err(); err != nil {
		return Backlog{}, fmt.Errorf("read backlog: %w", err)
	}
	return b, nil
}

// FirstWaiting returns the sequence of the first message of a partition behind seq, 0 for none.
func FirstWaiting(ctx context.Context, nc *nats.Conn, partition int, seq uint64) (uint64, error) {
	first, err := readStored(ctx, nc, MemoryStream, lookup{Seq: seq + 1, Next: partitionFilter(partition)})
	switch {
	case errors.Is(err, jetstream.ErrMsgNotFound):
		return 0, nil
	case err != nil:
		return 0, fmt.Errorf("look for messages of %q behind %d: %w", PartitionName(partition), seq, err)
	}
	return first.seq, nil
}

// StreamSize is how much a stream holds.
type StreamSize struct {
	Name     string
	Messages uint64
	Bytes    uint64
	Limit    int64 // bytes it may reach; -1: any number
}

// ReadStreams asks the server for the sizes of the streams.
func ReadStreams(ctx context.Context, js jetstream.JetStream) ([]StreamSize, error) {
	var list []StreamSize
	for _, name := range []string{MemoryStream, LedgerStream, DLQStream} {
		stream, err := js.Stream(ctx, name)
		if err != nil {
			return nil, fmt.Errorf("read size of stream %q: %w", name, err)
		}
		info := stream.CachedInfo()
		list = append(list, StreamSize{name, info.State.Msgs, info.State.Bytes, info.Config.MaxBytes})
	}
	return list, nil
}
