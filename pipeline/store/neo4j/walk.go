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
// on an item x. Entities that say too little (graph.Hub) are not entered. Items and entities are matched apart: the server
// plans one condition on both for seconds.
const (
	entered = `WITH *, COUNT { (m)<-[:SATCHEL_LINK]-(x:SatchelItem) WHERE %[2]s } AS named
		WHERE NOT (named > 50 AND named * 5 > $items)`
	followed = "m.tenant = $tenant AND ($rels IS NULL OR e.rel IN $rels)"

	seedItems    = "UNWIND $ids AS id MATCH (m:SatchelItem {tenant: $tenant, id: id}) WHERE %[1]s RETURN elementId(m), m.id"
	seedEntities = "UNWIND $ids AS id MATCH (m:SatchelEntity {tenant: $tenant, name: id}) " + entered + `
		RETURN elementId(m), m.name`
	nextHop = `UNWIND range(0, size($from) - 1) AS i
		MATCH (n) WHERE elementId(n) = $from[i] AND n.tenant = $tenant
		CALL (n) {
			CALL (n) {
				MATCH (n)-[e:SATCHEL_LINK]-(m:SatchelItem) WHERE ` + followed + ` AND %[1]s
				RETURN e, m
				UNION ALL
				MATCH (n)-[e:SATCHEL_LINK]-(m:SatchelEntity) WHERE ` + followed + `
				` + entered + `
				RETURN e, m
			}
			WITH e, m, startNode(e) = n AS leaves
			ORDER BY leaves DESC, e.at DESC, CASE WHEN leaves THEN '' ELSE m.id END DESC, e.ord DESC
			LIMIT $fanout
			RETURN collect([elementId(m), m:SatchelItem, coalesce(m.id, m.name), e.rel, leaves]) AS edges
		}
		RETURN i, edges`
)

// Walk implements graph.Driver: one statement for each hop, in one transaction.
func (db *DB) Walk(ctx context.Context, tenant string, w graph.Walk) (out []graph.Visit, err error) {
	err = db.runReadTransaction(ctx, tenant, func(t *tx) error {
		out, err = db.newWalker(t, w).walkGraph()
		return err
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// makeUsualFilter is what policies ask of the items that a principal may see: the built-in one these, in this order.
func makeUsualFilter() schemas.Filter {
	return schemas.Where(
		schemas.Cond{Field: schemas.FieldLevel, Op: schemas.AtMost}, schemas.Cond{Field: schemas.FieldGroups, Op: schemas.EmptyOrIn},
		schemas.Cond{Field: schemas.FieldPurposes, Op: schemas.EmptyOrIn}, schemas.Cond{Field: schemas.FieldTrust, Op: schemas.AtLeast},
		schemas.Cond{Field: schemas.FieldCredentials, Op: schemas.AtMost}, schemas.Cond{Field: schemas.FieldSensitivity, Op: schemas.AtMost})
}

// planUsualWalk has the server plan what a usual walk asks, with nothing there. A server that has just started takes seconds, and
// whoever ends a statement while it is planned has it planned again the next time.
func (db *DB) planUsualWalk(ctx context.Context) error {
	return db.runReadTransaction(ctx, "", func(t *tx) error {
		k := db.newWalker(t, graph.Walk{FanOut: 1, Filter: makeUsualFilter(), Population: makeUsualFilter()})
		if _, _, err := k.countPopulation(); err != nil {
			return err
		}
		const id = "00000000-0000-0000-0000-000000000000" // the server plans for texts of a length
		k.params["items"] = int64(0)
		_, err := k.readCount(k.makeCountStatement())
		if err == nil {
			_, err = k.appendSeeds(k.fillStatement(seedItems, k.start), []string{id}, "", nil)
		}
		if err == nil {
			_, err = k.appendSeeds(k.fillStatement(seedEntities, k.start), []string{id}, graph.EntityPrefix, nil)
		}
		if err == nil {
			_, err = k.followEdges([]step{{element: "4:" + id + ":0"}})
		}
		return err
	})
}

func (db *DB) newWalker(t *tx, w graph.Walk) *walker {
	k := &walker{tx: t, w: w, crowds: &db.crowds, params: params{"fanout": w.FanOut, "rels": nil, "exclude": append([]string{}, w.Exclude...)}, seen: map[string]bool{}}
	k.start = translateFilter(w.Filter, "m", k.params)
	k.pass = k.start
	if len(w.Through) > 0 { // the parameters of the filter keep their names
		k.pass = translateFilter(w.Filter.And(schemas.Where(w.Through...)), "m", k.params)
	}
	k.counts = translateFilter(w.Population, "x", k.params)
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
	return k
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

func (k *walker) walkGraph() (out []graph.Visit, err error) {
	items, ok, err := k.countPopulation()
	if err != nil || !ok {
		return nil, err
	}
	k.params["items"] = items
	level, err := k.appendSeeds(k.fillStatement(seedItems, k.start), k.w.From, "", nil)
	if err != nil {
		return nil, err
	}
	if level, err = k.appendSeeds(k.fillStatement(seedEntities, k.start), k.w.Entities, graph.EntityPrefix, level); err != nil {
		return nil, err
	}
	for hop := 1; hop <= k.w.Hops && len(level) > 0 && len(out) < k.w.Limit; hop++ {
		if level, err = k.followEdges(level); err != nil {
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

// fillStatement puts the conditions on an item, and those of the population, into a statement.
func (k *walker) fillStatement(text, items string) string {
	return strings.NewReplacer("%[1]s", items, "%[2]s", k.counts).Replace(text)
}

// passOver is the condition that a node is none of those that the walk excludes.
func passOver(v string) string { return " AND NOT " + v + ".id IN $exclude" }

// appendSeeds appends what the walk starts from, in the order of ids.
func (k *walker) appendSeeds(statement string, ids []string, prefix string, level []step) ([]step, error) {
	if len(ids) == 0 {
		return level, nil
	}
	k.params["ids"] = ids
	rows, err := k.runStatement(statement, k.params)
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

// followEdges returns what the edges of level reach first.
func (k *walker) followEdges(level []step) (next []step, err error) {
	from := make([]string, len(level))
	for i := range level {
		from[i] = level[i].element
	}
	k.params["from"] = from
	rows, err := k.runStatement(k.fillStatement(nextHop, k.pass), k.params)
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
