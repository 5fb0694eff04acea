package eventlog

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"golang.org/x/mod/sumdb/tlog"

	"satchel/pipeline/scope"
	"satchel/schemas"
)

// verifyStep is how many rows are verified in one snapshot.
const verifyStep = 1000

// Verify recomputes a tenant's log from its rows: leaves, commitments, stored tree
// hashes, dense positions, head, attachments with their refs, and that whatever content
// is missing was erased by a later memory.erased entry that names its position or item, and
// that the database's indexes lead to every row, no two of which have one source and id.
// It then holds the log against the kept checkpoint and known, if there are such, and against the
// kept erasures. The first bad position is returned as a *VerifyError. Appending may go on
// meanwhile.
func (l *Log) Verify(ctx context.Context, s scope.Scope, known *Head, progress Progress) error {
	if err := s.Check(); err != nil {
		return err
	}
	l.driver.DropCaches()
	l.recent.clearEntries()
	if _, err := l.Tenants(ctx); err != nil { // a tenant that is not found has an empty log
		return err
	}
	return l.verifyLog(ctx, s.Tenant(), known, progress)
}

// CheckDatabase checks the database's own structure, which the logs of all tenants share.
// It reads all of it, and writers may wait meanwhile.
func (l *Log) CheckDatabase(ctx context.Context) error {
	l.driver.DropCaches()
	l.recent.clearEntries()
	return l.driver.Check(ctx)
}

// VerifyAll is CheckDatabase, and then verifies every tenant that has a log or a kept
// checkpoint.
func (l *Log) VerifyAll(ctx context.Context, progress Progress) error {
	if err := l.CheckDatabase(ctx); err != nil {
		return err
	}
	return l.verifyTenants(ctx, progress)
}

// VerifyTenants is VerifyAll without CheckDatabase, so that writers need not wait. It calls progress
// after each step, and goes on when that returns.
func (l *Log) VerifyTenants(ctx context.Context, progress Progress) error {
	l.driver.DropCaches()
	l.recent.clearEntries()
	return l.verifyTenants(ctx, progress)
}

func (l *Log) verifyTenants(ctx context.Context, progress Progress) error {
	tenants, err := l.Tenants(ctx)
	if err != nil {
		return err
	}
	kept, err := l.trustedTenants()
	if err != nil {
		return err
	}
	erased, err := l.ErasureTenants()
	if err != nil {
		return err
	}
	tenants = slices.Concat(tenants, kept, erased)
	slices.Sort(tenants)
	for _, tenant := range slices.Compact(tenants) {
		if err := l.verifyLog(ctx, tenant, nil, progress); err != nil {
			return err
		}
	}
	return nil
}

// verification is one Verify under way.
type verification struct {
	log     *Log
	tenant  string
	head    Head
	known   []Head
	tree    edge
	missing []gap
	buf     []byte
}

// gap is an entry whose content or attachment is not there.
type gap struct {
	position int64
	subject  string
	attached bool   // only the attachment is missing
	data     []byte // of the entry
}

func (l *Log) verifyLog(ctx context.Context, tenant string, known *Head, progress Progress) error {
	v := &verification{log: l, tenant: tenant}
	err := l.driver.View(ctx, func(r Reader) (err error) {
		v.head, err = headOf(r, tenant)
		return err
	})
	if err != nil {
		return err
	}
	if known != nil {
		v.known = append(v.known, *known)
	}
	if l.keep != "" {
		kept, err := l.readTrustedHead(tenant)
		if err != nil {
			return err
		}
		if kept != nil {
			v.known = append(v.known, *kept)
		}
	}
	failure := v.verifyAllRows(ctx, progress)
	if failure != nil && !errors.Is(failure, ErrCorrupt) {
		return failure
	}
	unexplained, err := v.findUnexplainedGap(ctx)
	if err != nil {
		return errors.Join(failure, err)
	}
	var at *VerifyError
	if unexplained != nil && (!errors.As(failure, &at) || unexplained.Position < at.Position) {
		return unexplained
	}
	if failure != nil {
		return failure
	}
	return v.erasuresKept(ctx)
}

// erasuresKept makes sure that the log has every kept erasure.
func (v *verification) erasuresKept(ctx context.Context) error {
	lost, err := v.log.lostErasures(ctx, v.tenant)
	if err != nil || len(lost) == 0 {
		return err
	}
	return v.makeVerifyError(lost[0].Position, fmt.Sprintf("%d kept erasures, the first of this position, are not in the log: it was restored from an older copy", len(lost)))
}

func (v *verification) makeVerifyError(position int64, problem string) error {
	return &VerifyError{v.tenant, position, problem}
}

func (v *verification) verifyAllRows(ctx context.Context, progress Progress) error {
	for v.tree.size < v.head.Size {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := v.log.driver.View(ctx, v.verifyNextRows); err != nil {
			return err
		}
		if progress != nil {
			progress(v.tree.size, v.head.Size)
		}
	}
	if v.tree.size != v.head.Size || v.tree.computeRoot() != v.head.Root {
		return v.makeVerifyError(v.head.Size, "the head's root is not that of the entries")
	}
	for _, known := range v.known {
		if known.Size > v.head.Size {
			return rolledBack(v.head, known)
		}
	}
	return v.log.driver.View(ctx, v.checkEnd)
}

// checkEnd makes sure that nothing is behind the head.
func (v *verification) checkEnd(r Reader) error {
	head, err := headOf(r, v.tenant)
	if err != nil {
		return err
	}
	rows, err := r.Rows(v.tenant, head.Size, 1)
	if err != nil {
		return err
	}
	if len(rows) > 0 {
		return v.makeVerifyError(head.Size+1, "there is a row behind the head")
	}
	return nil
}

// verifyNextRows verifies rows, and then how they are found; of two failures it returns the first.
func (v *verification) verifyNextRows(r Reader) error {
	after := v.tree.size
	limit := int(min(verifyStep, v.head.Size-after))
	failure := v.verifyRows(r, after, limit)
	if failure != nil && !errors.Is(failure, ErrCorrupt) {
		return failure
	}
	lost := checkIndexes(r, v.tenant, after, limit)
	var at, lostAt *VerifyError
	if failure == nil || errors.As(lost, &lostAt) && errors.As(failure, &at) && lostAt.Position < at.Position {
		return lost
	}
	return failure
}

func (v *verification) verifyRows(r Reader, after int64, limit int) error {
	rows, err := r.Rows(v.tenant, after, limit)
	if err != nil {
		return err
	}
	if len(rows) == 0 {
		return v.makeVerifyError(after+1, "the row is missing")
	}
	hashes, first := v.storedHashes(r, after, int64(len(rows)))
	var computed []tlog.Hash
	for i := range rows {
		position := after + 1 + int64(i)
		if rows[i].Position != position {
			return v.makeVerifyError(position, "the row is missing")
		}
		var leaf tlog.Hash
		leaf, v.buf = leafHash(v.buf, v.tenant, &rows[i])
		computed = v.tree.appendLeaf(leaf, computed[:0])
		at := tlog.StoredHashCount(position-1) - first
		if at+int64(len(computed)) > int64(len(hashes)) {
			return v.makeVerifyError(position, "a stored tree hash is missing")
		}
		if problem := compareHashes(computed, hashes[at:]); problem != "" {
			return v.makeVerifyError(position, problem)
		}
		if err := v.verifyRow(r, &rows[i]); err != nil {
			return err
		}
		for _, known := range v.known {
			if known.Size == position && known.Root != v.tree.computeRoot() {
				return makeRewriteError(known)
			}
		}
	}
	return nil
}

func compareHashes(computed, stored []tlog.Hash) string {
	for i := range computed {
		if computed[i] != stored[i] && i == 0 {
			return "the row does not match its leaf hash"
		} else if computed[i] != stored[i] {
			return "a stored tree hash is not that of the entries"
		}
	}
	return ""
}

// storedHashes returns the stored hashes of n leaves after a position, as far as they
// can be read, and the index of the first.
func (v *verification) storedHashes(r Reader, after, n int64) ([]tlog.Hash, int64) {
	first := tlog.StoredHashCount(after)
	end := tlog.StoredHashCount(after + n)
	indexes := make([]int64, 0, end-first)
	for i := first; i < end; i++ {
		indexes = append(indexes, i)
	}
	if hashes, err := r.Hashes(v.tenant, indexes); err == nil {
		return hashes, first
	}
	var hashes []tlog.Hash
	for i := range indexes {
		one, err := r.Hashes(v.tenant, indexes[i:i+1])
		if err != nil {
			break
		}
		hashes = append(hashes, one...)
	}
	return hashes, first
}

// verifyRow verifies content and attachment of a row whose columns are right.
func (v *verification) verifyRow(r Reader, row *Row) error {
	g := gap{position: row.Position, subject: row.Subject}
	if c := row.Content; c == nil {
		v.missing = append(v.missing, g)
	} else if Commit(c.Salt, c.Extensions, c.Data) != row.Commitment {
		return v.makeVerifyError(row.Position, "the content does not match its commitment")
	}
	if row.Attachment == ([32]byte{}) {
		return nil
	}
	a, err := r.Attachment(v.tenant, row.Position)
	switch {
	case err != nil:
		return err
	case a == nil && row.Content == nil:
		return nil
	case a == nil:
		g.attached = true
		g.data = row.Content.Data
		v.missing = append(v.missing, g)
		return nil
	}
	switch sum := sha256.Sum256(a.Data); {
	case commitHashes(a.Salt, sha256.Sum256(CanonicalRefs(a.Refs)), sum) != row.Attachment:
		return v.makeVerifyError(row.Position, "the attachment does not match its commitment")
	case row.Content != nil && !holdsHash(row.Content.Data, sum):
		return v.makeVerifyError(row.Position, "the attachment's SHA-256 is not in the data")
	}
	for _, item := range a.Refs {
		found, err := r.Positions(v.tenant, Query{Items: []string{item}, Position: row.Position})
		if err != nil {
			return err
		}
		if len(found) == 0 {
			return v.makeVerifyError(row.Position, "a reference of the attachment is missing")
		}
	}
	return nil
}

// findUnexplainedGap returns the first gap that no erasure accounts for.
func (v *verification) findUnexplainedGap(ctx context.Context) (*VerifyError, error) {
	if len(v.missing) == 0 {
		return nil, nil
	}
	erasures, err := v.collectErasures(ctx)
	if err != nil {
		return nil, err
	}
	for _, g := range v.missing {
		if !erasures.canExplain(&g) {
			what := "the content"
			if g.attached {
				what = "the attachment"
			}
			return &VerifyError{v.tenant, g.position, what + " is missing and no erasure names it"}, nil
		}
	}
	return nil, nil
}

// erasures is what the memory.erased entries name, with the last entry that does.
type erasures struct {
	positions   map[int64]int64
	attachments map[int64]int64
	items       map[string]int64
}

func (e *erasures) canExplain(g *gap) bool {
	if e.positions[g.position] > g.position {
		return true
	}
	if !g.attached {
		return g.subject != "" && e.items[g.subject] > g.position
	}
	if e.attachments[g.position] > g.position {
		return true
	}
	for item, position := range e.items {
		if position > g.position && bytes.Contains(g.data, []byte(`"`+item+`"`)) {
			return true
		}
	}
	return false
}

func (v *verification) collectErasures(ctx context.Context) (erasures, error) {
	out := erasures{positions: map[int64]int64{}, attachments: map[int64]int64{}, items: map[string]int64{}}
	err := v.log.driver.View(ctx, func(r Reader) error {
		positions, err := r.Positions(v.tenant, Query{Types: []string{schemas.TypeMemoryErased}})
		if err != nil {
			return err
		}
		for _, position := range positions {
			rows, err := r.Rows(v.tenant, position-1, 1)
			if err != nil {
				return err
			}
			if len(rows) == 1 && rows[0].Content != nil {
				if err := out.addErasure(position, rows[0].Content); err != nil {
					return err
				}
			}
		}
		return nil
	})
	return out, err
}

// addErasure takes in an erasure; what is not a MemoryErased names nothing. An erasure without its receipt names
// the attachments that went with it in its extension.
func (e *erasures) addErasure(position int64, c *Content) error {
	var erased schemas.MemoryErased
	if json.Unmarshal(c.Data, &erased) != nil {
		return nil
	}
	for _, item := range erased.Items {
		e.items[item] = position
	}
	extensions, err := ParseExtensions(c.Extensions)
	if err != nil {
		return fmt.Errorf("read erasure at position %d: %w", position, err)
	}
	for _, p := range SplitPositions(extensions[ErasedAttachments]) {
		e.attachments[p] = position
	}
	if erased.Receipt == nil {
		return nil
	}
	for _, p := range slices.Concat(erased.Receipt.Positions, erased.Receipt.Packs) {
		e.positions[p] = position
	}
	return nil
}
