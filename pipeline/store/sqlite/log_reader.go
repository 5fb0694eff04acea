package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"golang.org/x/mod/sumdb/tlog"

	"satchel/pipeline/store/eventlog"
)

// reader reads one snapshot; ctx is that of the one call it lives for.
type reader struct {
	ctx  context.Context
	conn *conn
	db   *Log
	last attachmentRefs // asked for last

	committed bool // it sees nothing that may be rolled back
}

func (r *reader) scanSingleRow(query string, args []any, dest ...any) error {
	s, err := r.conn.prepareStatement(r.ctx, query)
	if err != nil {
		return err
	}
	return s.QueryRowContext(r.ctx, args...).Scan(dest...)
}

// visitRows runs next for every row of a query.
func (r *reader) visitRows(query string, args []any, next func(*sql.Rows) error) error {
	rows, err := r.conn.queryRows(r.ctx, query, args...)
	if err != nil {
		return err
	}
	for rows.Next() {
		if err := next(rows); err != nil {
			return errors.Join(err, rows.Close())
		}
	}
	return errors.Join(rows.Err(), rows.Close())
}

// listTenants reads the table, and asks whether its index leads to the row.
const listTenants = "SELECT name, id IS (SELECT k.id FROM tenants k INDEXED BY " + tenantsIndex + ` WHERE k.name = t.name)
	FROM tenants t NOT INDEXED ORDER BY +name`

func (r *reader) Tenants() ([]string, error) {
	var tenants []string
	err := r.visitRows(listTenants, nil, func(rows *sql.Rows) error {
		var name string
		var found bool
		err := rows.Scan(&name, &found)
		if err == nil && !found {
			err = eventlog.Corrupt("the index of tenants does not lead to tenant %q", name)
		}
		tenants = append(tenants, name)
		return err
	})
	return tenants, storeError("read tenants", err)
}

func (r *reader) Head(tenant string) (eventlog.Head, error) {
	h := eventlog.Head{Tenant: tenant}
	var root []byte
	err := r.scanSingleRow("SELECT size, root FROM tenants WHERE name = ?", []any{tenant}, &h.Size, &root)
	if errors.Is(err, sql.ErrNoRows) {
		return h, nil
	}
	if err != nil {
		return h, storeError("read head", err)
	}
	if len(root) != hashSize {
		return h, eventlog.Corrupt("the head of tenant %q has a root of %d bytes", tenant, len(root))
	}
	copy(h.Root[:], root)
	return h, nil
}

const rowColumns = `SELECT e.id, e.agent, e.type, e.source, e.event, e.subject, e.time, e.recorded, e.commitment,
	CASE WHEN (e.attachment IS NULL) = (e.attached IS NULL) THEN e.attachment ELSE 'unpaired' END, c.salt, c.head, c.data FROM entries e LEFT JOIN content c ON c.id = e.content
	WHERE e.id > ? AND e.id <= ? ORDER BY e.id LIMIT ?`

func (r *reader) Rows(tenant string, after int64, limit int) ([]eventlog.Row, error) {
	id, err := r.readTenantID(tenant)
	if err != nil || id == 0 || after >= maxPosition {
		return nil, err
	}
	base := id << tenantShift
	out := make([]eventlog.Row, 0, min(limit, 1024))
	err = r.visitRows(rowColumns, []any{base + after, base + maxPosition, limit}, func(rows *sql.Rows) error {
		out = append(out, eventlog.Row{})
		return r.scanRow(rows, id, &out[len(out)-1])
	})
	return out, storeError("read rows", err)
}

func (r *reader) scanRow(rows *sql.Rows, tenant int64, row *eventlog.Row) error {
	var agent, typ, source, recorded int64
	var at sql.NullInt64
	var commitment, attachment, salt, head, data sql.RawBytes
	if err := rows.Scan(&row.Position, &agent, &typ, &source, &row.ID, &row.Subject, &at, &recorded, &commitment, &attachment, &salt, &head, &data); err != nil {
		return err
	}
	row.Position &= maxPosition
	if at.Valid {
		row.Time = time.Unix(0, at.Int64).UTC()
	}
	row.RecordedAt = time.Unix(0, recorded).UTC()
	eventlog.CopyHash(&row.Commitment, commitment)
	eventlog.CopyHash(&row.Attachment, attachment)
	row.Content = r.contentOf(salt, head, data)
	if salt == nil {
		row.Content = &eventlog.Content{} // not erased but removed: it matches no commitment
	}
	var err error
	if row.Agent, err = r.nameOf(tenant, agent); err != nil {
		return err
	}
	if row.Type, err = r.nameOf(tenant, typ); err != nil {
		return err
	}
	row.Source, err = r.nameOf(tenant, source)
	return err
}

// contentOf copies a content's columns; nil when it is not there or overwritten.
func (r *reader) contentOf(salt, head, data []byte) *eventlog.Content {
	if isErased(salt) && !nonZero(head) && !nonZero(data) {
		return nil
	}
	c := &eventlog.Content{}
	if len(salt) == hashSize+checkSize {
		var ok bool
		salt, data, ok = r.db.packer.unpackContent(salt, data)
		if !ok {
			return c // it matches no commitment
		}
		eventlog.CopyHash(&c.Salt, salt)
		c.Extensions = append([]byte{}, head...)
		c.Data = data
		return c
	}
	eventlog.CopyHash(&c.Salt, salt)
	b := make([]byte, len(head)+len(data))
	n := copy(b, head)
	copy(b[n:], data)
	c.Extensions = b[:n:n]
	c.Data = b[n:]
	return c
}

// saltOf returns the salt in its column.
func saltOf(column []byte) []byte {
	if len(column) == hashSize+checkSize {
		return column[:hashSize]
	}
	return column
}

func isErased(salt []byte) bool {
	return !nonZero(salt)
}

func nonZero(b []byte) bool {
	return slices.ContainsFunc(b, func(c byte) bool { return c != 0 })
}

func (r *reader) Hashes(tenant string, indexes []int64) ([]tlog.Hash, error) {
	id, err := r.readTenantID(tenant)
	if err != nil {
		return nil, err
	}
	out := make([]tlog.Hash, len(indexes))
	number := int64(-1)
	chunk := sql.RawBytes(nil)
	for i, index := range indexes {
		if n := index / chunkHashes; n != number {
			if chunk, err = r.readChunk(id, n); err != nil {
				return nil, err
			}
			number = n
		}
		offset := index % chunkHashes * hashSize
		if id == 0 || index < 0 || offset+hashSize > int64(len(chunk)) {
			return nil, eventlog.Corrupt("tenant %q: the tree hash %d is missing", tenant, index)
		}
		copy(out[i][:], chunk[offset:])
	}
	return out, nil
}

// Leaf returns the leaf hash of a position from the full chunks in memory, false when it is
// in none of them.
func (db *Log) Leaf(tenant string, position int64) (tlog.Hash, bool) {
	id, ok := db.names.findTenantID(tenant)
	if !ok || position < 1 || position > maxPosition {
		return tlog.Hash{}, false
	}
	index := tlog.StoredHashIndex(0, position-1)
	if index/chunkHashes >= 1<<chunkShift { // the chunk of another tenant
		return tlog.Hash{}, false
	}
	chunk, ok := db.chunks.findChunk(id<<chunkShift | index/chunkHashes)
	if !ok {
		return tlog.Hash{}, false
	}
	return tlog.Hash(chunk[index%chunkHashes*hashSize:][:hashSize]), true
}

// readChunk returns the chunk of a number, nil when it is not there.
func (r *reader) readChunk(tenant, number int64) ([]byte, error) {
	id := tenant<<chunkShift | number
	if chunk, ok := r.db.chunks.findChunk(id); ok {
		return chunk, nil
	}
	var chunk []byte
	err := r.scanSingleRow("SELECT chunk FROM hashes WHERE id = ?", []any{id}, &chunk)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	if err == nil && len(chunk) == chunkHashes*hashSize {
		r.db.chunks.keepChunk(id, chunk)
	}
	return chunk, storeError("read hashes", err)
}

func (r *reader) Attachment(tenant string, position int64) (*eventlog.Attachment, error) {
	id, err := r.readTenantID(tenant)
	if err != nil || id == 0 {
		return nil, err
	}
	var salt, head, data []byte
	const query = "SELECT c.salt, c.head, c.data FROM entries e JOIN content c ON c.id = e.attached WHERE e.id = ?"
	err = r.scanSingleRow(query, []any{id<<tenantShift | position}, &salt, &head, &data)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, storeError("read attachment", err)
	}
	c := r.contentOf(salt, head, data)
	if c == nil {
		return nil, nil
	}
	return eventlog.ReadAttachment(tenant, position, c.Salt, c.Extensions, c.Data)
}

func (r *reader) Positions(tenant string, q eventlog.Query) ([]int64, error) {
	id, err := r.readTenantID(tenant)
	if err != nil || id == 0 {
		return nil, err
	}
	if len(q.Items) == 0 {
		return r.findMatchingPositions(id, q)
	}
	found, err := r.findShowingEntries(id, q.Items, q.Position)
	for i := range found {
		found[i] &= maxPosition
	}
	found = slices.DeleteFunc(found, func(position int64) bool { return position <= q.After })
	q.Items = nil
	if err != nil || (q.Key == (eventlog.Key{}) && q.Subject == "" && len(q.Types) == 0) {
		return found, err
	}
	rest, err := r.findMatchingPositions(id, q)
	return slices.DeleteFunc(found, func(position int64) bool {
		_, ok := slices.BinarySearch(rest, position)
		return !ok
	}), err
}

// findMatchingPositions returns the positions of a tenant that match every part of q but its items.
func (r *reader) findMatchingPositions(id int64, q eventlog.Query) ([]int64, error) {
	where := []string{"e.id > ?", "e.id <= ?"}
	args := []any{id<<tenantShift + min(max(q.After, 0), maxPosition), id<<tenantShift | maxPosition}
	add := func(condition string, values ...any) {
		where = append(where, condition)
		args = append(args, values...)
	}
	if q.Key != (eventlog.Key{}) {
		source, err := r.nameID(nameKey{id, q.Key.Source})
		if err != nil {
			return nil, err
		}
		add("e.source = ?", source)
		add("e.event = ?", q.Key.ID)
	}
	if q.Subject != "" {
		add("e.subject = ?", q.Subject)
		add("e.subject <> ''")
	}
	if q.Position != 0 {
		add("e.id = ?", id<<tenantShift|q.Position)
	}
	if len(q.Types) > 0 {
		var types []any
		for _, name := range q.Types {
			t, err := r.nameID(nameKey{id, name})
			if err != nil {
				return nil, err
			}
			types = append(types, t)
		}
		add("+e.type IN ("+makePlaceholders(len(types))+")", types...)
	}
	var out []int64
	query := "SELECT e.id FROM entries e WHERE " + strings.Join(where, " AND ") + " ORDER BY e.id"
	err := r.visitRows(query, args, func(rows *sql.Rows) error {
		var e int64
		err := rows.Scan(&e)
		out = append(out, e&maxPosition)
		return err
	})
	return out, storeError("read positions", err)
}

// latestQuery asks the index for each subject of a JSON array: one seek each, whatever
// number of rows is about it.
const latestQuery = `SELECT key, latest FROM (
	SELECT k.key, (SELECT max(e.id) FROM entries e WHERE e.subject = k.value AND e.subject <> '' AND e.id > ?2 AND e.id <= ?3) latest FROM json_each(?1) k)
	WHERE latest IS NOT NULL`

func (r *reader) Latest(tenant string, subjects []string) ([]int64, error) {
	latest := make([]int64, len(subjects))
	id, err := r.readTenantID(tenant)
	if err != nil || id == 0 {
		return latest, err
	}
	list, err := json.Marshal(subjects)
	if err != nil {
		return nil, fmt.Errorf("encode subjects: %w", err)
	}
	err = r.visitRows(latestQuery, []any{string(list), id << tenantShift, id<<tenantShift | maxPosition}, func(rows *sql.Rows) error {
		var i int
		var entry int64
		err := rows.Scan(&i, &entry)
		latest[i] = entry & maxPosition
		return err
	})
	return latest, storeError("read latest positions", err)
}

func makePlaceholders(n int) string { return strings.TrimSuffix(strings.Repeat("?,", n), ",") }
