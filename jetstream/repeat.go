package jetstream

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// A cluster whose leader changes may store a publication that nobody awaits any more, behind
// others that came after it, though it names the message that it is to follow. Such a repeat
// is found by that name: a message with its position or a higher one stands between the two.

// published is where a message of Satchel's is in LEDGER, and what it was to follow.
type published struct {
	seq      uint64
	position int64
	follows  uint64 // sequence of the message that it was to follow, where named
	named    bool
	place    uint64 // within an atomic batch, of which the first message alone names one; 0 or 1: it is the first
}

func readPublication(seq uint64, position int64, header nats.Header) published {
	p := published{seq: seq, position: position}
	follows, err := strconv.ParseUint(header.Get(jetstream.ExpectedLastSubjSeqHeader), 10, 64)
	p.follows = follows
	p.named = err == nil
	p.place, _ = strconv.ParseUint(header.Get(headerBatchSeq), 10, 64)
	return p
}

// isRepeat reports whether a message of filter came a second time.
func (l *Ledger) isRepeat(ctx context.Context, filter string, p published) (bool, error) {
	if !p.named && p.place > 1 && p.place <= p.seq {
		first, err := l.readNextMessage(ctx, filter, p.seq-p.place+1)
		if err != nil || first == nil || first.seq != p.seq-p.place+1 {
			return false, err
		}
		position, err := LedgerPosition(first.subject, first.header)
		if err != nil {
			return false, nil
		}
		p = readPublication(first.seq, position, first.header)
	}
	if !p.named {
		return false, nil
	}
	for at, n := p.follows+1, 0; n < maxForeign; n++ { // foreign messages may stand between, too
		next, err := l.readNextMessage(ctx, filter, at)
		if err != nil || next == nil || next.seq >= p.seq {
			return false, err
		}
		if position, err := LedgerPosition(next.subject, next.header); err == nil {
			return position >= p.position, nil
		}
		at = next.seq + 1
	}
	return false, nil
}

// readNextMessage returns the first message of filter at a sequence or behind it, nil for none.
func (l *Ledger) readNextMessage(ctx context.Context, filter string, seq uint64) (*stored, error) {
	msg, err := readStored(ctx, l.nc, LedgerStream, lookup{Seq: seq, Next: filter})
	switch {
	case errors.Is(err, jetstream.ErrMsgNotFound):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("look at message %d of the ledger: %w", seq, err)
	}
	return &msg, nil
}
