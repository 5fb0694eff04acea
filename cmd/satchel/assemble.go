package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"satchel/schemas"
)

type assembleCmd struct {
	Question []string `arg:"" help:"What context is needed for."`
	Type     []string `help:"memories, code, experiences, values or commits; repeat for more. Without: all."`
	Limit    int      `help:"Items a source; 0 is 20."`
	Budget   int      `help:"Tokens of the text; a tenth more where a source would be left out." default:"2000"`
	asker
}

// Help shows how it is called.
func (assembleCmd) Help() string {
	return `Examples:
  satchel assemble "how are memories indexed?"
  satchel assemble --type memories --type code --budget 1000 "how are memories indexed?"`
}

// Run assembles and prints Markdown.
func (c *assembleCmd) Run(ctx context.Context, a *app) error {
	var out schemas.FormattedContext
	req := schemas.AssembleRequest{
		From: c.agent(), Purpose: c.Purpose, Query: strings.Join(c.Question, " "), ContextTypes: c.Type, Limit: c.Limit, MaxTokens: c.Budget,
	}
	if err := a.door(ctx, "assemble", req, &out); err != nil {
		return err
	}
	return a.printFormatted(ctx, &out)
}

// printFormatted prints the Markdown, and what was wrong beside it.
func (a *app) printFormatted(ctx context.Context, out *schemas.FormattedContext) error {
	if err := a.warnUnused(ctx, len(out.Items) == 0); err != nil {
		return err
	}
	if a.JSON {
		return a.printJSON(out)
	}
	if err := a.printMarkdown(out.Markdown); err != nil {
		return err
	}
	a.printWarnings(out.Warnings)
	if slices.ContainsFunc(out.Warnings, func(w string) bool { return strings.Contains(w, "drop report") }) {
		fmt.Fprintf(a.err, "drop report: satchel ledger --tenant %s --kind drop --json --after %d\n", a.Tenant, out.Positions.Drop-1)
	}
	return nil
}
