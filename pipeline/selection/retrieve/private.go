package retrieve

import (
	"context"
	"fmt"

	"satchel/pipeline/scope"
	"satchel/pipeline/store/items"
	"satchel/pipeline/store/keyword"
	"satchel/schemas"
)

// NamePrivate is the name of the private keyword index in warnings.
const NamePrivate = "private keyword"

// Private finds items by words that policy hides from readers without roles. Its index holds
// the whole texts of exactly the items of which such a reader sees only a part.
type Private struct {
	Index keyword.Index
	Items items.Store
}

// widen is how many times as many hits are asked for when policy leaves too few.
const widen = 5

// Find returns the ids of at most q.Limit items that have words of the query, best first. An
// item counts only when shown returns it: the principal sees it whole. There is no score,
// because the statistics of this index are of items that the principal may not see whole.
func (r Private) Find(
	ctx context.Context, s scope.Scope, q *Query, shown func(context.Context, []schemas.Record) []string,
) ([]string, error) {
	for limit := q.Limit; ; limit = min(widen*limit, keyword.MaxLimit) {
		found, err := r.Index.Search(ctx, s, keyword.Query{Text: q.Text, Limit: limit, Filter: q.Filter, Population: q.Population.Settled(), Exclude: q.Exclude})
		if err != nil {
			return nil, fmt.Errorf("search private keywords: %w", err)
		}
		if len(found.Hits) == 0 {
			return nil, nil
		}
		ids := make([]string, len(found.Hits))
		for i, h := range found.Hits {
			ids[i] = h.ID
		}
		records, err := r.Items.Get(ctx, s, ids)
		if err != nil {
			return nil, fmt.Errorf("read items of private keywords: %w", err)
		}
		whole := shown(ctx, records)
		if len(whole) >= q.Limit || len(found.Hits) < limit || limit >= keyword.MaxLimit {
			return whole[:min(len(whole), q.Limit)], nil
		}
	}
}
