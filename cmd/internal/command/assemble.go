package command

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"satchel/cmd/internal/app"
	"satchel/schemas"
)

// Assemble is satchel assemble.
type Assemble struct {
	Question []string `arg:"" help:"What context is needed for."`
	Type     []string `help:"memories, code, experiences, values or commits; repeat for more. Without: all."`
	Limit    int      `help:"Items a source; 0 is 20."`
	Budget   int      `help:"Tokens of the text; a tenth more where a source would be left out." default:"2000"`
	Fill     bool     `help:"Take the whole budget. Without it the text ends where more is worth too little for its tokens."`
	PrincipalFlags
	EmptyFlag
}

// Run assembles and prints Markdown.
func (c *Assemble) Run(ctx context.Context, a *app.App) error {
	var out schemas.FormattedContext
	req := schemas.AssembleRequest{
		From: c.agent(), Purpose: c.Purpose, Query: strings.Join(c.Question, " "), ContextTypes: c.Type, Limit: c.Limit, MaxTokens: c.Budget, Fill: c.Fill, TZ: a.TZ,
	}
	if err := Operation(ctx, a, "assemble", req, &out); err != nil {
		return err
	}
	return errors.Join(printFormatted(a, &out), c.check(len(out.Items)))
}

// printFormatted prints the Markdown, and what was wrong beside it.
func printFormatted(a *app.App, out *schemas.FormattedContext) error {
	if a.JSON {
		return PrintJSON(a, out)
	}
	if err := printMarkdown(a, out.Markdown); err != nil {
		return err
	}
	printWarnings(a, out.Warnings)
	if slices.ContainsFunc(out.Warnings, func(w string) bool { return strings.Contains(w, "drop report") }) {
		fmt.Fprintf(a.Err, "drop report: satchel ledger --tenant %s --kind drop --json --after %d\n", a.Tenant, out.Positions.Drop-1)
	}
	return nil
}
