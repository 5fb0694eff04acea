package command

import (
	"context"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"satchel/cmd/internal/app"
	"satchel/cmd/internal/config"
	"satchel/cmd/internal/terminal"
	"satchel/schemas"
)

// Get is satchel get.
type Get struct {
	Item string `arg:"" help:"Id of the item."`
	PrincipalFlags
}

// Run asks for the item and prints it.
func (c *Get) Run(ctx context.Context, a *app.App) error {
	var out schemas.ItemsReply
	if err := Operation(ctx, a, "items", schemas.ItemsRequest{From: c.agent(), Purpose: c.Purpose, ItemIDs: []string{c.Item}}, &out); err != nil {
		return err
	}
	if len(out.Dropped) > 0 {
		return config.Usagef("item %q is left out: %s", c.Item, why(&out.Dropped[0]))
	}
	if len(out.Items) == 0 {
		return config.Usagef("there is no item %q that %s may see", c.Item, c.As)
	}
	item := &out.Items[0]
	if a.JSON {
		return PrintJSON(a, item)
	}
	zone, err := a.Zone()
	if err != nil {
		return err
	}
	return printItem(a, item, zone)
}

// printItem prints what is known of an item, and then its content.
func printItem(a *app.App, item *schemas.ResultItem, zone *time.Location) error {
	m := &item.Metadata
	w := tabwriter.NewWriter(a.Out, 0, 4, 2, ' ', 0)
	row := func(name, value string) {
		if value != "" {
			fmt.Fprintf(w, "%s\t%s\n", name, terminal.Excerpt(value, 400))
		}
	}
	row("item", item.ID)
	row("kind", strings.TrimSuffix(string(m.Kind)+", "+string(m.Type), ", "))
	row("category", m.Category)
	row("created", m.CreatedAt.In(zone).Format(time.RFC3339))
	row("position", fmt.Sprint(m.Position))
	row("speaker", m.Speaker)
	row("written by", m.Author)
	row("session", m.Session)
	row("source", m.SourceURI)
	if m.Redacted {
		row("redacted", "parts of the content are hidden from this principal")
	}
	row("flagged", m.Flagged.Sentence())
	row("withheld", strings.Join(m.Withheld, ", "))
	if err := w.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(a.Out, "\n%s\n", strings.TrimRight(item.Quoted(), "\n"))
	return err
}
