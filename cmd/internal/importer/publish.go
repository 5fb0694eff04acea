package importer

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
	"golang.org/x/sync/errgroup"

	"satchel/cmd/internal/app"
	"satchel/cmd/internal/command"
	"satchel/cmd/internal/config"
	"satchel/cmd/internal/importer/source"
	"satchel/cmd/internal/terminal"
	"satchel/emitters"
	"satchel/jetstream"
	"satchel/schemas"
)

const (
	importChunk  = 500                    // items published at once
	headerRoom   = 2 << 10                // bytes that the headers of an item's event take at most
	knownLimit   = 150 * time.Millisecond // how long the log is asked for an event it may not have
	indexedLimit = 30 * time.Second       // how long an import waits to be found, and for the log
	refusedShown = 10                     // reasons that are printed
	tries        = 3                      // how often an event that was not found is asked for again
)

// publisher publishes items as they come, in chunks, each under an id made from its content, so that what is published
// again is stored once. It finds out what became of them: whether the log has them, had them before, or the worker
// refused them.
type publisher struct {
	a       *app.App
	conn    *command.Client
	emitter *emitters.Emitter
	source  string
	ids     []string // of the events of the items that wait, in order
	items   []schemas.MemoryItem
	where   []string            // the items that wait were read
	last    *schemas.Receipt    // of the last that the log has
	held    map[string]heldItem // by id, items that the log had and that may end or come back

	answered bool                   // the service says what became of events
	head     schemas.HeadReply      // of the log before the import
	dead     *jetstream.DeadLetters // nil where they cannot be read: the service is asked again
	next     uint64                 // dead letter that comes next
	hangUp   func()                 // closes what the dead letters are read over

	Published int
	Known     int // of those, what the log had already
	Malformed int
	Refused   int
}

// New is how many of what was published the log did not have, and has.
func (p *publisher) New() int { return p.Published - p.Known - p.Refused }

// newPublisher dials, and asks how much the log has, and where the dead letters end. The publisher MUST be closed.
func newPublisher(ctx context.Context, a *app.App, as Flags) (*publisher, error) {
	conn, err := command.Dial(ctx, a)
	if err != nil {
		return nil, err
	}
	p := &publisher{a: a, conn: conn, source: schemas.AgentSource(a.Tenant, as.Agent), hangUp: func() {}}
	p.emitter, err = emitters.New(conn.NC, emitters.Config{Tenant: a.Tenant, Agent: as.Agent, Source: p.source, Labels: as.labels(), Roles: as.Role, NewID: p.takeID})
	if err != nil {
		conn.Close()
		return nil, &config.UsageError{Err: err}
	}
	var typed *schemas.Error // a tenant that has no log yet has an empty head
	err = conn.LogCall(ctx, "head", struct{}{}, &p.head)
	p.answered = err == nil || errors.As(err, &typed)
	if !p.answered {
		return p, nil
	}
	dead, hangUp, err := command.DeadLetters(ctx, a)
	if err != nil {
		return p, nil // the user of an import need not have the rights of the server's
	}
	p.hangUp = hangUp
	if last, err := dead.Last(ctx); err == nil {
		p.dead = dead
		p.next = last + 1
	}
	return p, nil
}

// takeID takes the first of the event ids that wait.
func (p *publisher) takeID() string {
	if len(p.ids) == 0 {
		return uuid.Must(uuid.NewV7()).String() // replaced: a single event names its id
	}
	id := p.ids[0]
	p.ids = p.ids[1:]
	return id
}

func (p *publisher) close() {
	p.hangUp()
	p.conn.Close()
}

// encodeItem returns the id of the item's event, which is made from everything the item says, or says that the item is
// larger than what the stream takes.
func encodeItem(item *schemas.MemoryItem) (id string, issues []schemas.Issue) {
	raw, err := json.Marshal(item)
	if err != nil {
		return "", wholeLine(err.Error())
	}
	if limit := jetstream.MaxEventSize - headerRoom; len(raw) > limit {
		return "", wholeLine(fmt.Sprintf("has %d bytes, at most %d", len(raw), limit))
	}
	return source.Hash(raw, 16), nil
}

// add publishes item with those after it; a malformed one is printed, counted and left out.
func (p *publisher) add(ctx context.Context, where string, item schemas.MemoryItem) error {
	id, issues := encodeItem(&item)
	if invalid := item.Validate(); len(invalid) > 0 {
		issues = invalid
	}
	if len(issues) > 0 {
		p.Malformed++
		printIssues(p.a, where, issues)
		return nil
	}
	if h, ok := p.held[item.ID]; ok && h.item.ValidTo.IsZero() != item.ValidTo.IsZero() {
		id += "." + strconv.FormatInt(h.position, 10) // it ends, or is there again
	}
	p.ids = append(p.ids, id)
	p.items = append(p.items, item)
	p.where = append(p.where, where)
	if len(p.items) < importChunk {
		return nil
	}
	return p.flush(ctx)
}

// addAll publishes items, which were read where it says, and shows progress.
func (p *publisher) addAll(ctx context.Context, what string, items []schemas.MemoryItem, where []string) error {
	bar := p.a.Progress(what)
	defer bar.End()
	for i := range items {
		if err := p.add(ctx, where[i], items[i]); err != nil {
			return err
		}
		bar.Set(int64(i+1), int64(len(items)))
	}
	return p.flush(ctx)
}

// endedAt is an item that is no longer valid from a time on.
func endedAt(item schemas.MemoryItem, at time.Time) schemas.MemoryItem {
	item.ValidTo = at.UTC().Truncate(time.Second)
	item.Signer = ""
	item.Provenance.Signer = ""
	item.Provenance.Checksum = ""
	return item
}

// flush publishes what waits.
func (p *publisher) flush(ctx context.Context) error {
	if len(p.items) == 0 {
		return nil
	}
	receipts, err := p.emitter.RememberAll(ctx, p.items)
	p.Published += len(receipts)
	if err != nil {
		return fmt.Errorf("after %d items: %w", p.Published, p.explainLoss(err))
	}
	where := p.where
	items := p.items
	p.where = nil
	p.items = nil
	switch {
	case len(receipts) == 0:
		return nil
	case !p.answered:
		p.last = &receipts[len(receipts)-1]
		return nil
	}
	return p.explainLoss(p.settle(ctx, items, receipts, where))
}

// explainLoss says that Satchel went away, where that is why err came.
func (p *publisher) explainLoss(err error) error {
	if err == nil || p.conn.NC.IsConnected() {
		return err
	}
	return fmt.Errorf("the connection to Satchel was lost: what arrived is kept, run the import again; %w", app.ErrNobody)
}

// finish publishes what waits and returns when all of it is found by requests; false says that the indexes need longer.
func (p *publisher) finish(ctx context.Context) (bool, error) {
	if err := p.flush(ctx); err != nil || p.last == nil {
		return true, err
	}
	limited, cancel := context.WithTimeout(ctx, indexedLimit)
	defer cancel()
	_, err := p.emitter.Receipt(limited, p.last.Source, p.last.ID, schemas.ReceiptIndexed)
	switch {
	case err == nil || ctx.Err() != nil:
		return err == nil, ctx.Err()
	case limited.Err() != nil || isLate(err):
		return false, nil
	}
	return false, fmt.Errorf("wait for the indexes: %w", err)
}

// isLate reports whether a call was not answered in time.
func isLate(err error) bool {
	var typed *schemas.Error
	return errors.As(err, &typed) && typed.Code == schemas.CodeDeadlineExceeded
}

// position asks where in the log an event is, 0 for one that it does not have in time. An error says that there is no
// answer, or that ctx is done.
func (p *publisher) position(ctx context.Context, source, id string) (int64, error) {
	var got schemas.Receipt
	err := p.conn.LogCall(ctx, "receipt", schemas.ReceiptRequest{Source: source, ID: id, Level: schemas.ReceiptLogged, Timeout: int(knownLimit.Milliseconds())}, &got)
	if isLate(err) {
		return 0, ctx.Err()
	}
	return got.Position, err
}

// isLogged asks the log whether it has an event of this publisher.
func (p *publisher) isLogged(ctx context.Context, id string) (bool, error) {
	at, err := p.position(ctx, p.source, id)
	if err != nil {
		return false, fmt.Errorf("ask the log for an event: %w", err)
	}
	return at > 0, nil
}

// settle waits until the worker is past the events, prints and counts those it refused, counts those that the log had
// before, and notes the last that it has. A tenant's events are taken in order, so that behind the last of them what is
// not in the log was refused, and what is not found at once is asked for again. Of an event that takes too long to be
// logged nothing is known yet; it is new.
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

// publishAgain publishes an event that was not found in the log once more, through the service, which says at once
// where it is, or why it refuses it.
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

// awaitLast waits until the last event is in the log or among the dead letters, and adds to letters, by event, why
// those of them that were published since were refused. It returns false when that takes too long or there is no answer
// any more.
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
