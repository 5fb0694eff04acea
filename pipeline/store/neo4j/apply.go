package neo4j

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"satchel/pipeline/store/graph"
	"satchel/schemas"
)

// Apply implements graph.Driver.
func (db *DB) Apply(ctx context.Context, tenant string, b *graph.Batch) error {
	for {
		var wiping bool
		var reached int64
		err := db.runWriteTransaction(ctx, tenant, func(t *tx) error {
			state, err := t.lockTenant()
			if err != nil {
				return err
			}
			wiping, reached = state.wiping, state.checkpoint
			if wiping {
				return nil
			}
			if from, back := db.rollback.WentBack(tenant, state.checkpoint); back {
				return fmt.Errorf("it is at position %d, after %d: %w", state.checkpoint, from, ErrWentBack)
			}
			if b.UpTo <= state.checkpoint {
				return nil
			}
			reached = b.UpTo
			return t.applyBatch(b, state)
		})
		if err != nil {
			return err
		}
		if !wiping {
			db.rollback.Raise(tenant, reached)
			return nil
		}
		if err := db.finishReset(ctx, tenant); err != nil {
			return err
		}
	}
}

// state is a tenant's node.
type state struct {
	checkpoint, items int64
	wiping            bool // a reset has begun
}

// lockTenant takes the tenant's lock until the end of the transaction and reads its node, which
// it makes when there is none.
func (t *tx) lockTenant() (state, error) {
	_, err := t.runStatement(`MERGE (t:SatchelTenant {name: $tenant})
		ON CREATE SET t.checkpoint = 0, t.items = 0, t.wiping = false
		SET t.locked = true`, nil)
	if err != nil {
		return state{}, err
	}
	// A statement of its own: it reads what was committed before the lock was given.
	rows, err := t.runStatement("MATCH (t:SatchelTenant {name: $tenant}) RETURN t.checkpoint, t.items, t.wiping", nil)
	if err != nil {
		return state{}, err
	}
	var s state
	if len(rows) != 1 {
		return state{}, fmt.Errorf("read tenant %q: %w", t.tenant, graph.ErrCorrupt)
	}
	v := rows[0].Values
	ok := false
	s.checkpoint, ok = v[0].(int64)
	if ok {
		s.items, ok = v[1].(int64)
		if ok {
			s.wiping, ok = v[2].(bool)
		}
	}
	if !ok {
		return state{}, fmt.Errorf("read tenant %q: %w", t.tenant, graph.ErrCorrupt)
	}
	return s, nil
}

// applyBatch folds a batch and writes what it changes.
func (t *tx) applyBatch(b *graph.Batch, s state) error {
	rows, err := t.readStoredRows(b.IDs())
	if err != nil {
		return err
	}
	before := make(map[string]graph.Row, len(rows))
	for id, r := range rows {
		before[id] = *r
	}
	b.Fold(s.checkpoint, rows)
	e := effect{items: s.items}
	for _, id := range slices.SortedFunc(maps.Keys(rows), cmp.Compare[string]) {
		if r := rows[id]; r.Changed || r.Removed {
			old := before[id]
			e.addChangedRow(t.tenant, id, &old, r)
		}
	}
	return t.writeEffect(&e, b.UpTo)
}

// readStoredRows reads the rows of ids that have one.
func (t *tx) readStoredRows(ids []string) (map[string]*graph.Row, error) {
	found := make(map[string]*graph.Row, len(ids))
	if len(ids) == 0 {
		return found, nil
	}
	rows, err := t.runStatement(`UNWIND $ids AS id MATCH (n:SatchelItem {tenant: $tenant, id: id})
		WHERE n.data IS NOT NULL RETURN n.id, n.data`, params{"ids": ids})
	if err != nil {
		return nil, err
	}
	for _, r := range rows {
		id, row, err := decodeRow(r.Values)
		if err != nil {
			return nil, err
		}
		row.Key = 1 // it is there
		found[id] = row
	}
	return found, nil
}

// decodeRow reads an id and a row.
func decodeRow(values []any) (string, *graph.Row, error) {
	id, _ := values[0].(string)
	data, ok := values[1].([]byte)
	if !ok {
		return id, nil, fmt.Errorf("node %q: %w", id, graph.ErrCorrupt)
	}
	row, err := graph.DecodeRow(data)
	if err != nil {
		return id, nil, fmt.Errorf("node %q: %w", id, err)
	}
	return id, &row, nil
}

// effect is what a batch changes.
type effect struct {
	items       int64
	puts, gone  []any // nodes to write, ids to empty
	cuts        []any // nodes that lose edges: all that leave them, or their own
	links       []any // edges to items
	names       []any // edges to entities
	unconnected []any // elements that may have lost their last edge
}

// later is added to the order of edges that were added, which come after a node's own.
const later = 1 << 20

func (e *effect) addChangedRow(tenant, id string, old, r *graph.Row) {
	if old.Position > 0 {
		e.items--
	}
	if r.Removed {
		e.gone = append(e.gone, id)
		e.cuts = append(e.cuts, params{"id": id, "all": true})
		return
	}
	if r.Position > 0 {
		e.items++
	}
	p := makeProperties(&r.Facets)
	p["tenant"], p["id"], p["position"], p["data"] = tenant, id, r.Position, r.Append(nil)
	e.puts = append(e.puts, params{"id": id, "props": p})
	anew := old.Key != 0 && r.Key == 0 // removed and put again
	replaced := r.Position != old.Position || anew
	if old.Key != 0 && replaced {
		e.cuts = append(e.cuts, params{"id": id, "all": anew})
	}
	if replaced {
		for i, l := range r.Links {
			e.appendLink(id, l, r.Position, i, true)
		}
		for i, name := range r.Entities {
			e.names = append(e.names, params{"from": id, "to": name, "rel": string(schemas.RelMentions),
				"at": r.Position, "ord": len(r.Links) + i, "own": true})
		}
	}
	kept := len(old.Added)
	if anew {
		kept = 0
	}
	for i := kept; i < len(r.Added); i++ {
		e.appendLink(id, r.Added[i].Link, r.Added[i].Position, later+i, false)
	}
}

func (e *effect) appendLink(from string, l schemas.Link, at int64, order int, own bool) {
	e.links = append(e.links, params{"from": from, "to": l.To, "rel": string(l.Rel), "at": at, "ord": order, "own": own})
}

const (
	cutEdges = `UNWIND $list AS c
		MATCH (:SatchelItem {tenant: $tenant, id: c.id})-[e:SATCHEL_LINK]->(m)
		WHERE c.all OR e.own
		DELETE e RETURN DISTINCT elementId(m)`
	emptyItems = `UNWIND $list AS id MATCH (n:SatchelItem {tenant: $tenant, id: id})
		SET n = {tenant: $tenant, id: id} RETURN elementId(n)`
	putItems  = "UNWIND $list AS p MERGE (n:SatchelItem {tenant: $tenant, id: p.id}) SET n = p.props"
	linkItems = `UNWIND $list AS l
		MATCH (n:SatchelItem {tenant: $tenant, id: l.from})
		MERGE (m:SatchelItem {tenant: $tenant, id: l.to})
		CREATE (n)-[:SATCHEL_LINK {rel: l.rel, at: l.at, ord: l.ord, own: l.own}]->(m)`
	nameEntities = `UNWIND $list AS l
		MATCH (n:SatchelItem {tenant: $tenant, id: l.from})
		MERGE (m:SatchelEntity {tenant: $tenant, name: l.to})
		CREATE (n)-[:SATCHEL_LINK {rel: l.rel, at: l.at, ord: l.ord, own: l.own}]->(m)`
	dropUnconnected = `UNWIND $list AS element MATCH (m) WHERE elementId(m) = element AND m.tenant = $tenant
		AND m.data IS NULL AND NOT EXISTS { (m)-[:SATCHEL_LINK]-() } DELETE m`
)

// writeEffect writes an effect and the checkpoint. What nothing names any more goes.
func (t *tx) writeEffect(e *effect, upTo int64) error {
	for _, step := range []struct {
		what, statement string
		list            *[]any
		collects        bool
	}{
		{"remove edges", cutEdges, &e.cuts, true},
		{"remove items", emptyItems, &e.gone, true},
		{"write items", putItems, &e.puts, false},
		{"write links", linkItems, &e.links, false},
		{"write entities", nameEntities, &e.names, false},
		{"remove what nothing names", dropUnconnected, &e.unconnected, false},
	} {
		rows, err := t.runForList(step.statement, *step.list)
		if err != nil {
			return fmt.Errorf("%s: %w", step.what, err)
		}
		if step.collects {
			for _, r := range rows {
				e.unconnected = append(e.unconnected, r.Values[0])
			}
		}
	}
	_, err := t.runStatement("MATCH (t:SatchelTenant {name: $tenant}) SET t.checkpoint = $upTo, t.items = $items",
		params{"upTo": upTo, "items": e.items})
	if err != nil {
		return fmt.Errorf("move checkpoint: %w", err)
	}
	return nil
}

// Reset implements graph.Driver. A reset that was cut short is ended by the next Apply.
func (db *DB) Reset(ctx context.Context, tenant string) error {
	err := db.runWriteTransaction(ctx, tenant, func(t *tx) error {
		if _, err := t.lockTenant(); err != nil {
			return err
		}
		_, err := t.runStatement("MATCH (t:SatchelTenant {name: $tenant}) SET t.wiping = true, t.checkpoint = 0, t.items = 0", nil)
		return err
	})
	if err == nil {
		db.rollback.Forget(tenant)
		err = db.finishReset(ctx, tenant)
	}
	if err != nil {
		return fmt.Errorf("reset graph: %w", err)
	}
	return nil
}

// wipeRows is how many nodes of each kind one transaction of a reset removes.
const wipeRows = 2000

// finishReset ends a reset that has begun, some nodes at a time.
func (db *DB) finishReset(ctx context.Context, tenant string) error {
	for done := false; !done; {
		err := db.runWriteTransaction(ctx, tenant, func(t *tx) error {
			s, err := t.lockTenant()
			if err != nil {
				return err
			}
			done = !s.wiping
			if done {
				return nil
			}
			left := int64(0)
			for _, label := range []string{"SatchelItem", "SatchelEntity"} {
				rows, err := t.runStatement("MATCH (n:"+label+" {tenant: $tenant}) WITH n LIMIT $rows DETACH DELETE n RETURN count(*)", params{"rows": wipeRows})
				if err != nil {
					return err
				}
				n, _ := findFirstValue(rows).(int64)
				left += n
			}
			done = left == 0
			if done {
				_, err = t.runStatement("MATCH (t:SatchelTenant {name: $tenant}) SET t.wiping = false", nil)
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// Drop removes every tenant of the namespace, which must not be the empty one.
func (db *DB) Drop(ctx context.Context) error {
	if db.cfg.Namespace == "" {
		return errors.New("drop graph: it has no namespace of its own")
	}
	for _, step := range [...]struct{ label, name string }{{"SatchelItem", "tenant"}, {"SatchelEntity", "tenant"}, {"SatchelTenant", "name"}} {
		for left := int64(1); left > 0; {
			err := db.runWriteTransaction(ctx, "", func(t *tx) error {
				rows, err := t.runStatement("MATCH (n:"+step.label+") WHERE n."+step.name+" STARTS WITH $ns WITH n LIMIT $rows DETACH DELETE n RETURN count(*)",
					params{"ns": db.cfg.Namespace, "rows": wipeRows})
				left, _ = findFirstValue(rows).(int64)
				return err
			})
			if err != nil {
				return fmt.Errorf("drop graph: %w", err)
			}
		}
	}
	return nil
}
