package importer

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"satchel/cmd/internal/app"
	"satchel/cmd/internal/command"
	"satchel/cmd/internal/terminal"
	"satchel/emitters"
	"satchel/jetstream"
	"satchel/schemas"
)

const (
	knownLimit   = 150 * time.Millisecond // how long the log is asked for an event it may not have
	indexedLimit = 30 * time.Second       // how long an import waits to be found, and for the log
	refusedShown = 10                     // reasons that are printed
	tries        = 3                      // how often an event that was not found is asked for again
)

// outcomes finds out what became of the events that an import published: whether the log
// has them, had them before, or the worker refused them.
type outcomes struct {
	a    *app.App
	conn *command.Client
	size int64                  // of the log before the import
	dead *jetstream.DeadLetters // nil where they cannot be read: the service is asked again
	from uint64                 // dead letter that comes next
	done func()                 // closes what the dead letters are read over

	Refused int
	shown   int
}

// newOutcomes notes where the dead letters end. The outcomes MUST be closed.
func newOutcomes(ctx context.Context, a *app.App, conn *command.Client, size int64) *outcomes {
	o := &outcomes{a: a, conn: conn, size: size, done: func() {}}
	dead, done, err := command.DeadLetters(ctx, a)
	if err != nil {
		return o // who imports need not have the rights of who runs the server
	}
	last, err := dead.Last(ctx)
	if err != nil {
		done()
		return o
	}
	o.dead, o.from, o.done = dead, last+1, done
	return o
}

func (o *outcomes) close() { o.done() }

// settle waits until the worker is past the events, prints and counts those it refused, and
// returns how many others the log had before, and the last of them. A tenant's events are taken in order, so that
// behind the last of them what is not in the log was refused, and what is not found at once is asked for again.
// Of an event that takes too long to be logged nothing is known yet; it is new.
func (o *outcomes) settle(ctx context.Context, e *emitters.Emitter, items []schemas.MemoryItem, receipts []schemas.Receipt, where []string) (known int, last *schemas.Receipt, err error) {
	if len(receipts) == 0 {
		return 0, nil, nil
	}
	limited, cancel := context.WithTimeout(ctx, indexedLimit)
	defer cancel()
	letters := map[string]string{}
	again := func(i int) (int64, string, error) { return o.again(limited, e, items[i], receipts[i].ID) }
	settled, err := o.passed(limited, &receipts[len(receipts)-1], letters, func() (string, error) {
		_, why, err := again(len(items) - 1)
		return why, err
	})
	if err != nil {
		return 0, nil, errors.Join(err, ctx.Err())
	}
	positions := make([]int64, len(receipts)) // 0: not in the log
	refused := make([]string, len(receipts))  // why, "" for those that were not
	var group errgroup.Group
	group.SetLimit(16)
	for i := range receipts {
		if refused[i] = letters[receipts[i].ID]; refused[i] != "" {
			continue
		}
		group.Go(func() (err error) {
			positions[i], err = o.position(limited, &receipts[i])
			for try := 0; try < tries && positions[i] == 0 && refused[i] == "" && settled; try++ {
				positions[i], refused[i], err = again(i)
			}
			return err
		})
	}
	if err := group.Wait(); err != nil && limited.Err() == nil {
		return 0, nil, fmt.Errorf("ask what became of %d items, which are published: %w", len(items), err)
	}
	if ctx.Err() != nil {
		return 0, nil, ctx.Err()
	}
	for i := range receipts {
		if refused[i] != "" {
			o.refuse(where[i], refused[i])
			continue
		}
		if last = &receipts[i]; positions[i] > 0 && positions[i] <= o.size {
			known++
		}
	}
	return known, last, nil
}

// again publishes an event that was not found in the log once more, through the service, which says
// at once where it is, or why it refuses it.
func (o *outcomes) again(ctx context.Context, e *emitters.Emitter, item schemas.MemoryItem, id string) (position int64, why string, err error) {
	r, err := e.Remember(ctx, item, &emitters.Options{EventID: id, Wait: schemas.ReceiptLogged})
	var typed *schemas.Error
	if errors.As(err, &typed) && typed.IsCallersMistake() {
		return 0, typed.Message, nil
	}
	if err == nil && r.Position == 0 {
		err = fmt.Errorf("event %q is not logged yet: %s", id, strings.Join(r.Warnings, "; "))
	}
	return r.Position, "", err
}

// passed waits until an event is in the log or among the dead letters, and adds to letters,
// by event, why those of them that were published since were refused. It returns false when
// that takes too long or nobody answers any more.
func (o *outcomes) passed(ctx context.Context, last *schemas.Receipt, letters map[string]string, again func() (string, error)) (bool, error) {
	for {
		at, err := o.position(ctx, last)
		if err != nil {
			return false, nil
		}
		if at == 0 && o.dead == nil {
			letters[last.ID], err = again()
			return err == nil, nil
		}
		if err := o.read(ctx, last.Source, letters); err != nil {
			return false, err
		}
		if at > 0 || letters[last.ID] != "" {
			return true, nil
		}
	}
}

// read adds the dead letters that have come of a source.
func (o *outcomes) read(ctx context.Context, source string, letters map[string]string) error {
	const some = 1000
	for o.dead != nil {
		if last, err := o.dead.Last(ctx); err != nil || last < o.from {
			return err
		}
		list, err := o.dead.List(ctx, o.a.Tenant, o.from, some)
		if err != nil {
			return fmt.Errorf("read what was refused: %w", err)
		}
		for _, l := range list {
			o.from = l.Seq + 1
			if l.Source == source && !l.Foreign {
				letters[l.ID] = l.Reason + ": " + command.OrDocument(l.Pointer) + " " + l.Cause
			}
		}
		if len(list) < some {
			break
		}
	}
	return nil
}

// position asks where in the log an event is, 0 for one that it does not have in time. An
// error says that nobody answers, or that ctx is done.
func (o *outcomes) position(ctx context.Context, r *schemas.Receipt) (int64, error) {
	var got schemas.Receipt
	err := o.conn.LogCall(ctx, "receipt", schemas.ReceiptRequest{Source: r.Source, ID: r.ID, Level: schemas.ReceiptLogged, Timeout: int(knownLimit.Milliseconds())}, &got)
	var typed *schemas.Error
	if errors.As(err, &typed) && typed.Code == schemas.CodeDeadlineExceeded {
		return 0, ctx.Err()
	}
	return got.Position, err
}

// refuse counts an item that was refused, and prints why while that is not too much.
func (o *outcomes) refuse(where, why string) {
	o.Refused++
	switch o.shown++; {
	case o.shown <= refusedShown:
		fmt.Fprintf(o.a.Err, "%s: refused: %s\n", where, terminal.Excerpt(why, 400))
	case o.shown == refusedShown+1:
		fmt.Fprintln(o.a.Err, "more items were refused: satchel dlq ls says why")
	}
}

// leftOut is the finding that some items were malformed or refused, nil for none.
func leftOut(malformed, refused int) error {
	bad := terminal.Plural(malformed, "item is malformed and was left out", "items are malformed and were left out")
	no := terminal.Plural(refused, "item was refused", "items were refused")
	switch {
	case malformed > 0 && refused > 0:
		return &command.FoundError{What: bad + "; " + no}
	case malformed > 0:
		return &command.FoundError{What: bad}
	case refused > 0:
		return &command.FoundError{What: no}
	}
	return nil
}
