package jetstream

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"satchel/worker/transport"
)

// Ack tells the server that everything up to seq is in the log, and waits for its
// answer. It is a hint for lag and redelivery only.
func (i *Inbox) Ack(ctx context.Context, seq uint64) error {
	i.mu.Lock()
	n := 0
	for n < len(i.pending) && i.pending[n].seq <= seq {
		n++
	}
	if n == 0 {
		i.mu.Unlock()
		return fmt.Errorf("ack %q up to %d: %w", i.Name(), seq, ErrNotDelivered)
	}
	last := i.pending[n-1]
	i.pending = append(i.pending[:0], i.pending[n:]...)
	i.mu.Unlock()
	ctx, cancel := answerWithin(ctx, 2*time.Second)
	defer cancel()
	if _, err := i.nc.RequestWithContext(ctx, last.reply, []byte("+ACK")); err != nil {
		return fmt.Errorf("ack %q up to %d: %w", i.Name(), seq, err)
	}
	return nil
}

// State describes the stream and its message at seq; seq 0 asks for the stream only.
func (i *Inbox) State(ctx context.Context, seq uint64) (transport.StreamState, error) {
	info, err := i.stream.Info(ctx)
	if err != nil {
		return transport.StreamState{}, fmt.Errorf("describe stream %q: %w", MemoryStream, err)
	}
	state := transport.StreamState{Epoch: epochOf(info), LastSeq: info.State.LastSeq}
	if seq == 0 {
		return state, nil
	}
	msg, err := readStored(ctx, i.nc, MemoryStream, lookup{Seq: seq})
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return state, nil
	}
	if err != nil {
		return transport.StreamState{}, fmt.Errorf("read message %d of %q: %w", seq, MemoryStream, err)
	}
	state.Found, state.Hash = true, hashMessage(OriginalSubject(msg.subject), msg.header, msg.data)
	return state, nil
}

// Purge removes the partition's messages at and before seq. A guard that compares the
// message at the checkpoint passes the sequence before it. Removed bytes may stay on
// the disk for a while; Scrubber removes those too.
func (i *Inbox) Purge(ctx context.Context, seq uint64) error {
	if seq == 0 {
		return nil
	}
	err := i.checkSameStream(ctx)
	if err != nil {
		return fmt.Errorf("purge %q up to %d: %w", i.Name(), seq, err)
	}
	err = i.stream.Purge(ctx, jetstream.WithPurgeSubject(partitionFilter(i.cfg.Partition)), jetstream.WithPurgeSequence(seq+1))
	if err != nil {
		return fmt.Errorf("purge %q up to %d: %w", i.Name(), seq, err)
	}
	return nil
}

// Erase overwrites the message at seq and removes it.
func (i *Inbox) Erase(ctx context.Context, seq uint64) error {
	err := i.checkSameStream(ctx)
	if err != nil {
		return fmt.Errorf("erase message %d of %q: %w", seq, i.Name(), err)
	}
	_, err = eraseMessage(ctx, i.nc, i.stream, seq)
	return err
}

// checkSameStream returns ErrRecreated when the stream is not the one that was opened.
func (i *Inbox) checkSameStream(ctx context.Context) error {
	info, err := i.stream.Info(ctx)
	if err == nil && epochOf(info) != i.epoch {
		err = transport.ErrRecreated
	}
	return err
}

// Lag returns how many messages of the partition the consumer has not delivered or
// not seen acknowledged.
func (i *Inbox) Lag(ctx context.Context) (uint64, error) {
	consumer, err := i.stream.Consumer(ctx, i.makeDurableName())
	if err != nil {
		return 0, fmt.Errorf("describe consumer %q: %w", i.makeDurableName(), err)
	}
	info := consumer.CachedInfo()
	return info.NumPending + uint64(info.NumAckPending), nil
}

// Rest stops reading until the next Seek.
func (i *Inbox) Rest() { i.stopFeed() }
