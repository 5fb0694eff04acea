package postgres

import (
	"errors"
	"slices"

	"github.com/jackc/pgx/v5"
	"golang.org/x/mod/sumdb/tlog"

	"satchel/pipeline/store/eventlog"
)

// tx is a read-write transaction. Writes are gathered and sent together before the next
// read, the last of them with the commit.
type tx struct {
	reader
	heads map[string]*head
}

var _ eventlog.Tx = (*tx)(nil)

// head is a locked row of tenants.
type head struct {
	id   int32
	size int64
	root []byte
	tail []byte
}

const (
	lockHeads = "SELECT name, id, size, root, tail FROM tenants WHERE name = ANY ($1) ORDER BY name FOR UPDATE"
	addHeads  = "INSERT INTO tenants (name) SELECT n FROM unnest($1::text[]) n ORDER BY n ON CONFLICT (name) DO NOTHING"
)

// beginTransaction begins the transaction and locks the tenants' heads, which it makes when they are
// not there.
func (t *tx) beginTransaction(tenants []string) error {
	t.lead.Queue("BEGIN")
	if len(tenants) == 0 {
		return nil
	}
	for {
		err := t.queryRows("lock heads", lockHeads, []any{tenants}, func(rows pgx.Rows) error {
			var name string
			h := &head{}
			err := rows.Scan(&name, &h.id, &h.size, &h.root, &h.tail)
			t.heads[name] = h
			return err
		})
		if err != nil || len(t.heads) == len(tenants) {
			return err
		}
		missing := slices.DeleteFunc(slices.Clone(tenants), func(name string) bool { return t.heads[name] != nil })
		if _, err := t.conn.Exec(t.ctx, addHeads, missing); err != nil {
			return storeError("make heads", err)
		}
	}
}

func (t *tx) Head(tenant string) (eventlog.Head, error) {
	h := t.heads[tenant]
	if h == nil {
		return t.reader.Head(tenant)
	}
	out := eventlog.Head{Tenant: tenant, Size: h.size}
	if h.size == 0 {
		return out, nil
	}
	return out, copyRoot(&out, h.root)
}

const findQuery = `SELECT k.i, e.position, e.type, e.commitment, c.salt
	FROM unnest($2::text[], $3::text[]) WITH ORDINALITY k (source, event, i)
	JOIN entries e ON e.tenant = $1 AND e.event = k.event AND e.source = k.source
	LEFT JOIN content c ON (c.tenant, c.position) = (e.tenant, e.position)`

func (t *tx) Find(tenant string, keys []eventlog.Key) ([]eventlog.Held, error) {
	held := make([]eventlog.Held, len(keys))
	h := t.heads[tenant]
	if h == nil {
		return nil, errors.New("find keys: the tenant's head is not locked")
	}
	if h.size == 0 || len(keys) == 0 {
		return held, nil
	}
	sources := make([]string, len(keys))
	events := make([]string, len(keys))
	for i, k := range keys {
		sources[i] = k.Source
		events[i] = k.ID
	}
	err := t.queryRows("find keys", findQuery, []any{h.id, sources, events}, func(rows pgx.Rows) error {
		var i int64
		var one eventlog.Held
		var commitment, salt []byte
		if err := rows.Scan(&i, &one.Position, &one.Type, &commitment, &salt); err != nil {
			return err
		}
		one.Erased = salt == nil
		eventlog.CopyHash(&one.Commitment, commitment)
		eventlog.CopyHash(&one.Salt, salt)
		held[i-1] = one
		return nil
	})
	return held, err
}

const (
	putHead    = "UPDATE tenants SET size = $2, root = $3, tail = $4 WHERE id = $1"
	putEntries = `INSERT INTO entries (tenant, position, agent, type, source, event, subject, time, recorded, commitment, attachment)
		SELECT $1, * FROM unnest($2::bigint[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::bigint[], $9::bigint[], $10::bytea[], $11::bytea[])`
	putContent     = "INSERT INTO content (tenant, position, salt, head, data) SELECT $1, * FROM unnest($2::bigint[], $3::bytea[], $4::bytea[], $5::bytea[])"
	putAttachments = "INSERT INTO attachments (tenant, position, salt, head, data) SELECT $1, * FROM unnest($2::bigint[], $3::bytea[], $4::bytea[], $5::bytea[])"
	putRefs        = "INSERT INTO refs (tenant, item, position) SELECT $1, * FROM unnest($2::text[], $3::bigint[]) ON CONFLICT DO NOTHING"
	putChunks      = "INSERT INTO hashes (tenant, number, chunk) SELECT $1, * FROM unnest($2::bigint[], $3::bytea[])"
	putCheckpoint  = `INSERT INTO checkpoints (name, fence, epoch, seq, hash, sum) VALUES ($1, $2, $3, $4, $5, $6)
		ON CONFLICT (name) DO UPDATE SET fence = excluded.fence, epoch = excluded.epoch, seq = excluded.seq, hash = excluded.hash, sum = excluded.sum`
)

func (t *tx) Append(a eventlog.Addition) error {
	h := t.heads[a.Head.Tenant]
	if h == nil {
		return errors.New("append: the tenant's head is not locked")
	}
	count := tlog.StoredHashCount(h.size)
	if a.FirstHash != count || int64(len(h.tail)) != count%chunkHashes*hashSize {
		return eventlog.Corrupt("tenant %q: the last tree hashes are not those of the head", a.Head.Tenant)
	}
	t.putRows(h.id, a.Rows)
	tail := h.tail
	for i := range a.Hashes {
		tail = append(tail, a.Hashes[i][:]...)
	}
	var numbers []int64
	var chunks [][]byte
	for number := count / chunkHashes; len(tail) >= chunkHashes*hashSize; number++ {
		numbers = append(numbers, number)
		chunks = append(chunks, tail[:chunkHashes*hashSize])
		tail = tail[chunkHashes*hashSize:]
	}
	if len(numbers) > 0 {
		t.lead.Queue(putChunks, h.id, numbers, chunks)
	}
	h.size, h.root, h.tail = a.Head.Size, slices.Clone(a.Head.Root[:]), slices.Clone(tail)
	t.lead.Queue(putHead, h.id, h.size, h.root, notNil(h.tail))
	return nil
}

// columns are the contents or attachments of rows.
type columns struct {
	positions        []int64
	salt, head, data [][]byte
}

func (c *columns) appendEntry(position int64, salt *[32]byte, head, data []byte) {
	c.positions = append(c.positions, position)
	c.salt = append(c.salt, salt[:])
	c.head, c.data = append(c.head, notNil(head)), append(c.data, notNil(data))
}

func (t *tx) putRows(tenant int32, rows []eventlog.Row) {
	n := len(rows)
	positions := make([]int64, n)
	recorded := make([]int64, n)
	at := make([]*int64, n)
	commitments := make([][]byte, n)
	attached := make([][]byte, n)
	var text [5][]string
	for i := range text {
		text[i] = make([]string, n)
	}
	var content, attachments columns
	var items []string
	var shownBy []int64
	for i := range rows {
		r := &rows[i]
		positions[i], recorded[i], commitments[i] = r.Position, r.RecordedAt.UnixNano(), r.Commitment[:]
		text[0][i] = r.Agent
		text[1][i] = r.Type
		text[2][i] = r.Source
		text[3][i] = r.ID
		text[4][i] = r.Subject
		if !r.Time.IsZero() {
			ns := r.Time.UnixNano()
			at[i] = &ns
		}
		if r.Attachment != ([32]byte{}) {
			attached[i] = r.Attachment[:]
		}
		if r.Content != nil {
			content.appendEntry(r.Position, &r.Content.Salt, r.Content.Extensions, r.Content.Data)
		}
		if r.Attached == nil {
			continue
		}
		attachments.appendEntry(r.Position, &r.Attached.Salt, eventlog.CanonicalRefs(r.Attached.Refs), r.Attached.Data)
		for _, item := range r.Attached.Refs {
			items = append(items, item)
			shownBy = append(shownBy, r.Position)
		}
	}
	t.lead.Queue(putEntries, tenant, positions, text[0], text[1], text[2], text[3], text[4], at, recorded, commitments, attached)
	if len(content.positions) > 0 {
		t.lead.Queue(putContent, tenant, content.positions, content.salt, content.head, content.data)
	}
	if len(attachments.positions) > 0 {
		t.lead.Queue(putAttachments, tenant, attachments.positions, attachments.salt, attachments.head, attachments.data)
	}
	if len(items) > 0 {
		t.lead.Queue(putRefs, tenant, items, shownBy)
	}
}

func notNil(b []byte) []byte {
	if b == nil {
		return []byte{}
	}
	return b
}

// Checkpoint locks the name even when there is no row to lock.
func (t *tx) Checkpoint(name string) (eventlog.Checkpoint, error) {
	c := eventlog.Checkpoint{Name: name}
	t.lead.Queue("SELECT pg_advisory_xact_lock(hashtextextended(current_schema() || '/' || $1, 1))", name)
	var hash, sum []byte
	var seq int64
	err := t.queryRows("read checkpoint", "SELECT fence, epoch, seq, hash, sum FROM checkpoints WHERE name = $1", []any{name}, func(rows pgx.Rows) error {
		return rows.Scan(&c.Fence, &c.Epoch, &seq, &hash, &sum)
	})
	if err != nil || sum == nil {
		return c, err
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
	t.lead.Queue(putCheckpoint, c.Name, c.Fence, c.Epoch, int64(c.StreamSeq), c.Hash[:], sum[:])
	return nil
}

func (t *tx) Erase(tenant string, content, attachments []int64) (contents, attached int, err error) {
	h := t.heads[tenant]
	if h == nil {
		return 0, 0, errors.New("erase: the tenant's head is not locked")
	}
	both := slices.Concat(content, attachments)
	if _, err := t.deletePositions("refs", h.id, both); err != nil {
		return 0, 0, err
	}
	if attached, err = t.deletePositions("attachments", h.id, both); err != nil {
		return 0, 0, err
	}
	contents, err = t.deletePositions("content", h.id, content)
	return contents, attached, err
}

// deletePositions removes the rows of positions and returns how many there were.
func (t *tx) deletePositions(table string, tenant int32, positions []int64) (int, error) {
	if len(positions) == 0 {
		return 0, nil
	}
	if err := t.flushLead(); err != nil {
		return 0, err
	}
	tag, err := t.conn.Exec(t.ctx, "DELETE FROM "+table+" WHERE tenant = $1 AND position = ANY ($2)", tenant, positions)
	return int(tag.RowsAffected()), storeError("erase", err)
}
