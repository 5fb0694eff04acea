package command

import (
	"context"
	"fmt"
	"io"

	"satchel/cmd/internal/app"
	"satchel/cmd/internal/terminal"
	"satchel/pipeline/op"
	"satchel/schemas"
)

// Preview is satchel preview.
type Preview struct {
	SearchFlags
	PrincipalFlags
	Template string `help:"Template: chat, detailed, summary or a registered one." default:"chat"`
	Ranker   string `help:"default, similarity, recency, confidence or a registered one." default:"default"`
	Budget   int    `help:"Tokens of the text." default:"2000"`
	Model    string `help:"Model whose tokenizer counts."`
	Metadata bool   `help:"Type, confidence and time of each memory in the text."`
	Build    bool   `help:"Build the text and print it, instead of what would be in it."`
}

func (c *Preview) request(tz string) schemas.BuildRequest {
	return schemas.BuildRequest{
		SearchRequest: c.SearchFlags.Request(&c.PrincipalFlags, tz), Template: c.Template, Ranker: c.Ranker, TokenBudget: c.Budget,
		Model: c.Model, IncludeMetadata: c.Metadata,
	}
}

// Run asks and prints.
func (c *Preview) Run(ctx context.Context, a *app.App) error {
	if c.Build {
		var out schemas.BuildReply
		if err := Operation(ctx, a, "build", c.request(a.TZ), &out); err != nil {
			return err
		}
		if err := previewEmpty(ctx, a, len(out.Memories) == 0, out.Truncated); err != nil {
			return err
		}
		if a.JSON {
			return PrintJSON(a, out)
		}
		return printMarkdown(a, out.Context)
	}
	var out schemas.PreviewReply
	if err := Operation(ctx, a, "preview", c.request(a.TZ), &out); err != nil {
		return err
	}
	if err := previewEmpty(ctx, a, len(out.MemoryIDs) == 0, out.Truncated); err != nil {
		return err
	}
	return PrintTable(a, out, func(w io.Writer) {
		fmt.Fprintf(w, "%s: %s, %d of %d tokens (%.1f %%), ranked by %s", out.Template, terminal.Plural(len(out.MemoryIDs), "memory", "memories"), out.TokenCount, c.Budget, out.BudgetUsed, rankedBy(c.Ranker))
		if out.Truncated {
			fmt.Fprint(w, ", more than fit")
		}
		fmt.Fprintln(w)
		for i, id := range out.MemoryIDs {
			fmt.Fprintf(w, "%d.\t%s\t%.3f\n", i+1, terminal.Excerpt(id, 128), out.RankingScores[id])
		}
	})
}

// previewEmpty says why there is nothing in a text that is empty.
func previewEmpty(ctx context.Context, a *app.App, empty, truncated bool) error {
	switch {
	case empty && truncated:
		printWarnings(a, []string{"nothing that was found fits the budget"})
	case empty:
		printWarnings(a, []string{"nothing was found that this principal may see"})
	}
	if !empty || truncated {
		return nil
	}
	return warnUnused(ctx, a)
}

// rankedBy is a ranker's name and, of a built-in one that weighs several things, its weights.
func rankedBy(name string) string {
	for _, r := range op.Rankers() {
		if r.Name == name && max(r.Similarity, r.Recency, r.Confidence) < 1 {
			return fmt.Sprintf("%s (similarity %g, recency %g, confidence %g)", name, r.Similarity, r.Recency, r.Confidence)
		}
	}
	return terminal.Excerpt(name, 128)
}
