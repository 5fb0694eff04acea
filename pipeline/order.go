package pipeline

import (
	"cmp"
	"context"
	"math"
	"slices"

	"satchel/pipeline/candidate"
	"satchel/pipeline/selection"
	"satchel/pipeline/selection/defend"
	"satchel/pipeline/selection/rank"
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
	Decision    Decision
	Removed     map[string][]string // Authorized.Removed
	Notes       Notes
}

// Decision is what policy decided for the request.
type Decision struct {
	Logged schemas.PolicyDecision
	hash   *inputHash
	Denied []candidate.Denied // items that the question found and the principal may not see
}

// defaultReranker is the name of the ranking of an operation that does not take its order from
// one query.
const defaultReranker = "z-fusion/default"

// Ordering orders what was found, and leaves out what does harm.
type Ordering struct {
	Defenses *defend.Defenses
	selector *selection.Selector
	models   Models
}

// Pool ranks what one query found and the principal may see.
func (o *Ordering) Pool(ctx context.Context, rec *Recorder, req Request, auth Authorized, i int) (selection.Ranking, error) {
	ranking, err := o.selector.Rank(ctx, req.Scope, auth.Pools[i].Pool, auth.Seen[i])
	if err == nil {
		rec.add("fuse", ranking.Times.Fuse)
	}
	return ranking, err
}

// Ranked begins the output of Rank with a ranking.
func (a *Authorized) Ranked(ranking selection.Ranking) Ranked {
	return Ranked{
		Candidates: ranking.Candidates, Unread: ranking.Unread, Found: ranking.Found, Counts: ranking.Counts, Sources: ranking.Sources,
		Reranker: cmp.Or(ranking.Reranker, defaultReranker), Profile: ranking.Profile, Embedding: ranking.Embedding, Vector: ranking.Vector, Removed: a.Removed, Unmentioned: ranking.Unmentioned,
		Notes: a.Notes.With(ranking.Warnings...),
	}
}

// WithoutRead takes what became a candidate on another way out of the unread items.
func (r Ranked) WithoutRead() Ranked {
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

// Defend drops what does harm: stale, doubtful, off topic, injected or repeated candidates. They
// are in order.
func (o *Ordering) Defend(ctx context.Context, rec *Recorder, spec Spec, req Request, plan Plan, in Ranked) (Ranked, error) {
	out := in
	cs := in.Candidates
	err := rec.Stage(ctx, "defend", func(context.Context) error {
		standIn(cs)
		apply := o.Defenses.Apply
		switch {
		case spec.List:
			apply = o.Defenses.ApplyToList
		case spec.KeepDuplicates:
			apply = o.Defenses.ApplyKeepingDuplicates
		case spec.IgnoreSpeakers:
			apply = o.Defenses.ApplyIgnoringSpeakers
		}
		onTopic := req.Query != "" && !spec.AnyTopic && !plan.Narrowing.IsSet() // what passes a filter was asked for, however near it is
		out.Notes = in.Notes.With(defend.DropNotYetValid(cs, req.Times.Ranking)...).With(apply(cs, onTopic, req.Times.Ranking)...)
		for i := range cs {
			if spec.DropSuspects && cs[i].Kept() && cs[i].Suspect && !defend.Documents(cs[i].Visible) {
				cs[i].Drop = schemas.DropInjection
				cs[i].Detail = "it can't be fenced here"
			}
		}
		return nil
	})
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
		by := cs[last]
		signals := *cs[i].Signals
		by.Fused = cs[i].Fused
		by.Standing = cs[i].Standing
		by.Score = cs[i].Score
		by.Signals = &signals
		if last > i {
			copy(cs[i+1:last+1], cs[i:last])
			last = i
		}
		cs[last] = by
	}
}

// decision makes the decision that is logged, of the candidates in their final order and of
// everything that was denied.
func (a *Authorized) decision(req Request, plan Plan, ranked Ranked) Decision {
	out := Decision{hash: &inputHash{}, Denied: a.by.Denied()}
	logged, asked := a.by.Record(req.ID, ranked.Candidates)
	logged.Pushdown = plan.Pushdown.Filter.Conds()
	out.Logged = logged
	if len(asked.Resources) > 0 {
		asked.Resources = a.by.pdp.withSources(asked.Resources)
		out.hash.start(req.Scope, asked)
	}
	return out
}

// defaultReranked is how many of the best candidates a reranker is asked about.
const defaultReranked = 50

// Rerank asks the reranker, where there is one, about the best candidates and takes its scores for
// their relevance. The others stay below them. Without an answer in time the order stays, with a note.
func (o *Ordering) Rerank(ctx context.Context, rec *Recorder, req Request, ranked Ranked) (Ranked, error) {
	if o.models.Reranker == nil {
		return ranked, nil
	}
	return staged(ctx, rec, "rerank", func(ctx context.Context) (Ranked, error) { return o.rerank(ctx, req, ranked) })
}

func (o *Ordering) rerank(ctx context.Context, req Request, ranked Ranked) (Ranked, error) {
	r := o.models.Reranker
	cs := ranked.Candidates
	profile := &ranked.Profile
	if req.Query == "" || profile.Relevance == 0 {
		return ranked, nil
	}
	at := make([]int, 0, o.models.Reranked)
	texts := make([]string, 0, o.models.Reranked)
	for i := range cs {
		if cs[i].Kept() && len(at) < o.models.Reranked {
			at = append(at, i)
			texts = append(texts, spoken(&cs[i]))
		}
	}
	if len(at) < 2 {
		return ranked, nil
	}
	scores, err := r.Rerank(ctx, req.Query, texts)
	if err != nil || len(scores) != len(at) {
		ranked.Notes = ranked.Notes.With("rerank: there was no answer in time, the order is without it")
		return ranked, ctx.Err()
	}
	ranked.Reranker += "+" + r.Name()
	least := slices.Min(scores)
	for j, i := range at {
		setRelevance(&cs[i], profile, scores[j])
	}
	for i := range cs {
		if cs[i].Kept() && !slices.Contains(at, i) {
			setRelevance(&cs[i], profile, min(least, relevanceOf(&cs[i])))
		}
	}
	slices.SortStableFunc(at, func(a, b int) int { return cmp.Compare(cs[b].Standing, cs[a].Standing) })
	for place, i := range at {
		cs[i].Channels = append(cs[i].Channels, candidate.Channel{
			Name: "rerank", Channel: schemas.Channel{Rank: place + 1, Score: relevanceOf(&cs[i])},
		})
	}
	slices.SortStableFunc(cs, func(a, b candidate.Candidate) int { return cmp.Compare(b.Standing, a.Standing) })
	return ranked, nil
}

// setRelevance changes a candidate's relevance, and its score with it.
func setRelevance(c *candidate.Candidate, p *rank.Profile, relevance float64) {
	c.SetScore(min(1, max(0, c.Score+p.Relevance*(relevance-relevanceOf(c)))))
	if c.Signals != nil {
		c.Signals.Relevance = math.Round(relevance*1e4) / 1e4
	}
}

func relevanceOf(c *candidate.Candidate) float64 {
	if c.Signals == nil {
		return 0
	}
	return c.Signals.Relevance
}

// spoken is "speaker: text".
func spoken(r *candidate.Candidate) string {
	if r.Speaker == "" {
		return r.Content.Text()
	}
	return r.Speaker + ": " + r.Content.Text()
}
