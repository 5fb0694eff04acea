package sqlite

import (
	"database/sql"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"slices"

	"satchel/pipeline/store/eventlog"
)

// Which attachments refer to an item is asked when it is erased, and written with every
// answer. So an attachment has one row of marks, the CRC-32C of each ref in four bytes,
// which a question reads through from the tenant's first to its last; what the refs are
// is then read from the attachment itself. An index by item took a page for every ref.
// Files of version 1 have that index, the table refs, for the entries they had.

const (
	markSize    = 4
	insertShown = `INSERT INTO shown (entry, marks) VALUES (?, ?)`
	removeShown = `DELETE FROM shown WHERE entry = ?`
	removeRefs  = `DELETE FROM refs WHERE item = ? AND entry = ?`
	askItems    = 64 // of the old index, by one statement
)

func (c *compressor) mark(item string) uint32 { return crc32.Checksum([]byte(item), c.table) }

func (t *tx) putShown(entry int64, items []string) error {
	if len(items) == 0 {
		return nil
	}
	row := make([]byte, 0, markSize*len(items))
	for _, item := range items {
		row = binary.LittleEndian.AppendUint32(row, t.db.packer.mark(item))
	}
	return wrap("write refs", t.conn.exec(t.ctx, insertShown, entry, row))
}

func (t *tx) eraseShown(entry int64, items []string) error {
	if err := t.conn.exec(t.ctx, removeShown, entry); err != nil {
		return wrap("erase refs", err)
	}
	for _, item := range items {
		if err := t.conn.exec(t.ctx, removeRefs, item, entry); err != nil {
			return wrap("erase refs", err)
		}
	}
	return nil
}

// showing returns the entries from first to last whose attachment refers to any of the
// items, sorted.
func (r *reader) showing(items []string, first, last int64) ([]int64, error) {
	found, err := r.indexed(items, first, last)
	if err != nil {
		return nil, wrap("read refs", err)
	}
	wanted, marked := make(map[string]bool, len(items)), make(map[uint32]bool, len(items))
	for _, item := range items {
		wanted[item], marked[r.db.packer.mark(item)] = true, true
	}
	var likely []int64
	err = r.each("SELECT entry, marks FROM shown WHERE entry BETWEEN ? AND ?", []any{first, last}, func(rows *sql.Rows) error {
		var entry int64
		var row sql.RawBytes
		if err := rows.Scan(&entry, &row); err != nil {
			return err
		}
		for ; len(row) >= markSize; row = row[markSize:] {
			if marked[binary.LittleEndian.Uint32(row)] {
				likely = append(likely, entry)
				break
			}
		}
		return nil
	})
	if err != nil {
		return nil, wrap("read refs", err)
	}
	for _, entry := range likely {
		shows, err := r.shows(entry, wanted)
		if err != nil {
			return nil, err
		}
		if shows {
			found = append(found, entry)
		}
	}
	slices.Sort(found)
	return slices.Compact(found), nil
}

// indexed asks the index of version 1.
func (r *reader) indexed(items []string, first, last int64) ([]int64, error) {
	var found []int64
	for part := range slices.Chunk(items, askItems) {
		args := append(boxed(part), make([]any, askItems-len(part))...) // null equals nothing
		query := "SELECT entry FROM refs WHERE item IN (" + marks(askItems) + ") AND entry BETWEEN ? AND ?"
		err := r.each(query, append(args, first, last), func(rows *sql.Rows) error {
			var entry int64
			err := rows.Scan(&entry)
			found = append(found, entry)
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return found, nil
}

// shows reports whether the attachment of an entry refers to any of the items.
func (r *reader) shows(entry int64, items map[string]bool) (bool, error) {
	var head []byte
	err := r.scan("SELECT c.head FROM entries e JOIN content c ON c.id = e.attached WHERE e.id = ?", []any{entry}, &head)
	if errors.Is(err, sql.ErrNoRows) || (err == nil && !nonZero(head)) {
		return false, nil
	}
	if err != nil {
		return false, wrap("read refs", err)
	}
	refs, err := eventlog.ParseRefs(head)
	if err != nil {
		return false, corrupt("the refs of the attachment of position %d are not in canonical form", entry&maxPosition)
	}
	return slices.ContainsFunc(refs, func(ref string) bool { return items[ref] }), nil
}
