package command

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"

	"satchel/cmd/internal/app"
	"satchel/cmd/internal/terminal"
	"satchel/schemas"
)

// Status is satchel status.
type Status struct{ PrincipalFlags }

// Run asks and prints where log and indexes are.
func (c *Status) Run(ctx context.Context, a *app.App) error {
	var out schemas.StatusReply
	if err := Operation(ctx, a, "status", schemas.StatusRequest{From: c.agent()}, &out); err != nil {
		return err
	}
	return PrintReply(a, out, func(w io.Writer) {
		say := "ready"
		if !out.Ready {
			say = out.Reason
		}
		fmt.Fprintf(w, "%s; the log of tenant %s has %s\n", say, a.Tenant, terminal.Plural(int(out.Size), "entry", "entries"))
		for _, name := range slices.Sorted(maps.Keys(out.Indexed)) {
			fmt.Fprintf(w, "  %-8s has everything up to position %d\n", name, out.Indexed[name])
		}
	})
}
