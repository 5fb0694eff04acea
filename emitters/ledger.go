package emitters

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/cloudevents/sdk-go/v2/event"

	"satchel/jetstream"
	"satchel/jetstream/cloudevent"
	"satchel/schemas"
)

// ErrStop ends FollowLedger without an error.
var ErrStop = errors.New("stop following")

// FollowOptions say what of the ledger to follow; the zero value is all of it, from
// the oldest message the window holds.
type FollowOptions struct {
	Kinds []schemas.LedgerKind // empty: every kind
	After int64                // log position; earlier entries are skipped
	New   bool                 // only what comes from now on
	Once  bool                 // return at the end of what there is now
}

// LedgerEvent is one entry of the ledger, or a gap: entries that the window no longer
// holds and that the log can prove.
type LedgerEvent struct {
	Position int64
	Kind     schemas.LedgerKind
	Agent    string
	Event    event.Event
	Gap      *Gap
}

// Gap says that the entries From to To were missed, or with Foreign that the message of
// that sequence of LEDGER was passed by, because Satchel did not publish it.
type Gap struct {
	From, To int64
	Foreign  uint64 `json:",omitempty"`
}

// FollowLedger calls fn for each ledger entry of the tenant, in log order, until ctx
// is done or fn returns an error; ErrStop ends it without one. Gaps are named when
// every kind is followed and the principal may read every kind; with New, from the first entry on. A message that is not
// Satchel's is named as a gap as well, and passed by.
func (e *Emitter) FollowLedger(ctx context.Context, opts FollowOptions, fn func(LedgerEvent) error) error {
	subjects, err := e.ledgerSubjects(opts.Kinds)
	if err != nil {
		return err
	}
	conn, err := jetstream.Open(ctx, e.nc)
	if err != nil {
		return err
	}
	messages, err := jetstream.Follow(ctx, conn, jetstream.FollowConfig{Stream: jetstream.LedgerStream, Filters: subjects, New: opts.New})
	if err != nil {
		return fmt.Errorf("follow ledger of tenant %q: %w", e.cfg.Tenant, err)
	}
	defer messages.Close()
	if opts.Once && messages.Pending() == 0 {
		return nil
	}
	f := follower{opts: opts, last: opts.After, fn: fn}
	f.part = len(subjects) == 1 && !slices.Contains(messages.Filters(), subjects[0])
	for {
		msg, err := messages.Next(ctx)
		if err != nil {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			return fmt.Errorf("follow ledger of tenant %q: %w", e.cfg.Tenant, err)
		}
		if err := f.takeEntry(&msg); errors.Is(err, ErrStop) {
			return nil
		} else if err != nil {
			return err
		}
		if opts.Once && msg.Left == 0 {
			return nil
		}
	}
}

// follower hands entries and gaps to fn.
type follower struct {
	opts FollowOptions
	part bool  // the server lets this principal read less than was asked for
	last int64 // position of the entry before
	fn   func(LedgerEvent) error
}

func (f *follower) takeEntry(msg *jetstream.Delivered) error {
	entry, err := ledgerEvent(msg)
	if err != nil { // only somebody else writes what cannot be read
		return f.fn(LedgerEvent{Gap: &Gap{Foreign: msg.Seq}})
	}
	if entry.Position <= f.opts.After {
		return nil
	}
	named := len(f.opts.Kinds) == 0 && !f.part && (!f.opts.New || f.last > f.opts.After)
	if named && entry.Position > f.last+1 {
		if err := f.fn(LedgerEvent{Gap: &Gap{From: f.last + 1, To: entry.Position - 1}}); err != nil {
			return err
		}
	}
	f.last = entry.Position
	return f.fn(entry)
}

// kindNames are the kinds of the ledger, for a message.
func kindNames() string {
	var names []string
	for _, k := range jetstream.LedgerKinds() {
		names = append(names, string(k))
	}
	return strings.Join(names, ", ")
}

func (e *Emitter) ledgerSubjects(kinds []schemas.LedgerKind) ([]string, error) {
	if len(kinds) == 0 {
		all, err := jetstream.LedgerTenantSubject(e.cfg.Tenant)
		return []string{all}, err
	}
	var subjects []string
	for _, kind := range kinds {
		if !slices.Contains(jetstream.LedgerKinds(), kind) {
			return nil, fmt.Errorf("follow ledger of tenant %q: kind %q: %w: the kinds are %s", e.cfg.Tenant, kind, jetstream.ErrSubject, kindNames())
		}
		subjects = append(subjects, "prov.v1."+e.cfg.Tenant+"."+string(kind)+".*")
	}
	return subjects, nil
}

func ledgerEvent(msg *jetstream.Delivered) (LedgerEvent, error) {
	_, kind, agent, err := jetstream.ParseLedger(msg.Subject)
	if err != nil {
		return LedgerEvent{}, fmt.Errorf("read ledger message: %w", err)
	}
	position, err := jetstream.LedgerPosition(msg.Subject, msg.Header)
	if err != nil {
		return LedgerEvent{}, fmt.Errorf("read ledger message: %w", err)
	}
	ev, err := cloudevent.Decode(msg.Header, msg.Data)
	if err != nil {
		return LedgerEvent{}, fmt.Errorf("read ledger message: %w", err)
	}
	return LedgerEvent{Position: position, Kind: kind, Agent: agent, Event: ev}, nil
}
