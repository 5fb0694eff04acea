package importer

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"golang.org/x/sync/errgroup"

	"satchel/cmd/internal/command"
	"satchel/cmd/internal/terminal"
	"satchel/emitters"
	"satchel/schemas"
)

const (
	refusedShown = 10 // reasons that are printed
	tries        = 3  // how often an event that was not found is asked for again
)

// settle waits until the worker is past the events, prints and counts those it refused, counts
// those that the log had before, and notes the last that it has. A tenant's events are taken in order, so that
// behind the last of them what is not in the log was refused, and what is not found at once is asked for again.
// Of an event that takes too long to be logged nothing is known yet; it is new.
func (p *publisher) settle(ctx context.Context, items []schemas.MemoryItem, receipts []schemas.Receipt, where []string) error {
	limited, cancel := context.WithTimeout(ctx, indexedLimit)
	defer cancel()
	letters := map[string]string{}
	settled, err := p.awaitLast(limited, items[len(items)-1], &receipts[len(receipts)-1], letters)
	if err != nil {
		return errors.Join(err, ctx.Err())
	}
	positions := make([]int64, len(receipts)) // 0: not in the log
	refused := make([]string, len(receipts))  // why, "" for those that were not
	var group errgroup.Group
	group.SetLimit(16)
	for i := range receipts {
		refused[i] = letters[receipts[i].ID]
		if refused[i] != "" {
			continue
		}
		group.Go(func() (err error) {
			positions[i], err = p.position(limited, receipts[i].Source, receipts[i].ID)
			for try := 0; settled && try < tries; try++ {
				if positions[i] > 0 || refused[i] != "" {
					break
				}
				positions[i], refused[i], err = p.publishAgain(limited, items[i], receipts[i].ID)
			}
			return err
		})
	}
	if err := group.Wait(); err != nil && limited.Err() == nil {
		return fmt.Errorf("ask what became of %d items, which are published: %w", len(items), err)
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	for i := range receipts {
		if refused[i] != "" {
			p.refuse(where[i], refused[i])
			continue
		}
		p.last = &receipts[i]
		if positions[i] > 0 && positions[i] <= p.head.Size {
			p.Known++
		}
	}
	return nil
}

// publishAgain publishes an event that was not found in the log once more, through the service, which says
// at once where it is, or why it refuses it.
func (p *publisher) publishAgain(ctx context.Context, item schemas.MemoryItem, id string) (position int64, why string, err error) {
	r, err := p.emitter.Remember(ctx, item, &emitters.Options{EventID: id, Wait: schemas.ReceiptLogged})
	var typed *schemas.Error
	if errors.As(err, &typed) && typed.IsCallersMistake() {
		return 0, typed.Message, nil
	}
	if err == nil && r.Position == 0 {
		err = fmt.Errorf("event %q is not logged yet: %s", id, strings.Join(r.Warnings, "; "))
	}
	return r.Position, "", err
}

// awaitLast waits until the last event is in the log or among the dead letters, and adds to letters,
// by event, why those of them that were published since were refused. It returns false when
// that takes too long or nobody answers any more.
func (p *publisher) awaitLast(ctx context.Context, item schemas.MemoryItem, last *schemas.Receipt, letters map[string]string) (bool, error) {
	for {
		at, err := p.position(ctx, last.Source, last.ID)
		if err != nil {
			return false, nil
		}
		if at == 0 && p.dead == nil {
			_, letters[last.ID], err = p.publishAgain(ctx, item, last.ID)
			return err == nil, nil
		}
		if err := p.readLetters(ctx, last.Source, letters); err != nil {
			return false, err
		}
		if at > 0 || letters[last.ID] != "" {
			return true, nil
		}
	}
}

// readLetters adds the dead letters that have come of a source.
func (p *publisher) readLetters(ctx context.Context, source string, letters map[string]string) error {
	const some = 1000
	for p.dead != nil {
		if last, err := p.dead.Last(ctx); err != nil || last < p.next {
			return err
		}
		list, err := p.dead.List(ctx, p.a.Tenant, p.next, some)
		if err != nil {
			return fmt.Errorf("read what was refused: %w", err)
		}
		for _, l := range list {
			p.next = l.Seq + 1
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

// refuse counts an item that was refused, and prints why while that is not too much.
func (p *publisher) refuse(where, why string) {
	p.Refused++
	switch {
	case p.Refused <= refusedShown:
		fmt.Fprintf(p.a.Err, "%s: refused: %s\n", where, terminal.Excerpt(why, 400))
	case p.Refused == refusedShown+1:
		fmt.Fprintln(p.a.Err, "more items were refused: satchel dlq ls says why")
	}
}
