package selection

import (
	"context"
	"slices"
	"strings"

	"satchel/pipeline/candidate"
	"satchel/pipeline/language"
	"satchel/pipeline/scope"
	"satchel/pipeline/selection/rank"
	"satchel/pipeline/selection/retrieve"
	"satchel/pipeline/store/graph"
	"satchel/schemas"
)

// Bounds of resolving names.
const (
	aliasItems = 8 // items that say what else a name is called
	aliasNames = 6 // other names that a query is given
)

// resolveAliases returns other names of what the query names, as items say that FilterVisible
// lets through: nothing where none does, or when the graph is not to be asked. That the graph
// does not answer is said where it is walked.
func (s *Selector) resolveAliases(ctx context.Context, sc scope.Scope, q *Query) []string {
	if s.graph == nil || q.FilterVisible == nil || s.isDisabled(rank.FeatureAliases) || q.Text == "" || q.Skip != nil && q.Skip(retrieve.NameGraph) {
		return nil
	}
	keys := language.AliasKeys(q.Text)
	if len(keys) == 0 {
		return nil
	}
	ctx, cancel := retrieve.Within(ctx, s.cfg.Deadline)
	defer cancel()
	visits, err := s.cfg.Graph.Walk(ctx, sc, graph.Walk{Entities: keys, Hops: 1, Limit: aliasItems, Filter: q.Filter, Population: q.Population.Settled(), Exclude: q.Exclude})
	if err != nil || len(visits) == 0 {
		return nil
	}
	ids := make([]string, len(visits))
	for i := range visits {
		ids[i] = visits[i].ID
	}
	records, err := s.cfg.Items.Get(ctx, sc, ids)
	if err != nil {
		return nil
	}
	records = slices.DeleteFunc(records, func(r schemas.Record) bool { return r.SupersededBy != "" || !q.canSeeRecord(&r) })
	var names []string
	for _, r := range q.FilterVisible(ctx, records) {
		names = otherNames(names, &r, q.Text)
	}
	return names
}

// canSeeRecord reports whether the query's past has an item already.
func (q *Query) canSeeRecord(r *schemas.Record) bool {
	return (q.AsOf <= 0 || r.Position <= q.AsOf) && (q.AsOfTime.IsZero() || !r.RecordedAt.After(q.AsOfTime))
}

// hasEarlierVersion reports whether the query's past may have had an item in an earlier version: for a
// position it had; when a version was recorded, the log knows.
func (q *Query) hasEarlierVersion(r *schemas.Record) bool {
	return r.First > 0 && r.First < r.Position && (q.AsOf <= 0 || r.First <= q.AsOf)
}

// otherNames appends what an item says the names of a query are called as well.
func otherNames(names []string, r *candidate.Visible, query string) []string {
	text := r.Content.Text()
	for _, a := range language.Aliases(text, r.Attributes, language.Entities(text, r.Speaker)) {
		for _, name := range a.OtherNames(query) {
			if !slices.Contains(names, name) && len(names) < aliasNames {
				names = append(names, name)
			}
		}
	}
	return names
}

// appendNames is a query's text with other names of what it names.
func appendNames(text string, names []string) string {
	if len(names) == 0 {
		return text
	}
	return text + " " + strings.Join(names, " ")
}
