package pipeline

import (
	"cmp"
	"context"
	"slices"

	"satchel/pipeline/candidate"
	"satchel/pipeline/pack"
	"satchel/pipeline/passage"
	"satchel/pipeline/selection"
	"satchel/pipeline/selection/defend"
	"satchel/pipeline/selection/rank"
	"satchel/pipeline/store/graph"
	"satchel/schemas"
)

// Ranked is the candidates in their final order: no later stage moves one. Those that are
// dropped are among them, for the drop report.
type Ranked struct {
	Candidates []candidate.Candidate
	Unread     []candidate.Unread // found, and no candidates
	Found      int                // items that any retriever returned and the principal may see
	Counts     map[string]int     // by retriever
	Sources    []string           // the retrievers that answered
	Reranker   string
	Profile    rank.Profile // the zero profile where the order is not that of one query
	Embedding  string       // the model whose vectors were searched
	Vector     []float32    // of the question, where passages are stored with theirs by that model; else nil
	// Unmentioned are the names of the question that nothing has which the principal may see.
	Unmentioned []string
	// Unanswered says that nothing that was found bears on the question.
	Unanswered bool
	// HardlyAnswered says that the best of knowledge and memory is hardly relevant.
	HardlyAnswered bool
	More           int // candidates that are not shown as they bear on the question less than others, but filling shows
	LinkedOnly     map[string]bool
	Links          map[string][]graph.Visit
	Groups         []Group
	Factors        map[string]float64 // of an assembly: by id, the factor by which rank changed the score
	Decision       Decision
	Removed        map[string][]string
	Notes          Notes
}

// Group is what one source of an assembly found.
type Group struct {
	Scores map[string]float64 // by id
}

// Decision is what policy decided for the request.
type Decision struct {
	Logged schemas.PolicyDecision
	Hash   *inputHash
	Denied []candidate.Denied // items that the question found and the principal may not see
}

// rankPool ranks what one query found and the principal may see.
func (e *Engine) rankPool(ctx context.Context, rec *Recorder, req Request, auth Authorized, i int) (selection.Ranking, error) {
	ranking, err := e.selector.Rank(ctx, req.Scope, auth.Pools[i].Pool, auth.Seen[i])
	if err == nil {
		rec.Add("fuse", ranking.Times.Fuse)
	}
	return ranking, err
}

// rankedBy begins the output of rank with a ranking.
func rankedBy(ranking selection.Ranking, auth Authorized) Ranked {
	return Ranked{
		Candidates: ranking.Candidates, Unread: ranking.Unread, Found: ranking.Found, Counts: ranking.Counts, Sources: ranking.Sources,
		Reranker: cmp.Or(ranking.Reranker, defaultReranker), Profile: ranking.Profile, Embedding: ranking.Embedding, Vector: ranking.Vector, Removed: auth.Removed, Unmentioned: ranking.Unmentioned,
		Notes: auth.Notes.With(ranking.Warnings...),
	}
}

// withoutRead takes what became a candidate on another way out of the unread items.
func (r Ranked) withoutRead() Ranked {
	if len(r.Unread) == 0 {
		return r
	}
	read := make(map[string]bool, len(r.Candidates))
	for i := range r.Candidates {
		read[r.Candidates[i].ID] = true
	}
	r.Unread = slices.DeleteFunc(slices.Clone(r.Unread), func(u candidate.Unread) bool { return read[u.ID] })
	return r
}

// defend drops what does harm: stale, doubtful, off topic, injected or repeated candidates. They
// are in order. Where the spec says so, the reranker orders what is left.
func (e *Engine) defend(ctx context.Context, rec *Recorder, spec Spec, req Request, plan Plan, in Ranked) (Ranked, error) {
	out, cs := in, in.Candidates
	err := rec.Stage(ctx, "defend", func(context.Context) error {
		standIn(cs)
		apply := e.defenses.Apply
		switch {
		case spec.List:
			apply = e.defenses.ApplyToList
		case spec.KeepDuplicates:
			apply = e.defenses.ApplyKeepingDuplicates
		case spec.IgnoreSpeakers:
			apply = e.defenses.ApplyIgnoringSpeakers
		}
		onTopic := req.Query != "" && !spec.AnyTopic && !plan.Narrowing.isSet() // what passes a filter was asked for, however near it is
		out.Notes = in.Notes.With(defend.DropNotYetValid(cs, req.Times.Ranking)...).With(apply(cs, onTopic, req.Times.Ranking)...)
		for i := range cs {
			if spec.DropSuspects && cs[i].Kept() && cs[i].Suspect && !defend.Documents(cs[i].Visible) {
				cs[i].Drop, cs[i].Detail = schemas.DropInjection, "it can't be fenced here"
			}
		}
		return nil
	})
	if req.Query != "" && !plan.Narrowing.isSet() {
		out.Unanswered, out.HardlyAnswered = nothingAnswers(cs), hardlyAnswered(cs)
	}
	if err == nil && spec.Rerank && e.cfg.Reranker != nil {
		out, err = staged(ctx, rec, "rerank", func(ctx context.Context) (Ranked, error) { return e.rerank(ctx, req, out) })
	}
	if err == nil && spec.ReplaceToolContent {
		pack.ReplaceToolContent(cs)
	}
	return out, err
}

// standIn gives an item the chance and the place of one that it replaces, where those are better: it may be said in other words.
func standIn(cs []candidate.Candidate) {
	newer := func(of int) int { // the place of what replaces an item, its own where that is not here
		for i := range cs { // candidates are large: none is copied
			if cs[i].ID == cs[of].SupersededBy {
				return i
			}
		}
		return of
	}
	for i := range cs {
		last := i
		for n := 0; n < len(cs) && cs[last].SupersededBy != ""; n++ { // they may replace each other in turn
			next := newer(last)
			if next == last {
				break
			}
			last = next
		}
		if cs[last].Standing >= cs[i].Standing || cs[last].SupersededBy != "" || cs[i].Signals == nil {
			continue
		}
		by, signals := cs[last], *cs[i].Signals
		by.Fused, by.Standing, by.Score, by.Signals = cs[i].Fused, cs[i].Standing, cs[i].Score, &signals
		if last > i {
			copy(cs[i+1:last+1], cs[i:last])
			last = i
		}
		cs[last] = by
	}
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

// decision makes the decision that is logged, of the candidates in their final order and of
// everything that was denied.
func (e *Engine) decision(req Request, plan Plan, auth Authorized, ranked Ranked) Decision {
	out := Decision{Hash: &inputHash{}, Denied: auth.By.Denied()}
	logged, asked := auth.By.Record(req.ID, ranked.Candidates)
	logged.Pushdown = plan.Pushdown.Filter.Conds()
	out.Logged = logged
	if len(asked.Resources) > 0 {
		asked.Resources = auth.By.pdp.withSources(asked.Resources)
		out.Hash.start(req.Scope, asked)
	}
	return out
}

// byStanding sorts candidates by standing, best first, ties by id.
func byStanding(cs []candidate.Candidate) {
	slices.SortStableFunc(cs, func(a, b candidate.Candidate) int {
		return cmp.Or(cmp.Compare(b.Standing, a.Standing), cmp.Compare(a.ID, b.ID))
	})
}

// dropBelow drops the candidates that score less than the request wants.
func dropBelow(cs []candidate.Candidate, minScore float64) {
	for i := range cs {
		if cs[i].Kept() && cs[i].Score < minScore {
			cs[i].Drop = schemas.DropScore
		}
	}
}
