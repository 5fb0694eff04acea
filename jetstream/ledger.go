package jetstream

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"satchel/jetstream/cloudevent"
	"satchel/schemas"
	"satchel/worker/transport"
)

// The headers of a LEDGER message beside the CloudEvents attributes.
const (
	HeaderPosition = "Satchel-Position" // log position, decimal
	HeaderRequest  = "Satchel-Request"  // request id, absent for none
)

// ErrLedgerMoved is returned by Publish when somebody else has published for the
// tenant, or when the messages do not follow the tenant's last one. Nothing of the
// refused batch is stored.
var ErrLedgerMoved = errors.New("the ledger has moved on")

// smallBatch is up to how many messages go one by one. An atomic batch is written twice, in
// one go that requests beside it notice; a message is written once, and then mostly waits for
// its sync. More messages than that would wait too long.
const smallBatch = 128

// maxLedgerBytes bounds one batch, so that it does not fill the server's inbound buffer.
const maxLedgerBytes = 8 << 20

// maxForeign is how often one Publish looks again when foreign messages come in between.
const maxForeign = 8

// Ledger publishes log entries to LEDGER. A batch is stored whole or not at all and
// only behind the message its writer believes to be the tenant's last, so a repeat
// after a crash stores nothing twice. It is safe for concurrent use; calls for one
// tenant must not overlap.
type Ledger struct {
	nc     *nats.Conn
	js     jetstream.JetStream
	stream jetstream.Stream
	cfg    LedgerConfig
	kept   atomic.Bool // messages that are not to be there could not be removed

	mu     sync.Mutex
	last   map[string]ledgerEnd
	looked map[string]searched
}

// ledgerEnd is where a tenant's part of LEDGER ends.
type ledgerEnd struct {
	seq      uint64 // of the last message, whosever it is
	position int64  // of the last one of Satchel's
}

var _ transport.Ledger = (*Ledger)(nil)

// OpenLedger returns a publisher to LEDGER, which must exist.
func OpenLedger(ctx context.Context, nc *nats.Conn, js jetstream.JetStream, cfg LedgerConfig) (*Ledger, error) {
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	stream, err := openStream(ctx, js, LedgerStream)
	if err != nil {
		return nil, fmt.Errorf("open ledger: %w", err)
	}
	return &Ledger{nc: nc, js: js, stream: stream, cfg: cfg, last: make(map[string]ledgerEnd), looked: make(map[string]searched)}, nil
}

// LastPosition returns the log position of the last message in LEDGER that Satchel
// published for the tenant, 0 for none. Foreign messages behind it are passed by, and
// removed when the configuration says so.
func (l *Ledger) LastPosition(ctx context.Context, tenant string) (int64, error) {
	end, err := l.readLedgerEnd(ctx, tenant)
	if err != nil {
		return 0, err
	}
	l.setLedgerEnd(tenant, end)
	return end.position, nil
}

// LastSequence returns the sequence of the last message in LEDGER, whosever it is and of whichever tenant, though it
// was removed.
func (l *Ledger) LastSequence(ctx context.Context) (uint64, error) {
	info, err := l.stream.Info(ctx)
	if err != nil {
		return 0, fmt.Errorf("read last ledger sequence: %w", err)
	}
	return info.State.LastSeq, nil
}

// Passed reports whether LEDGER has nothing of the tenant and has let old messages go: what
// there was of a quiet tenant made way for others.
func (l *Ledger) Passed(ctx context.Context, tenant string) (bool, error) {
	filter, err := LedgerTenantSubject(tenant)
	if err != nil {
		return false, err
	}
	_, err = readStored(ctx, l.nc, LedgerStream, lookup{Last: filter})
	if err == nil {
		return false, nil
	}
	var info *jetstream.StreamInfo
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		info, err = l.stream.Info(ctx)
	}
	if err != nil {
		return false, fmt.Errorf("look at the ledger of %q: %w", tenant, err)
	}
	return info.State.FirstSeq > 1, nil
}

func (l *Ledger) readLedgerEnd(ctx context.Context, tenant string) (ledgerEnd, error) {
	filter, err := LedgerTenantSubject(tenant)
	if err != nil {
		return ledgerEnd{}, err
	}
	msg, err := readStored(ctx, l.nc, LedgerStream, lookup{Last: filter})
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return ledgerEnd{}, nil
	}
	if err != nil {
		return ledgerEnd{}, fmt.Errorf("read last ledger message of %q: %w", tenant, err)
	}
	l.mu.Lock()
	end, known := l.last[tenant]
	l.mu.Unlock()
	if known && end.seq == msg.seq {
		return end, nil
	}
	if position, err := LedgerPosition(msg.subject, msg.header); err == nil {
		repeat, err := l.isRepeat(ctx, filter, readPublication(msg.seq, position, msg.header))
		if err != nil {
			return ledgerEnd{}, err
		}
		if !repeat {
			l.noteSearched(tenant, searched{found: true, position: position, low: msg.seq, high: msg.seq})
			return ledgerEnd{seq: msg.seq, position: position}, nil
		}
	}
	position, err := l.ownEnd(ctx, tenant, filter, msg.seq)
	if err != nil {
		return ledgerEnd{}, err
	}
	// What was removed moved the end back. What came meanwhile was not looked at, and the
	// server refuses to publish behind it unseen.
	last, err := readStored(ctx, l.nc, LedgerStream, lookup{Last: filter})
	switch {
	case errors.Is(err, jetstream.ErrMsgNotFound):
		return ledgerEnd{position: position}, nil
	case err != nil:
		return ledgerEnd{}, fmt.Errorf("read last ledger message of %q: %w", tenant, err)
	}
	return ledgerEnd{seq: min(last.seq, msg.seq), position: position}, nil
}

// Publish appends messages, whose positions must rise and follow the last. It
// returns ErrLedgerMoved when the tenant's last message is not the one of the last
// LastPosition or Publish. Many messages travel in several batches; those before the
// failed one are stored. After any error the next call looks at the stream again.
func (l *Ledger) Publish(ctx context.Context, tenant string, messages []transport.LedgerMessage) error {
	end, err := l.findLedgerEnd(ctx, tenant)
	if err != nil {
		return err
	}
	foreign := 0
	for len(messages) > 0 {
		batch, err := ledgerBatch(tenant, end, messages)
		if err != nil {
			return err
		}
		stored, seq, err := l.sendBatch(ctx, tenant, end, batch)
		if stored > 0 {
			end = ledgerEnd{seq: seq, position: messages[stored-1].Position}
			l.setLedgerEnd(tenant, end)
			messages = messages[stored:]
		}
		if isWrongLast(err) && foreign < maxForeign {
			// Nothing but foreign messages came in between when the position is the same, or a
			// cluster had not applied yet what it had acknowledged.
			if now, look := l.readLedgerEnd(ctx, tenant); look == nil && now.position == end.position {
				foreign = foreign + 1
				end = now
				continue
			}
		}
		if err != nil {
			l.forgetEnd(tenant)
			if isWrongLast(err) {
				err = errors.Join(ErrLedgerMoved, err)
			}
			return fmt.Errorf("publish to ledger for %q: %w", tenant, err)
		}
	}
	return nil
}

// sendBatch stores one batch and returns how many of its messages are stored, and the sequence of the
// last of these. A few messages go one by one, each behind the one before: the ledger needs order
// and no repeats, and a crash between them leaves a shorter ledger only.
func (l *Ledger) sendBatch(ctx context.Context, tenant string, end ledgerEnd, batch []*nats.Msg) (stored int, seq uint64, err error) {
	if len(batch) > smallBatch {
		if _, seq, err = PublishBatch(ctx, l.nc, batch); err != nil {
			return 0, 0, err
		}
		return len(batch), seq, nil
	}
	filter, err := LedgerTenantSubject(tenant)
	if err != nil {
		return 0, 0, err
	}
	seq = end.seq
	for _, msg := range batch {
		expectSequence(msg, filter, seq)
		ack, err := l.js.PublishMsg(ctx, msg, jetstream.WithRetryAttempts(0))
		if err != nil {
			return stored, seq, err
		}
		stored = stored + 1
		seq = ack.Sequence
	}
	return stored, seq, nil
}

// expectSequence makes the server refuse msg unless the last message of filter is at seq.
func expectSequence(msg *nats.Msg, filter string, seq uint64) {
	msg.Header[jetstream.ExpectedLastSubjSeqHeader] = []string{strconv.FormatUint(seq, 10)}
	msg.Header[jetstream.ExpectedLastSubjSeqSubjHeader] = []string{filter}
}

// ledgerBatch encodes as many messages as one batch takes. The first carries the
// check; the server does it once for the whole batch.
func ledgerBatch(tenant string, end ledgerEnd, messages []transport.LedgerMessage) ([]*nats.Msg, error) {
	filter, err := LedgerTenantSubject(tenant)
	if err != nil {
		return nil, err
	}
	position := end.position
	size := 0
	var batch []*nats.Msg
	for _, m := range messages[:min(len(messages), MaxBatch)] {
		if m.Position <= position {
			return nil, fmt.Errorf("publish position %d to ledger for %q behind %d: %w", m.Position, tenant, position, ErrLedgerMoved)
		}
		msg, err := ledgerMessage(tenant, m)
		if err != nil {
			return nil, err
		}
		size += msg.Size()
		if size > maxLedgerBytes && len(batch) > 0 {
			break
		}
		if len(batch) == 0 {
			expectSequence(msg, filter, end.seq)
		}
		position = m.Position
		batch = append(batch, msg)
	}
	return batch, nil
}

func ledgerMessage(tenant string, m transport.LedgerMessage) (*nats.Msg, error) {
	subject, err := LedgerSubject(tenant, schemas.LedgerKind(m.Kind), m.Agent)
	if err != nil {
		return nil, err
	}
	header, data, err := cloudevent.Encode(m.Event, cloudevent.Binary)
	if err != nil {
		return nil, fmt.Errorf("publish position %d to ledger: %w", m.Position, err)
	}
	header[HeaderPosition] = []string{strconv.FormatInt(m.Position, 10)}
	if m.Request != "" {
		request, err := cloudevent.EscapeHeader(m.Request)
		if err != nil {
			return nil, fmt.Errorf("publish position %d to ledger: %w", m.Position, err)
		}
		header[HeaderRequest] = []string{request}
	}
	return &nats.Msg{Subject: subject, Header: header, Data: data}, nil
}

// isWrongLast reports whether the server refused because of the last-sequence check.
func isWrongLast(err error) bool {
	var api *jetstream.APIError
	if !errors.As(err, &api) {
		return false
	}
	const constant = 10164 // the subject is being written to by another batch
	return api.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequence || api.ErrorCode == constant
}

func (l *Ledger) findLedgerEnd(ctx context.Context, tenant string) (ledgerEnd, error) {
	l.mu.Lock()
	end, known := l.last[tenant]
	l.mu.Unlock()
	if known {
		return end, nil
	}
	end, err := l.readLedgerEnd(ctx, tenant)
	if err == nil {
		l.setLedgerEnd(tenant, end)
	}
	return end, err
}

func (l *Ledger) setLedgerEnd(tenant string, end ledgerEnd) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.last[tenant] = end
}

func (l *Ledger) forgetEnd(tenant string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.last, tenant)
}
