package op

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"satchel/pipeline"
	"satchel/pipeline/candidate"
	"satchel/pipeline/compaction"
	"satchel/pipeline/pack"
	"satchel/pipeline/scope"
	"satchel/pipeline/selection"
	"satchel/pipeline/store/items"
	"satchel/policies"
	"satchel/schemas"
)

// How much of a session is compacted, the newest.
const (
	mostSession  = 1000     // items
	mostText     = 16 << 20 // bytes
	sessionBatch = 20       // items that are read at once: they may be long
)

// Compact brings a pack, or the items of a session, under a budget and keeps summaries of them as
// items. stored is the pack, nil for a session: the caller MUST have checked that the principal
// may open it. Policy decides on every item anew. Every error is a *schemas.Error.
func (e *Operations) Compact(
	ctx context.Context, s scope.Scope, in schemas.CompactRequest, stored *schemas.ContextResult,
) (schemas.CompactReply, error) {
	limits := pipeline.Limits{Items: mostSession, Tokens: in.Budget}
	r := pipeline.Request{Query: in.Query, Model: in.Model, Session: in.Session, Limits: limits}
	if stored != nil {
		r.Session = stored.Payload.Pack.SessionID
	}
	req, err := e.Admit.Request(s, r, in.Validate(), "")
	if err != nil {
		return schemas.CompactReply{}, err
	}
	out, err := e.Run(ctx, &compactOp{base{e}, stored}, req)
	if err != nil {
		return schemas.CompactReply{}, err
	}
	p := &out.Result.Payload
	return schemas.CompactReply{
		Compacted: p.Pack, Text: p.Text, Drop: p.Drop, Results: p.Results, Summaries: e.keptSummaries(req, out),
		Warnings: p.Explainability.Warnings, Positions: p.Positions,
	}, nil
}

// keptSummaries are the summaries that the log holds now.
func (e *Operations) keptSummaries(req pipeline.Request, out pipeline.Outcome) []schemas.SummaryInfo {
	list := []schemas.SummaryInfo{}
	count := e.Admit.Counter(req.Model).Count
	positions := out.SummaryPositions
	for i := range out.Packed.Summaries {
		s := &out.Packed.Summaries[i]
		if s.Item == nil {
			continue
		}
		at := positions[0]
		positions = positions[1:]
		if at > 0 {
			list = append(list, schemas.SummaryInfo{
				ID: s.ID, Level: s.Level, Text: s.Text, Lines: s.Lines, Links: s.Links, Tokens: count(s.Text), Position: at,
			})
		}
	}
	return list
}

// compactOp makes a smaller pack, and summaries where that leaves something out.
type compactOp struct {
	base
	stored *schemas.ContextResult // nil: of the request's session
}

func (o *compactOp) Spec() pipeline.Spec {
	return pipeline.Spec{Name: "compact", CreatesItems: true, DropSuspects: true, TrackRedactions: true}
}

// Retrieve reads the items of the pack, or those of the session but its summaries.
func (o *compactOp) Retrieve(ctx context.Context, req pipeline.Request, plan pipeline.Plan) (pipeline.Retrieved, error) {
	if o.stored != nil {
		var ids []string
		for _, section := range o.stored.Payload.Pack.Sections {
			for _, item := range section.Items {
				ids = append(ids, item.ID)
			}
		}
		return o.e.Find.Read(ctx, req, plan, ids)
	}
	of := oneOf(schemas.FieldSession, []string{req.Session}).And(plan.Pushdown.Filter)
	ids, err := o.e.Find.Items.Recent(ctx, req.Scope, of, items.Place{}, mostSession)
	if err != nil {
		return pipeline.Retrieved{}, pipeline.StorageError("the items of the session could not be read")
	}
	out := pipeline.Retrieved{Notes: plan.Notes}
	size := 0
	for part := range slices.Chunk(ids, sessionBatch) {
		found, err := o.e.Find.Read(ctx, req, plan, part)
		if err != nil {
			return found, err
		}
		for _, r := range found.Named {
			if r.Kind == schemas.KindSummary {
				continue
			}
			size += len(r.Content.Text())
			if size > mostText && len(out.Named) > 0 {
				out.Notes = out.Notes.With("session: its newest items alone were read, as it has more text than a compaction takes")
				return out, nil
			}
			out.Named = append(out.Named, r)
		}
	}
	return out, nil
}

// Rank orders the items of a pack by their scores in it, and those of a session by the question.
func (o *compactOp) Rank(ctx context.Context, rec *pipeline.Recorder, req pipeline.Request, plan pipeline.Plan, auth pipeline.Authorized) (pipeline.Ranked, error) {
	ranked := auth.Ranked(selection.Ranking{Candidates: auth.Named, Found: len(auth.Named)})
	if o.stored == nil {
		compaction.Score(ranked.Candidates, req.Query, o.e.texts)
	} else {
		scores := map[string]float64{}
		for _, section := range o.stored.Payload.Pack.Sections {
			for _, item := range section.Items {
				scores[item.ID] = item.Score
			}
		}
		for i := range ranked.Candidates {
			ranked.Candidates[i].SetScore(scores[ranked.Candidates[i].ID])
		}
	}
	byStanding(ranked.Candidates)
	return o.e.Order.Defend(ctx, rec, o.Spec(), req, plan, ranked)
}

func (o *compactOp) Pack(_ context.Context, req pipeline.Request, _ pipeline.Plan, ranked pipeline.Ranked) (pipeline.Packed, error) {
	e := o.e
	cs := ranked.Candidates
	counter := o.e.Admit.Counter(req.Model)
	sources := summarizable(ranked)
	denied := ranked.Denials(req.Scope)
	budget := req.Limits.Tokens
	compaction.Shorten(cs, compaction.Options{
		Query: req.Query, Budget: budget, Counter: counter, Whole: o.longest(req, cs), Texts: e.texts,
	})
	out := pipeline.Packed{Affordances: []schemas.Affordance{}, Compacted: true, Notes: ranked.Notes}
	out.Pack = e.builder.Build(pack.Request{
		Query: req.Query, Purpose: req.Scope.Purpose(), Budget: budget, Limit: req.Limits.Items,
		Counter: e.Admit.Tokens(req.Model), Denied: denied,
	}, cs)
	compaction.RestoreUnshown(cs)
	if slices.ContainsFunc(cs, shortened) {
		for _, s := range compaction.Summarise(sources, req.Query, budget, counter) {
			if len(s.Links) <= schemas.MaxLinks {
				out.Summaries = append(out.Summaries, pipeline.Summary{Summary: s})
			}
		}
	}
	var err error
	if out, err = draftSummaries(req, sources, out); err != nil {
		return pipeline.Packed{}, err
	}
	nameSummaries(cs, sources, out.Summaries)
	return out, nil
}

// summarizable are the candidates that summaries may cite: text that policy shows as it is
// stored, and that no defense suspects. Where a registry says who writes, a summary is of one writer.
func summarizable(ranked pipeline.Ranked) []compaction.Source {
	var out []compaction.Source
	for i := range ranked.Candidates {
		c := &ranked.Candidates[i]
		_, changed := ranked.Removed[c.ID]
		if changed || !c.Kept() || c.Suspect {
			continue
		}
		switch c.Kind {
		case schemas.KindSummary, schemas.KindTool, schemas.KindCode:
			continue
		}
		if class, ok := policies.Class(policies.Origin{Item: &c.MemoryItem, Facets: &c.Facets}, &c.Verdict); ok {
			out = append(out, compaction.Source{Candidate: c, Class: class + "\x00\x00" + c.Author})
		}
	}
	return out
}

// shortened reports whether the pack does without an item, or a part of it, for its size.
func shortened(c candidate.Candidate) bool {
	return c.Extract != nil || c.Drop == schemas.DropBudget || c.Drop == schemas.DropRank
}

// longest is how many tokens an item may have and stay whole: fewer the smaller the part
// of all that the budget is, 40 for a quarter, 160 for three quarters.
func (o *compactOp) longest(req pipeline.Request, cs []candidate.Candidate) int {
	total, _ := o.e.keptTokens(cs)
	return min(max(240*req.Limits.Tokens/max(1, total)-20, 24), 160)
}

// draftSummaries makes the items of the summaries. One that is no valid item has none, and
// a note says so.
func draftSummaries(req pipeline.Request, sources []compaction.Source, out pipeline.Packed) (pipeline.Packed, error) {
	for i := range out.Summaries {
		s := &out.Summaries[i]
		refs := leafIDs(&s.Summary, sources)
		item, at, err := summaryItem(req, &s.Summary, sources, refs)
		if err != nil {
			return pipeline.Packed{}, err
		}
		if issues := item.Validate(); len(issues) > 0 {
			out.Notes = out.Notes.With(fmt.Sprintf("a summary of %d items is not kept: %s %s",
				len(s.Leaves), issues[0].Pointer, issues[0].Message))
			continue
		}
		if s.Item, err = json.Marshal(&item); err != nil {
			return pipeline.Packed{}, fmt.Errorf("encode summary: %w", err)
		}
		s.Sources = refs
		s.At = at
	}
	return out, nil
}

// summaryItem is the item of a summary, as old as the newest of its sources.
func summaryItem(
	req pipeline.Request, s *compaction.Summary, sources []compaction.Source, refs []string,
) (item schemas.MemoryItem, at time.Time, err error) {
	from := make([]policies.Origin, len(s.Leaves))
	for i, n := range s.Leaves {
		v := sources[n].Candidate.Visible
		from[i] = policies.Origin{Item: &v.MemoryItem, Facets: &v.Facets}
		if v.CreatedAt.After(at) {
			at = v.CreatedAt
		}
	}
	item = schemas.MemoryItem{
		ID: s.ID, Type: schemas.Semantic, Kind: schemas.KindSummary, CreatedAt: at, Session: s.Session,
		Scope: schemas.MemoryScope{Tenant: req.Scope.Tenant()}, Content: schemas.TextContent(s.Text),
		Provenance: schemas.Provenance{SourceURI: schemas.SourceCompaction},
	}
	policies.Derive(&item, from)
	item.Links = derivedFrom(s.Links, refs)
	writer := sources[s.Leaves[0]].Candidate.Author
	item.Attributes, err = json.Marshal(schemas.SummaryAttributes{Level: s.Level, Method: "extractive", Writer: writer, Lines: s.Lines})
	if err != nil {
		return item, at, fmt.Errorf("encode summary: %w", err)
	}
	return item, at, nil
}

// leafIDs are the items that a summary was made of.
func leafIDs(s *compaction.Summary, sources []compaction.Source) []string {
	ids := make([]string, len(s.Leaves))
	for i, n := range s.Leaves {
		ids[i] = sources[n].Candidate.ID
	}
	return ids
}

// derivedFrom returns the links of a summary. It links to every item below the summary, so that
// an erasure finds the summary though a summary in between is gone. As far as there is room it
// also links to the cited summaries.
func derivedFrom(cited, items []string) []schemas.Link {
	room := max(0, schemas.MaxLinks-len(items))
	var links []schemas.Link
	for _, id := range slices.Concat(cited[:min(len(cited), room)], items) {
		if l := (schemas.Link{Rel: schemas.RelDerivedFrom, To: id}); !slices.Contains(links, l) {
			links = append(links, l)
		}
	}
	return links
}

// nameSummaries names, in extracts and drops, the summary that says more of the item.
func nameSummaries(cs []candidate.Candidate, sources []compaction.Source, summaries []pipeline.Summary) {
	of := map[string]string{}
	for _, s := range summaries { // items before clusters before sessions: the nearest stays
		for _, at := range s.Leaves {
			if id := sources[at].Candidate.ID; of[id] == "" {
				of[id] = s.ID
			}
		}
	}
	for i := range cs {
		id := of[cs[i].ID]
		switch {
		case id == "":
		case cs[i].Extract != nil:
			cs[i].Extract.Summary = id
		case cs[i].Drop == schemas.DropBudget || cs[i].Drop == schemas.DropRank:
			cs[i].Detail = strings.TrimPrefix(cs[i].Detail+"; ", "; ") + "it is in " + id
		}
	}
}
