package postgres

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"golang.org/x/mod/sumdb/tlog"

	"satchel/pipeline/store/eventlog"
)

// reader reads in one transaction; ctx is that of the one call it lives for.
type reader struct {
	ctx  context.Context
	conn *pgx.Conn
	lead pgx.Batch // what is to be sent before the next query: BEGIN, writes, locks
}

// logTenantID is the id of the tenant whose name is the first parameter.
const logTenantID = "(SELECT id FROM tenants WHERE name = $1)"

// queryRows sends what leads and one query, and calls next for every row.
func (r *reader) queryRows(what, query string, args []any, next func(pgx.Rows) error) error {
	leading := r.lead.Len()
	batch := r.lead
	r.lead = pgx.Batch{}
	batch.Queue(query, args...)
	results := r.conn.SendBatch(r.ctx, &batch)
	for range leading {
		if _, err := results.Exec(); err != nil {
			return storeError("write", errors.Join(err, results.Close()))
		}
	}
	rows, err := results.Query()
	for err == nil && rows.Next() {
		err = next(rows)
	}
	if err == nil {
		err = rows.Err()
	}
	rows.Close()
	return storeError(what, errors.Join(err, results.Close()))
}

// flushLead sends what leads.
func (r *reader) flushLead() error {
	if r.lead.Len() == 0 {
		return nil
	}
	batch := r.lead
	r.lead = pgx.Batch{}
	return storeError("write", r.conn.SendBatch(r.ctx, &batch).Close())
}

// rollBackTransaction ends the transaction, if there is one and the connection still stands.
func (r *reader) rollBackTransaction() error {
	if r.conn.IsClosed() || r.conn.PgConn().TxStatus() == 'I' {
		return nil
	}
	_, err := r.conn.Exec(r.ctx, "ROLLBACK")
	return storeError("roll back", err)
}

func (r *reader) Tenants() ([]string, error) {
	var tenants []string
	err := r.queryRows("read tenants", "SELECT name FROM tenants WHERE size > 0 ORDER BY name", nil, func(rows pgx.Rows) error {
		var name string
		err := rows.Scan(&name)
		tenants = append(tenants, name)
		return err
	})
	return tenants, err
}

func (r *reader) Head(tenant string) (eventlog.Head, error) {
	h := eventlog.Head{Tenant: tenant}
	var root []byte
	err := r.queryRows("read head", "SELECT size, root FROM tenants WHERE name = $1 AND size <> 0", []any{tenant}, func(rows pgx.Rows) error {
		return rows.Scan(&h.Size, &root)
	})
	if err != nil || h.Size == 0 {
		return h, err
	}
	return h, copyRoot(&h, root)
}

func copyRoot(h *eventlog.Head, root []byte) error {
	if len(root) != hashSize {
		return eventlog.Corrupt("the head of tenant %q has a root of %d bytes", h.Tenant, len(root))
	}
	copy(h.Root[:], root)
	return nil
}

const rowsQuery = `SELECT e.position, e.agent, e.type, e.source, e.event, e.subject, e.time, e.recorded, e.commitment, e.attachment, c.salt, c.head, c.data
	FROM entries e LEFT JOIN content c ON (c.tenant, c.position) = (e.tenant, e.position)
	WHERE e.tenant = ` + logTenantID + ` AND e.position > $2 ORDER BY e.position LIMIT $3`

func (r *reader) Rows(tenant string, after int64, limit int) ([]eventlog.Row, error) {
	out := make([]eventlog.Row, 0, min(limit, 1024))
	err := r.queryRows("read rows", rowsQuery, []any{tenant, after, limit}, func(rows pgx.Rows) error {
		out = append(out, eventlog.Row{})
		return scanRow(rows, &out[len(out)-1])
	})
	return out, err
}

func scanRow(rows pgx.Rows, row *eventlog.Row) error {
	var at *int64
	var recorded int64
	var commitment, attachment, salt, head, data []byte
	if err := rows.Scan(&row.Position, &row.Agent, &row.Type, &row.Source, &row.ID, &row.Subject, &at, &recorded, &commitment, &attachment, &salt, &head, &data); err != nil {
		return err
	}
	if at != nil {
		row.Time = time.Unix(0, *at).UTC()
	}
	row.RecordedAt = time.Unix(0, recorded).UTC()
	eventlog.CopyHash(&row.Commitment, commitment)
	eventlog.CopyHash(&row.Attachment, attachment)
	if salt != nil {
		row.Content = &eventlog.Content{Extensions: head, Data: data}
		eventlog.CopyHash(&row.Content.Salt, salt)
	}
	return nil
}

const chunksQuery = `SELECT number, chunk, 0 FROM hashes WHERE tenant = ` + logTenantID + ` AND number = ANY ($2)
	UNION ALL SELECT -1, tail, size FROM tenants WHERE name = $1`

func (r *reader) Hashes(tenant string, indexes []int64) ([]tlog.Hash, error) {
	var numbers []int64
	last := int64(-1)
	for _, index := range indexes {
		if n := index / chunkHashes; n != last {
			numbers = append(numbers, n)
			last = n
		}
	}
	chunks := make(map[int64][]byte, len(numbers))
	err := r.queryRows("read hashes", chunksQuery, []any{tenant, numbers}, func(rows pgx.Rows) error {
		var number, size int64
		var chunk []byte
		if err := rows.Scan(&number, &chunk, &size); err != nil {
			return err
		}
		if number < 0 {
			number = tlog.StoredHashCount(max(size, 0)) / chunkHashes
		}
		chunks[number] = chunk
		return nil
	})
	if err != nil {
		return nil, err
	}
	out := make([]tlog.Hash, len(indexes))
	for i, index := range indexes {
		chunk := chunks[index/chunkHashes]
		offset := index % chunkHashes * hashSize
		if index < 0 || offset+hashSize > int64(len(chunk)) {
			return nil, eventlog.Corrupt("tenant %q: the tree hash %d is missing", tenant, index)
		}
		copy(out[i][:], chunk[offset:])
	}
	return out, nil
}

func (r *reader) Attachment(tenant string, position int64) (*eventlog.Attachment, error) {
	var salt, head, data []byte
	const query = "SELECT salt, head, data FROM attachments WHERE tenant = " + logTenantID + " AND position = $2"
	err := r.queryRows("read attachment", query, []any{tenant, position}, func(rows pgx.Rows) error {
		return rows.Scan(&salt, &head, &data)
	})
	if err != nil || salt == nil {
		return nil, err
	}
	var key [32]byte
	eventlog.CopyHash(&key, salt)
	return eventlog.ReadAttachment(tenant, position, key, head, data)
}

func (r *reader) Positions(tenant string, q eventlog.Query) ([]int64, error) {
	args := []any{tenant}
	where := []string{"e.tenant = " + logTenantID}
	add := func(condition string, value any) {
		args = append(args, value)
		where = append(where, fmt.Sprintf(condition, len(args)))
	}
	from := "entries e"
	if len(q.Items) > 0 {
		from = "refs x JOIN entries e ON (e.tenant, e.position) = (x.tenant, x.position)"
		where = append(where, "x.tenant = "+logTenantID)
		add("x.item = ANY ($%d)", q.Items)
	}
	if q.Key != (eventlog.Key{}) {
		add("e.source = $%d", q.Key.Source)
		add("e.event = $%d", q.Key.ID)
	}
	if q.Subject != "" {
		where = append(where, "e.subject <> ''")
		add("e.subject = $%d", q.Subject)
	}
	if q.Position != 0 {
		add("e.position = $%d", q.Position)
	}
	if q.After > 0 {
		add("e.position > $%d", q.After)
	}
	if len(q.Types) > 0 {
		add("e.type = ANY ($%d)", q.Types)
	}
	var out []int64
	query := "SELECT DISTINCT e.position FROM " + from + " WHERE " + strings.Join(where, " AND ") + " ORDER BY e.position"
	err := r.queryRows("read positions", query, args, func(rows pgx.Rows) error {
		var position int64
		err := rows.Scan(&position)
		out = append(out, position)
		return err
	})
	return out, err
}

// latestQuery adds 0 so that the index of subjects is read, not that of positions backwards.
const latestQuery = `SELECT COALESCE((SELECT max(e.position + 0) FROM entries e WHERE e.tenant = ` + logTenantID + ` AND e.subject = k.subject AND e.subject <> ''), 0)
	FROM unnest($2::text[]) WITH ORDINALITY k (subject, i) ORDER BY k.i`

func (r *reader) Latest(tenant string, subjects []string) ([]int64, error) {
	latest := make([]int64, 0, len(subjects))
	err := r.queryRows("read latest positions", latestQuery, []any{tenant, subjects}, func(rows pgx.Rows) error {
		var position int64
		err := rows.Scan(&position)
		latest = append(latest, position)
		return err
	})
	return latest, err
}
