package selection

import (
	"context"
	"strings"

	"satchel/pipeline/scope"
	"satchel/pipeline/selection/retrieve"
	"satchel/schemas"
)

// addPrivate makes places in the pool for items that the principal finds by words that others
// may not see. Ranking scores them by their visible text, as it does every item of which the
// principal sees more than the public indexes hold.
func (s *Selector) addPrivate(ctx context.Context, sc scope.Scope, p *Pool) {
	q := &p.query
	if s.cfg.Private == nil || q.ShownWhole == nil || q.Type == schemas.QuerySemantic ||
		strings.TrimSpace(q.Text) == "" || q.isSkipped(retrieve.NameKeyword) {
		return
	}
	within, cancel := retrieve.Within(ctx, s.cfg.Deadline)
	defer cancel()
	ids, err := retrieve.Private{Index: s.cfg.Private, Items: s.cfg.Items}.Find(within, sc, &p.search, q.ShownWhole)
	if err != nil {
		p.out.Warnings = append(p.out.Warnings, retrieve.NamePrivate+": "+retrieve.Failure(err))
		return
	}
	for _, id := range ids {
		p.columns.Add(id)
	}
}
