package command

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"satchel/cmd/internal/app"
	"satchel/cmd/internal/config"
	"satchel/cmd/internal/terminal"
	"satchel/emitters"
	"satchel/schemas"
)

// Emit is satchel emit.
type Emit struct {
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
	Agent   string   `help:"Agent that publishes." default:"cli" env:"SATCHEL_AS"`
	Role    []string `help:"Roles claimed: editor may record again what another agent has, declassifier may lower labels. With a principal registry, what it grants the agent counts instead."`
	Wait    string   `help:"accepted, logged, indexed or proved." default:"indexed" enum:"accepted,logged,indexed,proved"`
}

// Run publishes the item and prints its receipt.
func (c *Emit) Run(ctx context.Context, a *app.App) error {
	item, err := c.item()
	if err != nil {
		return err
	}
	if err := c.identify(&item); err != nil {
		return err
	}
	conn, e, err := dialEmitter(ctx, a, emitters.Config{Agent: c.Agent, Labels: c.Label, Roles: c.Role, Sandbox: true})
	if err != nil {
		return err
	}
	defer conn.Close()
	r, err := e.Remember(ctx, item, &emitters.Options{EventID: c.EventID, Wait: schemas.ReceiptLevel(c.Wait)})
	if err != nil {
		return err
	}
	reply := struct {
		Item string `json:"item"`
		schemas.Receipt
	}{item.ID, r}
	return PrintReply(a, reply, func(w io.Writer) {
		fmt.Fprintf(w, "%s: item %s (event %s)", r.Level, item.ID, r.ID)
		if r.Position > 0 {
			fmt.Fprintf(w, ", log position %d, leaf %.16s…", r.Position, r.Leaf)
		}
		fmt.Fprintln(w)
		for _, warning := range r.Warnings {
			fmt.Fprintln(a.Err, "warning:", warning)
		}
	})
}

// identify fills in time and id. An event id makes sense only with an event that says
// the same each time.
func (c *Emit) identify(item *schemas.MemoryItem) error {
	if c.Created != "" {
		if !item.CreatedAt.IsZero() {
			return config.Usagef("give the time in --item or as --created-at, not both")
		}
		at, err := schemas.ParseTime(c.Created)
		if err != nil {
			return config.Usagef("--created-at %q is not an RFC 3339 time such as 2026-03-03T10:00:00Z", c.Created)
		}
		item.CreatedAt = at
	}
	if c.EventID != "" && item.CreatedAt.IsZero() {
		return config.Usagef("--event-id needs --created-at: sent again, the event would carry another time and be refused as another event under the same id")
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

func (c *Emit) item() (schemas.MemoryItem, error) {
	switch {
	case c.Item != "" && c.Text != "":
		return schemas.MemoryItem{}, config.Usagef("give --text or --item, not both")
	case c.Item != "":
		item, issues := schemas.DecodeMemoryItem([]byte(c.Item))
		var given map[string]json.RawMessage
		if err := json.Unmarshal([]byte(c.Item), &given); len(issues) > 0 && (err != nil || given == nil) {
			return item, config.Usagef("--item: %s", issues[0].Message)
		}
		var scope struct{ Tenant string }
		filled := json.Unmarshal(given["scope"], &scope) == nil && scope.Tenant == ""
		issues = slices.DeleteFunc(issues, func(i schemas.Issue) bool {
			field, _, _ := strings.Cut(strings.TrimPrefix(i.Pointer, "/"), "/")
			return given[field] == nil && field != "content" || i.Pointer == "/scope/tenant" && filled
		})
		if err := schemas.Invalid(issues); err != nil {
			return item, &config.UsageError{Err: err}
		}
		return item, nil
	case c.Text != "":
		return schemas.MemoryItem{ID: c.ID, Kind: schemas.Kind(c.Kind), Type: schemas.MemoryType(c.Type), Session: c.Session,
			Speaker: c.Speaker, Content: schemas.TextContent(c.Text)}, nil
	}
	return schemas.MemoryItem{}, config.Usagef("give --text or --item")
}

// Forget is satchel forget.
type Forget struct {
	IDs    []string `arg:"" optional:"" name:"ids" help:"Items to erase."`
	Reason string   `help:"Why; kept beside the log, which has its hash."`

	Wait    time.Duration `help:"How long to wait for the receipt; a minute at most." default:"30s"`
	Erasure string        `help:"Wait for the receipt of an erasure that is under way, by its id; instead of items." placeholder:"ID"`
	DryRun  bool          `help:"Say what would go, and erase nothing."`
	Agent   string        `help:"Agent that asks." default:"cli" env:"SATCHEL_AS"`
	Role    []string      `help:"Roles claimed. With a principal registry, what it grants the agent counts instead." default:"eraser"`
}

// plan prints what would go.
func (c *Forget) plan(ctx context.Context, a *app.App, e *emitters.Emitter) error {
	p, err := e.Plan(ctx, c.IDs)
	if err != nil {
		return c.Explain(err)
	}
	return PrintReply(a, p, func(w io.Writer) {
		fmt.Fprintf(w, "would erase %s, with %s, %s and %s; nothing was erased\n", terminal.Excerpt(strings.Join(p.Items, ", "), 400),
			terminal.Plural(len(p.Summaries), "summary", "summaries"), terminal.Plural(p.Packs, "pack", "packs"), terminal.Plural(p.Artifacts, "artifact", "artifacts"))
	})
}

// Run erases the items and prints the receipt, store by store.
func (c *Forget) Run(ctx context.Context, a *app.App) error {
	conn, e, err := dialEmitter(ctx, a, emitters.Config{Agent: c.Agent, Roles: c.Role})
	if err != nil {
		return err
	}
	defer conn.Close()
	if c.DryRun {
		return c.plan(ctx, a, e)
	}
	r, err := c.erase(ctx, e)
	if err != nil {
		return c.Explain(err)
	}
	return PrintReply(a, r, func(w io.Writer) {
		fmt.Fprintf(w, "erased %s: %s, %s\n", strings.Join(r.Items, ", "), terminal.Plural(len(r.Positions), "log entry", "log entries"), terminal.Plural(len(r.Packs), "pack", "packs"))
		if r.Reason != "" {
			fmt.Fprintf(w, "  because %s\n", r.Reason)
		}
		if len(r.Holds) > 0 {
			fmt.Fprintf(w, "  released before: legal hold %s\n", strings.Join(r.Holds, ", "))
		}
		for _, s := range r.Stores {
			left := "nothing left"
			switch {
			case s.Kept > 0:
				left = fmt.Sprintf("kept %d: other items have the same content", s.Kept)
			case s.Undecided > 0:
				left = fmt.Sprintf("undecided %d: dead letters that do not name their items; see satchel dlq ls", s.Undecided)
			case len(s.Missing) > 0:
				left = fmt.Sprintf("older bytes stay on the disk while partition %s stands still; another receipt follows; see satchel doctor", strings.Join(s.Missing, ", "))
			case !s.Absent:
				left = "NOT CONFIRMED EMPTY"
			}
			fmt.Fprintf(w, "  %-15s removed %d, %s\n", s.Store, s.Removed, left)
		}
	})
}

// erase erases the items, or waits for an erasure that was begun.
func (c *Forget) erase(ctx context.Context, e *emitters.Emitter) (schemas.ErasureReceipt, error) {
	ctx, cancel := context.WithTimeout(ctx, c.Wait)
	defer cancel()
	switch {
	case len(c.IDs) > 0 && c.Erasure != "":
		return schemas.ErasureReceipt{}, config.Usagef("give items or --erasure, not both")
	case c.Erasure != "":
		return e.Erasure(ctx, c.Erasure)
	case len(c.IDs) == 0:
		return schemas.ErasureReceipt{}, config.Usagef("name the items to erase")
	}
	return e.Forget(ctx, c.IDs, c.Reason)
}

// UnknownItem is the code, or the reason of the dead letter, of an erasure of items
// that are not there.
const UnknownItem = "unknown_item"

// Explain says in the user's words that there is nothing to erase.
func (c *Forget) Explain(err error) error {
	var refused *schemas.Error
	if !errors.As(err, &refused) {
		return err
	}
	if refused.Code == schemas.CodeUnderWay {
		waits := ""
		if len(refused.Missing) > 0 {
			waits = "; it waits for " + strings.Join(refused.Missing, ", ")
		}
		return &FoundError{What: fmt.Sprintf("erasure %s is not finished: %s%s. satchel forget --erasure %s waits for it", refused.Erasure, refused.Message, waits, refused.Erasure)}
	}
	if strings.Contains(refused.Message, ": no such item") { // it names those of several
		return config.Usagef("%s", refused.Message)
	}
	if string(refused.Code) != UnknownItem && !strings.Contains(refused.Message, UnknownItem) {
		return err
	}
	return config.Usagef("%s: no such item, nothing was erased", strings.Join(c.IDs, ", "))
}
