package pipeline

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"satchel/pipeline/compaction"
	"satchel/pipeline/language"
	"satchel/pipeline/pack"
	"satchel/pipeline/scope"
	"satchel/pipeline/selection/defend"
	"satchel/pipeline/selection/retrieve"
	"satchel/schemas"
)

// Packed is the text of a request and the candidates that it shows.
type Packed struct {
	pack.Pack
	Affordances []schemas.Affordance
	Causal      *schemas.CausalGraph
	Compacted   bool      // extracts may stand for items
	Summaries   []Summary // of a compaction
	Notes       Notes
}

// Summary is a summary that a compaction made.
type Summary struct {
	compaction.Summary
	Sources []string  // ids of the items that it was made of
	Item    []byte    // as JSON; nil: it is not kept
	At      time.Time // of the item
}

// makeText has the operation make its text, and says why it is empty where it is.
func makeText(ctx context.Context, rec *Recorder, op Operation, req Request, plan Plan, ranked Ranked) (Packed, error) {
	packed, err := staged(ctx, rec, "pack", func(ctx context.Context) (Packed, error) {
		return op.Pack(ctx, req, plan, ranked)
	})
	if err != nil {
		return Packed{}, err
	}
	packed.Notes = packed.Notes.With(defend.WarnInjected(ranked.Candidates, packed.Shown)...).With(explainEmpty(req, plan, ranked, packed)...)
	summarize := op.Spec().Summarize
	if summarize == nil {
		return packed, nil
	}
	return staged(ctx, rec, "summarize", func(ctx context.Context) (Packed, error) {
		return summarize(ctx, req, ranked, packed)
	})
}

// Denials counts, for an auditor, what policy denied, by reason.
func (r *Ranked) Denials(s scope.Scope) map[string]int {
	denied := map[string]int{}
	if isAuditor(s) {
		for _, d := range r.Decision.Denied {
			denied[d.Reason]++
		}
	}
	return denied
}

const nothingToSearchBy = "the question has nothing to search by, only signs, emoji or words that are in every text: " +
	"ask with a word of what is looked for"

// explainEmpty notes why a pack shows no item.
func explainEmpty(req Request, plan Plan, ranked Ranked, packed Packed) Notes {
	switch {
	case len(packed.Shown) > 0:
		return nil
	case len(ranked.Candidates) == 0:
		return Notes{whyNothingFound(req, plan, ranked)}
	}
	return Notes{whyNothingShown(req, ranked, packed)}
}

// whyNothingFound says why there is no candidate. Where the client filters, it says the same
// whether items are hidden or not there.
func whyNothingFound(req Request, plan Plan, ranked Ranked) string {
	passes := "this principal may see"
	if plan.Narrowing.Filtered {
		passes = "passes the filters and that " + passes
	}
	if req.Options.AsOf > 0 || !req.Options.AsOfTime.IsZero() {
		passes = "had been recorded by then and that " + passes
	}
	if denied := ranked.Denials(req.Scope); len(denied) > 0 {
		return "policy denied everything that was found: " + counts(denied)
	}
	asked := ranked.Sources
	trace := plan.Relevance
	byWordsAlone := req.Query != "" && slices.Contains(asked, retrieve.NameKeyword) &&
		!slices.Contains(asked, retrieve.NameVector) && !slices.Contains(asked, retrieve.NameRecency)
	switch {
	case req.Greets():
		return "the text greets, thanks or says yes or no, and asks nothing: nothing was looked for"
	case trace != nil && trace.TotalIncluded == 0:
		return "relevance left out every source: ask in another mode, or without relevance"
	case byWordsAlone && wordless(req.Query):
		return nothingToSearchBy
	case trace != nil && leftOut(trace):
		return "relevance left out every source but " + strings.Join(trace.Included, ", ") +
			", and of these nothing was found that " + passes + ": ask in another mode, or without relevance"
	case byWordsAlone:
		return "nothing that " + passes + " has a word of the question"
	}
	return "nothing was found that " + passes
}

// wordless reports whether there is a question and no word in it that can be looked for.
func wordless(query string) bool { return query != "" && len(language.Analyze(query)) == 0 }

// leftOut reports whether relevance left out a node.
func leftOut(trace *schemas.RelevanceTrace) bool {
	return slices.ContainsFunc(slices.Concat(trace.ExcludedHard, trace.ExcludedSoft), func(node string) bool {
		return !slices.Contains(trace.Included, node)
	})
}

// whyNothingShown says why no candidate is in the pack.
func whyNothingShown(req Request, ranked Ranked, packed Packed) string {
	cs := ranked.Candidates
	best := 0.0
	dropped := map[string]int{}
	for i := range cs {
		best = max(best, cs[i].Score)
		if !cs[i].Kept() {
			dropped[string(cs[i].Drop)]++
		}
	}
	small := dropped[string(schemas.DropBudget)]
	twice := dropped[string(schemas.DropDuplicate)]
	switch {
	case packed.Least > req.Limits.Tokens:
		return fmt.Sprintf("budget: %d is too small for any item that was found; the smallest takes %d tokens whole", req.Limits.Tokens, packed.Least)
	case small > 0 && small+twice == len(cs):
		return fmt.Sprintf("budget: %d is too small for any of the %d items that were found; see the drop report", req.Limits.Tokens, len(cs))
	case wordless(req.Query) && dropped[string(schemas.DropOffTopic)] == len(cs):
		return nothingToSearchBy
	case dropped[string(schemas.DropScore)] > 0 && best < req.Limits.MinScore:
		return fmt.Sprintf("all that was found scores less than min_score %g, the best %.3f; see the drop report",
			req.Limits.MinScore, best)
	}
	return fmt.Sprintf("nothing that was found fits: %s; see the drop report", counts(dropped))
}

// counts says reasons and their counts in words, in a fixed order.
func counts(by map[string]int) string {
	var parts []string
	for _, reason := range slices.Sorted(maps.Keys(by)) {
		parts = append(parts, reason+" "+strconv.Itoa(by[reason]))
	}
	return strings.Join(parts, ", ")
}
