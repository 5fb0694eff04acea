package op

import (
	"satchel/pipeline"
	"satchel/pipeline/candidate"
	"satchel/pipeline/language"
	"satchel/pipeline/passage"
	"satchel/schemas"
)

// lacksName reports whether the question has a name that nothing here has, and the rest of it is not
// answered either.
func lacksName(r *pipeline.Ranked) bool {
	return len(r.Unmentioned) > 0 && bestRelevance(r.Candidates) < answersAnyway
}

// dropBeside drops documents that a memory is far nearer than, unless they have the words of the question. It returns how many.
func dropBeside(cs []candidate.Candidate) (dropped int) {
	var memory, document float64
	for i := range cs {
		if c := &cs[i]; !c.Kept() || c.Kind == schemas.KindTool {
			continue
		} else if passage.Of(c.Visible) {
			document = max(document, c.Score)
		} else {
			memory = max(memory, c.Score)
		}
	}
	for i := range cs {
		c := &cs[i]
		says := c.Signals != nil && c.Signals.Evidence.Words >= covers
		if memory > document && !says && c.Kept() && c.Given == candidate.NotGiven && passage.Of(c.Visible) && c.Score < besideMemory*memory {
			c.Drop = schemas.DropRank
			c.Detail = "a memory is far nearer" + candidate.FillShows
			dropped++
		}
	}
	return dropped
}

// keepFew drops all but the first few items, and returns how many. What is given and tools stay.
func keepFew(cs []candidate.Candidate) (dropped int) {
	kept := 0
	for i := range cs {
		c := &cs[i]
		if !c.Kept() || c.Given != candidate.NotGiven || c.Kind == schemas.KindTool {
			continue
		}
		kept++
		if kept > few {
			c.Drop = schemas.DropOffTopic
			c.Detail = hardlyAnything
			dropped++
		}
	}
	return dropped
}

// hardlyAnything is the detail of a drop of a pack that shows little because of doubt.
const hardlyAnything = "hardly anything answers, so little is shown" + candidate.FillShows

// leftByDoubt says of the items whose passages had no room that the room was small because of doubt. It returns how many.
func leftByDoubt(cs []candidate.Candidate) (left int) {
	for i := range cs {
		if c := &cs[i]; c.Drop == schemas.DropBudget {
			c.Drop = schemas.DropOffTopic
			c.Detail = hardlyAnything
			left++
		}
	}
	return left
}

// packEnd is how far below the best value a pack ends, 0 where it takes its budget.
func (e *Operations) packEnd(req pipeline.Request) float64 {
	switch {
	case fills(req) || req.Query == "" || language.AsksAll(req.Query, req.Times.Ranking):
		return 0
	case e.passages.WantsMany(req.Query):
		return ends + manyMore
	}
	return ends
}

// passagesEnd is how far below the best value the passages of documents, code and commits end, 0 where they take the budget.
func (e *Operations) passagesEnd(req pipeline.Request) float64 {
	if end := e.packEnd(req); end > 0 {
		return end + passagesMore
	}
	return 0
}

// worthLess counts the candidates that are dropped as others are worth far more.
func worthLess(cs []candidate.Candidate) (n int) {
	for i := range cs {
		if cs[i].Drop == schemas.DropRank && cs[i].Detail == candidate.WorthLess {
			n++
		}
	}
	return n
}

// fills reports whether a text takes its whole budget: so does one whose items are to stay from turn to turn.
func fills(req pipeline.Request) bool {
	return req.Options.Fill || req.Options.Repeat == schemas.RepeatStable
}

// bestRelevance is that of the best candidate that is kept.
func bestRelevance(cs []candidate.Candidate) float64 {
	best := 0.
	for i := range cs {
		if cs[i].Kept() && cs[i].Signals != nil {
			best = max(best, cs[i].Signals.Evidence.Bears)
		}
	}
	return best
}

// nothingAnswers reports whether all candidates were dropped, and some for not being about the
// question.
func nothingAnswers(cs []candidate.Candidate) bool {
	offTopic := false
	for i := range cs {
		if cs[i].Kept() {
			return false
		}
		offTopic = offTopic || cs[i].Drop == schemas.DropOffTopic
	}
	return offTopic
}

// hardlyAnswered reports whether the best of knowledge and memory is hardly relevant. What is given without a search does not
// count.
func hardlyAnswered(cs []candidate.Candidate) bool {
	var best *candidate.Candidate
	for i := range cs {
		c := &cs[i]
		if c.Kept() && c.Kind != schemas.KindTool && c.Given == candidate.NotGiven && (best == nil || c.Signals.Bears() > best.Signals.Bears()) {
			best = c
		}
	}
	least := hardlyRelevant
	switch {
	case best == nil || best.Signals == nil:
		return false
	case passage.Of(best.Visible):
		least = hardlyRead
	case best.IsTurn():
		least = hardlySaid
	}
	return best.Signals.Bears() < least
}
