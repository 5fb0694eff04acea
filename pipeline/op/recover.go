package op

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"satchel/pipeline"
	"satchel/pipeline/candidate"
	"satchel/pipeline/pack"
	"satchel/pipeline/scope"
	"satchel/pipeline/selection"
	"satchel/schemas"
)

// recoverBudget is how many tokens one recovery shows at most; more is missing.
const recoverBudget = 200_000

// Recover brings back items that a pack's drop report named, or dropped spans of them.
// Policy decides on every item anew. An item is missing when policy denies it, when the report
// did not name it, or when it has changed since the pack was made. Spans are missing, too, when
// policy hides more or less of their item now than then. Every error is a *schemas.Error.
func (e *Operations) Recover(
	ctx context.Context, s scope.Scope, in schemas.RecoverRequest, stored *schemas.ContextResult,
) (schemas.RecoverReply, error) {
	was := &stored.Payload.Pack
	req, err := e.Admit.Request(s, pipeline.Request{
		Session: was.SessionID, Limits: pipeline.Limits{Items: schemas.MaxItems, Tokens: recoverBudget},
	}, in.Validate(), "")
	if err != nil {
		return schemas.RecoverReply{}, err
	}
	op := newRecoverOp(e, &in, stored)
	out, err := e.Run(ctx, op, req)
	if err != nil {
		return schemas.RecoverReply{}, err
	}
	p := &out.Result.Payload
	reply := schemas.RecoverReply{Results: p.Results, Missing: []string{}, PackID: p.PackID, Positions: p.Positions}
	for _, id := range op.asked {
		if !slices.ContainsFunc(reply.Results, func(x schemas.ResultItem) bool { return x.ID == id }) {
			reply.Missing = append(reply.Missing, id)
		}
	}
	return reply, nil
}

// recoverOp shows items by their ids, whole or in part.
type recoverOp struct {
	base
	asOf  int64    // of the pack
	asked []string // ids, in the order of the request
	ids   []string // those of them that the report names
	spans map[string][]schemas.Span
	shown map[string]*schemas.ContextItem // by id: the items that the pack shows, whole or in part
}

// newRecoverOp takes only items that the report names as dropped, whole or in part, and spans
// inside a dropped one.
func newRecoverOp(e *Operations, in *schemas.RecoverRequest, stored *schemas.ContextResult) *recoverOp {
	o := &recoverOp{base: base{e}, asOf: stored.Payload.Pack.AsOf}
	o.spans = map[string][]schemas.Span{}
	o.shown = map[string]*schemas.ContextItem{}
	for _, section := range stored.Payload.Pack.Sections {
		for i := range section.Items {
			o.shown[section.Items[i].ID] = &section.Items[i]
		}
	}
	dropped := map[string][]*schemas.Drop{}
	for i := range stored.Payload.Drop.Drops {
		d := &stored.Payload.Drop.Drops[i]
		dropped[d.ItemID] = append(dropped[d.ItemID], d)
	}
	ask := func(id string, named bool) {
		if !slices.Contains(o.asked, id) {
			o.asked = append(o.asked, id)
		}
		if named && !slices.Contains(o.ids, id) {
			o.ids = append(o.ids, id)
		}
	}
	for _, sp := range in.Spans {
		inside := slices.ContainsFunc(dropped[sp.ItemID], func(d *schemas.Drop) bool {
			return d.Span == nil || sp.Span.Start >= d.Span.Start && sp.Span.End <= d.Span.End
		})
		ask(sp.ItemID, inside)
		if inside {
			o.spans[sp.ItemID] = append(o.spans[sp.ItemID], sp.Span)
		}
	}
	for _, id := range in.ItemIDs {
		ask(id, len(dropped[id]) > 0)
		delete(o.spans, id)
	}
	return o
}

func (o *recoverOp) Spec() pipeline.Spec {
	return pipeline.Spec{Name: "recover", KeepDuplicates: true, DropSuspects: true}
}

// Retrieve reads the items, without those that have been recorded again since the pack.
func (o *recoverOp) Retrieve(ctx context.Context, req pipeline.Request, plan pipeline.Plan) (pipeline.Retrieved, error) {
	found, err := o.e.Find.Read(ctx, req, plan, o.ids)
	found.Named = slices.DeleteFunc(found.Named, func(r *schemas.Record) bool { return o.asOf > 0 && r.Position > o.asOf })
	return found, err
}

// Rank orders the items as the client named them.
func (o *recoverOp) Rank(ctx context.Context, rec *pipeline.Recorder, req pipeline.Request, plan pipeline.Plan, auth pipeline.Authorized) (pipeline.Ranked, error) {
	cs := auth.Named
	for i := range cs {
		cs[i].SetScore(.5)
	}
	slices.SortStableFunc(cs, func(a, b candidate.Candidate) int {
		return cmp.Compare(slices.Index(o.ids, a.ID), slices.Index(o.ids, b.ID))
	})
	return o.e.Order.Defend(ctx, rec, o.Spec(), req, plan, auth.Ranked(selection.Ranking{Candidates: cs, Found: len(cs)}))
}

// Pack shows the items, or the spans that the client asked for.
func (o *recoverOp) Pack(_ context.Context, req pipeline.Request, _ pipeline.Plan, ranked pipeline.Ranked) (pipeline.Packed, error) {
	cs := ranked.Candidates
	counter := o.e.Admit.Counter("")
	for i := range cs {
		c := &cs[i]
		spans := o.spans[c.ID]
		if c.Kept() && len(spans) > 0 && !(o.seenAsThen(c) && keepSpans(c, spans, counter.Count)) {
			c.Drop = schemas.DropStale
			c.Detail = "the span is not of the text as it may be seen now"
		}
	}
	out := pipeline.Packed{Affordances: []schemas.Affordance{}, Compacted: true, Notes: ranked.Notes}
	out.Pack = o.e.builder.Build(pack.Request{
		Purpose: req.Scope.Purpose(), Budget: req.Limits.Tokens, Limit: req.Limits.Items, Counter: o.e.Admit.Tokens(""),
	}, cs)
	for i := range cs {
		if c := &cs[i]; !c.Kept() && c.Extract != nil {
			c.Content = c.Extract.Whole
			c.Extract = nil
		}
	}
	return out, nil
}

// seenAsThen reports whether the principal sees a candidate as the pack's report measured it:
// with the same parts hidden, or none of an item that the pack does not show. In another view
// the same numbers are other characters.
func (o *recoverOp) seenAsThen(c *candidate.Candidate) bool {
	var then, now schemas.Obligations
	var hidden []string
	if item := o.shown[c.ID]; item != nil {
		hidden = item.Redactions
		if item.Obligations != nil {
			then = *item.Obligations
		}
	}
	if c.Verdict.Obligations != nil {
		now = *c.Verdict.Obligations
	}
	return slices.Equal(hidden, c.Verdict.RedactedFields) && then.Covers(now) && now.Covers(then)
}

// keepSpans leaves the spans of a candidate's text alone. It reports false when they are not of its
// text.
func keepSpans(c *candidate.Candidate, spans []schemas.Span, count func(string) int) bool {
	text := c.Content.Text()
	slices.SortFunc(spans, func(a, b schemas.Span) int { return cmp.Compare(a.Start, b.Start) })
	e := &candidate.Extract{Whole: c.Content, Stored: c.ContentTokens}
	end := 0
	for _, sp := range spans {
		if sp.End > len(text) || !beginsAt(text, sp.Start) || !beginsAt(text, sp.End) {
			return false
		}
		if sp.Start < end { // joined with the one before
			if last := &e.Lines[len(e.Lines)-1]; sp.End > last.Span.End {
				last.Span.End = sp.End
			}
		} else {
			e.Lines = append(e.Lines, candidate.Line{Span: sp})
		}
		end = max(end, sp.End)
	}
	if len(e.Gaps()) == 0 {
		return true // it is the whole
	}
	tokens := func(text string) int {
		if c.Speaker != "" {
			text = strings.ReplaceAll(c.Speaker, "\n", " ") + ": " + text
		}
		return count(text + "\n")
	}
	shown := e.Text()
	e.Before, e.After = tokens(text), tokens(shown)
	if e.After > e.Before {
		return true // the whole is shorter than nearly all of it
	}
	c.Extract, c.Content, c.ContentTokens = e, schemas.TextContent(shown), 0
	return true
}

// beginsAt reports whether a character begins at a byte, or the text ends there.
func beginsAt(text string, at int) bool { return at == len(text) || text[at]&0xC0 != 0x80 }
