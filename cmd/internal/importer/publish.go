package importer

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"github.com/google/uuid"

	"satchel/cmd/internal/app"
	"satchel/cmd/internal/command"
	"satchel/cmd/internal/config"
	"satchel/emitters"
	"satchel/schemas"
)

// Flags are the flags of every import.
type Flags struct {
	Label []string `help:"Security labels of the items; without it, level:internal."`
	Agent string   `help:"Agent that publishes." default:"import" env:"SATCHEL_AS"`
	Role  []string `help:"Roles claimed: editor may record again what another agent has, declassifier may lower labels. With a principal registry, what it grants the agent counts instead."`
}

// labels are those of items that have none of their own.
func (f *Flags) labels() []string {
	if len(f.Label) == 0 {
		return []string{"level:internal"}
	}
	return f.Label
}

const importChunk = 500 // items published at once

// publisher publishes items as they come, in chunks, each under an id made from its
// content, so that what is published again is stored once.
type publisher struct {
	a         *app.App
	conn      *command.Client
	emitter   *emitters.Emitter
	source    string
	ids       []string // of the events of the items that wait, in order
	items     []schemas.MemoryItem
	last      *schemas.Receipt     // of the last that the log has
	where     []string             // the items that wait were read
	fate      *outcomes            // nil where nobody answers
	head      schemas.HeadReply    // of the log before the import
	held      map[string]heldValue // by id, items that the log had and that may end or come back
	Published int
	Known     int // of those, what the log had already
	Malformed int
}

// New is how many of what was published the log did not have, and has.
func (p *publisher) New() int { return p.Published - p.Known - p.Refused() }

// logHead returns the head of the log, which is empty for a tenant that has none, and false
// where nobody answers.
func logHead(ctx context.Context, c *command.Client) (head schemas.HeadReply, ok bool) {
	err := c.LogCall(ctx, "head", struct{}{}, &head)
	var typed *schemas.Error
	return head, err == nil || errors.As(err, &typed)
}

// newPublisher dials, and asks how much the log has. The publisher MUST be closed.
func newPublisher(ctx context.Context, a *app.App, as Flags) (*publisher, error) {
	conn, err := command.Dial(ctx, a)
	if err != nil {
		return nil, err
	}
	p := &publisher{a: a, conn: conn, source: schemas.AgentSource(a.Tenant, as.Agent), items: make([]schemas.MemoryItem, 0, importChunk)}
	p.emitter, err = emitters.New(conn.NC, emitters.Config{Tenant: a.Tenant, Agent: as.Agent, Source: p.source, Labels: as.labels(), Roles: as.Role, NewID: func() string { return takeID(&p.ids) }})
	if err != nil {
		conn.Close()
		return nil, &config.UsageError{Err: err}
	}
	head, ok := logHead(ctx, conn)
	if ok {
		p.head, p.fate = head, newOutcomes(ctx, a, conn, head.Size)
	}
	return p, nil
}

// takeID takes the first of the event ids that wait.
func takeID(ids *[]string) string {
	if len(*ids) == 0 {
		return uuid.Must(uuid.NewV7()).String() // replaced: a single event names its id
	}
	id := (*ids)[0]
	*ids = (*ids)[1:]
	return id
}

func (p *publisher) close() {
	if p.fate != nil {
		p.fate.close()
	}
	p.conn.Close()
}

// Refused is how many items the worker refused.
func (p *publisher) Refused() int {
	if p.fate == nil {
		return 0
	}
	return p.fate.Refused
}

// eventID is made from everything the item says.
func eventID(item *schemas.MemoryItem) (string, error) {
	raw, err := json.Marshal(item)
	if err != nil {
		return "", fmt.Errorf("encode item %q: %w", item.ID, err)
	}
	sum := sha256.Sum256(raw)
	return hex.EncodeToString(sum[:16]), nil
}

// add publishes item with those after it; a malformed one is printed, counted and left out.
func (p *publisher) add(ctx context.Context, where string, item schemas.MemoryItem) error {
	issues := item.Validate()
	if len(issues) == 0 {
		issues = oversized(&item)
	}
	if len(issues) > 0 {
		p.malformed(where, issues)
		return nil
	}
	p.items, p.where = append(p.items, item), append(p.where, where)
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

func (p *publisher) malformed(where string, issues []schemas.Issue) {
	p.Malformed++
	printIssues(p.a, where, issues)
}

// flush publishes what waits.
func (p *publisher) flush(ctx context.Context) error {
	if len(p.items) == 0 {
		return nil
	}
	p.ids = make([]string, 0, len(p.items))
	for i := range p.items {
		id, err := eventID(&p.items[i])
		if err != nil {
			return err
		}
		if h, ok := p.held[p.items[i].ID]; ok && h.item.ValidTo.IsZero() != p.items[i].ValidTo.IsZero() {
			id += "." + strconv.FormatInt(h.position, 10) // it ends, or is there again
		}
		p.ids = append(p.ids, id)
	}
	receipts, err := p.emitter.RememberAll(ctx, p.items)
	p.Published += len(receipts)
	if err != nil {
		return fmt.Errorf("after %d items: %w", p.Published, p.lost(err))
	}
	where, items := p.where, p.items
	p.where, p.items = nil, make([]schemas.MemoryItem, 0, importChunk)
	if p.fate == nil {
		if len(receipts) > 0 {
			p.last = &receipts[len(receipts)-1]
		}
		return nil
	}
	known, last, err := p.fate.settle(ctx, p.emitter, items, receipts, where)
	if p.Known += known; last != nil {
		p.last = last
	}
	return p.lost(err)
}

// lost says that Satchel went away, where that is why err came.
func (p *publisher) lost(err error) error {
	if err == nil || p.conn.NC.IsConnected() {
		return err
	}
	return fmt.Errorf("the connection to Satchel was lost: what arrived is kept, run the import again; %w", app.ErrNobody)
}

// finish publishes what waits and returns when all of it is found by requests; false
// says that the indexes need longer.
func (p *publisher) finish(ctx context.Context) (bool, error) {
	if err := p.flush(ctx); err != nil || p.last == nil {
		return true, err
	}
	limited, cancel := context.WithTimeout(ctx, indexedLimit)
	defer cancel()
	_, err := p.emitter.Receipt(limited, p.last.Source, p.last.ID, schemas.ReceiptIndexed)
	if err == nil || ctx.Err() != nil {
		return err == nil, ctx.Err()
	}
	var typed *schemas.Error
	if limited.Err() != nil || errors.As(err, &typed) && typed.Code == schemas.CodeDeadlineExceeded {
		return false, nil
	}
	return false, fmt.Errorf("wait for the indexes: %w", err)
}

// known asks the log whether it has item, as it is.
func (p *publisher) known(ctx context.Context, item *schemas.MemoryItem) (bool, error) {
	id, err := eventID(item)
	if err != nil {
		return false, err
	}
	return p.logged(ctx, id)
}

// logged asks the log whether it has an event of this publisher.
func (p *publisher) logged(ctx context.Context, id string) (bool, error) {
	var r schemas.Receipt
	err := p.conn.LogCall(ctx, "receipt", schemas.ReceiptRequest{Source: p.source, ID: id, Level: schemas.ReceiptLogged, Timeout: int(knownLimit.Milliseconds())}, &r)
	var typed *schemas.Error
	if errors.As(err, &typed) && typed.Code == schemas.CodeDeadlineExceeded {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("ask the log for an event: %w", err)
	}
	return true, nil
}
