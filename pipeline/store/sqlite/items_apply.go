package sqlite

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"

	"satchel/pipeline/store/items"
)

// itemsEntry is a row that a batch writes.
type itemsEntry struct {
	id string
	*items.Row
}

// Apply implements items.Rows.
func (db *Items) Apply(ctx context.Context, tenant string, b *items.Batch) error {
	return db.file.Named(db.tenants.Commit(tenant, func() (func(*directory), error) {
		return db.commitItemsBatch(ctx, tenant, b)
	}))
}

// commitItemsBatch writes a batch and returns what brings it into the directory, nil when there was
// nothing to do.
func (db *Items) commitItemsBatch(ctx context.Context, tenant string, b *items.Batch) (func(*directory), error) {
	var firsts map[string]int64
	var known int64
	var rows accessRows
	changed, accessed := b.Parts()
	if len(accessed) > 0 {
		err := db.tenants.View(ctx, tenant, func(d *directory) { firsts, rows.sums, known = d.findFirstPositions(accessed), d.makeSumRows(), d.upTo })
		if err != nil {
			return nil, err
		}
	}
	var written []itemsEntry
	var uses []items.Use
	folded, err := db.file.Fold(ctx, tenant, b.UpTo, func(tx *Tx) error {
		if known != tx.Checkpoint { // a commit that failed, and was made: the sums lack it
			rows.sums = nil
		}
		heads, err := db.readHeads(tx, changed)
		if err != nil {
			return err
		}
		uses = b.FoldApart(tx.Checkpoint, heads, firsts)
		written = toWrite(heads)
		if err := db.writeItemEntries(ctx, tx, written); err != nil {
			return err
		}
		var added entries
		for _, u := range uses {
			added.appendAccess(u.First, u.Count, u.Last)
		}
		rows.added = added.raw
		return rows.writeAccesses(ctx, tx, &db.stmts)
	})
	if err != nil || !folded {
		return nil, err
	}
	return func(d *directory) {
		if d.upTo >= b.UpTo {
			return
		}
		d.applyItemEntries(written)
		rows.updateDirectory(d, uses, firsts, b)
		d.upTo = b.UpTo
	}, nil
}

func (db *Items) readHeads(tx *Tx, ids []string) (map[string]*items.Row, error) {
	found := make(map[string]*items.Row, len(ids))
	if len(ids) == 0 {
		return found, nil
	}
	rows, err := tx.Rows(db.stmts.heads, ids)
	if err != nil {
		return nil, fmt.Errorf("read heads: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		var id string
		var head sql.RawBytes
		r := &items.Row{}
		if err := rows.Scan(&r.Key, &id, &head); err != nil {
			return nil, fmt.Errorf("read head: %w", err)
		}
		if r.Metadata, err = items.DecodeMetadata(head); err != nil {
			return nil, fmt.Errorf("item %q: %w", id, err)
		}
		found[id] = r
	}
	return found, rows.Err()
}

// toWrite returns the rows that changed or were erased, in the order in which keys have to
// ascend: by First.
func toWrite(rows map[string]*items.Row) []itemsEntry {
	entries := make([]itemsEntry, 0, len(rows))
	for id, r := range rows {
		if r.Changed || r.Erased {
			entries = append(entries, itemsEntry{id, r})
		}
	}
	slices.SortFunc(entries, func(a, b itemsEntry) int {
		return cmp.Or(cmp.Compare(a.Metadata.First, b.Metadata.First), strings.Compare(a.id, b.id))
	})
	return entries
}

func (db *Items) writeItemEntries(ctx context.Context, tx *Tx, entries []itemsEntry) error {
	var remove []int64
	var inserts []itemsEntry
	var buf []byte
	for _, e := range entries {
		if e.Old != 0 {
			remove = append(remove, e.Old)
		}
		firstVersion := e.Put != nil && e.Metadata.First == e.Metadata.Position
		switch {
		case e.Erased:
			remove = append(remove, e.Key)
		case e.Key == 0:
			inserts = append(inserts, e)
		case firstVersion: // only links were there: the row moves to the end
			remove = append(remove, e.Key)
			inserts = append(inserts, e)
		default:
			var err error
			if buf, err = db.updateRow(ctx, tx, buf[:0], e); err != nil {
				return fmt.Errorf("update item %q: %w", e.id, err)
			}
		}
	}
	if err := tx.Remove(db.items, remove); err != nil {
		return err
	}
	return Insert(tx, db.items, inserts, func(args []any, buf []byte, e *itemsEntry) ([]any, []byte) {
		start := len(buf)
		tokens := -1
		buf = e.Metadata.Append(buf)
		middle := len(buf)
		if e.Put != nil {
			buf = items.AppendPayload(buf, e.Put)
			tokens = max(e.Put.Tokens, 0)
		}
		return append(args, e.id, tokens, buf[start:middle:middle], buf[middle:len(buf):len(buf)]), buf
	})
}

// updateRow writes a row that keeps its key, and returns buf for the next.
func (db *Items) updateRow(ctx context.Context, tx *Tx, buf []byte, e itemsEntry) ([]byte, error) {
	buf = e.Metadata.Append(buf)
	if e.Put == nil {
		_, err := tx.Stmt(db.stmts.updateHead).ExecContext(ctx, buf, e.Key)
		return buf, err
	}
	n := len(buf)
	buf = items.AppendPayload(buf, e.Put)
	_, err := tx.Stmt(db.stmts.setBody).ExecContext(ctx, e.Put.Tokens, buf[:n:n], buf[n:], e.Key)
	return buf, err
}

// SetTokens implements items.Rows.
func (db *Items) SetTokens(ctx context.Context, tenant string, counts map[string]int) error {
	err := db.file.Update(ctx, tenant, func(tx *Tx) error {
		stmt := tx.Stmt(db.stmts.setTokens)
		for id, n := range counts {
			if n < 1 {
				continue
			}
			if _, err := stmt.ExecContext(ctx, n, tx.Num, id); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("set token counts: %w", db.file.Named(err))
	}
	return nil
}

// Reset removes a tenant's rows and its checkpoint.
func (db *Items) Reset(ctx context.Context, tenant string) error {
	return db.reset(ctx, tenant, "items", "accesses")
}
