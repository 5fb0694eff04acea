package jetstream

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/nats-io/nats.go/jetstream"
)

// A cluster whose leader changes may store a publication that nobody awaits any more, behind
// others that came after it, though it names the message that it is to follow. Such a repeat
// is found by that name: a message with its position or a higher one stands between the two.

// ownOrRepeat tells the tenant's last message, which has a position, from a repeat. Of a repeat,
// which it removes where it may, it returns the position of the message before.
func (l *Ledger) ownOrRepeat(ctx context.Context, tenant, filter string, msg *jetstream.RawStreamMsg, position int64) (own bool, at int64, err error) {
	l.mu.Lock()
	end, known := l.last[tenant]
	l.mu.Unlock()
	if known && end.seq == msg.Sequence {
		return true, position, nil
	}
	earlier, err := l.earlier(ctx, filter, msg, position)
	if err != nil || earlier == 0 {
		return true, position, err
	}
	if err := l.drop(ctx, tenant, []uint64{msg.Sequence}, "repeats", "the cluster stored an old publication late"); err != nil {
		return false, 0, err
	}
	at, _, err = l.lookBack(ctx, tenant, filter, earlier, msg.Sequence-1, nil)
	return false, at, err
}

// earlier returns the sequence of a message of Satchel's with this position or a higher one that stands
// between a message and the one it was to follow, 0 for none. Foreign messages may stand there, too.
func (l *Ledger) earlier(ctx context.Context, filter string, msg *jetstream.RawStreamMsg, position int64) (uint64, error) {
	at, err := strconv.ParseUint(msg.Header.Get(jetstream.ExpectedLastSubjSeqHeader), 10, 64)
	if err != nil { // within a batch
		return 0, nil
	}
	for range maxForeign {
		next, err := l.stream.GetMsg(ctx, at+1, jetstream.WithGetMsgSubject(filter))
		switch {
		case errors.Is(err, jetstream.ErrMsgNotFound): // removed meanwhile
			return 0, nil
		case err != nil:
			return 0, fmt.Errorf("look behind message %d of the ledger: %w", at, err)
		case next.Sequence >= msg.Sequence:
			return 0, nil
		}
		if p, err := LedgerPosition(next.Subject, next.Header); err == nil {
			if p < position {
				return 0, nil
			}
			return next.Sequence, nil
		}
		at = next.Sequence
	}
	return 0, nil
}
