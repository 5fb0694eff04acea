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
// is then read from the attachment itself. An index by item would take a page for every ref.

const (
	markSize    = 4
	insertShown = `INSERT INTO shown (entry, marks) VALUES (?, ?)`
	removeShown = `DELETE FROM shown WHERE entry = ?`
)

func (c *compressor) markItem(item string) uint32 { return crc32.Checksum([]byte(item), c.table) }

func (t *tx) putShown(entry int64, items []string) error {
	if len(items) == 0 {
		return nil
	}
	row := make([]byte, 0, markSize*len(items))
	for _, item := range items {
		row = binary.LittleEndian.AppendUint32(row, t.db.packer.markItem(item))
	}
	return storeError("write refs", t.conn.executeStatement(t.ctx, insertShown, entry, row))
}

func (t *tx) eraseShown(entry int64) error {
	t.last = attachmentRefs{}
	return storeError("erase refs", t.conn.executeStatement(t.ctx, removeShown, entry))
}

// findShowingEntries returns the entries of a tenant, or the one of a position, whose attachment
// refers to any of the items, sorted. Of a tenant's it also returns one that has the mark of
// an item and whose refs are not those it has the marks of: it may show the item.
func (r *reader) findShowingEntries(tenant int64, items []string, position int64) ([]int64, error) {
	likely := []int64{tenant<<tenantShift | position}
	if position == 0 {
		var err error
		if likely, err = r.findMarkedEntries(items, likely[0], likely[0]|maxPosition); err != nil {
			return nil, storeError("read refs", err)
		}
	}
	var found []int64
	for _, entry := range likely {
		shown, err := r.refsOf(entry)
		if err != nil {
			return nil, err
		}
		damaged := position == 0 && !shown.whole
		if damaged || slices.ContainsFunc(items, func(item string) bool { return shown.refs[item] }) {
			found = append(found, entry)
		}
	}
	slices.Sort(found)
	return found, nil
}

// findMarkedEntries returns the entries that have the mark of any of the items.
func (r *reader) findMarkedEntries(items []string, first, last int64) ([]int64, error) {
	wanted := make(map[uint32]bool, len(items))
	for _, item := range items {
		wanted[r.db.packer.markItem(item)] = true
	}
	var found []int64
	err := r.visitRows("SELECT entry, marks FROM shown WHERE entry BETWEEN ? AND ?", []any{first, last}, func(rows *sql.Rows) error {
		var entry int64
		var row sql.RawBytes
		if err := rows.Scan(&entry, &row); err != nil {
			return err
		}
		for ; len(row) >= markSize; row = row[markSize:] {
			if wanted[binary.LittleEndian.Uint32(row)] {
				found = append(found, entry)
				break
			}
		}
		return nil
	})
	return found, err
}

// attachmentRefs are the refs of an entry's attachment that have their mark.
type attachmentRefs struct {
	entry int64
	refs  map[string]bool
	whole bool // the marks are those of the refs
}

// refsOf returns the refs of an entry's attachment; none when it has no marks.
func (r *reader) refsOf(entry int64) (attachmentRefs, error) {
	if r.last.entry == entry {
		return r.last, nil
	}
	const query = "SELECT s.marks, c.head FROM shown s JOIN entries e ON e.id = s.entry JOIN content c ON c.id = e.attached WHERE s.entry = ?"
	var marks, head []byte
	err := r.scanSingleRow(query, []any{entry}, &marks, &head)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return attachmentRefs{}, storeError("read refs", err)
	}
	r.last = attachmentRefs{entry: entry}
	if !nonZero(head) { // no marks, or damaged: an erasure takes them, too
		return r.last, nil
	}
	all, err := eventlog.ParseRefs(head)
	if err != nil {
		return attachmentRefs{}, eventlog.Corrupt("the refs of the attachment of position %d are not in canonical form", entry&maxPosition)
	}
	r.last.refs = make(map[string]bool, len(all))
	for i, ref := range all {
		if at := markSize * i; len(marks) >= at+markSize && binary.LittleEndian.Uint32(marks[at:]) == r.db.packer.markItem(ref) {
			r.last.refs[ref] = true
		}
	}
	r.last.whole = len(r.last.refs) == len(all) && len(marks) == markSize*len(all)
	return r.last, nil
}
