package jetstream

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"satchel/jetstream/cloudevent"
	"satchel/worker/transport"
)

// NoTenant is the tenant token of a dead letter whose subject names no valid one.
const NoTenant = "_"

// ErrNoDeadLetter is returned when the DLQ holds no message of that sequence.
var ErrNoDeadLetter = errors.New("no such dead letter")

// ErrCut is returned for a dead letter whose message was too large to be kept in it.
var ErrCut = errors.New("its message was too large for a dead letter, and is not in it")

// seenLetters is how many rejections are remembered, and read back at the first
// Reject: more than sixteen partitions can have fetched and not committed.
const seenLetters = 16384

// DeadLetters writes and manages the DLQ stream. It is safe for concurrent use.
type DeadLetters struct {
	js     jetstream.JetStream
	stream jetstream.Stream

	mu     sync.Mutex
	loaded bool
	seen   map[string]struct{} // epoch-sequence of what is in the DLQ already
	order  []string            // of seen, oldest first
}

var _ transport.DeadLetters = (*DeadLetters)(nil)

// DeadLetter is one rejected message and why.
type DeadLetter struct {
	Seq       uint64      `json:"seq"` // in DLQ; names it for Read, Retry and Drop
	Tenant    string      `json:"tenant"`
	Reason    string      `json:"reason"`
	Cause     string      `json:"cause"`
	Pointer   string      `json:"pointer,omitempty"`
	Subject   string      `json:"subject"` // original
	StreamSeq uint64      `json:"stream_seq"`
	Epoch     string      `json:"epoch"`
	At        time.Time   `json:"at"`
	Source    string      `json:"source,omitempty"` // of the event, "" when it cannot be read
	ID        string      `json:"id,omitempty"`
	Foreign   bool        `json:"foreign,omitempty"`   // Satchel did not write it; nothing in it can be relied on
	Undecided bool        `json:"undecided,omitempty"` // it does not name its items, so an erasure may miss it
	Cut       bool        `json:"cut,omitempty"`       // the message was too large for a letter: Header and Data are not kept
	Header    nats.Header `json:"-"`                   // as published
	Data      []byte      `json:"-"`                   // as published
}

// OpenDeadLetters returns a manager of DLQ, which must exist.
func OpenDeadLetters(ctx context.Context, js jetstream.JetStream) (*DeadLetters, error) {
	stream, err := openStream(ctx, js, DLQStream)
	if err != nil {
		return nil, fmt.Errorf("open dead letters: %w", err)
	}
	return &DeadLetters{js: js, stream: stream, seen: make(map[string]struct{})}, nil
}

// Reject stores messages whole, with the cause. A message that was rejected before,
// by this process or by one before it, is not stored again. It returns ErrFull when
// the DLQ is full: nothing may go on then.
func (d *DeadLetters) Reject(ctx context.Context, rejected []transport.Rejected) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.loadRejections(ctx); err != nil {
		return err
	}
	var futures []jetstream.PubAckFuture
	var keys []string
	for _, r := range rejected {
		key := letterKey(r.Message.Epoch, r.Message.Seq)
		if _, known := d.seen[key]; known || slices.Contains(keys, key) {
			continue
		}
		msg, err := letterMessage(r, key, d.js.Conn().MaxPayload())
		if err != nil {
			return err
		}
		future, err := d.js.PublishMsgAsync(msg)
		if err != nil {
			return fmt.Errorf("publish dead letter: %w", err)
		}
		futures = append(futures, future)
		keys = append(keys, key)
	}
	for n, future := range futures {
		select {
		case <-future.Ok():
			d.rememberLetter(keys[n])
		case err := <-future.Err():
			return fmt.Errorf("publish dead letter: %w", publishError(err))
		case <-ctx.Done():
			return fmt.Errorf("publish dead letter: %w", context.Cause(ctx))
		}
	}
	return nil
}

// loadRejections reads back what the last rejections were.
func (d *DeadLetters) loadRejections(ctx context.Context) error {
	if d.loaded {
		return nil
	}
	info, err := d.stream.Info(ctx)
	if err != nil {
		return fmt.Errorf("read dead letters: %w", err)
	}
	from := uint64(1)
	if info.State.LastSeq > seenLetters {
		from = info.State.LastSeq - seenLetters
	}
	err = scanStream(ctx, d.js.Conn(), d.stream, scanConfig{from: from, headersOnly: true}, func(m stored) error {
		if seq, err := strconv.ParseUint(m.header.Get(HeaderDLQSequence), 10, 64); err == nil && ownLetter(m) {
			d.rememberLetter(letterKey(m.header.Get(HeaderDLQEpoch), seq))
		}
		return nil
	})
	d.loaded = err == nil
	return err
}

func (d *DeadLetters) rememberLetter(key string) {
	if _, known := d.seen[key]; known {
		return
	}
	d.seen[key] = struct{}{}
	d.order = append(d.order, key)
	if len(d.order) > seenLetters {
		delete(d.seen, d.order[0])
		d.order = d.order[1:]
	}
}

func letterKey(epoch string, seq uint64) string { return epoch + "-" + strconv.FormatUint(seq, 10) }

// Last returns the sequence of the newest dead letter there ever was, 0 for none.
func (d *DeadLetters) Last(ctx context.Context) (uint64, error) {
	info, err := d.stream.Info(ctx)
	if err != nil {
		return 0, fmt.Errorf("read dead letters: %w", err)
	}
	return info.State.LastSeq, nil
}

// List returns at most limit dead letters of a tenant from DLQ sequence from on,
// oldest first; tenant "" means all. Header and Data are left out.
func (d *DeadLetters) List(ctx context.Context, tenant string, from uint64, limit int) ([]DeadLetter, error) {
	filter := "dlq.v1.>"
	if tenant != "" {
		if !ValidToken(tenant) {
			return nil, fmt.Errorf("list dead letters of %q: %w", cloudevent.Clip(tenant), ErrSubject)
		}
		filter = "dlq.v1." + tenant + ".>"
	}
	var list []DeadLetter
	enough := errors.New("enough")
	err := scanStream(ctx, d.js.Conn(), d.stream, scanConfig{filters: []string{filter}, from: from}, func(m stored) error {
		if len(list) == limit {
			return enough
		}
		letter := letterOf(m)
		letter.Header = nil
		letter.Data = nil
		list = append(list, letter)
		return nil
	})
	if err != nil && !errors.Is(err, enough) {
		return nil, err
	}
	return list, nil
}

// Read returns one dead letter whole.
func (d *DeadLetters) Read(ctx context.Context, seq uint64) (DeadLetter, error) {
	msg, err := readStored(ctx, d.js.Conn(), DLQStream, lookup{Seq: seq})
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return DeadLetter{}, fmt.Errorf("read dead letter %d: %w", seq, ErrNoDeadLetter)
	}
	if err != nil {
		return DeadLetter{}, fmt.Errorf("read dead letter %d: %w", seq, err)
	}
	return letterOf(msg), nil
}

// Retry publishes a dead letter to its original subject again and removes it. A crash
// in between leaves both; the log takes the event once.
func (d *DeadLetters) Retry(ctx context.Context, seq uint64) error {
	letter, err := d.Read(ctx, seq)
	if err != nil {
		return err
	}
	if letter.Foreign {
		return fmt.Errorf("retry dead letter %d: %w", seq, ErrForeign)
	}
	if _, _, err := ParseMemory(letter.Subject); err != nil {
		return fmt.Errorf("retry dead letter %d: %w", seq, err)
	}
	if letter.Cut {
		return fmt.Errorf("retry dead letter %d: %w", seq, ErrCut)
	}
	msg := &nats.Msg{Subject: letter.Subject, Header: cleanHeaders(letter.Header), Data: letter.Data}
	ack, err := d.js.PublishMsg(ctx, msg)
	if err == nil && ack.Duplicate { // of a message that had its id a moment ago
		delete(msg.Header, jetstream.MsgIDHeader)
		_, err = d.js.PublishMsg(ctx, msg)
	}
	if err != nil {
		return fmt.Errorf("retry dead letter %d: %w", seq, publishError(err))
	}
	return d.Drop(ctx, seq)
}

// Drop removes a dead letter for good, its bytes on the disk too.
func (d *DeadLetters) Drop(ctx context.Context, seq uint64) error {
	gone, err := eraseMessage(ctx, d.js.Conn(), d.stream, seq)
	if err != nil {
		return fmt.Errorf("drop dead letter %d: %w", seq, err)
	}
	if !gone {
		return fmt.Errorf("drop dead letter %d: %w", seq, ErrNoDeadLetter)
	}
	return nil
}

func letterOf(m stored) DeadLetter {
	published := rejectedMessage(m)
	letter := DeadLetter{Seq: m.seq, Foreign: !ownLetter(m), Epoch: m.header.Get(HeaderDLQEpoch), Header: published.header, Data: published.data, Cut: isCut(m)}
	if tenant, reason, err := ParseDLQ(m.subject); err == nil {
		letter.Tenant = tenant
		letter.Reason = reason
	}
	letter.Cause = decodeText(m.header.Get(HeaderDLQCause))
	letter.Pointer = decodeText(m.header.Get(HeaderDLQPointer))
	letter.Subject = decodeText(m.header.Get(HeaderDLQSubject))
	if seq, err := strconv.ParseUint(m.header.Get(HeaderDLQSequence), 10, 64); err == nil {
		letter.StreamSeq = seq
	}
	if at, err := time.Parse(time.RFC3339Nano, m.header.Get(HeaderDLQAt)); err == nil {
		letter.At = at
	}
	letter.Source, letter.ID = identityOf(letter.Header, letter.Data)
	letter.Undecided = !letter.Cut && !newMentions("", nil).readLetter(published).known
	return letter
}

// ownLetter reports whether Satchel wrote a message of DLQ.
func ownLetter(m stored) bool {
	seq, err := strconv.ParseUint(m.header.Get(HeaderDLQSequence), 10, 64)
	if err != nil || isStreamCopy(m.header) || m.header.Get(jetstream.MsgIDHeader) != letterKey(m.header.Get(HeaderDLQEpoch), seq) {
		return false
	}
	_, _, err = ParseDLQ(m.subject)
	return err == nil
}
