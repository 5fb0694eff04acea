package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"satchel/emitters"
	"satchel/schemas"
)

type emitCmd struct {
	Text    string   `help:"Text to remember."`
	Item    string   `help:"A whole memory item as JSON, instead of --text." placeholder:"JSON"`
	Kind    string   `help:"memory, summary, knowledge, code, experience, value, commit or tool." default:"memory"`
	Type    string   `help:"episodic, procedural or semantic." default:"episodic" enum:"episodic,procedural,semantic"`
	ID      string   `name:"id" help:"Item id; default the event id where one is given, else a new one."`
	EventID string   `help:"Event id; the same event again stores nothing twice, so it needs --created-at. Default a new one."`
	Created string   `name:"created-at" help:"When it happened, RFC 3339; default now." placeholder:"TIME"`
	Label   []string `help:"Security labels, name:value." default:"level:internal"`
	Session string   `help:"Session."`
	Speaker string   `help:"Who said it."`
	Agent   string   `help:"Agent that publishes." default:"cli"`
	Wait    string   `help:"accepted, logged, indexed or proved." default:"indexed" enum:"accepted,logged,indexed,proved"`
}

// Help shows how it is called.
func (emitCmd) Help() string {
	return `Examples:
  satchel emit --text "The gateway certificate expires on 3 March" --label level:internal --speaker Jonas
  satchel emit --event-id build-17 --created-at 2026-03-03T10:00:00Z --text "Build 17 is green"
  satchel emit --item '{"id":"n1","kind":"knowledge","type":"semantic","security_label":["level:public"],"content":"…"}'

What an --item leaves out is filled in: id, type, kind, created_at, labels and tenant. To be
the same event when it is sent again, an event has to say the same: with --event-id the time
is not filled in but has to be given, as created_at in the --item or as --created-at.`
}

// Run publishes the item and prints its receipt.
func (c *emitCmd) Run(ctx context.Context, a *app) error {
	item, err := c.item()
	if err != nil {
		return err
	}
	if err := c.identify(&item); err != nil {
		return err
	}
	conn, err := a.dial(ctx)
	if err != nil {
		return err
	}
	defer conn.close()
	e, err := emitters.New(conn.nc, emitters.Config{Tenant: a.Tenant, Agent: c.Agent, Labels: c.Label, Sandbox: true})
	if err != nil {
		return &usageError{err}
	}
	r, err := e.Remember(ctx, item, &emitters.Options{EventID: c.EventID, Wait: schemas.ReceiptLevel(c.Wait)})
	if err != nil {
		return err
	}
	if a.JSON {
		return a.printJSON(r)
	}
	fmt.Fprintf(a.out, "%s: item %s (event %s)", r.Level, item.ID, r.ID)
	if r.Position > 0 {
		fmt.Fprintf(a.out, ", log position %d, leaf %.16s…", r.Position, r.Leaf)
	}
	fmt.Fprintln(a.out)
	return nil
}

// identify fills in time and id. An event id makes sense only with an event that says
// the same each time.
func (c *emitCmd) identify(item *schemas.MemoryItem) error {
	if c.Created != "" {
		if !item.CreatedAt.IsZero() {
			return usagef("give the time in --item or as --created-at, not both")
		}
		at, err := time.Parse(time.RFC3339, c.Created)
		if err != nil {
			return usagef("--created-at %q is not an RFC 3339 time such as 2026-03-03T10:00:00Z", c.Created)
		}
		item.CreatedAt = at
	}
	if c.EventID != "" && item.CreatedAt.IsZero() {
		return usagef("--event-id needs --created-at: sent again, the event would carry another time and be refused as another event under the same id")
	}
	if item.ID == "" {
		item.ID = c.EventID
	}
	if item.ID != "" {
		return nil
	}
	id, err := uuid.NewV7()
	if err != nil {
		return fmt.Errorf("make an item id: %w", err)
	}
	item.ID = id.String()
	return nil
}

func (c *emitCmd) item() (schemas.MemoryItem, error) {
	switch {
	case c.Item != "" && c.Text != "":
		return schemas.MemoryItem{}, usagef("give --text or --item, not both")
	case c.Item != "":
		var given map[string]json.RawMessage
		if err := json.Unmarshal([]byte(c.Item), &given); err != nil {
			return schemas.MemoryItem{}, usagef("--item is not JSON: %v", err)
		}
		item, issues := schemas.DecodeMemoryItem([]byte(c.Item))
		issues = slices.DeleteFunc(issues, func(i schemas.Issue) bool {
			field, _, _ := strings.Cut(strings.TrimPrefix(i.Pointer, "/"), "/")
			return given[field] == nil && field != "content" // it is filled in
		})
		if err := schemas.Invalid(issues); err != nil {
			return item, &usageError{err}
		}
		return item, nil
	case c.Text != "":
		return schemas.MemoryItem{ID: c.ID, Kind: schemas.Kind(c.Kind), Type: schemas.MemoryType(c.Type), Session: c.Session,
			Speaker: c.Speaker, Content: schemas.TextContent(c.Text)}, nil
	}
	return schemas.MemoryItem{}, usagef("give --text or --item")
}

type forgetCmd struct {
	IDs    []string `arg:"" name:"ids" help:"Items to erase."`
	Reason string   `help:"Why; kept in the log."`
	Agent  string   `help:"Agent that asks." default:"cli"`
	Role   []string `help:"Roles claimed. With a principal registry, what it grants the agent counts instead." default:"eraser"`
}

// Help shows how it is called.
func (forgetCmd) Help() string {
	return `Content and salt, every index entry, packs and summaries made of it, and the copies
in the streams are deleted; the log keeps the commitment, so its proofs hold.

Policy decides: who holds the role eraser may erase, and who signed every version of the
items and of the summaries that go with them. Without a principal registry the role is
believed of every process on this machine that claims it, as this command does by default.

Example:
  satchel forget note-007 --reason "customer asked for erasure"`
}

// Run erases the items and prints the receipt, store by store.
func (c *forgetCmd) Run(ctx context.Context, a *app) error {
	conn, err := a.dial(ctx)
	if err != nil {
		return err
	}
	defer conn.close()
	e, err := emitters.New(conn.nc, emitters.Config{Tenant: a.Tenant, Agent: c.Agent, Roles: c.Role})
	if err != nil {
		return &usageError{err}
	}
	r, err := e.Forget(ctx, c.IDs, c.Reason)
	if err != nil {
		return c.explain(err)
	}
	if a.JSON {
		return a.printJSON(r)
	}
	fmt.Fprintf(a.out, "erased %s: %s, %s\n", strings.Join(r.Items, ", "), plural(len(r.Positions), "log entry", "log entries"), plural(len(r.Packs), "pack", "packs"))
	for _, s := range r.Stores {
		left := "nothing left"
		switch {
		case s.Kept > 0:
			left = fmt.Sprintf("kept %d: other items have the same content", s.Kept)
		case !s.Absent:
			left = "NOT CONFIRMED EMPTY"
		}
		fmt.Fprintf(a.out, "  %-15s removed %d, %s\n", s.Store, s.Removed, left)
	}
	return nil
}

// unknownItem is the code, or the reason of the dead letter, of an erasure of items
// that are not there.
const unknownItem = "unknown_item"

// explain says in the user's words that there is nothing to erase.
func (c *forgetCmd) explain(err error) error {
	var refused *schemas.Error
	if !errors.As(err, &refused) {
		return err
	}
	if strings.Contains(refused.Message, ": no such item") { // it names those of several
		return usagef("%s", refused.Message)
	}
	if string(refused.Code) != unknownItem && !strings.Contains(refused.Message, unknownItem) {
		return err
	}
	return usagef("%s: no such item, nothing was erased", strings.Join(c.IDs, ", "))
}
