package main

import (
	"context"
	"fmt"
	"text/tabwriter"

	"satchel/pipeline"
	"satchel/schemas"
)

type previewCmd struct {
	finder
	asker
	Template string `help:"Template: chat, detailed, summary or a registered one." default:"chat"`
	Ranker   string `help:"default, similarity, recency, confidence or a registered one." default:"default"`
	Budget   int    `help:"Tokens of the text." default:"2000"`
	Model    string `help:"Model whose tokenizer counts."`
	Metadata bool   `help:"Type, confidence and time of each memory in the text."`
	Build    bool   `help:"Build the text and print it, instead of what would be in it."`
}

// Help shows how it is called.
func (previewCmd) Help() string {
	return `A preview says which memories a template would show, how they rank and what they cost;
it shows no content. They rank by similarity, recency and confidence together, unlike
satchel search; --ranker similarity ranks as it does. With --build the text itself is made, logged and printed.

Examples:
  satchel preview "when is the kiln fired?"
  satchel preview --build --template detailed --budget 500 "when is the kiln fired?"`
}

func (c *previewCmd) request() schemas.BuildRequest {
	return schemas.BuildRequest{
		SearchRequest: c.finder.request(&c.asker), Template: c.Template, Ranker: c.Ranker, TokenBudget: c.Budget,
		Model: c.Model, IncludeMetadata: c.Metadata,
	}
}

// Run asks and prints.
func (c *previewCmd) Run(ctx context.Context, a *app) error {
	if c.Build {
		var out schemas.BuildReply
		if err := a.door(ctx, "build", c.request(), &out); err != nil {
			return err
		}
		if err := a.previewEmpty(ctx, len(out.Memories) == 0, out.Truncated); err != nil {
			return err
		}
		if a.JSON {
			return a.printJSON(out)
		}
		return a.printMarkdown(out.Context)
	}
	var out schemas.PreviewReply
	if err := a.door(ctx, "preview", c.request(), &out); err != nil {
		return err
	}
	if err := a.previewEmpty(ctx, len(out.MemoryIDs) == 0, out.Truncated); err != nil {
		return err
	}
	if a.JSON {
		return a.printJSON(out)
	}
	fmt.Fprintf(a.out, "%s: %s, %d of %d tokens (%.1f %%), ranked by %s", out.Template, plural(len(out.MemoryIDs), "memory", "memories"), out.TokenCount, c.Budget, out.BudgetUsed, rankedBy(c.Ranker))
	if out.Truncated {
		fmt.Fprint(a.out, ", more than fit")
	}
	fmt.Fprintln(a.out)
	w := tabwriter.NewWriter(a.out, 0, 4, 2, ' ', 0)
	for i, id := range out.MemoryIDs {
		fmt.Fprintf(w, "%d.\t%s\t%.3f\n", i+1, excerpt(id, 128), out.RankingScores[id])
	}
	return w.Flush()
}

// previewEmpty says why there is nothing in a text that is empty.
func (a *app) previewEmpty(ctx context.Context, empty, truncated bool) error {
	switch {
	case empty && truncated:
		a.printWarnings([]string{"nothing that was found fits the budget"})
	case empty:
		a.printWarnings([]string{"nothing was found that this principal may see"})
	}
	return a.warnUnused(ctx, empty && !truncated)
}

// rankedBy is a ranker's name and, of a built-in one that weighs several things, its weights.
func rankedBy(name string) string {
	for _, r := range pipeline.Rankers() {
		if r.Name == name && max(r.Similarity, r.Recency, r.Confidence) < 1 {
			return fmt.Sprintf("%s (similarity %g, recency %g, confidence %g)", name, r.Similarity, r.Recency, r.Confidence)
		}
	}
	return excerpt(name, 128)
}
