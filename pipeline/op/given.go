package op

import (
	"cmp"
	"context"
	"slices"
	"time"

	"satchel/pipeline"
	"satchel/pipeline/candidate"
	"satchel/pipeline/relevance"
	"satchel/pipeline/selection"
	"satchel/pipeline/selection/retrieve"
	"satchel/pipeline/store/items"
	"satchel/schemas"
)

// given are the items that a request gets without a search: the last turns of its session, and
// the newest items of the categories of each included context node.
type given struct {
	from   []relevance.Given
	search bool // items beside those are wanted
	tokens int  // of the pack, what the included nodes are estimated at; 0: no limit of theirs
}

// clockSkew is how far the clock of a writer may be ahead.
const clockSkew = 5 * time.Minute

// maxGiven is how many items of one category are read. The estimate of the node is the limit.
const maxGiven = 24

// readGiven reads the items that the plan gives, newest first. Policy has not decided on them.
func (o *contextOp) readGiven(ctx context.Context, req pipeline.Request, plan pipeline.Plan) (pipeline.Retrieved, error) {
	by := map[string][]string{}
	all := []string(nil)
	until := o.e.Admit.Clock().Add(clockSkew) // what is dated later would stand before all that comes, for good
	if req.Times.Ranking.After(until) {
		until = req.Times.Ranking
	}
	for _, g := range o.given.from {
		var filters []schemas.Filter
		if g.Turns > 0 && req.Session != "" {
			filters = append(filters, sessionTurns(req.Session))
		}
		for _, s := range g.Items {
			filters = append(filters, selected(s))
		}
		for _, f := range filters {
			limit := cmp.Or(3*g.Turns, maxGiven) // policy may deny some
			ids, err := o.e.Find.Items.Recent(ctx, req.Scope, f.And(plan.Pushdown.Filter), items.Place{Created: until}, limit)
			if err != nil {
				return pipeline.Retrieved{}, pipeline.StorageError("items could not be read")
			}
			by[g.Node] = append(by[g.Node], ids...)
			all = append(all, ids...)
		}
	}
	found, err := o.e.Find.Read(ctx, req, plan, all)
	at := req.Options
	found.Named = slices.DeleteFunc(found.Named, func(r *schemas.Record) bool {
		return at.AsOf > 0 && r.Position > at.AsOf || !at.AsOfTime.IsZero() && r.RecordedAt.After(at.AsOfTime)
	})
	found.Search = len(o.read)
	o.read = append(o.read, by)
	return found, err
}

func sessionTurns(session string) schemas.Filter {
	return ofKinds([]schemas.Kind{schemas.KindMemory}).And(oneOf(schemas.FieldSession, []string{session}))
}

func selected(s relevance.Selector) schemas.Filter {
	f := oneOf(schemas.FieldCategory, []string{s.Category})
	if s.Kind != "" {
		f = f.And(ofKinds([]schemas.Kind{s.Kind}))
	}
	if s.Type != "" {
		f = f.And(oneOf(schemas.FieldType, []string{string(s.Type)}))
	}
	return f
}

// give puts what the plan gives before the candidates that were found: of each node the newest
// items that its estimate pays for. One that was found as well keeps its scores.
func (o *contextOp) give(auth pipeline.Authorized, found []candidate.Candidate) []candidate.Candidate {
	if len(auth.Named) == 0 {
		return found
	}
	named := make(map[string]*candidate.Candidate, len(auth.Named))
	for i := range auth.Named {
		named[auth.Named[i].ID] = &auth.Named[i]
	}
	places := make(map[string]int, len(found))
	for i := range found {
		places[found[i].ID] = i
	}
	var out []candidate.Candidate
	taken := map[string]bool{}
	for _, g := range o.given.from {
		tokens := 0
		items := 0
		for _, id := range o.read[auth.Search][g.Node] {
			c, ok := named[id]
			if !ok || taken[id] || g.Turns > 0 && items == g.Turns {
				continue
			}
			cost := tokensOf(c)
			if tokens+cost > g.Tokens {
				break
			}
			items = items + 1
			tokens = tokens + cost
			taken[id] = true
			one := *c
			if at, ok := places[id]; ok {
				one = found[at]
			} else {
				one.Channels = candidate.Channels{{Name: retrieve.NameRecency, Channel: schemas.Channel{Rank: items}}}
			}
			one.Given = candidate.GivenNode
			if g.Turns > 0 {
				one.Given = candidate.GivenTurn
			}
			out = append(out, one)
		}
	}
	return append(out, slices.DeleteFunc(found, func(c candidate.Candidate) bool { return taken[c.ID] })...)
}

// keepGiven keeps what was given although it does not resemble the question.
func keepGiven(cs []candidate.Candidate) {
	for i := range cs {
		if cs[i].Given != candidate.NotGiven && (cs[i].Drop == schemas.DropOffTopic || cs[i].Drop == schemas.DropScore) {
			cs[i].Drop = ""
			cs[i].Detail = ""
		}
	}
}

// planGiven says what the request is given. A client that narrows its request by filters
// gets what passes them alone.
func (e *Operations) planGiven(req pipeline.Request, need relevance.Decision, gated bool) given {
	p := req.Options
	out := given{search: (!gated || len(need.Kinds()) > 0) && !req.Greets()}
	if len(p.Query.Filters) == 0 {
		out.from = need.Given()
	}
	if !gated || p.Relevance.Fill {
		return out
	}
	out.tokens = preambleTokens + need.Trace.EstTokens + e.said(req)
	if req.Session == "" {
		for _, g := range out.from {
			if g.Turns > 0 {
				out.tokens -= g.Tokens
			}
		}
	}
	return out
}

// said counts the tokens of the request's own texts, which a pack shows.
func (e *Operations) said(req pipeline.Request) int {
	by := e.Admit.Counter(req.Model)
	return by.Count(req.Options.UserMessage) + by.Count(req.Options.Task)
}

// notGiven returns the candidates behind those that were given.
func notGiven(cs []candidate.Candidate) []candidate.Candidate {
	for i := range cs {
		if cs[i].Given == candidate.NotGiven {
			return cs[i:]
		}
	}
	return nil
}

// spared counts the searches that a request does without.
func (o *contextOp) spared() (n int) {
	if o.given.search {
		return 0
	}
	for _, there := range []bool{o.e.Find.Keyword != nil, o.e.Find.Vector != nil, o.e.Find.Graph != nil} {
		if there {
			n++
		}
	}
	return n
}

// measureTurn measures what the signals of a turn are of, as far as the client left them out.
func (e *Operations) measureTurn(ctx context.Context, req pipeline.Request) (relevance.Turn, error) {
	text := cmp.Or(req.Options.UserMessage, req.Query)
	turn := relevance.Turn{Text: text, Tokens: e.Admit.Counter(req.Model).Count(text), Session: req.Session != ""}
	if !turn.Session {
		return turn, nil
	}
	filter, err := e.Judge.PDP.Filter(ctx, req.Scope, selection.ActionRead)
	if err != nil {
		return turn, pipeline.PolicyDown(ctx, err)
	}
	ids, err := e.Find.Items.Recent(ctx, req.Scope, sessionTurns(req.Session).And(filter), items.Place{}, relevance.DefaultTurns)
	if err != nil {
		return turn, pipeline.StorageError("items could not be read")
	}
	records, err := e.Find.Items.Get(ctx, req.Scope, ids)
	if err != nil {
		return turn, pipeline.StorageError("items could not be read")
	}
	seen := e.Judge.Visibility(req).Decide(ctx, records)
	turn.Turns = len(seen)
	if turn.Turns > 0 {
		turn.Silence = req.Times.Ranking.Sub(seen[0].CreatedAt)
	}
	return turn, nil
}

// preambleTokens is what a pack says before its first item, about.
const preambleTokens = 40
