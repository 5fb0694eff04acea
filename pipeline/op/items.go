package op

import (
	"cmp"
	"context"
	"encoding/base64"
	"fmt"
	"slices"
	"time"

	"satchel/pipeline"
	"satchel/pipeline/candidate"
	"satchel/pipeline/scope"
	"satchel/pipeline/selection"
	"satchel/pipeline/store/items"
	"satchel/schemas"
)

// defaultPage is how many items a page of a list has by default.
const defaultPage = 50

// Items returns items by their ids, or a page of those that pass a filter, by time. Nothing is
// ranked. Policy decides on each item, and what it hides leaves no gap in a page. What looks
// injected is marked, and left out alone where that is beyond doubt. Every error is a
// *schemas.Error.
func (e *Operations) Items(ctx context.Context, s scope.Scope, in schemas.ItemsRequest) (schemas.ItemsReply, error) {
	req, err := e.Admit.Request(s, pipeline.Request{
		Options: &schemas.RequestPayload{MinPosition: in.MinPosition},
		Limits:  pipeline.Limits{Items: in.Limit, Tokens: recoverBudget},
	}, in.Validate(), "")
	if err != nil {
		return schemas.ItemsReply{}, err
	}
	switch {
	case len(in.ItemIDs) > 0:
		req.Limits.Items = len(in.ItemIDs)
	case in.Limit == 0:
		req.Limits.Items = defaultPage
	}
	var behind items.Place
	if in.After != "" {
		if behind, err = parseCursor(in.After); err != nil {
			return schemas.ItemsReply{}, pipeline.Typed(ctx, err)
		}
	}
	op := &itemsOp{e: e, in: &in, behind: behind}
	out, err := e.Run(ctx, op, req)
	if err != nil {
		return schemas.ItemsReply{}, err
	}
	p := &out.Result.Payload
	reply := schemas.ItemsReply{Items: p.Results, Next: op.next, Missing: []string{}, Dropped: []schemas.Drop{}, PackID: p.PackID, Positions: p.Positions}
	shown := make(map[string]bool, len(p.Results))
	for i := range p.Results {
		shown[p.Results[i].ID] = true
	}
	for _, id := range in.ItemIDs {
		if !shown[id] {
			shown[id] = true
			reply.Missing = append(reply.Missing, id)
		}
	}
	for _, d := range p.Drop.Drops {
		if len(in.ItemIDs) > 0 || d.Reason != schemas.DropBudget { // what has no place on a page is on the next
			reply.Dropped = append(reply.Dropped, d)
		}
	}
	return reply, nil
}

// cursor is a place as clients give it back.
func cursor(p items.Place) string {
	return base64.RawURLEncoding.EncodeToString(fmt.Appendf(nil, "%d.%d", p.Created.UnixMicro(), p.First))
}

func parseCursor(text string) (items.Place, error) {
	raw, err := base64.RawURLEncoding.DecodeString(text)
	var micros, first int64
	if err == nil {
		_, err = fmt.Sscanf(string(raw), "%d.%d", &micros, &first)
	}
	at := items.Place{Created: time.UnixMicro(micros).UTC(), First: first}
	if err != nil || cursor(at) != text {
		return items.Place{}, pipeline.Invalid("/after", "is not the next of an earlier reply")
	}
	return at, nil
}

// itemsOp reads items without a question.
type itemsOp struct {
	e      *Operations
	in     *schemas.ItemsRequest
	behind items.Place // the list goes on there; zero: it begins
	more   bool        // it was read no further, as the page is full
	next   string      // where the list goes on
}

func (o *itemsOp) Spec() pipeline.Spec { return pipeline.Spec{Name: "items", List: true} }

func (o *itemsOp) Plan(ctx context.Context, _ *pipeline.Recorder, req pipeline.Request, snap pipeline.Snapshot) (pipeline.Plan, error) {
	plan, err := o.e.Plan.Begin(ctx, req, snap)
	if err != nil {
		return pipeline.Plan{}, err
	}
	if o.in.Session != "" {
		plan.Asked = plan.Asked.And(oneOf(schemas.FieldSession, []string{o.in.Session}))
	}
	if len(o.in.Kinds) > 0 {
		plan.Asked = plan.Asked.And(ofKinds(o.in.Kinds))
	}
	for _, label := range o.in.Labels {
		plan.Asked = plan.Asked.And(oneOf(schemas.FieldLabels, []string{label}))
	}
	return plan, nil
}

func (o *itemsOp) Retrieve(ctx context.Context, req pipeline.Request, plan pipeline.Plan) (pipeline.Retrieved, error) {
	if len(o.in.ItemIDs) > 0 {
		return o.e.Find.Read(ctx, req, plan, o.in.ItemIDs)
	}
	return o.list(ctx, req, plan)
}

// list reads from the place where the list goes on, until there is one item more than a page
// holds, by their number or their length, which the principal may see.
func (o *itemsOp) list(ctx context.Context, req pipeline.Request, plan pipeline.Plan) (pipeline.Retrieved, error) {
	out := pipeline.Retrieved{Notes: plan.Notes}
	seen := 0
	size := 0
	see := o.e.Judge.Visibility(req)
	filter := plan.Asked.And(plan.Pushdown.Filter)
	at := o.behind
	for batch := min(pipeline.ReadBatch, req.Limits.Items+1); ; batch = min(pipeline.ReadBatch, 2*batch) { // few are read for a short page, unless most are hidden
		ids, err := o.e.Find.Items.Recent(ctx, req.Scope, filter, at, batch)
		if err != nil {
			return pipeline.Retrieved{}, pipeline.StorageError("items could not be listed")
		}
		records, err := o.e.Find.Items.Get(ctx, req.Scope, ids)
		if err != nil {
			return pipeline.Retrieved{}, pipeline.StorageError("items could not be read")
		}
		if len(records) == 0 {
			return out, ctx.Err()
		}
		last := &records[len(records)-1]
		at = items.Place{Created: last.CreatedAt, First: last.First}
		current := slices.DeleteFunc(records, func(r schemas.Record) bool { return r.SupersededBy != "" })
		visible := map[string]int{} // tokens
		for _, c := range see.Decide(ctx, current) {
			visible[c.ID] = tokensOf(&c)
		}
		for i := range current {
			out.Named = append(out.Named, &current[i])
			if tokens, ok := visible[current[i].ID]; ok {
				size += tokens
				seen++
				o.more = seen > req.Limits.Items || size > req.Limits.Tokens && seen > 1
				if o.more {
					return out, nil
				}
			}
		}
	}
}

// Rank keeps the order of the list, or that in which the client named the items.
func (o *itemsOp) Rank(ctx context.Context, rec *pipeline.Recorder, req pipeline.Request, plan pipeline.Plan, auth pipeline.Authorized) (pipeline.Ranked, error) {
	cs := auth.Named
	for i := range cs {
		cs[i].SetScore(.5)
	}
	return o.e.Order.Defend(ctx, rec, o.Spec(), req, plan, auth.Ranked(selection.Ranking{Candidates: cs, Found: len(cs)}))
}

// Pack shows a page: what the limit and the budget of a reply hold.
func (o *itemsOp) Pack(_ context.Context, req pipeline.Request, _ pipeline.Plan, ranked pipeline.Ranked) (pipeline.Packed, error) {
	out := newPacked(ranked.Notes)
	cs := ranked.Candidates
	tokens := 0
	last := -1
	for i := range cs {
		n := tokensOf(&cs[i])
		if i >= req.Limits.Items || tokens+n > req.Limits.Tokens && len(out.Shown) > 0 {
			if len(o.in.ItemIDs) == 0 && last >= 0 {
				o.next = cursor(items.Place{Created: cs[last].CreatedAt, First: cs[last].First})
				for k := i; k < len(cs); k++ {
					cs[k].Drop = schemas.DropBudget
					cs[k].Detail = ""
				}
			}
			break
		}
		last = i
		if cs[i].Kept() {
			out.Shown = append(out.Shown, i)
			tokens = tokens + n
		}
	}
	if o.more && last == len(cs)-1 && last >= 0 { // what was left out made room
		o.next = cursor(items.Place{Created: cs[last].CreatedAt, First: cs[last].First})
	}
	markShown(cs, out.Shown, schemas.DropBudget)
	out.Sections = sectionsOf(cs, out.Shown, req.Limits.Tokens, "items: by "+byWhat(o.in))
	return out, nil
}

func byWhat(in *schemas.ItemsRequest) string {
	if len(in.ItemIDs) > 0 {
		return "id"
	}
	return "time"
}

// tokensOf is how long an item's text is, counted or estimated.
func tokensOf(c *candidate.Candidate) int {
	return cmp.Or(c.ContentTokens, len(c.Content.Text())/4)
}
