package pipeline

import (
	"fmt"
	"slices"
	"strings"

	"satchel/pipeline/pack"
	"satchel/pipeline/selection"
	"satchel/pipeline/store/keyword"
	"satchel/schemas"
)

const nothingToSearchBy = "the question has nothing to search by, only signs, emoji or words that are in every text: ask with a word of what is looked for"

// explainEmpty warns when a pack has no item, and why.
func (t *turn) explainEmpty(denied map[string]int) {
	switch {
	case len(t.packed.Shown) > 0:
	case len(t.ranking.Candidates) == 0:
		t.warnings = append(t.warnings, t.whyNothingFound())
	default:
		t.warnings = append(t.warnings, t.whyNothingShown(denied))
	}
}

// whyNothingFound says why there is no candidate. Where the asker filters it says the same
// whether items are hidden or are not there.
func (t *turn) whyNothingFound() string {
	passes := "this principal may see"
	if t.filtered {
		passes = "passes the filters and that " + passes
	}
	asked := t.ranking.Sources
	byWordsAlone := t.query != "" && slices.Contains(asked, selection.NameKeyword) &&
		!slices.Contains(asked, selection.NameVector) && !slices.Contains(asked, selection.NameRecency)
	switch {
	case t.trace != nil && t.trace.TotalIncluded == 0:
		return "relevance left out every source: ask in another mode, or without relevance"
	case byWordsAlone && t.wordless():
		return nothingToSearchBy
	case t.trace != nil && len(t.leftOut()) > 0:
		return "relevance left out every source but " + strings.Join(t.trace.Included, ", ") + ", and of these nothing was found that " + passes +
			": ask in another mode, or without relevance"
	case byWordsAlone:
		return "nothing that " + passes + " has a word of the question"
	}
	return "nothing was found that " + passes
}

// wordless reports whether there is a question and no word in it that can be looked for.
func (t *turn) wordless() bool { return t.query != "" && len(keyword.Analyze(t.query)) == 0 }

// leftOut returns the nodes that relevance left out.
func (t *turn) leftOut() []string {
	out := slices.Concat(t.trace.ExcludedHard, t.trace.ExcludedSoft)
	return slices.DeleteFunc(out, func(node string) bool { return slices.Contains(t.trace.Included, node) })
}

// whyNothingShown says why no candidate is in the pack.
func (t *turn) whyNothingShown(denied map[string]int) string {
	cs := t.ranking.Candidates
	if pack.Sum(denied) == len(cs) {
		return fmt.Sprintf("policy denied every source: %s; this is the minimal pack", counts(denied))
	}
	best, dropped := 0.0, map[string]int{}
	for i := range cs {
		if cs[i].Drop != schemas.DropPolicy {
			best = max(best, cs[i].Score)
		}
		if !cs[i].Kept() {
			dropped[string(cs[i].Drop)]++
		}
	}
	switch {
	case t.wordless() && dropped[string(schemas.DropOffTopic)] == len(cs)-pack.Sum(denied):
		return nothingToSearchBy
	case dropped[string(schemas.DropScore)] > 0 && best < t.minScore:
		return fmt.Sprintf("all that was found scores less than min_score %g, the best %.3f; see the drop report", t.minScore, best)
	}
	return fmt.Sprintf("nothing that was found fits: %s; see the drop report", counts(dropped))
}
