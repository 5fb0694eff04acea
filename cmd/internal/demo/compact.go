package demo

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"satchel/cmd/internal/terminal"
	"satchel/schemas"
)

// settle waits until the indexes have all that is in the log, so that what is asked next sees the same every time.
func (t *runner) settle(ctx context.Context) (err error) {
	t.seen, err = t.node.AwaitIndexed(ctx, demoTenant, 1)
	return err
}

// compact brings the roles' context under half of its budget, and one dropped item back.
func (t *runner) compact(ctx context.Context) error {
	if err := t.settle(ctx); err != nil {
		return err
	}
	officer := riskOfficer()
	var out schemas.CompactReply
	req := schemas.CompactRequest{From: officer, PackID: t.context, Query: demoQuestion, Budget: demoBudget / 2}
	if err := t.client.Context(ctx, "compact", req, &out); err != nil {
		return err
	}
	inPart := 0
	for _, section := range out.Compacted.Sections {
		for i := range section.Items {
			if len(section.Items[i].Spans) > 0 {
				inPart++
			}
		}
	}
	levels := map[schemas.SummaryLevel]int{}
	for _, s := range out.Summaries {
		levels[s.Level]++
	}
	var kept []string
	for _, level := range slices.Sorted(maps.Keys(levels)) {
		kept = append(kept, fmt.Sprintf("%d of %s", levels[level], level))
	}
	t.say("\nCOMPACT the %d tokens of that context to at most %d: %s, %d in extracts, %d tokens.", t.tokens, demoBudget/2,
		terminal.Plural(len(out.Results), "item", "items"), inPart, out.Compacted.TokenActual)
	saved := t.tokens - out.Compacted.TokenActual
	t.say("        Of the %d saved, %d are of what items say, each dropped character in the report, and %d of the", saved, out.Drop.TokenSavings, saved-out.Drop.TokenSavings)
	t.say("        headings and marks around them; summaries kept as memories that cite their sources: %s.", strings.Join(kept, ", "))
	if len(out.Drop.DroppedItemIDs) == 0 {
		return errors.New("the compactor dropped nothing")
	}
	if err := t.settle(ctx); err != nil {
		return err
	}
	var back schemas.RecoverReply
	recover := schemas.RecoverRequest{From: officer, PackID: out.Compacted.ID, ItemIDs: out.Drop.DroppedItemIDs[:1]}
	if err := t.client.Context(ctx, "recover", recover, &back); err != nil {
		return err
	}
	for i := range back.Results {
		t.say("        and back again by its id: %s  %s", back.Results[i].ID, terminal.OneLine(back.Results[i].Content.Text(), 70))
	}
	if t.verbose {
		t.say("\n%s", strings.TrimRight(out.Text, "\n"))
	}
	return t.settle(ctx)
}
