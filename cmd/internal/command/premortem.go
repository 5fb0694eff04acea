package command

import (
	"context"

	"satchel/cmd/internal/app"
	"satchel/schemas"
)

// Premortem is satchel premortem.
type Premortem struct {
	Domain   string `help:"Domain of the work: debugging, feature, …" required:""`
	Strategy string `help:"Also how this strategy did before."`
	Limit    int    `help:"Items a category; 0 is 10."`
	Budget   int    `help:"Tokens of the text; a tenth more where a category would be left out." default:"1500"`
	PrincipalFlags
}

// Run asks and prints Markdown.
func (c *Premortem) Run(ctx context.Context, a *app.App) error {
	var out schemas.FormattedContext
	req := schemas.PremortemRequest{
		From: c.agent(), Purpose: c.Purpose, Domain: c.Domain, Strategy: c.Strategy, Limit: c.Limit, MaxTokens: c.Budget,
	}
	if err := Operation(ctx, a, "premortem", req, &out); err != nil {
		return err
	}
	return printFormatted(a, &out)
}
