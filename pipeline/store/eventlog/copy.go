package eventlog

import (
	"context"
	"errors"
	"fmt"

	"golang.org/x/mod/sumdb/tlog"
)

// ErrDiffers is returned when the log that is to be continued is not the beginning of the
// one to be copied.
var ErrDiffers = errors.New("the target holds another log")

// copyStep is how many entries one transaction of Copy takes over.
const copyStep = 500

// Copy brings a tenant's log from one database to another, byte for byte: positions,
// hashes, contents with their salts, attachments, and what was erased as erased. Every
// entry is checked on the way, and the copy ends with the original's head. It goes on
// where an earlier Copy was interrupted; a target that holds anything else is ErrDiffers,
// and nothing is written to it. No one may append to either meanwhile.
func Copy(ctx context.Context, from, to Driver, tenant string, progress Progress) (Head, error) {
	c := &copying{from: from, to: to, tenant: tenant}
	if err := c.compareHeads(ctx); err != nil {
		return Head{}, fmt.Errorf("copy log of tenant %q: %w", tenant, err)
	}
	for c.tree.size < c.source.Size {
		if err := ctx.Err(); err != nil {
			return Head{}, err
		}
		if err := c.copyNextEntries(ctx); err != nil {
			return Head{}, fmt.Errorf("copy log of tenant %q after position %d: %w", tenant, c.tree.size, err)
		}
		if progress != nil {
			progress(c.tree.size, c.source.Size)
		}
	}
	target, err := view(ctx, to, func(r Reader) (Head, error) { return headOf(r, tenant) })
	if err == nil && target != c.source {
		err = &VerifyError{tenant, target.Size, "the copy has another head than the original"}
	}
	return target, err
}

// copying is one Copy under way.
type copying struct {
	from, to Driver
	tenant   string
	source   Head
	tree     edge // of what the target holds
	buf      []byte
}

// compareHeads compares what both hold.
func (c *copying) compareHeads(ctx context.Context) error {
	var target Head
	err := c.to.View(ctx, func(r Reader) (err error) {
		if target, err = headOf(r, c.tenant); err == nil {
			c.tree, err = readEdge(r, target)
		}
		return err
	})
	if err != nil {
		return err
	}
	return c.from.View(ctx, func(r Reader) (err error) {
		if c.source, err = headOf(r, c.tenant); err != nil || target.Size == 0 {
			return err
		}
		if target.Size > c.source.Size {
			return fmt.Errorf("%w: %d entries, the original has %d", ErrDiffers, target.Size, c.source.Size)
		}
		root, err := tlog.TreeHash(target.Size, hashReader(r, c.tenant))
		if err == nil && root != target.Root {
			err = fmt.Errorf("%w: its %d entries are not the first of the original", ErrDiffers, target.Size)
		}
		return err
	})
}

// copyNextEntries copies the next entries.
func (c *copying) copyNextEntries(ctx context.Context) error {
	var rows []Row
	var leaves []tlog.Hash
	err := c.from.View(ctx, func(r Reader) (err error) {
		rows, leaves, c.buf, err = wholeRows(r, c.tenant, c.tree.size, c.source.Size, c.buf)
		return err
	})
	if err == nil {
		c.tree, err = appendRows(ctx, c.to, c.tenant, c.tree, rows, leaves)
	}
	return err
}

// wholeRows reads at most copyStep rows above after, up to the position to, each with its attachment
// and checked against its leaf, which it returns as well. buf is scratch space to reuse.
func wholeRows(r Reader, tenant string, after, to int64, buf []byte) ([]Row, []tlog.Hash, []byte, error) {
	rows, err := r.Rows(tenant, after, int(min(copyStep, to-after)))
	if err != nil {
		return nil, nil, buf, err
	}
	if len(rows) == 0 {
		return nil, nil, buf, &VerifyError{tenant, after + 1, "the row is missing"}
	}
	leaves, err := leavesOf(r, tenant, rows, after)
	if err != nil {
		return nil, nil, buf, err
	}
	for i := range rows {
		row := &rows[i]
		var problem string
		problem, buf = checkRow(buf, tenant, row, leaves[i])
		if problem != "" {
			return nil, nil, buf, &VerifyError{tenant, row.Position, problem}
		}
		if row.Attachment == ([32]byte{}) {
			continue
		}
		if row.Attached, err = r.Attachment(tenant, row.Position); err != nil {
			return nil, nil, buf, err
		}
		if problem := checkAttached(row); problem != "" {
			return nil, nil, buf, &VerifyError{tenant, row.Position, problem}
		}
	}
	return rows, leaves, buf, nil
}

// checkAttached compares a row's attachment with its commitment; "" when it holds or was erased.
func checkAttached(row *Row) string {
	if a := row.Attached; a != nil && Commit(a.Salt, CanonicalRefs(a.Refs), a.Data) != row.Attachment {
		return "the attachment does not match its commitment"
	}
	return ""
}

// appendRows adds rows with their leaves to a log that ends with tree, and returns how it ends then.
func appendRows(ctx context.Context, to Driver, tenant string, tree edge, rows []Row, leaves []tlog.Hash) (edge, error) {
	next := tree.cloneEdge()
	add := Addition{Rows: rows, FirstHash: tlog.StoredHashCount(tree.size)}
	for _, leaf := range leaves {
		add.Hashes = next.appendLeaf(leaf, add.Hashes)
	}
	add.Head = Head{Tenant: tenant, Size: next.size, Root: next.computeRoot()}
	err := to.Update(ctx, []string{tenant}, func(tx Tx) error {
		now, err := headOf(tx, tenant)
		if err != nil {
			return err
		}
		if now.Size != tree.size || now.Root != tree.computeRoot() {
			return fmt.Errorf("%w: somebody else writes to it", ErrDiffers)
		}
		return tx.Append(add)
	})
	if err != nil {
		return tree, err
	}
	return next, nil
}

// CopyCheckpoints brings the named checkpoints that are there from one database to
// another, with their fences.
func CopyCheckpoints(ctx context.Context, from, to Driver, names []string) error {
	var found []Checkpoint
	err := from.Update(ctx, nil, func(tx Tx) error {
		found = found[:0]
		for _, name := range names {
			c, err := tx.Checkpoint(name)
			if err != nil {
				return err
			}
			if c.Fence > 0 || c.Epoch != "" {
				c.Name = name
				found = append(found, c)
			}
		}
		return nil
	})
	if err == nil {
		err = to.Update(ctx, nil, func(tx Tx) error {
			for _, c := range found {
				if err := tx.PutCheckpoint(c); err != nil {
					return err
				}
			}
			return nil
		})
	}
	if err != nil {
		return fmt.Errorf("copy checkpoints: %w", err)
	}
	return nil
}

// Mark sets or removes a word under a name beside the logs, for who opens them later; ""
// removes it.
func Mark(ctx context.Context, d Driver, name, word string) error {
	return d.Update(ctx, nil, func(tx Tx) error {
		return tx.PutCheckpoint(Checkpoint{Name: name, Epoch: word})
	})
}

// Claim sets a word under a name unless one is there, and returns the one that is kept
// there then: of any number that claim at the same time one has its own returned.
func Claim(ctx context.Context, d Driver, name, word string) (holder string, err error) {
	err = d.Update(ctx, nil, func(tx Tx) error {
		c, err := tx.Checkpoint(name)
		holder = c.Epoch
		if err != nil || holder != "" {
			return err
		}
		holder = word
		return tx.PutCheckpoint(Checkpoint{Name: name, Epoch: word})
	})
	return holder, err
}

// Marked returns the word under a name, "" for none.
func Marked(ctx context.Context, d Driver, name string) (word string, err error) {
	err = d.Update(ctx, nil, func(tx Tx) error {
		c, err := tx.Checkpoint(name)
		word = c.Epoch
		return err
	})
	return word, err
}
