package command

import (
	"context"
	"errors"
	"fmt"
	"io"

	"satchel/cmd/internal/app"
	"satchel/schemas"
)

// Explain is satchel explain.
type Explain struct {
	Pack string `arg:"" help:"Id of the pack."`
	Item string `arg:"" help:"Id of the item."`
	PrincipalFlags
}

// Run asks why an item is, or is not, in a pack.
func (c *Explain) Run(ctx context.Context, a *app.App) error {
	var reply schemas.ExplainReply
	req := schemas.ExplainRequest{From: c.agent(), PackID: c.Pack, ItemID: c.Item}
	if err := Operation(ctx, a, "explain", req, &reply); err != nil {
		return nameOwner(err)
	}
	return PrintReply(a, reply, func(w io.Writer) {
		fmt.Fprintln(w, reply.Explanation)
		if reply.Change != "" {
			fmt.Fprintln(w, reply.Change)
		}
		if reply.Verdict != nil {
			fmt.Fprintf(w, "policy   verdict %s: allow %t\n", reply.Verdict.ID, reply.Verdict.Allow)
		}
	})
}

// nameOwner says, where policy denies a pack, whom it lets open it.
func nameOwner(err error) error {
	var refused *schemas.Error
	if errors.As(err, &refused) && refused.Code == schemas.CodePolicyDenied && !refused.Undecided {
		return fmt.Errorf("%w; name the principal that asked for the pack with --as, --level, --group and --role, or an auditor", err)
	}
	return err
}
