package postgres

import (
	"context"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"

	"satchel/pipeline/store/items"
)

// Apply implements items.Rows.
func (db *Items) Apply(ctx context.Context, tenant string, b *items.Batch) error {
	err := UpdateTenant(ctx, db.pool, tenant, func(tx pgx.Tx, row Tenant) error {
		if b.UpTo <= row.Checkpoint {
			return nil
		}
		rows, err := readHeads(ctx, tx, row.ID, b.IDs())
		if err != nil {
			return err
		}
		w := &writer{tenant: row.ID}
		before := make(map[string]counted, len(rows))
		for id, r := range rows {
			before[id] = countedOf(r)
		}
		b.Fold(row.Checkpoint, rows)
		for id, r := range rows {
			if r.Changed || r.Erased {
				w.addRowChange(id, r, before[id])
			}
		}
		return tx.SendBatch(ctx, w.makeBatch(b.UpTo)).Close()
	})
	return wrapItems("apply", err)
}

// there is the key of every row that is there: rows are found by their id.
const there = 1

func readHeads(ctx context.Context, tx pgx.Tx, tenant int32, ids []string) (map[string]*items.Row, error) {
	found := make(map[string]*items.Row, len(ids))
	if len(ids) == 0 {
		return found, nil
	}
	rows, err := tx.Query(ctx, "SELECT id, head FROM items WHERE tenant = $1 AND id = ANY ($2)", tenant, ids)
	if err != nil {
		return nil, err
	}
	var id string
	var head []byte
	_, err = pgx.ForEachRow(rows, []any{&id, &head}, func() error {
		metadata, err := items.DecodeMetadata(head)
		if err != nil {
			return fmt.Errorf("item %q: %w", id, err)
		}
		found[id] = &items.Row{Key: there, Metadata: metadata}
		return nil
	})
	return found, err
}

// counted is what the statistics know of an item.
type counted struct {
	items, users, turns int64
	speaker             string
	first               int64
}

func countedOf(r *items.Row) counted {
	if r.Erased || r.Metadata.Position == 0 {
		return counted{}
	}
	c := counted{items: 1, speaker: ShortText(r.Metadata.Speaker), first: r.Metadata.First}
	if r.Metadata.Role == "user" || r.Metadata.Speaker == "user" {
		c.users = 1
	}
	if r.Metadata.Session != "" {
		c.turns = 1
	}
	return c
}

// writer gathers what a batch writes.
type writer struct {
	tenant   int32
	put      itemsPuts
	headIDs  []string // rows of which the metadata alone changes
	heads    [][]byte
	erased   []string
	change   counted
	speakers []string // whose first item may be another one
	left     []string // those of them who may have none any more
}

// itemsPuts are rows that are written whole, column by column.
type itemsPuts struct {
	ids        []string
	tokens     []int32
	head, body [][]byte
	first      []int64
	created    []int64
	seq        []int64
	terms      []int32
	speaker    []string
	facets     FacetArrays
}

func (w *writer) addRowChange(id string, r *items.Row, before counted) {
	after := countedOf(r)
	w.change.items += after.items - before.items
	w.change.users += after.users - before.users
	w.change.turns += after.turns - before.turns
	if before.speaker != after.speaker || before.first != after.first {
		if before.speaker != "" {
			w.speakers = append(w.speakers, before.speaker)
			w.left = append(w.left, before.speaker)
		}
		if after.speaker != "" {
			w.speakers = append(w.speakers, after.speaker)
		}
	}
	switch {
	case r.Erased:
		w.erased = append(w.erased, id)
	case r.Put == nil && r.Key != 0:
		w.headIDs, w.heads = append(w.headIDs, id), append(w.heads, r.Metadata.Append(nil))
	default:
		w.put.addItemRow(id, r)
	}
}

func (p *itemsPuts) addItemRow(id string, r *items.Row) {
	tokens := int32(-1)
	body := []byte{}
	if r.Put != nil {
		tokens = int32(max(r.Put.Tokens, 0))
		body = items.AppendPayload(nil, r.Put)
	}
	h := &r.Metadata
	p.ids, p.tokens, p.head, p.body = append(p.ids, id), append(p.tokens, tokens), append(p.head, h.Append(nil)), append(p.body, body)
	p.first, p.created, p.seq = append(p.first, h.First), append(p.created, h.Created.UnixMicro()), append(p.seq, h.Seq)
	p.terms, p.speaker = append(p.terms, int32(min(h.Terms, 1<<31-1))), append(p.speaker, ShortText(h.Speaker))
	facets := h.Facets
	facets.Session = h.Session // what neighbours are found by
	p.facets.Add(&facets)
}

const (
	putColumns = "id, tokens, head, body, first, created, seq, terms, speaker, " + FacetNames
	upsertRows = `INSERT INTO items (tenant, ` + putColumns + `)
	SELECT $1, u.id, u.tokens, u.head, u.body, u.first, u.created, u.seq, u.terms, u.speaker, ` + FacetSelect + `
	FROM unnest($2::text[], $3::int[], $4::bytea[], $5::bytea[], $6::bigint[], $7::bigint[], $8::bigint[], $9::int[], $10::text[], %s) u (` + putColumns + `)
	ON CONFLICT (tenant, id) DO UPDATE SET tokens = excluded.tokens, head = excluded.head, body = excluded.body, first = excluded.first,
		created = excluded.created, seq = excluded.seq, terms = excluded.terms, speaker = excluded.speaker, kind = excluded.kind, type = excluded.type,
		category = excluded.category, session = excluded.session, signer = excluded.signer, labels = excluded.labels, groups = excluded.groups,
		purposes = excluded.purposes, level = excluded.level, trust = excluded.trust, sensitivity = excluded.sensitivity, pii = excluded.pii, credentials = excluded.credentials`
	putHeads     = "UPDATE items i SET head = u.head FROM unnest($2::text[], $3::bytea[]) u (id, head) WHERE i.tenant = $1 AND i.id = u.id"
	removeRows   = "DELETE FROM items WHERE tenant = $1 AND id = ANY ($2)"
	firstOf      = "SELECT i.first FROM items i WHERE i.tenant = $1 AND i.speaker = n AND i.speaker <> '' AND i.tokens >= 0 ORDER BY i.first LIMIT 1"
	forgetNames  = "DELETE FROM speakers USING unnest($2::text[]) n WHERE tenant = $1 AND name = n AND NOT EXISTS (" + firstOf + ")"
	rememberName = `INSERT INTO speakers (tenant, name, first) SELECT $1, n, f.first FROM unnest($2::text[]) n CROSS JOIN LATERAL (` + firstOf + `) f
		ON CONFLICT (tenant, name) DO UPDATE SET first = excluded.first WHERE speakers.first <> excluded.first`
	moveCheckpoint = "UPDATE tenants SET checkpoint = $2, items = items + $3, users = users + $4, turns = turns + $5 WHERE id = $1"
)

// makeBatch returns the statements, the checkpoint last.
func (w *writer) makeBatch(upTo int64) *pgx.Batch {
	batch := &pgx.Batch{}
	if len(w.erased) > 0 {
		batch.Queue(removeRows, w.tenant, w.erased)
	}
	if len(w.headIDs) > 0 {
		batch.Queue(putHeads, w.tenant, w.headIDs, w.heads)
	}
	if p := &w.put; len(p.ids) > 0 {
		args := []any{w.tenant, p.ids, p.tokens, p.head, p.body, p.first, p.created, p.seq, p.terms, p.speaker}
		batch.Queue(fmt.Sprintf(upsertRows, FacetUnnest(11)), append(args, p.facets.Args()...)...)
	}
	if len(w.left) > 0 {
		batch.Queue(forgetNames, w.tenant, sortDistinct(w.left))
	}
	if len(w.speakers) > 0 {
		batch.Queue(rememberName, w.tenant, sortDistinct(w.speakers))
	}
	batch.Queue(moveCheckpoint, w.tenant, upTo, w.change.items, w.change.users, w.change.turns)
	return batch
}

func sortDistinct(names []string) []string {
	slices.Sort(names)
	return slices.Compact(names)
}
