package command

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"satchel/cmd/internal/app"
	"satchel/cmd/internal/config"
	"satchel/cmd/internal/terminal"
	"satchel/pipeline/language"
	"satchel/schemas"
)

// Dropped is satchel dropped.
type Dropped struct {
	Pack string   `arg:"" help:"Id of the pack whose drop report names them."`
	Item []string `arg:"" optional:"" help:"Items to bring back; id:START-END for a dropped span alone. Without: the drop report."`
	PrincipalFlags
}

// Run brings back what a pack left out, or lists it.
func (c *Dropped) Run(ctx context.Context, a *app.App) error {
	if len(c.Item) == 0 {
		return c.list(ctx, a)
	}
	req := schemas.RecoverRequest{From: c.agent(), Purpose: c.Purpose, PackID: c.Pack}
	for _, name := range c.Item {
		at := strings.LastIndexByte(name, ':')
		var sp schemas.Span
		if at > 0 {
			if n, err := fmt.Sscanf(name[at+1:], "%d-%d", &sp.Start, &sp.End); err == nil && n == 2 {
				req.Spans = append(req.Spans, schemas.SpanRef{ItemID: name[:at], Span: sp})
				continue
			}
		}
		req.ItemIDs = append(req.ItemIDs, name)
	}
	var out schemas.RecoverReply
	if err := Operation(ctx, a, "recover", req, &out); err != nil {
		return err
	}
	if err := PrintReply(a, out, func(w io.Writer) { printRecovered(a, w, &out) }); err != nil {
		return err
	}
	if len(out.Results) == 0 && len(out.Missing) > 0 {
		return config.Usagef("pack %s: nothing that was named may come back", c.Pack)
	}
	return nil
}

func printRecovered(a *app.App, w io.Writer, out *schemas.RecoverReply) {
	for _, r := range out.Results {
		fmt.Fprintf(terminal.Beneath(a.Out), "%s\n%s\n", bold(a, terminal.Excerpt(r.ID, 400)), strings.TrimRight(language.Shown(r.Said()), "\n"))
	}
	for _, id := range out.Missing {
		fmt.Fprintf(w, "%s: it may not come back: not named, denied, changed or erased\n", id)
	}
}

// list prints the drop report.
func (c *Dropped) list(ctx context.Context, a *app.App) error {
	conn, err := Dial(ctx, a)
	if err != nil {
		return err
	}
	defer conn.Close()
	var stored schemas.ContextResult
	if err := conn.LogCall(ctx, "pack", schemas.PackRequest{From: c.agent(), PackID: c.Pack}, &stored); err != nil {
		return fmt.Errorf("open pack %s: %w", c.Pack, nameOwner(err))
	}
	report := &stored.Payload.Drop
	if a.JSON {
		return PrintJSON(a, report)
	}
	items, err := c.seen(ctx, conn, report)
	if err != nil {
		return err
	}
	byReason := map[schemas.DropReason][]*schemas.Drop{}
	parts := 0
	for i := range report.Drops {
		d := &report.Drops[i]
		byReason[d.Reason] = append(byReason[d.Reason], d)
		if d.Span != nil && !d.OfRequest() {
			parts++
		}
	}
	left := terminal.Plural(len(report.DroppedItemIDs), "item", "items")
	if parts > 0 {
		left += " and " + terminal.Plural(parts, "part", "parts") + " of items that it shows"
	}
	fmt.Fprintf(a.Out, "pack %s left out %s\n", c.Pack, left)
	for _, reason := range slices.Sorted(maps.Keys(byReason)) {
		fmt.Fprintf(a.Out, "\n%s:\n", reason.Sentence())
		slices.SortStableFunc(byReason[reason], func(a, b *schemas.Drop) int { return cmp.Compare(b.Score, a.Score) })
		for _, d := range byReason[reason] {
			fmt.Fprintf(a.Out, "  %s  %s", droppedName(d), terminal.Plural(d.Tokens, "token", "tokens"))
			for _, more := range []string{d.Detail, begins(d, items[d.ItemID])} {
				if more != "" {
					fmt.Fprintf(a.Out, "; %s", terminal.Excerpt(more, 100))
				}
			}
			fmt.Fprintln(a.Out)
		}
	}
	printDenied(a.Out, report)
	return nil
}

// itemsAtOnce is how many items one request asks for.
const itemsAtOnce = 200

// begins is how what was dropped of an item begins, or why that is not to be quoted; "" where nobody may see it.
func begins(d *schemas.Drop, item *schemas.ResultItem) string {
	switch {
	case item == nil:
		return ""
	case item.Metadata.Flagged != "":
		return item.Metadata.Flagged.Sentence()
	}
	text := item.Content.Text()
	if s := d.Span; s != nil && 0 <= s.Start && s.Start < s.End && s.End <= len(text) {
		text = strings.ToValidUTF8(text[s.Start:s.End], "")
	}
	return text
}

// seen returns the dropped items that the principal may see now.
func (c *Dropped) seen(ctx context.Context, conn *Client, report *schemas.DropReport) (map[string]*schemas.ResultItem, error) {
	items := map[string]*schemas.ResultItem{}
	var ids []string
	for i := range report.Drops {
		if d := &report.Drops[i]; !d.OfRequest() && !slices.Contains(ids, d.ItemID) {
			ids = append(ids, d.ItemID)
		}
	}
	for some := range slices.Chunk(ids, itemsAtOnce) {
		var out schemas.ItemsReply
		if err := conn.Context(ctx, "items", schemas.ItemsRequest{From: c.agent(), Purpose: c.Purpose, ItemIDs: some}, &out); err != nil {
			return nil, err
		}
		for i := range out.Items {
			items[out.Items[i].ID] = &out.Items[i]
		}
	}
	return items, nil
}
