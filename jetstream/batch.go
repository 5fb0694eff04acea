package jetstream

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// MaxBatch is the number of messages in one atomic batch that Satchel sends; the
// server's limit is 1000.
const MaxBatch = 500

// Sentinels of PublishBatch.
var (
	// ErrBatchRefused: the stream took nothing of the batch. The error also is, for
	// errors.As, the *jetstream.APIError.
	ErrBatchRefused = errors.New("batch refused")
	// ErrBatchUnknown: no answer came; the batch is stored whole or not at all.
	ErrBatchUnknown = errors.New("batch may or may not be stored")
)

// The headers of an atomic batch (NATS ADR-50). The server knows a batch by its id alone: any publisher to the same stream
// that knows the id of an open one can add to it, or end it early. So each id is random, of 128 bits or more, and an account
// of an agent MUST NOT hear what others publish.
const (
	headerBatchID     = "Nats-Batch-Id"
	headerBatchSeq    = "Nats-Batch-Sequence"
	headerBatchCommit = "Nats-Batch-Commit"
)

// batchAck is the server's answer to the commit of a batch.
type batchAck struct {
	Stream   string              `json:"stream"`
	Sequence uint64              `json:"seq"`
	Count    int                 `json:"count"`
	Error    *jetstream.APIError `json:"error"`
}

// PublishBatch stores messages in one stream, all or none, in order, with one sync of
// the disk, and returns the stream and the sequence of the last. The messages'
// headers are added to; a message MUST NOT carry Nats-Msg-Id. At most MaxBatch
// messages, all of one stream that allows atomic batches.
func PublishBatch(ctx context.Context, nc *nats.Conn, messages []*nats.Msg) (stream string, last uint64, err error) {
	if len(messages) == 0 || len(messages) > MaxBatch {
		return "", 0, fmt.Errorf("publish batch of %d messages: want 1 to %d", len(messages), MaxBatch)
	}
	id := rand.Text()
	for n, msg := range messages {
		if msg.Header == nil {
			msg.Header = make(nats.Header, 3)
		}
		msg.Header[headerBatchID] = []string{id}
		msg.Header[headerBatchSeq] = []string{strconv.Itoa(n + 1)}
		if n < len(messages)-1 {
			if err := nc.PublishMsg(msg); err != nil {
				return "", 0, fmt.Errorf("publish batch of %d messages: %w: %w", len(messages), ErrBatchRefused, err)
			}
		}
	}
	commit := messages[len(messages)-1]
	commit.Header[headerBatchCommit] = []string{"1"}
	ctx, cancel := answerWithin(ctx, 10*time.Second)
	defer cancel()
	reply, err := nc.RequestMsgWithContext(ctx, commit)
	if errors.Is(err, nats.ErrNoResponders) || errors.Is(err, nats.ErrMaxPayload) {
		return "", 0, fmt.Errorf("publish batch of %d messages: %w: %w", len(messages), ErrBatchRefused, err)
	}
	if err != nil {
		return "", 0, fmt.Errorf("publish batch of %d messages: %w: %w", len(messages), ErrBatchUnknown, err)
	}
	var ack batchAck
	if err := json.Unmarshal(reply.Data, &ack); err != nil {
		return "", 0, fmt.Errorf("publish batch of %d messages: %w: read answer: %w", len(messages), ErrBatchUnknown, err)
	}
	if ack.Error != nil {
		return "", 0, fmt.Errorf("publish batch of %d messages: %w: %w", len(messages), ErrBatchRefused, ack.Error)
	}
	if ack.Count != len(messages) {
		return "", 0, fmt.Errorf("publish batch of %d messages: %w: the server counted %d", len(messages), ErrBatchUnknown, ack.Count)
	}
	return ack.Stream, ack.Sequence, nil
}
