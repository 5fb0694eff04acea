package pipeline

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"satchel/pipeline/candidate"
	"satchel/pipeline/pack"
	"satchel/pipeline/scope"
	"satchel/schemas"
)

// recoverBudget is how many tokens one recovery shows at most; more is missing.
const recoverBudget = 200_000

// Recover brings back what a pack's drop report named: whole items, or dropped spans of
// them. Policy decides on every item anew; what it denies, what the report did not name,
// and what has changed since the pack was made is missing, and so are spans of an item of
// which policy hides more or less now than it did then. Every error is a *schemas.Error.
func (e *Engine) Recover(ctx context.Context, s scope.Scope, req schemas.RecoverRequest, stored *schemas.ContextResult) (schemas.RecoverReply, error) {
	t, err := e.enter(s, errand{limit: schemas.MaxItems, budget: recoverBudget, session: stored.Payload.Pack.SessionID, issues: req.Validate()})
	if err != nil {
		return schemas.RecoverReply{}, typed(ctx, err)
	}
	r := &recovering{t: t, s: s, asOf: stored.Payload.Pack.AsOf, seen: map[string]*schemas.ContextItem{}}
	for _, section := range stored.Payload.Pack.Sections {
		for i := range section.Items {
			r.seen[section.Items[i].ID] = &section.Items[i]
		}
	}
	r.named(&req, &stored.Payload.Drop)
	res, err := t.pass(ctx, s, door{name: "recover", twice: true, gather: r.gather, order: r.order, fill: r.fill})
	if err != nil {
		return schemas.RecoverReply{}, err
	}
	out := schemas.RecoverReply{Results: res.Payload.Results, Missing: []string{}, PackID: res.Payload.PackID, Positions: res.Payload.Positions}
	for _, id := range r.asked {
		if !slices.ContainsFunc(out.Results, func(x schemas.ResultItem) bool { return x.ID == id }) {
			out.Missing = append(out.Missing, id)
		}
	}
	return out, nil
}

// recovering is a recovery on its way.
type recovering struct {
	t     *turn
	s     scope.Scope
	asOf  int64
	asked []string // in the order of the request
	ids   []string // of those, the ones that the report names
	spans map[string][]schemas.Span
	seen  map[string]*schemas.ContextItem // what the pack shows, whole or in part
}

// named keeps of what is asked for what the report names: items of which something was
// dropped, and spans inside one that was.
func (r *recovering) named(req *schemas.RecoverRequest, report *schemas.DropReport) {
	dropped := map[string][]*schemas.Drop{}
	for i := range report.Drops {
		d := &report.Drops[i]
		dropped[d.ItemID] = append(dropped[d.ItemID], d)
	}
	ask := func(id string, ok bool) {
		if !slices.Contains(r.asked, id) {
			r.asked = append(r.asked, id)
		}
		if ok && !slices.Contains(r.ids, id) {
			r.ids = append(r.ids, id)
		}
	}
	r.spans = map[string][]schemas.Span{}
	for _, sp := range req.Spans {
		inside := slices.ContainsFunc(dropped[sp.ItemID], func(d *schemas.Drop) bool {
			return d.Span == nil || sp.Span.Start >= d.Span.Start && sp.Span.End <= d.Span.End
		})
		ask(sp.ItemID, inside)
		if inside {
			r.spans[sp.ItemID] = append(r.spans[sp.ItemID], sp.Span)
		}
	}
	for _, id := range req.ItemIDs {
		ask(id, len(dropped[id]) > 0)
		delete(r.spans, id)
	}
}

// gather reads the items, without those that have been recorded anew since the pack.
func (r *recovering) gather(ctx context.Context, pushed schemas.Filter) error {
	if err := r.t.read(ctx, r.s, pushed, r.ids, nil); err != nil {
		return err
	}
	r.t.ranking.Candidates = slices.DeleteFunc(r.t.ranking.Candidates, func(c candidate.Candidate) bool {
		return r.asOf > 0 && c.Record.Position > r.asOf
	})
	for i := range r.t.ranking.Candidates {
		r.t.ranking.Candidates[i].Score = .5
	}
	return nil
}

func (r *recovering) order(cs []candidate.Candidate) {
	slices.SortStableFunc(cs, func(a, b candidate.Candidate) int {
		return cmp.Compare(slices.Index(r.ids, a.Record.ID), slices.Index(r.ids, b.Record.ID))
	})
}

// fill shows the items, or the spans that were asked for.
func (r *recovering) fill(context.Context) error {
	t := r.t
	cs := t.ranking.Candidates
	t.compacted = true
	counter := t.e.counter("")
	for i := range cs {
		c := &cs[i]
		spans := r.spans[c.Record.ID]
		if !c.Kept() || len(spans) == 0 {
			continue
		}
		if !r.same(c) || !cut(c, spans, counter.Count) {
			c.Drop, c.Detail = schemas.DropStale, "the span is not of the text as it may be seen now"
		}
	}
	t.packed = t.e.builder.Build(pack.Request{Purpose: r.s.Purpose(), Budget: t.budget, Limit: t.limit, Counter: t.e.cfg.Tokens("")}, cs)
	for i := range cs {
		if c := &cs[i]; !c.Kept() && c.Extract != nil {
			c.Record.Content, c.Extract = c.Extract.Whole, nil
		}
	}
	return nil
}

// same reports whether a candidate is seen as the pack's report measured it: with the same
// parts hidden; of an item that the pack does not show, with none. In another view the
// same numbers are other characters.
func (r *recovering) same(c *candidate.Candidate) bool {
	var then, now schemas.Obligations
	var hidden []string
	if item := r.seen[c.Record.ID]; item != nil {
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

// cut shows the spans of a candidate alone; false when they are not of its text.
func cut(c *candidate.Candidate, spans []schemas.Span, count func(string) int) bool {
	text := c.Record.Content.Text()
	slices.SortFunc(spans, func(a, b schemas.Span) int { return cmp.Compare(a.Start, b.Start) })
	e := &candidate.Extract{Whole: c.Record.Content, Stored: c.Record.Tokens}
	end := 0
	for _, sp := range spans {
		if sp.End > len(text) || !begins(text, sp.Start) || !begins(text, sp.End) {
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
	said := func(text string) int {
		if c.Record.Speaker != "" {
			text = strings.ReplaceAll(c.Record.Speaker, "\n", " ") + ": " + text
		}
		return count(text + "\n")
	}
	shown := e.Text()
	if e.Before, e.After = said(text), said(shown); e.After > e.Before {
		return true // the whole is shorter than nearly all of it
	}
	c.Extract, c.Record.Content, c.Record.Tokens = e, schemas.TextContent(shown), 0
	return true
}

// begins reports whether a character begins at a byte, or the text ends there.
func begins(text string, at int) bool { return at == len(text) || text[at]&0xC0 != 0x80 }
