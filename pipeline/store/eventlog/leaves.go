package eventlog

import (
	"context"
	"fmt"

	"golang.org/x/mod/sumdb/tlog"

	"satchel/pipeline/scope"
)

// Leaves returns the leaf hash of each position in hex, in order; ErrNotFound when the
// log does not reach so far.
func (l *Log) Leaves(ctx context.Context, s scope.Scope, positions []int64) ([]string, error) {
	var leaves []string
	err := l.prove(ctx, s, 0, func(r tlog.HashReader, size int64, _ tlog.Hash) error {
		indexes := make([]int64, len(positions))
		for i, p := range positions {
			if p < 1 || p > size {
				return fmt.Errorf("read leaf of position %d in a log of %d: %w", p, size, ErrNotFound)
			}
			indexes[i] = tlog.StoredHashIndex(0, p-1)
		}
		hashes, err := r.ReadHashes(indexes)
		leaves = hexes(hashes)
		return err
	})
	return leaves, err
}
