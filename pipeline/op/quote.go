package op

import (
	"context"
	"fmt"
	"slices"

	"satchel/pipeline"
	"satchel/pipeline/candidate"
	"satchel/pipeline/passage"
	"satchel/pipeline/selection/retrieve"
	"satchel/schemas"
)

// quoting says how passages are chosen for a text.
type quoting struct {
	Budget  int
	Farther float64 // of passage.Options
	Items   int     // 0: any number
	Model   string
	Measure func(*candidate.Candidate) int // tokens of a candidate as it is shown
	Floors  map[schemas.Kind]int           // of passage.Options
	Most    map[schemas.Kind]int           // of passage.Options
}

// quote puts the passages of documents, code and commits that bear on the question in the place
// of these items, and drops those without one. Without a question it shows all of each. It
// reports whether parts of items may be shown, and what to note.
func (e *Operations) quote(ctx context.Context, req pipeline.Request, plan pipeline.Plan, ranked pipeline.Ranked, q quoting, cs []candidate.Candidate) (bool, pipeline.Notes) {
	if !hasPassages(cs) {
		return false, nil
	}
	asked := ranked.Vector
	if !slices.Contains(ranked.Sources, retrieve.NameEncoder) { // it did not answer a moment ago
		asked = nil
	}
	by := e.Admit.Counter(q.Model)
	search := plan.Narrow(plan.Asked)
	ranking := e.passages.Score(ctx, req.Scope, passage.Query{
		Text: req.Query, Filter: search.Filter, Population: search.Population, Prefer: req.Options.Prefer.Kinds(),
		Vector: asked,
	}, cs)
	chosen := req.Query != "" && req.Options.Repeat != schemas.RepeatStable // else the same text whatever is asked
	if chosen {
		ranking.Choose(cs, passage.Options{Budget: q.Budget, Farther: q.Farther, Items: q.Items, Counter: by, Measure: q.Measure, Floors: q.Floors, Most: q.Most})
	} else {
		ranking.Whole(cs, by)
	}
	var notes pipeline.Notes
	if ranking.Err != nil {
		notes = notes.With("vectors of passages: " + failure(ranking.Err))
	}
	if ranking.Begun > 0 && chosen {
		notes = notes.With(fmt.Sprintf("passages: so much text was found that only the beginning of some items was read (%d): a filter or a smaller limit helps", ranking.Begun))
	}
	return chosen, notes
}

// hasPassages reports whether a kept candidate is cut into passages.
func hasPassages(cs []candidate.Candidate) bool {
	for i := range cs {
		if cs[i].Kept() && passage.Of(cs[i].Visible) {
			return true
		}
	}
	return false
}
