package sqlite

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"sort"
	"time"

	"satchel/pipeline/store/internal/columns"
	"satchel/pipeline/store/items"
	"satchel/schemas"
)

// How often an item was accessed is not written to its row: a pack is an access to all that it
// shows, and would write a page of the file for each. A batch appends what it adds to the table
// of accesses, as one row. The directory has the sums, and completes what is read of an item.
// When the appended rows have grown long, they are replaced by sums: the first row of sums
// counts for all that was there before.

// accessVersion is the first byte of a row's entries.
const accessVersion = 1

const (
	sumFrom = 1 << 20  // bytes of appended rows, at least, that are replaced by sums
	sumRow  = 64 << 10 // bytes of a row of sums, about
)

// zeroTime is time.Time{} in Unix seconds.
const zeroTime = -62_135_596_800

// usage is how often and when an item was accessed.
type usage struct {
	first int64 // Metadata.First, which ascends with the ordinal
	sec   int64 // of the last access
	nano  uint32
	count uint32
}

func newUsage(h *items.Metadata) usage {
	u := usage{first: h.First, sec: zeroTime}
	u.addUsage(h.AccessCount, h.LastAccess)
	return u
}

func (u *usage) addUsage(count int64, last time.Time) {
	u.count += uint32(min(count, int64(math.MaxUint32-u.count)))
	if last.After(u.findLastUse()) {
		u.sec, u.nano = last.Unix(), uint32(last.Nanosecond())
	}
}

func (u *usage) findLastUse() time.Time { return time.Unix(u.sec, int64(u.nano)).UTC() }

// completeRecord sets what the rows of an item do not say.
func (d *directory) completeRecord(r *schemas.Record) {
	if ord, ok := d.ids.Lookup(r.ID); ok && d.usage[ord].first == r.First {
		r.AccessCount, r.LastAccess = int64(d.usage[ord].count), d.usage[ord].findLastUse()
	}
}

// findFirstPositions returns Metadata.First of those of ids that are there.
func (d *directory) findFirstPositions(ids []string) map[string]int64 {
	out := make(map[string]int64, len(ids))
	for _, id := range ids {
		if ord, ok := d.ids.Lookup(id); ok {
			out[id] = d.usage[ord].first
		}
	}
	return out
}

// makeSumRows returns the rows of sums that are to replace all others, none when it is too early.
func (d *directory) makeSumRows() [][]byte {
	if d.appended < max(sumFrom, d.summed) {
		return nil
	}
	var rows [][]byte
	var row entries
	for ord := range d.usage {
		if u := &d.usage[ord]; u.count > 0 && d.flags[ord]&flagLive != 0 {
			row.appendAccess(u.first, int64(u.count), u.findLastUse())
			if len(row.raw) >= sumRow {
				rows = append(rows, row.raw)
				row = entries{}
			}
		}
	}
	if row.raw == nil { // it replaces all the same
		row.raw = []byte{accessVersion}
	}
	return append(rows, row.raw)
}

// entries encodes the accesses of items, First ascending.
type entries struct {
	raw  []byte
	last int64
}

func (e *entries) appendAccess(first, count int64, last time.Time) {
	if e.raw == nil {
		e.raw = []byte{accessVersion}
	}
	e.raw = binary.AppendUvarint(e.raw, uint64(first-e.last))
	e.raw = columns.AppendTime(binary.AppendUvarint(e.raw, uint64(count)), last)
	e.last = first
}

// eachAccess calls yield for what entries encoded.
func eachAccess(raw string, yield func(first, count int64, last time.Time)) error {
	c := columns.NewCursor(raw)
	c.Version(accessVersion)
	first := int64(0)
	for rest, ok := c.Rest(); ok && rest != ""; rest, ok = c.Rest() {
		first += int64(c.Uvarint())
		count := int64(c.Uvarint())
		last := c.Time()
		if _, ok := c.Rest(); ok {
			yield(first, count, last)
		}
	}
	if !c.Done() {
		return fmt.Errorf("decode accesses: %w", items.ErrCorrupt)
	}
	return nil
}

// addAccesses brings a row of accesses into the directory. What is not there any more is passed
// over.
func (d *directory) addAccesses(sum bool, raw string) error {
	if sum {
		d.summed += len(raw)
	} else {
		d.appended += len(raw)
	}
	return eachAccess(raw, func(first, count int64, last time.Time) {
		ord := sort.Search(len(d.usage), func(i int) bool { return d.usage[i].first >= first })
		if ord == len(d.usage) || d.usage[ord].first != first {
			return
		}
		u := &d.usage[ord]
		if sum {
			u.count = 0
			u.sec = zeroTime
			u.nano = 0
		}
		u.addUsage(count, last)
	})
}

// accessRows is what a batch writes to the table of accesses.
type accessRows struct {
	sums  [][]byte // replace what is there
	added []byte   // is appended
}

func (a *accessRows) writeAccesses(ctx context.Context, tx *Tx, db *statements) error {
	low, high := KeyRange(tx.Num)
	if len(a.sums) > 0 {
		if _, err := tx.ExecContext(ctx, "DELETE FROM accesses WHERE key BETWEEN ? AND ?", low, high); err != nil {
			return fmt.Errorf("remove accesses: %w", err)
		}
	}
	for i, raw := range slices.Concat(a.sums, [][]byte{a.added}) {
		if raw == nil {
			continue
		}
		if _, err := tx.Stmt(db.addAccesses).ExecContext(ctx, low, i < len(a.sums), raw, low, high); err != nil {
			return fmt.Errorf("write accesses: %w", err)
		}
	}
	return nil
}

// updateDirectory brings written rows into the directory, and tells b how items stand.
func (a *accessRows) updateDirectory(d *directory, uses []items.Use, apart map[string]int64, b *items.Batch) {
	if len(a.sums) > 0 {
		d.appended = 0
		d.summed = 0
		for _, raw := range a.sums {
			d.summed += len(raw)
		}
	}
	d.appended += len(a.added)
	for _, use := range uses {
		ord, ok := d.ids.Lookup(use.ID)
		if !ok || d.usage[ord].first != use.First {
			continue
		}
		u := &d.usage[ord]
		u.addUsage(use.Count, use.Last)
		if _, ok := apart[use.ID]; ok {
			b.Stands(use.ID, int64(u.count), u.findLastUse())
		}
	}
}
