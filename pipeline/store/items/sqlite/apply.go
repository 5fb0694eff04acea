package sqlite

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"satchel/pipeline/store/internal/sqlitefile"
	"satchel/pipeline/store/items"
)

// insertRows is how many rows one statement inserts.
const insertRows = 50

// entry is a row that a batch writes.
type entry struct {
	id string
	*items.Row
}

// Apply implements items.Rows.
func (db *DB) Apply(ctx context.Context, tenant string, b *items.Batch) error {
	return db.file.Named(db.dirs.Commit(tenant, func() (func(*directory), error) {
		return db.commit(ctx, tenant, b)
	}))
}

// commit writes a batch and returns what brings it into the directory, nil when there was
// nothing to do.
func (db *DB) commit(ctx context.Context, tenant string, b *items.Batch) (func(*directory), error) {
	var firsts map[string]int64
	var known int64
	var rows accessRows
	changed, accessed := b.Parts()
	if len(accessed) > 0 {
		err := db.dirs.View(ctx, tenant, func(d *directory) { firsts, rows.sums, known = d.firsts(accessed), d.sums(), d.upTo })
		if err != nil {
			return nil, err
		}
	}
	var written []entry
	var uses []items.Use
	folded, err := db.file.Fold(ctx, tenant, b.UpTo, func(tx *sqlitefile.Tx) error {
		if known != tx.Checkpoint { // a commit that failed, and was made: the sums lack it
			rows.sums = nil
		}
		heads, err := db.heads(ctx, tx, changed)
		if err != nil {
			return err
		}
		uses = b.FoldApart(tx.Checkpoint, heads, firsts)
		w := writer{ctx: ctx, tx: tx, db: &db.stmts}
		w.sort(heads)
		written = w.entries
		if err := w.write(); err != nil {
			return err
		}
		var added entries
		for _, u := range uses {
			added.add(u.First, u.Count, u.Last)
		}
		rows.added = added.raw
		return rows.write(ctx, tx, &db.stmts)
	})
	if err != nil || !folded {
		return nil, err
	}
	return func(d *directory) {
		if d.upTo >= b.UpTo {
			return
		}
		d.take(written)
		rows.update(d, uses, firsts, b)
		d.upTo = b.UpTo
	}, nil
}

func (db *DB) heads(ctx context.Context, tx *sqlitefile.Tx, ids []string) (map[string]*items.Row, error) {
	found := make(map[string]*items.Row, len(ids))
	if len(ids) == 0 {
		return found, nil
	}
	list, err := json.Marshal(ids)
	if err != nil {
		return nil, fmt.Errorf("encode ids: %w", err)
	}
	rows, err := tx.Stmt(db.stmts.heads).QueryContext(ctx, string(list), tx.Num)
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
		if r.Head, err = items.DecodeHead(head); err != nil {
			return nil, fmt.Errorf("item %q: %w", id, err)
		}
		found[id] = r
	}
	return found, rows.Err()
}

// writer writes the rows of one batch.
type writer struct {
	ctx     context.Context
	tx      *sqlitefile.Tx
	db      *statements
	remove  []int64
	entries []entry // changed or erased, by First
	inserts []entry
	next    int64 // the key used last
	buf     []byte
}

// sort picks what changed, in the order in which keys have to ascend.
func (w *writer) sort(rows map[string]*items.Row) {
	w.entries = make([]entry, 0, len(rows))
	for id, r := range rows {
		if r.Changed || r.Erased {
			w.entries = append(w.entries, entry{id, r})
		}
	}
	slices.SortFunc(w.entries, func(a, b entry) int {
		return cmp.Or(cmp.Compare(a.Head.First, b.Head.First), strings.Compare(a.id, b.id))
	})
}

func (w *writer) write() error {
	for _, e := range w.entries {
		if e.Old != 0 {
			w.remove = append(w.remove, e.Old)
		}
		firstVersion := e.Put != nil && e.Head.First == e.Head.Position
		switch {
		case e.Erased:
			w.remove = append(w.remove, e.Key)
		case e.Key == 0:
			w.inserts = append(w.inserts, e)
		case firstVersion: // only links were there: the row moves to the end
			w.remove = append(w.remove, e.Key)
			w.inserts = append(w.inserts, e)
		default:
			if err := w.update(e); err != nil {
				return fmt.Errorf("update item %q: %w", e.id, err)
			}
		}
	}
	if len(w.remove) > 0 {
		keys, err := json.Marshal(w.remove)
		if err != nil {
			return fmt.Errorf("encode keys: %w", err)
		}
		if _, err := w.tx.ExecContext(w.ctx, "DELETE FROM items WHERE key IN (SELECT value FROM json_each(?))", string(keys)); err != nil {
			return fmt.Errorf("remove items: %w", err)
		}
	}
	return w.insert()
}

func (w *writer) update(e entry) error {
	w.buf = e.Head.Append(w.buf[:0])
	if e.Put == nil {
		_, err := w.tx.Stmt(w.db.updateHead).ExecContext(w.ctx, w.buf, e.Key)
		return err
	}
	n := len(w.buf)
	w.buf = items.AppendBody(w.buf, e.Put)
	_, err := w.tx.Stmt(w.db.setBody).ExecContext(w.ctx, e.Put.Tokens, w.buf[:n:n], w.buf[n:], e.Key)
	return err
}

func (w *writer) insert() error {
	if len(w.inserts) == 0 {
		return nil
	}
	low, high := sqlitefile.KeyRange(w.tx.Num)
	err := w.tx.Stmt(w.db.lastKey).QueryRowContext(w.ctx, low, low, high).Scan(&w.next)
	if err != nil {
		return fmt.Errorf("read last key: %w", err)
	}
	for len(w.inserts) >= insertRows {
		if err := w.insertSome(w.inserts[:insertRows]); err != nil {
			return err
		}
		w.inserts = w.inserts[insertRows:]
	}
	if len(w.inserts) > 0 {
		return w.insertSome(w.inserts)
	}
	return nil
}

func (w *writer) insertSome(some []entry) error {
	args := make([]any, 0, 6*len(some))
	ends := make([]int, 0, 2*len(some))
	w.buf = w.buf[:0]
	for _, e := range some {
		w.buf = e.Head.Append(w.buf)
		ends = append(ends, len(w.buf))
		if e.Put != nil {
			w.buf = items.AppendBody(w.buf, e.Put)
		}
		ends = append(ends, len(w.buf))
	}
	start := 0
	for i, e := range some {
		tokens := -1
		if e.Put != nil {
			tokens = max(e.Put.Tokens, 0)
		}
		mid, end := ends[2*i], ends[2*i+1]
		w.next++
		args = append(args, w.next, w.tx.Num, e.id, tokens, w.buf[start:mid:mid], w.buf[mid:end:end])
		start = end
	}
	var err error
	if len(some) == insertRows {
		_, err = w.tx.Stmt(w.db.insert).ExecContext(w.ctx, args...)
	} else {
		_, err = w.tx.ExecContext(w.ctx, insertQuery(len(some)), args...)
	}
	if err != nil {
		return fmt.Errorf("insert items: %w", err)
	}
	return nil
}

// SetTokens implements items.Rows.
func (db *DB) SetTokens(ctx context.Context, tenant string, counts map[string]int) error {
	err := db.file.Update(ctx, tenant, func(tx *sqlitefile.Tx) error {
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

// Reset implements items.Rows.
func (db *DB) Reset(ctx context.Context, tenant string) error {
	err := db.dirs.Replace(tenant, func() error { return db.file.Clear(ctx, tenant, "items", "accesses") })
	if err != nil {
		return fmt.Errorf("reset items: %w", db.file.Named(err))
	}
	return nil
}
