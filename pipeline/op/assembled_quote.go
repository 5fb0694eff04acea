package op

import (
	"context"

	"satchel/pipeline"
	"satchel/pipeline/candidate"
	"satchel/pipeline/compaction"
	"satchel/pipeline/pack/assembly"
	"satchel/pipeline/passage"
	"satchel/schemas"
)

// Shares of the tokens of an assembly.
const (
	documentWeight = 2 // of documents, beside the weights of the sources
)

// shorten puts sentences that bear on the question in the place of memories that would be cut, and
// reports whether there are any.
func (o *assembleOp) shorten(req pipeline.Request, ranked pipeline.Ranked) bool {
	short := false
	for g := range o.sources {
		most := o.mostOf(req, g)
		for i := range ranked.Candidates {
			c := &ranked.Candidates[i]
			if _, found := o.groups[g].scores[c.ID]; !found || c.Quote != nil || !shortens(req, c) {
				continue
			}
			room := compaction.Options{Query: req.Query, Budget: 2 * max(most-noteTokens, noteTokens), Counter: o.e.Admit.Counter(""), Whole: most, Texts: o.e.texts}
			short = compaction.Shorten(ranked.Candidates[i:i+1], room) > 0 || short
		}
	}
	return short
}

// mostOf returns the tokens that a shortened memory of a source takes at most.
func (o *assembleOp) mostOf(req pipeline.Request, source int) int {
	total := 0
	for g := range o.sources {
		total += o.sources[g].weight
	}
	return assembly.Cap(req.Limits.Tokens * o.sources[source].weight / max(1, total))
}

// shortens reports whether shorten cuts a candidate that is too long: a memory that is read whole.
func shortens(req pipeline.Request, c *candidate.Candidate) bool {
	return c.Kind == schemas.KindMemory && len(c.Content.Text()) <= assembly.Clip(req.Limits.Tokens)
}

// noteTokens is what title and note of a shortened memory take.
const noteTokens = 80

// quote puts passages in the place of documents, code and commits. What the other items cannot
// use of their shares is the passages'.
func (o *assembleOp) quote(ctx context.Context, req pipeline.Request, plan pipeline.Plan, ranked pipeline.Ranked) (bool, pipeline.Notes) {
	cs := ranked.Candidates
	clip := assembly.Clip(req.Limits.Tokens)
	counter := o.e.Admit.Counter("")
	weights := 0
	rest := 0
	need := 0
	sorts := map[schemas.Kind]bool{}
	var most map[schemas.Kind]int
	for g := range o.sources {
		others := false
		for i := range cs {
			c := &cs[i]
			if _, found := o.groups[g].scores[c.ID]; !found || !c.Kept() {
				continue
			}
			if passage.Of(c.Visible) {
				sorts[c.Kind] = true
				if c.Kind == schemas.KindMemory {
					most = map[schemas.Kind]int{c.Kind: o.mostOf(req, g)}
				}
				continue
			}
			others = true
			if need < req.Limits.Tokens {
				it := assembly.Show(c, o.sources[g].view, clip, req.Zone())
				cut := assembly.Cap(req.Limits.Tokens)
				if shortens(req, c) {
					cut = o.mostOf(req, g)
				}
				need += min(counter.Count(it.Text()), cut)
			}
		}
		if others {
			rest += o.sources[g].weight
		}
	}
	weights = documentWeight * len(sorts)
	if weights == 0 {
		return false, nil
	}
	room := max(0, req.Limits.Tokens-o.frame(ranked))
	share := room * weights / (weights + rest)
	budget := max(share, room-need)
	end := 0.
	if o.ends {
		end = o.e.passagesEnd(req)
	}
	return o.e.quote(ctx, req, plan, ranked, quoting{
		Budget: budget, Farther: end, Floors: floors(sorts, share), Most: most, Measure: func(c *candidate.Candidate) int {
			it := assembly.Show(c, assembly.Full, clip, req.Zone())
			return counter.Count(it.Text() + "\n\n")
		},
	}, cs)
}

// floors are what passages of code and of commits have for certain: half of what is theirs of a share in equal
// parts. Documents are one with memories.
func floors(kinds map[schemas.Kind]bool, share int) map[schemas.Kind]int {
	out := make(map[schemas.Kind]int, len(kinds))
	for kind := range kinds {
		if kind != schemas.KindKnowledge {
			out[kind] = share / len(kinds) / 2
		}
	}
	return out
}

// frame is the tokens of title, headings and footer, at most.
func (o *assembleOp) frame(ranked pipeline.Ranked) int {
	var headings []string
	for g := range o.sources {
		if len(o.groups[g].scores) > 0 {
			headings = append(headings, o.sources[g].heading)
		}
	}
	return assembly.Frame(o.titleOf(ranked), headings, "*"+countOf(maxItems, len(headings))+"*", o.e.Admit.Counter(""))
}

// maxItems is more items than an assembly shows.
const maxItems = 999
