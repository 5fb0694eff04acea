package eventlog

import (
	"context"
	"encoding/hex"
	"fmt"

	"golang.org/x/mod/sumdb/tlog"

	"satchel/pipeline/scope"
)

// leafKeeper is a Driver that keeps tree hashes in memory, which never change once they
// are committed. Leaf returns the leaf hash of a position of a tenant, false when it is not
// at hand.
type leafKeeper interface {
	Leaf(tenant string, position int64) (tlog.Hash, bool)
}

// Leaves returns the leaf hash of each position in hex, in order; ErrNotFound when the
// log does not reach so far.
func (l *Log) Leaves(ctx context.Context, s scope.Scope, positions []int64) ([]string, error) {
	if err := s.Check(); err != nil {
		return nil, err
	}
	if leaves, ok := l.leavesKept(s.Tenant(), positions); ok {
		return leaves, ctx.Err()
	}
	var leaves []string
	err := l.viewTreeAt(ctx, s, 0, func(r tlog.HashReader, size int64, _ tlog.Hash) error {
		indexes := make([]int64, len(positions))
		for i, p := range positions {
			if p < 1 || p > size {
				return fmt.Errorf("read leaf of position %d in a log of %d: %w", p, size, ErrNotFound)
			}
			indexes[i] = tlog.StoredHashIndex(0, p-1)
		}
		hashes, err := r.ReadHashes(indexes)
		leaves = encodeHashes(hashes)
		return err
	})
	return leaves, err
}

// leavesKept is Leaves from memory; false unless all are there.
func (l *Log) leavesKept(tenant string, positions []int64) ([]string, bool) {
	keeper, ok := l.driver.(leafKeeper)
	if !ok {
		return nil, false
	}
	leaves := make([]string, len(positions))
	for i, p := range positions {
		leaf, ok := l.recent.findLeaf(tenant, p)
		if !ok {
			leaf, ok = keeper.Leaf(tenant, p)
		}
		if !ok {
			return nil, false
		}
		leaves[i] = hex.EncodeToString(leaf[:])
	}
	return leaves, true
}
