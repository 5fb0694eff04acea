package eventlog

import (
	"context"
	"fmt"

	"golang.org/x/mod/sumdb/tlog"

	"satchel/pipeline/scope"
)

// Export hands the entries behind known to each, in order, in parts, with their attachments. known
// is the head that an earlier Export returned; its zero value begins at the first entry. Export
// returns the head it read up to, which is the present one. What was erased comes without content.
//
// Every entry is checked, and all of them against both heads: damage is a *VerifyError, and a log
// that does not continue known is ErrDiffers. Appending and erasing may go on meanwhile.
func (l *Log) Export(ctx context.Context, s scope.Scope, known Head, each func([]Row) error) (Head, error) {
	if err := s.Check(); err != nil {
		return Head{}, err
	}
	var head Head
	var tree edge
	err := l.driver.View(ctx, func(r Reader) (err error) {
		if head, err = headOf(r, s.Tenant()); err != nil || known.Size == 0 {
			return err
		}
		if known.Size > head.Size {
			return fmt.Errorf("%w: %d entries, and the log has %d", ErrDiffers, known.Size, head.Size)
		}
		known.Tenant = s.Tenant()
		if tree, err = readEdge(r, known); err != nil {
			return fmt.Errorf("%w: its %d entries are not the first of the log: %w", ErrDiffers, known.Size, err)
		}
		return nil
	})
	if err == nil {
		err = l.eachRow(ctx, s.Tenant(), known.Size, head.Size, func(rows []Row, leaves []tlog.Hash) error {
			for _, leaf := range leaves {
				tree.appendLeaf(leaf, nil)
			}
			return each(rows)
		})
	}
	if err == nil && tree.computeRoot() != head.Root {
		err = &VerifyError{s.Tenant(), head.Size, "the head's root is not that of the entries"}
	}
	if err != nil {
		return Head{}, fmt.Errorf("export log of tenant %q: %w", s.Tenant(), err)
	}
	return head, nil
}

// ExportRange is Export for the entries above after up to the position to. It checks each entry,
// and no head.
func (l *Log) ExportRange(ctx context.Context, s scope.Scope, after, to int64, each func([]Row) error) error {
	if err := s.Check(); err != nil {
		return err
	}
	err := l.eachRow(ctx, s.Tenant(), after, to, func(rows []Row, _ []tlog.Hash) error { return each(rows) })
	if err != nil {
		return fmt.Errorf("export log of tenant %q: %w", s.Tenant(), err)
	}
	return nil
}

func (l *Log) eachRow(ctx context.Context, tenant string, after, to int64, each func([]Row, []tlog.Hash) error) error {
	var buf []byte
	for after < to {
		if err := ctx.Err(); err != nil {
			return err
		}
		var rows []Row
		var leaves []tlog.Hash
		err := l.driver.View(ctx, func(r Reader) (err error) {
			rows, leaves, buf, err = wholeRows(r, tenant, after, to, buf)
			return err
		})
		if err != nil {
			return err
		}
		if err := each(rows, leaves); err != nil {
			return err
		}
		after += int64(len(rows))
	}
	return nil
}

// Import is a log on its way into a database that has no log of the tenant. It is not safe for
// concurrent use.
type Import struct {
	to     Driver
	tenant string
	tree   edge
	buf    []byte
}

// NewImport returns an Import of a tenant's log into a database. No one else may write to it meanwhile.
func NewImport(to Driver, tenant string) *Import { return &Import{to: to, tenant: tenant} }

// Add appends entries as Export gave them, the first at position 1, byte for byte. It returns a
// *VerifyError for an entry that does not match its commitments.
func (i *Import) Add(ctx context.Context, rows []Row) error {
	leaves := make([]tlog.Hash, len(rows))
	for n := range rows {
		row := &rows[n]
		if want := i.tree.size + 1 + int64(n); row.Position != want {
			return &VerifyError{i.tenant, want, "the row is missing"}
		}
		leaves[n], i.buf = leafHash(i.buf, i.tenant, row)
		problem := ""
		problem, i.buf = checkRow(i.buf, i.tenant, row, leaves[n])
		if problem == "" {
			problem = checkAttached(row)
		}
		if problem != "" {
			return &VerifyError{i.tenant, row.Position, problem}
		}
	}
	tree, err := appendRows(ctx, i.to, i.tenant, i.tree, rows, leaves)
	if err != nil {
		return fmt.Errorf("import log of tenant %q after position %d: %w", i.tenant, i.tree.size, err)
	}
	i.tree = tree
	return nil
}

// Head returns the head of what was added. The caller MUST compare it with the head that was exported.
func (i *Import) Head() Head {
	return Head{Tenant: i.tenant, Size: i.tree.size, Root: i.tree.computeRoot()}
}
