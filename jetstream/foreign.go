package jetstream

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"time"

	"satchel/jetstream/cloudevent"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// ErrForeign is returned for a message of LEDGER that Satchel did not publish there. The
// server's own replies can be steered into a stream by whoever may ask it something.
var ErrForeign = errors.New("not a message of Satchel's")

// LedgerPosition returns the log position of a LEDGER message, or ErrForeign when its
// subject, its position or its CloudEvents attributes are not what Satchel writes.
func LedgerPosition(subject string, header nats.Header) (int64, error) {
	if _, _, _, err := ParseLedger(subject); err != nil {
		return 0, fmt.Errorf("%w: %w", ErrForeign, err)
	}
	if isStreamCopy(header) {
		return 0, fmt.Errorf("%w: a copy the server made", ErrForeign)
	}
	position, err := strconv.ParseInt(header.Get(HeaderPosition), 10, 64)
	if err != nil || position < 1 {
		return 0, fmt.Errorf("%w: no log position", ErrForeign)
	}
	ev, err := cloudevent.Decode(header, nil) // the ledger is written in binary mode
	if err != nil {
		return 0, fmt.Errorf("%w: %w", ErrForeign, err)
	}
	if text := cloudevent.ExtensionText(ev, "satchelposition"); text != "" {
		if said, err := strconv.ParseInt(text, 10, 64); err != nil || said != position {
			return 0, fmt.Errorf("%w: two log positions", ErrForeign)
		}
	}
	return position, nil
}

// isStreamCopy reports whether the server read the message from a stream for somebody.
func isStreamCopy(header nats.Header) bool {
	for name := range header {
		if cloudevent.HasPrefixFold(name, "Nats-Stream") || cloudevent.HasPrefixFold(name, "Nats-Sequence") || cloudevent.HasPrefixFold(name, "Nats-Subject") {
			return true
		}
	}
	return false
}

// searched is what is known of a tenant's part of LEDGER: the last message of Satchel's,
// where it was found, and the sequences from low to high, which hold none.
type searched struct {
	found     bool
	position  int64
	low, high uint64
}

const (
	firstPage = 256     // sequences of the first look back
	largePage = 1 << 16 // and of the largest
)

// ownEnd looks back from the tenant's last message, at tip, for the last one of
// Satchel's, page by page. What it learned before is not read again, also when it was
// interrupted. It removes foreign messages where it may.
func (l *Ledger) ownEnd(ctx context.Context, tenant, filter string, tip uint64) (int64, error) {
	s := l.findSearched(tenant)
	if tip < s.high { // another stream, or foreign messages were removed from its end
		s = searched{found: s.found && tip >= s.low, position: s.position, low: s.low, high: tip}
		if !s.found {
			s = searched{}
		}
	}
	// Above what is known the search is whole or forgotten; below, it may be interrupted.
	if s.high > 0 {
		position, at, err := l.lookBack(ctx, tenant, filter, s.high+1, tip, nil)
		switch {
		case err != nil:
			return 0, err
		case at > 0:
			s = searched{found: true, position: position, low: at, high: tip}
		default:
			s.high = tip
		}
	} else {
		s.low = tip + 1
		s.high = tip
	}
	if !s.found {
		info, err := l.stream.Info(ctx)
		if err != nil {
			return 0, fmt.Errorf("look back in the ledger of %q: %w", tenant, err)
		}
		position, at, err := l.lookBack(ctx, tenant, filter, max(1, info.State.FirstSeq), s.low-1, func(low uint64) {
			s.low = low
			l.noteSearched(tenant, s)
		})
		if err != nil {
			return 0, err
		}
		s = searched{found: true, position: position, low: max(at, 1), high: tip} // position 0: there is none
	}
	l.noteSearched(tenant, s)
	return s.position, nil
}

// lookBack returns position and sequence of the last message of Satchel's from
// sequence low to high, zeros when there is none. It calls page, unless nil, with the
// first sequence of each page that held none.
func (l *Ledger) lookBack(ctx context.Context, tenant, filter string, low, high uint64, page func(low uint64)) (int64, uint64, error) {
	for size := uint64(firstPage); high >= low && high > 0; size = min(2*size, largePage) {
		from := low
		if high-low >= size {
			from = high - size + 1
		}
		var own []published
		var foreign, repeats []uint64
		past := errors.New("past the page")
		err := scanStream(ctx, l.nc, l.stream, scanConfig{filters: []string{filter}, from: from, headersOnly: true}, func(m stored) error {
			if m.seq > high {
				return past
			}
			if p, err := LedgerPosition(m.subject, m.header); err == nil {
				own = append(own, readPublication(m.seq, p, m.header))
			} else {
				foreign = append(foreign, m.seq)
			}
			return nil
		})
		if err != nil && !errors.Is(err, past) {
			return 0, 0, fmt.Errorf("look back in the ledger of %q: %w", tenant, err)
		}
		if err := l.removeForeign(ctx, tenant, foreign); err != nil {
			return 0, 0, err
		}
		for len(own) > 0 {
			last := own[len(own)-1]
			repeat, err := l.isRepeat(ctx, filter, last)
			if err != nil {
				return 0, 0, err
			}
			if !repeat {
				break
			}
			own = own[:len(own)-1]
			repeats = append(repeats, last.seq)
		}
		if err := l.dropMessages(ctx, tenant, repeats, "repeats", "the cluster stored an old publication late"); err != nil {
			return 0, 0, err
		}
		if n := len(own); n > 0 {
			return own[n-1].position, own[n-1].seq, nil
		}
		if page != nil {
			page(from)
		}
		high = from - 1
	}
	return 0, 0, nil
}

// removeForeign deletes foreign messages, so that followers do not meet them. A connection that
// may not is told so once; they stay, and the ledger goes on behind them.
func (l *Ledger) removeForeign(ctx context.Context, tenant string, foreign []uint64) error {
	if len(foreign) > 0 && l.cfg.Found != nil {
		l.cfg.Found(len(foreign))
	}
	return l.dropMessages(ctx, tenant, foreign, "foreign messages", "somebody else wrote to it")
}

// dropMessages deletes messages, and says what they were and whence.
func (l *Ledger) dropMessages(ctx context.Context, tenant string, list []uint64, what, whence string) error {
	if len(list) == 0 || !l.cfg.Remove || l.kept.Load() {
		return nil
	}
	for n, seq := range list {
		err := l.removeOne(ctx, seq)
		if err == nil {
			continue
		}
		if ctx.Err() != nil {
			return fmt.Errorf("remove message %d from the ledger of %q: %w", seq, tenant, context.Cause(ctx))
		}
		l.kept.Store(true)
		l.cfg.Log.Warn(what+" in the ledger stay: they could not be removed", "tenant", tenant, "count", len(list)-n,
			"first", list[n], "last", list[len(list)-1], "error", err)
		return nil
	}
	l.cfg.Log.Warn("removed "+what+" from the ledger: "+whence, "tenant", tenant, "count", len(list),
		"sequences", list[:min(len(list), 100)], "last", list[len(list)-1])
	return nil
}

func (l *Ledger) removeOne(ctx context.Context, seq uint64) error {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	err := l.stream.DeleteMsg(ctx, seq)
	if err == nil {
		return nil
	}
	if _, missing := readStored(ctx, l.nc, LedgerStream, lookup{Seq: seq}); errors.Is(missing, jetstream.ErrMsgNotFound) {
		return nil // another process was faster
	}
	return err
}

func (l *Ledger) findSearched(tenant string) searched {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.looked[tenant]
}

func (l *Ledger) noteSearched(tenant string, s searched) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.looked[tenant] = s
}

// LedgerConfig says how a Ledger deals with messages that are not Satchel's. The zero
// value passes them by.
type LedgerConfig struct {
	Remove bool         // remove them; for a connection with the operator's rights
	Found  func(n int)  // is told how many were found; default nobody
	Log    *slog.Logger // what was removed, default none
}
