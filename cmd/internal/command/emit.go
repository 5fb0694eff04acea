package command

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/google/uuid"

	"satchel/cmd/internal/app"
	"satchel/cmd/internal/config"
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
