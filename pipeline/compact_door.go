package pipeline

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"satchel/pipeline/candidate"
	"satchel/pipeline/compaction"
	"satchel/pipeline/pack"
	"satchel/pipeline/scope"
	"satchel/pipeline/store/eventlog"
	"satchel/policies"
	"satchel/schemas"
)

// mostSession is how many items of a session are compacted, the newest.
const mostSession = 1000

// Compact brings a pack, or what a session holds, under a budget and keeps summaries of
// it as items. stored is the pack, nil for a session; the caller has checked that who
// asks may open it. Policy decides on every item anew. Every error is a *schemas.Error.
func (e *Engine) Compact(ctx context.Context, s scope.Scope, req schemas.CompactRequest, stored *schemas.ContextResult) (schemas.CompactReply, error) {
	t, err := e.enter(s, errand{query: req.Query, limit: mostSession, budget: req.Budget, model: req.Model, session: req.Session, issues: req.Validate()})
	if err != nil {
		return schemas.CompactReply{}, typed(ctx, err)
	}
	c := &compacting{t: t, s: s, stored: stored}
	res, err := t.pass(ctx, s, door{name: "compact", gather: c.gather, order: best, fill: c.fill})
	if err != nil {
		return schemas.CompactReply{}, err
	}
	p := &res.Payload
	return schemas.CompactReply{Compacted: p.Pack, Text: p.Text, Drop: p.Drop, Results: p.Results, Summaries: c.infos(),
		Warnings: p.Explainability.Warnings, Positions: p.Positions}, nil
}

// compacting is a compaction on its way.
type compacting struct {
	t      *turn
	s      scope.Scope
	stored *schemas.ContextResult
	was    map[string]schemas.Content // what items held before policy redacted them
	ready  []schemas.SummaryInfo
}

// gather reads what is to be compacted, as far as the filter lets it.
func (c *compacting) gather(ctx context.Context, pushed schemas.Filter) error {
	t := c.t
	scores := map[string]float64{}
	var ids []string
	if c.stored != nil {
		t.req.Session = c.stored.Payload.Pack.SessionID
		for _, section := range c.stored.Payload.Pack.Sections {
			for _, item := range section.Items {
				ids = append(ids, item.ID)
				scores[item.ID] = item.Score
			}
		}
	} else {
		var err error
		of := schemas.Where(schemas.Cond{Field: schemas.FieldSession, Op: schemas.In, Values: []string{t.req.Session}})
		if ids, err = t.e.cfg.Items.Recent(ctx, c.s, of.And(pushed), mostSession); err != nil {
			return &schemas.Error{Code: schemas.CodeStorage, Message: "the items of the session could not be read"}
		}
	}
	if err := t.read(ctx, c.s, pushed, ids, scores); err != nil {
		return err
	}
	c.was = t.before()
	if c.stored == nil {
		t.ranking.Candidates = slices.DeleteFunc(t.ranking.Candidates, func(x candidate.Candidate) bool { return x.Record.Kind == schemas.KindSummary })
		compaction.Score(t.ranking.Candidates, t.query)
	}
	return nil
}

// read makes candidates of the items that the filter lets through.
func (t *turn) read(ctx context.Context, s scope.Scope, pushed schemas.Filter, ids []string, scores map[string]float64) error {
	for part := range slices.Chunk(ids, batch) {
		records, err := t.e.cfg.Items.Get(ctx, s, part)
		if err != nil {
			return &schemas.Error{Code: schemas.CodeStorage, Message: "items could not be read"}
		}
		for i := range records {
			r := &records[i]
			t.ranking.Found++
			if pushed.Match(&r.Facets) {
				t.ranking.Candidates = append(t.ranking.Candidates, candidate.Candidate{Record: *r, Score: scores[r.ID]})
			}
		}
	}
	return nil
}

// before notes what the candidates hold, to know afterwards what redaction took away.
func (t *turn) before() map[string]schemas.Content {
	was := make(map[string]schemas.Content, len(t.ranking.Candidates))
	for i := range t.ranking.Candidates {
		was[t.ranking.Candidates[i].Record.ID] = t.ranking.Candidates[i].Record.Content
	}
	return was
}

// lessened reports whether the pack does without an item, or a part of it, for its size.
func lessened(c candidate.Candidate) bool {
	return c.Extract != nil || c.Drop == schemas.DropBudget || c.Drop == schemas.DropRank
}

// fill makes the smaller pack, and summaries where it leaves something out.
func (c *compacting) fill(context.Context) error {
	t := c.t
	cs := t.ranking.Candidates
	t.compacted = true
	t.hidden = hidden(cs, c.was)
	counter := t.e.counter(t.req.Model)
	var leaves []compaction.Leaf
	for i := range cs {
		changed := c.was[cs[i].Record.ID].Text() != cs[i].Record.Content.Text()
		if class, ok := policies.Class(&cs[i].Record, &cs[i].Verdict); ok && !changed && cs[i].Kept() && !cs[i].Suspect && cs[i].Record.Kind != schemas.KindSummary && cs[i].Record.Kind != schemas.KindTool && cs[i].Record.Kind != schemas.KindCode {
			leaves = append(leaves, compaction.Leaf{Candidate: &cs[i], Class: class})
		}
	}
	denied := denials(cs)
	compaction.Shorten(cs, compaction.Options{Query: t.query, Budget: t.budget, Counter: counter, Whole: c.longest(cs)})
	t.packed = t.e.builder.Build(pack.Request{Query: t.query, Purpose: c.s.Purpose(), Budget: t.budget, Limit: t.limit,
		Counter: t.e.cfg.Tokens(t.req.Model), Denied: denied}, cs)
	compaction.Settle(cs)
	if slices.ContainsFunc(cs, lessened) {
		t.summaries = slices.DeleteFunc(compaction.Summarise(leaves, t.query, t.budget, counter), func(s compaction.Summary) bool {
			return len(s.Links) > schemas.MaxLinks
		})
	}
	if err := c.keep(leaves, counter.Count); err != nil {
		return err
	}
	c.refer(cs, leaves)
	t.explainEmpty(denied)
	return nil
}

// longest is how many tokens an item may have and stay whole: fewer the smaller the part
// of all that the budget is, 40 for a quarter, 160 for three quarters.
func (c *compacting) longest(cs []candidate.Candidate) int {
	total, by := 0, c.t.e.counter("")
	for i := range cs {
		if cs[i].Kept() {
			total += compaction.Tokens(&cs[i], by)
		}
	}
	return min(max(240*c.t.budget/max(1, total)-20, 24), 160)
}

// refer names in extracts and drops the summary that says more of them.
func (c *compacting) refer(cs []candidate.Candidate, leaves []compaction.Leaf) {
	of := map[string]string{}
	for _, s := range c.t.summaries { // items before clusters before sessions: the nearest stays
		for _, at := range s.Leaves {
			if id := leaves[at].Candidate.Record.ID; of[id] == "" {
				of[id] = s.ID
			}
		}
	}
	for i := range cs {
		id := of[cs[i].Record.ID]
		switch {
		case id == "":
		case cs[i].Extract != nil:
			cs[i].Extract.Summary = id
		case cs[i].Drop == schemas.DropBudget || cs[i].Drop == schemas.DropRank:
			cs[i].Detail = strings.TrimPrefix(cs[i].Detail+"; ", "; ") + "it is in " + id
		}
	}
}

// keep prepares the log entries of the summaries.
func (c *compacting) keep(leaves []compaction.Leaf, count func(string) int) error {
	for i := range c.t.summaries {
		s := &c.t.summaries[i]
		var from []*schemas.Record
		var at time.Time
		for _, n := range s.Leaves {
			r := &leaves[n].Candidate.Record
			from = append(from, r)
			if r.CreatedAt.After(at) {
				at = r.CreatedAt
			}
		}
		item := schemas.MemoryItem{ID: s.ID, Type: schemas.Semantic, Kind: schemas.KindSummary, Scope: schemas.MemoryScope{Tenant: c.s.Tenant()},
			CreatedAt: at, Session: s.Session, Content: schemas.TextContent(s.Text), Provenance: schemas.Provenance{SourceURI: schemas.SourceCompaction}}
		policies.Derive(&item, from)
		for _, l := range s.Links {
			item.Links = append(item.Links, schemas.Link{Rel: schemas.RelDerivedFrom, To: l})
		}
		var err error
		if item.Attributes, err = json.Marshal(schemas.SummaryAttributes{Level: s.Level, Method: "extractive", Lines: s.Lines}); err != nil {
			return fmt.Errorf("encode summary: %w", err)
		}
		if issues := item.Validate(); len(issues) > 0 {
			c.t.warnings = append(c.t.warnings, fmt.Sprintf("a summary of %d items is not kept: %s %s", len(s.Leaves), issues[0].Pointer, issues[0].Message))
			continue
		}
		data, err := json.Marshal(&item)
		if err != nil {
			return fmt.Errorf("encode summary: %w", err)
		}
		d := c.t.draft(c.s, schemas.TypeMemoryRecorded, s.ID, data)
		d.Subject, d.Time, d.Source = s.ID, at, schemas.SourceCompaction
		delete(d.Extensions, "traceparent") // the same summary again is the same event
		c.t.kept = append(c.t.kept, d)
		c.ready = append(c.ready, schemas.SummaryInfo{ID: s.ID, Level: s.Level, Text: s.Text, Lines: s.Lines, Links: s.Links, Tokens: count(s.Text)})
	}
	return nil
}

// infos are the summaries that stand in the log now.
func (c *compacting) infos() []schemas.SummaryInfo {
	out := []schemas.SummaryInfo{}
	for i, info := range c.ready {
		if i < len(c.t.keptAt) && c.t.keptAt[i] > 0 {
			info.Position = c.t.keptAt[i]
			out = append(out, info)
		}
	}
	return out
}

// positions notes where the summaries stand: those that were there before, too, but not
// those that were erased.
func (t *turn) positions(outcomes []eventlog.Outcome) {
	for _, o := range outcomes[len(outcomes)-len(t.kept):] {
		at := o.Position
		if o.Status != eventlog.Appended && o.Status != eventlog.Duplicate {
			at = 0
		}
		t.keptAt = append(t.keptAt, at)
	}
}

// hidden lists, by item, the texts that redaction took away.
func hidden(cs []candidate.Candidate, was map[string]schemas.Content) map[string][]string {
	out := map[string][]string{}
	for i := range cs {
		c := &cs[i]
		old := was[c.Record.ID]
		if c.Drop == schemas.DropPolicy || old.Text() == c.Record.Content.Text() {
			continue
		}
		if old.Raw() == nil {
			out[c.Record.ID] = []string{old.Text()} // and every word that is gone
			for w := range strings.FieldsSeq(old.Text()) {
				if len(w) > 5 && !strings.Contains(c.Record.Content.Text(), w) {
					out[c.Record.ID] = append(out[c.Record.ID], w)
				}
			}
			continue
		}
		var tree any
		if json.Unmarshal(old.Raw(), &tree) != nil {
			continue
		}
		for _, text := range leavesOf(tree) {
			if len(text) > 3 && !strings.Contains(c.Record.Content.Text(), text) {
				out[c.Record.ID] = append(out[c.Record.ID], text)
			}
		}
	}
	return out
}

// leavesOf are the texts and numbers of a JSON value.
func leavesOf(v any) []string {
	var out []string
	switch x := v.(type) {
	case map[string]any:
		for _, child := range x {
			out = append(out, leavesOf(child)...)
		}
	case []any:
		for _, child := range x {
			out = append(out, leavesOf(child)...)
		}
	case nil, bool:
	default:
		out = append(out, fmt.Sprint(x))
	}
	return out
}
