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
// is found by that name: another message stands between the two.

// ownOrRepeat tells the tenant's last message, which has a position, from a repeat. Of a repeat,
// which it removes where it may, it returns the position of the message before.
func (l *Ledger) ownOrRepeat(ctx context.Context, tenant, filter string, msg *jetstream.RawStreamMsg, position int64) (own bool, at int64, err error) {
	l.mu.Lock()
	end, known := l.last[tenant]
	l.mu.Unlock()
	if known && end.seq == msg.Sequence {
		return true, position, nil
	}
	follows, err := strconv.ParseUint(msg.Header.Get(jetstream.ExpectedLastSubjSeqHeader), 10, 64)
	if err != nil { // within a batch
		return true, position, nil
	}
	first, err := l.between(ctx, filter, follows, msg.Sequence)
	if err != nil || first == 0 {
		return true, position, err
	}
	if err := l.drop(ctx, tenant, []uint64{msg.Sequence}, "repeats", "the cluster stored an old publication late"); err != nil {
		return false, 0, err
	}
	at, _, err = l.lookBack(ctx, tenant, filter, first, msg.Sequence-1, nil)
	return false, at, err
}

// between returns the sequence of the first message of filter that stands between two others, 0 for none.
func (l *Ledger) between(ctx context.Context, filter string, low, high uint64) (uint64, error) {
	next, err := l.stream.GetMsg(ctx, low+1, jetstream.WithGetMsgSubject(filter))
	switch {
	case errors.Is(err, jetstream.ErrMsgNotFound): // removed meanwhile
		return 0, nil
	case err != nil:
		return 0, fmt.Errorf("look behind message %d of the ledger: %w", low, err)
	case next.Sequence < high:
		return next.Sequence, nil
	}
	return 0, nil
}
