package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"satchel/cmd/internal/app"
	"satchel/cmd/internal/config"
	"satchel/cmd/internal/terminal"
	"satchel/emitters"
	"satchel/schemas"
)

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
