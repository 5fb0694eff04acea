package eventlog

import (
	"context"
	"fmt"
	"slices"

	"golang.org/x/mod/sumdb/tlog"

	"satchel/pipeline/scope"
)

// MaxRead is the most entries one Read returns.
const MaxRead = 10000

// Read returns at most limit entries (0: MaxRead) with positions above after, dense and
// in order; none at the end of the log. Each is checked against its leaf and commitment:
// damage is a *VerifyError and no entries.
func (l *Log) Read(ctx context.Context, s scope.Scope, after int64, limit int) ([]Entry, error) {
	if err := s.Check(); err != nil {
		return nil, err
	}
	if limit <= 0 || limit > MaxRead {
		limit = MaxRead
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if entries, ok := l.recent.readRecentEntries(s.Tenant(), max(after, 0), limit); ok {
		return entries, nil
	}
	return view(ctx, l.driver, func(r Reader) ([]Entry, error) { return readEntries(r, s.Tenant(), max(after, 0), limit) })
}

// Entry returns the entry at position, or ErrNotFound.
func (l *Log) Entry(ctx context.Context, s scope.Scope, position int64) (Entry, error) {
	if err := s.Check(); err != nil {
		return Entry{}, err
	}
	return view(ctx, l.driver, func(r Reader) (Entry, error) { return entryAt(r, s.Tenant(), position) })
}

// Content returns what opens the commitment of the entry at position: salt, canonical
// extensions and data. ErrNotFound: no such position; ErrErased: it was erased. Whoever
// has the salt can prove the content to others even after it was erased.
func (l *Log) Content(ctx context.Context, s scope.Scope, position int64) (Content, error) {
	if err := s.Check(); err != nil {
		return Content{}, err
	}
	var c Content
	err := l.driver.View(ctx, func(r Reader) error {
		e, err := entryAt(r, s.Tenant(), position)
		if err != nil {
			return err
		}
		rows, err := r.Rows(s.Tenant(), position-1, 1)
		if err != nil {
			return err
		}
		if e.Erased || len(rows) != 1 || rows[0].Content == nil {
			return fmt.Errorf("read content at position %d: %w", position, ErrErased)
		}
		c = *rows[0].Content
		return nil
	})
	return c, err
}

// Find returns the entry of the event (source, id), or ErrNotFound.
func (l *Log) Find(ctx context.Context, s scope.Scope, source, id string) (Entry, error) {
	if err := s.Check(); err != nil {
		return Entry{}, err
	}
	return l.findEntry(ctx, s.Tenant(), source, id)
}

func (l *Log) findEntry(ctx context.Context, tenant, source, id string) (Entry, error) {
	if source == "" || id == "" {
		return Entry{}, fmt.Errorf("find event %q: %w", id, ErrNotFound)
	}
	if err := l.Damaged(tenant); err != nil {
		return Entry{}, fmt.Errorf("find event %q: %w", id, err)
	}
	var e Entry
	err := l.driver.View(ctx, func(r Reader) error {
		positions, err := r.Positions(tenant, Query{Key: Key{source, id}})
		if err != nil {
			return err
		}
		if len(positions) == 0 {
			return fmt.Errorf("find event %q: %w", id, ErrNotFound)
		}
		if held, ok := l.recent.readRecentEntries(tenant, positions[0]-1, 1); ok {
			e = held[0]
		} else {
			e, err = entryAt(r, tenant, positions[0])
		}
		if err == nil && (e.Source != source || e.ID != id) {
			err = &VerifyError{tenant, positions[0], "an index leads to the row by another source and id"}
		}
		return err
	})
	return e, err
}

// BySubject returns the entries about subject (an item's id, a request's id), in order;
// with types only those of one of them.
func (l *Log) BySubject(ctx context.Context, s scope.Scope, subject string, types ...string) ([]Entry, error) {
	return l.BySubjectAfter(ctx, s, subject, 0, types...)
}

// BySubjectAfter is BySubject for entries with positions above after.
func (l *Log) BySubjectAfter(ctx context.Context, s scope.Scope, subject string, after int64, types ...string) ([]Entry, error) {
	if err := s.Check(); err != nil || subject == "" {
		return nil, err
	}
	if err := l.Damaged(s.Tenant()); err != nil {
		return nil, fmt.Errorf("find entries about %q: %w", subject, err)
	}
	var entries []Entry
	err := l.driver.View(ctx, func(r Reader) error {
		positions, err := r.Positions(s.Tenant(), Query{Subject: subject, Types: types, After: after})
		if err != nil {
			return err
		}
		entries = make([]Entry, len(positions))
		for i, position := range positions {
			if entries[i], err = entryAt(r, s.Tenant(), position); err != nil {
				return err
			}
			if entries[i].Subject != subject {
				return &VerifyError{s.Tenant(), position, "an index leads to the row by another subject"}
			}
		}
		return nil
	})
	return entries, err
}

// Latest returns the position of the last entry about each of subjects, in their order; 0
// for a subject that no entry is about.
func (l *Log) Latest(ctx context.Context, s scope.Scope, subjects []string) ([]int64, error) {
	if err := s.Check(); err != nil || len(subjects) == 0 {
		return nil, err
	}
	if err := l.Damaged(s.Tenant()); err != nil {
		return nil, fmt.Errorf("find the last entries about %d subjects: %w", len(subjects), err)
	}
	var latest []int64
	read := func(r Reader) (err error) {
		latest, err = r.Latest(s.Tenant(), subjects)
		return err
	}
	var err error
	if len(subjects) > 32 { // who writes about them next needs the same pages, in the writer's cache
		err = l.driver.Update(ctx, nil, func(tx Tx) error { return read(tx) })
	} else {
		err = l.driver.View(ctx, read)
	}
	if err == nil && len(latest) != len(subjects) {
		err = fmt.Errorf("find the last entries about %d subjects: %w: the driver answered for %d", len(subjects), ErrCorrupt, len(latest))
	}
	return latest, err
}

// Referring returns the positions, in order, whose attachment shows any of the items.
func (l *Log) Referring(ctx context.Context, s scope.Scope, items []string) ([]int64, error) {
	if len(items) == 0 {
		return nil, nil
	}
	var found []int64
	for part := range slices.Chunk(items, 10_000) {
		positions, err := l.listPositions(ctx, s, Query{Items: part})
		if err != nil {
			return nil, err
		}
		found = append(found, positions...)
	}
	slices.Sort(found)
	return slices.Compact(found), nil
}

func (l *Log) listPositions(ctx context.Context, s scope.Scope, q Query) ([]int64, error) {
	if err := s.Check(); err != nil {
		return nil, err
	}
	if err := l.Damaged(s.Tenant()); err != nil {
		return nil, err
	}
	return view(ctx, l.driver, func(r Reader) ([]int64, error) { return r.Positions(s.Tenant(), q) })
}

// Attachment returns the bytes attached to position, checked against the commitment in
// the leaf. ErrNotFound: no such position, or nothing attached; ErrErased: it was erased.
func (l *Log) Attachment(ctx context.Context, s scope.Scope, position int64) ([]byte, error) {
	if err := s.Check(); err != nil {
		return nil, err
	}
	var data []byte
	err := l.driver.View(ctx, func(r Reader) error {
		e, err := entryAt(r, s.Tenant(), position)
		if err != nil {
			return err
		}
		if !e.Attached {
			return fmt.Errorf("read attachment at position %d: %w", position, ErrNotFound)
		}
		a, err := r.Attachment(s.Tenant(), position)
		if err != nil {
			return err
		}
		if a == nil {
			return fmt.Errorf("read attachment at position %d: %w", position, ErrErased)
		}
		if Commit(a.Salt, CanonicalRefs(a.Refs), a.Data) != e.Attachment {
			return &VerifyError{s.Tenant(), position, "the attachment does not match its commitment"}
		}
		data = a.Data
		return nil
	})
	return data, err
}

func entryAt(r Reader, tenant string, position int64) (Entry, error) {
	if position > 0 {
		entries, err := readEntries(r, tenant, position-1, 1)
		if err != nil {
			return Entry{}, err
		}
		if len(entries) == 1 {
			return entries[0], nil
		}
	}
	return Entry{}, fmt.Errorf("read position %d: %w", position, ErrNotFound)
}

// readEntries reads rows and turns them into entries, checking each.
func readEntries(r Reader, tenant string, after int64, limit int) ([]Entry, error) {
	rows, err := r.Rows(tenant, after, limit)
	if err != nil || len(rows) == 0 {
		return nil, err
	}
	leaves, err := leavesOf(r, tenant, rows, after)
	if err != nil {
		return nil, err
	}
	entries := make([]Entry, len(rows))
	var buf []byte
	for i := range rows {
		var problem string
		problem, buf = checkRow(buf, tenant, &rows[i], leaves[i])
		if problem != "" {
			return nil, &VerifyError{tenant, after + 1 + int64(i), problem}
		}
		if err := fillEntry(&entries[i], tenant, &rows[i], leaves[i]); err != nil {
			return nil, &VerifyError{tenant, rows[i].Position, "the extensions are not in canonical form"}
		}
	}
	return entries, nil
}

// leavesOf returns the stored leaf of each row, which must be dense from after.
func leavesOf(r Reader, tenant string, rows []Row, after int64) ([]tlog.Hash, error) {
	for i := range rows {
		if want := after + 1 + int64(i); rows[i].Position != want {
			return nil, &VerifyError{tenant, want, "the row is missing"}
		}
	}
	return r.Hashes(tenant, leafIndexes(after+1, len(rows)))
}

// checkRow recomputes leaf and commitment; "" when both hold.
func checkRow(buf []byte, tenant string, row *Row, leaf tlog.Hash) (string, []byte) {
	got, buf := leafHash(buf, tenant, row)
	if got != leaf {
		return "the row does not match its leaf hash", buf
	}
	if c := row.Content; c != nil && Commit(c.Salt, c.Extensions, c.Data) != row.Commitment {
		return "the content does not match its commitment", buf
	}
	return "", buf
}

func fillEntry(e *Entry, tenant string, row *Row, leaf tlog.Hash) error {
	*e = Entry{
		Tenant: tenant, Position: row.Position, Agent: row.Agent, Type: row.Type, Source: row.Source, ID: row.ID,
		Subject: row.Subject, Time: row.Time, RecordedAt: row.RecordedAt, Commitment: row.Commitment,
		Attachment: row.Attachment, Leaf: leaf, Erased: row.Content == nil, Attached: row.Attachment != [32]byte{},
	}
	if row.Content == nil {
		return nil
	}
	e.Data = row.Content.Data
	var err error
	e.Extensions, err = ParseExtensions(row.Content.Extensions)
	return err
}

// view returns what fn reads of one snapshot.
func view[V any](ctx context.Context, d Driver, fn func(Reader) (V, error)) (v V, err error) {
	err = d.View(ctx, func(r Reader) (err error) {
		v, err = fn(r)
		return err
	})
	return v, err
}
