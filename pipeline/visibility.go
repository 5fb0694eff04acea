package pipeline

import (
	"context"

	"satchel/pipeline/candidate"
	"satchel/pipeline/selection/defend"
	"satchel/schemas"
)

// visibility tells retrieval what the principal may see of records that it reads on the way. It
// does not change, and it is safe for concurrent use. Where policy gives no verdict, nothing is
// visible.
type visibility struct {
	engine *Engine
	req    Request
}

// decide has policy decide on the records. Its warnings are left out: what is shown is decided
// on again, and warned of then.
func (v *visibility) decide(ctx context.Context, records []schemas.Record) []candidate.Candidate {
	refs := make([]*schemas.Record, len(records))
	for i := range records {
		refs[i] = &records[i]
	}
	seen, err := v.engine.newAuthorizer(v.req).Authorize(ctx, lent(refs))
	if err != nil {
		return nil
	}
	var out []candidate.Candidate
	for i, item := range seen.Visible {
		if item != nil {
			out = append(out, candidate.New(item, *seen.Verdicts[i]))
		}
	}
	return out
}

// ShownWhole returns the ids of the records that the principal sees whole, in their order.
func (v *visibility) ShownWhole(ctx context.Context, records []schemas.Record) []string {
	var ids []string
	for _, c := range v.decide(ctx, records) {
		if !c.Masked {
			ids = append(ids, c.ID)
		}
	}
	return ids
}

// FilterVisible returns the records that the principal may see whole and that no defense
// refuses. Only these records may supply aliases.
func (v *visibility) FilterVisible(ctx context.Context, records []schemas.Record) []candidate.Visible {
	if len(records) == 0 {
		return nil
	}
	cs := v.decide(ctx, records)
	defend.DropNotYetValid(cs, v.req.Times.Ranking)
	v.engine.defenses.ApplyKeepingDuplicates(cs, false, v.req.Times.Ranking)
	var visible []candidate.Visible
	for i := range cs {
		if cs[i].Kept() && !cs[i].Suspect && !cs[i].Masked {
			visible = append(visible, *cs[i].Visible)
		}
	}
	return visible
}
