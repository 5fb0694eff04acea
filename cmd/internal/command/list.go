package command

import (
	"context"
	"fmt"
	"strings"
	"time"

	"satchel/cmd/internal/app"
	"satchel/cmd/internal/terminal"
	"satchel/schemas"
)

// List is satchel list.
type List struct {
	Session string         `help:"Of this conversation only."`
	Label   []string       `help:"With this label; repeat for more."`
	Kind    []schemas.Kind `help:"Of this kind; repeat for more."`
	Limit   int            `help:"Items at most." default:"50"`
	After   string         `help:"Go on behind an earlier list: the next that it printed." placeholder:"NEXT"`
	PrincipalFlags
}

// Run prints a page of items, a line each.
func (c *List) Run(ctx context.Context, a *app.App) error {
	var out schemas.ItemsReply
	req := schemas.ItemsRequest{From: c.agent(), Purpose: c.Purpose, Session: c.Session, Labels: c.Label, Kinds: c.Kind, Limit: c.Limit, After: c.After}
	if err := Operation(ctx, a, "items", req, &out); err != nil {
		return err
	}
	if a.JSON {
		return PrintJSON(a, out)
	}
	if len(out.Items)+len(out.Dropped) == 0 {
		fmt.Fprintln(a.Out, "there is nothing that this principal may see")
	}
	zone, err := a.Zone()
	if err != nil {
		return err
	}
	for i := range out.Items {
		printLine(a, &out.Items[i], zone)
		fmt.Fprintf(a.Out, "    %s\n", terminal.Excerpt(out.Items[i].Quoted(), 200))
	}
	for i := range out.Dropped {
		fmt.Fprintf(a.Out, "%s  is left out: %s\n", bold(a, terminal.Excerpt(out.Dropped[i].ItemID, 400)), why(&out.Dropped[i]))
	}
	if out.Next != "" {
		fmt.Fprintf(a.Out, "more: --after %s\n", out.Next)
	}
	return nil
}

// why says why an item is left out.
func why(d *schemas.Drop) string { return strings.TrimSpace(d.Reason.Sentence() + " " + d.Detail) }

// printLine prints the line that says what an item is.
func printLine(a *app.App, r *schemas.ResultItem, zone *time.Location) {
	m := &r.Metadata
	fmt.Fprintf(a.Out, "%s  %s, %s", bold(a, terminal.Excerpt(r.ID, 400)), terminal.Excerpt(string(m.Kind), 400), m.CreatedAt.In(zone).Format(time.DateTime))
	for _, more := range []string{m.Session, m.By(), m.SourceURI, m.Flagged.Sentence()} {
		if more != "" {
			fmt.Fprintf(a.Out, ", %s", terminal.Excerpt(more, 200))
		}
	}
	fmt.Fprintln(a.Out)
}
