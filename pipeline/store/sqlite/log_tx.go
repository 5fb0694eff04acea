package sqlite

import (
	"database/sql"
	"errors"
	"strings"

	"golang.org/x/mod/sumdb/tlog"

	"satchel/pipeline/store/eventlog"
)

// tx is the read-write transaction on the writing connection.
type tx struct {
	reader
	nextID  int64             // of the next content
	learnt  map[nameKey]int64 // names to remember once committed
	tenants map[string]int64
}

var _ eventlog.Tx = (*tx)(nil)

// A statement looks up findBatch keys, or findFew; what is missing is padded with nulls.
const (
	findBatch = 16
	findFew   = 4
)

const findQuery = `SELECT k.column1, e.id, e.type, e.commitment, c.salt
	FROM (VALUES %) k JOIN entries e ON e.source = k.column2 AND e.event = k.column3
	LEFT JOIN content c ON c.id = e.content`

func (t *tx) Find(tenant string, keys []eventlog.Key) ([]eventlog.Held, error) {
	held := make([]eventlog.Held, len(keys))
	id, err := t.readTenantID(tenant)
	if err != nil || id == 0 {
		return held, err
	}
	args := make([]any, 0, 3*findBatch)
	for i, key := range keys {
		source, err := t.nameID(nameKey{id, key.Source})
		if err != nil {
			return nil, err
		}
		if source != 0 {
			args = append(args, i, source, key.ID)
		}
		if len(args) == cap(args) {
			if err := t.findHeldEvents(id, args, held); err != nil {
				return nil, err
			}
			args = args[:0]
		}
	}
	if len(args) == 0 {
		return held, nil
	}
	return held, t.findHeldEvents(id, args, held)
}

// findHeldEvents looks up triples of index, source and event.
func (t *tx) findHeldEvents(tenant int64, args []any, held []eventlog.Held) error {
	n := findBatch
	switch {
	case len(args) <= 3:
		n = 1
	case len(args) <= 3*findFew:
		n = findFew
	}
	for len(args) < 3*n {
		args = append(args, nil)
	}
	values := strings.TrimSuffix(strings.Repeat("(?,?,?),", n), ",")
	err := t.visitRows(strings.Replace(findQuery, "%", values, 1), args, func(rows *sql.Rows) error {
		var i, entry, typ int64
		var commitment, salt sql.RawBytes
		if err := rows.Scan(&i, &entry, &typ, &commitment, &salt); err != nil {
			return err
		}
		h := &held[i]
		h.Position, h.Erased = entry&maxPosition, isErased(salt)
		eventlog.CopyHash(&h.Commitment, commitment)
		eventlog.CopyHash(&h.Salt, saltOf(salt))
		var err error
		h.Type, err = t.nameOf(tenant, typ)
		return err
	})
	return storeError("find keys", err)
}

func (t *tx) Append(a eventlog.Addition) error {
	tenant, err := t.putHead(a.Head)
	if err != nil {
		return err
	}
	if err := t.putRows(tenant, a.Rows); err != nil {
		return err
	}
	return t.putHashes(tenant, a.FirstHash, a.Hashes)
}

func (t *tx) putHead(h eventlog.Head) (tenant int64, err error) {
	if tenant, err = t.reader.readTenantID(h.Tenant); err != nil {
		return 0, err
	}
	if tenant != 0 {
		err = t.conn.executeStatement(t.ctx, "UPDATE tenants SET size = ?, root = ? WHERE id = ?", h.Size, h.Root[:], tenant)
		return tenant, storeError("write head", err)
	}
	res, err := t.conn.runStatement(t.ctx, "INSERT INTO tenants (name, size, root) VALUES (?, ?, ?)", h.Tenant, h.Size, h.Root[:])
	if err == nil {
		tenant, err = res.LastInsertId()
	}
	if err != nil {
		return 0, storeError("write head", err)
	}
	if t.tenants == nil {
		t.tenants = map[string]int64{}
	}
	t.tenants[h.Tenant] = tenant
	return tenant, nil
}

// internName returns the id of a string, making one when it is new; 0 for "".
func (t *tx) internName(tenant int64, name string) (int64, error) {
	if name == "" {
		return 0, nil
	}
	key := nameKey{tenant, name}
	if id, ok := t.learnt[key]; ok {
		return id, nil
	}
	id, err := t.nameID(key)
	if err != nil {
		return 0, err
	}
	if id == 0 {
		res, err := t.conn.runStatement(t.ctx, "INSERT INTO names (tenant, name) VALUES (?, ?)", tenant, name)
		if err == nil {
			id, err = res.LastInsertId()
		}
		if err != nil {
			return 0, storeError("write name", err)
		}
	}
	if t.learnt == nil {
		t.learnt = map[nameKey]int64{}
	}
	t.learnt[key] = id
	return id, nil
}

const (
	insertEntries = `INSERT INTO entries (id, agent, type, source, event, subject, time, recorded, commitment, content, attachment, attached) VALUES `
	insertContent = `INSERT INTO content (id, salt, head, data) VALUES `
)

func (t *tx) putRows(tenant int64, rows []eventlog.Row) error {
	entries := inserter{t: t, query: insertEntries, columns: 12}
	content := inserter{t: t, query: insertContent, columns: 4}
	for i := range rows {
		r := &rows[i]
		var ids [3]int64
		for j, name := range [3]string{r.Agent, r.Type, r.Source} {
			var err error
			if ids[j], err = t.internName(tenant, name); err != nil {
				return err
			}
		}
		entry := tenant<<tenantShift | r.Position
		var attachment, attached, at any
		if r.Attached != nil {
			attachment = r.Attachment[:]
			attached = t.nextID
			refs := eventlog.CanonicalRefs(r.Attached.Refs)
			salt, data := t.db.packer.packContent(&r.Attached.Salt, r.Attached.Data)
			if err := content.addValues(t.nextID, salt, notNil(refs), data); err != nil {
				return err
			}
			t.nextID++
			if err := t.putShown(entry, r.Attached.Refs); err != nil {
				return err
			}
		}
		if r.Attached == nil && r.Attachment != ([32]byte{}) {
			attachment = r.Attachment[:]
			attached = t.nextID
			if err := t.putErased(&content); err != nil {
				return err
			}
			t.nextID++
		}
		if !r.Time.IsZero() {
			at = r.Time.UnixNano()
		}
		if r.Content == nil {
			if err := t.putErased(&content); err != nil {
				return err
			}
		} else {
			salt, data := t.db.packer.packContent(&r.Content.Salt, r.Content.Data)
			if err := content.addValues(t.nextID, salt, notNil(r.Content.Extensions), data); err != nil {
				return err
			}
		}
		if err := entries.addValues(entry, ids[0], ids[1], ids[2], r.ID, r.Subject, at, r.RecordedAt.UnixNano(), r.Commitment[:], t.nextID, attachment, attached); err != nil {
			return err
		}
		t.nextID++
	}
	return errors.Join(content.flushRows(), entries.flushRows())
}

// putErased writes a content as it stands once it is erased.
func (t *tx) putErased(content *inserter) error {
	return content.addValues(t.nextID, make([]byte, hashSize), []byte{}, []byte{})
}

// inserter gathers rows for inserts of rowsPerWrite rows, the last ones of half as many,
// of a quarter and so on.
type inserter struct {
	t       *tx
	query   string
	columns int
	args    []any
}

func (in *inserter) addValues(values ...any) error {
	if in.args == nil {
		in.args = make([]any, 0, in.columns*rowsPerWrite)
	}
	in.args = append(in.args, values...)
	if len(in.args) < cap(in.args) {
		return nil
	}
	return in.writeRows(rowsPerWrite)
}

func (in *inserter) writeRows(n int) error {
	row := "(" + makePlaceholders(in.columns) + "),"
	args := in.args[:n*in.columns]
	err := in.t.conn.executeStatement(in.t.ctx, in.query+strings.TrimSuffix(strings.Repeat(row, n), ","), args...)
	in.args = in.args[:copy(in.args, in.args[n*in.columns:])]
	return storeError("write rows", err)
}

func (in *inserter) flushRows() error {
	for n := rowsPerWrite / 2; n > 0; n /= 2 {
		if len(in.args) < n*in.columns {
			continue
		}
		if err := in.writeRows(n); err != nil {
			return err
		}
	}
	return nil
}

func notNil(b []byte) []byte {
	if b == nil {
		return []byte{}
	}
	return b
}

// putHashes writes hashes from the stored hash index first on.
func (t *tx) putHashes(tenant, first int64, hashes []tlog.Hash) error {
	for len(hashes) > 0 {
		number := first / chunkHashes
		offset := first % chunkHashes
		n := min(int64(len(hashes)), chunkHashes-offset)
		b := make([]byte, 0, n*hashSize)
		for i := range hashes[:n] {
			b = append(b, hashes[i][:]...)
		}
		if err := t.putChunk(tenant<<chunkShift|number, offset, b); err != nil {
			return err
		}
		hashes = hashes[n:]
		first = first + n
	}
	return nil
}

func (t *tx) putChunk(id, offset int64, b []byte) error {
	if offset == 0 {
		return storeError("write hashes", t.conn.executeStatement(t.ctx, "INSERT INTO hashes (id, chunk) VALUES (?, ?)", id, b))
	}
	const query = "UPDATE hashes SET chunk = CAST(chunk || ? AS BLOB) WHERE id = ? AND length(chunk) = ?"
	res, err := t.conn.runStatement(t.ctx, query, b, id, offset*hashSize)
	if err != nil {
		return storeError("write hashes", err)
	}
	if n, err := res.RowsAffected(); err != nil || n != 1 {
		return errors.Join(err, eventlog.Corrupt("write hashes: the last chunk has another length than the head says"))
	}
	return nil
}

func (t *tx) Checkpoint(name string) (eventlog.Checkpoint, error) {
	c := eventlog.Checkpoint{Name: name}
	var hash, sum []byte
	var seq int64
	err := t.scanSingleRow("SELECT fence, epoch, seq, hash, sum FROM checkpoints WHERE name = ?", []any{name}, &c.Fence, &c.Epoch, &seq, &hash, &sum)
	if errors.Is(err, sql.ErrNoRows) {
		return c, nil
	}
	if err != nil {
		return eventlog.Checkpoint{}, storeError("read checkpoint", err)
	}
	c.StreamSeq = uint64(seq)
	eventlog.CopyHash(&c.Hash, hash)
	if err := c.Check(sum); err != nil {
		return eventlog.Checkpoint{}, err
	}
	return c, nil
}

func (t *tx) PutCheckpoint(c eventlog.Checkpoint) error {
	sum := c.Sum()
	err := t.conn.executeStatement(t.ctx, "INSERT OR REPLACE INTO checkpoints (name, fence, epoch, seq, hash, sum) VALUES (?, ?, ?, ?, ?, ?)",
		c.Name, c.Fence, c.Epoch, int64(c.StreamSeq), c.Hash[:], sum[:])
	return storeError("write checkpoint", err)
}

const overwrite = `UPDATE content SET salt = zeroblob(length(salt)), head = zeroblob(length(head)), data = zeroblob(length(data))
		WHERE id = (SELECT % FROM entries WHERE id = ?) AND salt <> zeroblob(length(salt))`

func (t *tx) Erase(tenant string, content, attachments []int64) (contents, attached int, err error) {
	id, err := t.reader.readTenantID(tenant)
	if err != nil || id == 0 {
		return 0, 0, err
	}
	for _, position := range content {
		n, err := t.overwriteColumn("content", id, position)
		if err != nil {
			return 0, 0, err
		}
		contents += n
		if n, err = t.eraseAttachment(tenant, id, position); err != nil {
			return 0, 0, err
		}
		attached += n
	}
	for _, position := range attachments {
		n, err := t.eraseAttachment(tenant, id, position)
		if err != nil {
			return 0, 0, err
		}
		attached += n
	}
	return contents, attached, nil
}

func (t *tx) eraseAttachment(tenant string, id, position int64) (int, error) {
	a, err := t.Attachment(tenant, position)
	if a == nil || err != nil {
		return 0, err
	}
	if err := t.eraseShown(id<<tenantShift | position); err != nil {
		return 0, err
	}
	return t.overwriteColumn("attached", id, position)
}

func (t *tx) overwriteColumn(column string, id, position int64) (int, error) {
	res, err := t.conn.runStatement(t.ctx, strings.Replace(overwrite, "%", column, 1), id<<tenantShift|position)
	if err != nil {
		return 0, storeError("erase", err)
	}
	n, err := res.RowsAffected()
	return int(n), storeError("erase", err)
}
