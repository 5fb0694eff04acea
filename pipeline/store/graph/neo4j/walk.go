package neo4j

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"satchel/pipeline/store/graph"
	"satchel/schemas"
)

// step is a node a walk reached.
type step struct {
	element string // elementId
	name    string // id, or the entity's name with its prefix
	item    bool
	via     schemas.Edge
}

// The statements of a walk; %[1]s is the filter's condition on an item m, %[2]s the population's
// on an item x. Entities that say too little (graph.Hub) are not entered.
const (
	namedBy     = "COUNT { (m)<-[:SATCHEL_LINK]-(x:SatchelItem) WHERE %[2]s }"
	enterEntity = "m:SatchelEntity AND NOT (" + namedBy + " > 50 AND " + namedBy + " * 5 > $items)"

	seedItems    = "UNWIND $ids AS id MATCH (m:SatchelItem {tenant: $tenant, id: id}) WHERE %[1]s RETURN elementId(m), m.id"
	seedEntities = "UNWIND $ids AS id MATCH (m:SatchelEntity {tenant: $tenant, name: id}) WHERE " + enterEntity + `
		RETURN elementId(m), m.name`
	nextHop = `UNWIND range(0, size($from) - 1) AS i
		MATCH (n) WHERE elementId(n) = $from[i] AND n.tenant = $tenant
		CALL (n) {
			MATCH (n)-[e:SATCHEL_LINK]-(m)
			WHERE m.tenant = $tenant AND ($rels IS NULL OR e.rel IN $rels)
				AND (m:SatchelItem AND %[1]s OR ` + enterEntity + `)
			WITH e, m, startNode(e) = n AS leaves
			ORDER BY leaves DESC, e.at DESC, CASE WHEN leaves THEN '' ELSE m.id END DESC, e.ord DESC
			LIMIT $fanout
			RETURN collect([elementId(m), m:SatchelItem, coalesce(m.id, m.name), e.rel, leaves]) AS edges
		}
		RETURN i, edges`
)

// Walk implements graph.Driver: one statement for each hop, in one transaction.
func (db *DB) Walk(ctx context.Context, tenant string, w graph.Walk) (out []graph.Visit, err error) {
	err = db.read(ctx, tenant, func(t *tx) error {
		k := walker{tx: t, w: w, crowds: &db.crowds, params: params{"fanout": w.FanOut, "rels": nil, "exclude": append([]string{}, w.Exclude...)}, seen: map[string]bool{}}
		k.start = conditions(w.Filter, "m", k.params)
		k.pass = k.start
		if len(w.Through) > 0 { // the parameters of the filter keep their names
			k.pass = conditions(w.Filter.And(schemas.Where(w.Through...)), "m", k.params)
		}
		k.counts = conditions(w.Population, "x", k.params)
		k.among = k.counts
		if len(w.Exclude) > 0 {
			k.start, k.pass, k.counts = k.start+passOver("m"), k.pass+passOver("m"), k.counts+passOver("x")
		}
		if len(w.Rels) > 0 {
			rels := make([]string, len(w.Rels))
			for i, r := range w.Rels {
				rels[i] = string(r)
			}
			k.params["rels"] = rels
		}
		out, err = k.walk()
		return err
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// walker is one walk.
type walker struct {
	*tx
	w      graph.Walk
	start  string // the condition on where it starts
	pass   string // on what it enters
	counts string // on what says whether an entity is a hub
	among  string // the same, with what the walk excludes
	params params
	crowds *crowds
	seen   map[string]bool // elements
}

func (k *walker) walk() (out []graph.Visit, err error) {
	items, ok, err := k.crowd()
	if err != nil || !ok {
		return nil, err
	}
	k.params["items"] = items
	level, err := k.seed(k.statement(seedItems, k.start), k.w.From, "", nil)
	if err != nil {
		return nil, err
	}
	if level, err = k.seed(k.statement(seedEntities, k.start), k.w.Entities, graph.EntityPrefix, level); err != nil {
		return nil, err
	}
	for hop := 1; hop <= k.w.Hops && len(level) > 0 && len(out) < k.w.Limit; hop++ {
		if level, err = k.hop(level); err != nil {
			return nil, err
		}
		start := len(out)
		for _, s := range level {
			if s.item {
				out = append(out, graph.Visit{ID: s.name, Distance: hop, Via: s.via})
			}
		}
		slices.SortFunc(out[start:], func(a, b graph.Visit) int { return strings.Compare(a.ID, b.ID) })
	}
	return out[:min(len(out), k.w.Limit)], nil
}

// statement puts the conditions on an item, and those of the population, into a statement.
func (k *walker) statement(text, items string) string {
	return strings.NewReplacer("%[1]s", items, "%[2]s", k.counts).Replace(text)
}

// passOver is the condition that a node is none of those that the walk excludes.
func passOver(v string) string { return " AND NOT " + v + ".id IN $exclude" }

// seed appends what the walk starts from, in the order of ids.
func (k *walker) seed(statement string, ids []string, prefix string, level []step) ([]step, error) {
	if len(ids) == 0 {
		return level, nil
	}
	k.params["ids"] = ids
	rows, err := k.rows(statement, k.params)
	if err != nil {
		return nil, err
	}
	order := make(map[string]int, len(ids))
	for i, id := range slices.Backward(ids) {
		order[id] = i
	}
	found := make([]step, 0, len(rows))
	for _, r := range rows {
		s := step{item: prefix == ""}
		s.element, _ = r.Values[0].(string)
		s.name, _ = r.Values[1].(string)
		if !k.seen[s.element] {
			k.seen[s.element] = true
			found = append(found, s)
		}
	}
	slices.SortFunc(found, func(a, b step) int { return cmp.Compare(order[a.name], order[b.name]) })
	for i := range found {
		found[i].name = prefix + found[i].name
	}
	return append(level, found...), nil
}

// hop returns what the edges of level reach first.
func (k *walker) hop(level []step) (next []step, err error) {
	from := make([]string, len(level))
	for i := range level {
		from[i] = level[i].element
	}
	k.params["from"] = from
	rows, err := k.rows(k.statement(nextHop, k.pass), k.params)
	if err != nil {
		return nil, err
	}
	edges := make([][]any, len(level))
	for _, r := range rows {
		i, _ := r.Values[0].(int64)
		edges[i], _ = r.Values[1].([]any)
	}
	for i := range level {
		for _, one := range edges[i] {
			v, ok := one.([]any)
			if !ok || len(v) != 5 {
				return nil, fmt.Errorf("walk graph: edge of %d values: %w", len(v), graph.ErrCorrupt)
			}
			s := step{}
			s.element, _ = v[0].(string)
			if k.seen[s.element] {
				continue
			}
			k.seen[s.element] = true
			s.item, _ = v[1].(bool)
			s.name, _ = v[2].(string)
			if !s.item {
				s.name = graph.EntityPrefix + s.name
			}
			rel, _ := v[3].(string)
			s.via = schemas.Edge{From: s.name, Rel: schemas.Rel(rel), To: level[i].name}
			if leaves, _ := v[4].(bool); leaves {
				s.via.From, s.via.To = s.via.To, s.via.From
			}
			next = append(next, s)
		}
	}
	return next, nil
}
