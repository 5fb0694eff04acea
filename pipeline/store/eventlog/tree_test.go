package eventlog

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"testing"

	"golang.org/x/mod/sumdb/tlog"
)

// TestEdge holds the edge against x/mod's own hashing: stored hashes, roots, indexes.
func TestEdge(t *testing.T) {
	t.Parallel()
	var e edge
	var stored []tlog.Hash
	reader := tlog.HashReaderFunc(func(indexes []int64) ([]tlog.Hash, error) {
		var out []tlog.Hash
		for _, i := range indexes {
			out = append(out, stored[i])
		}
		return out, nil
	})
	for n := range int64(1100) {
		root, err := tlog.TreeHash(n, reader)
		if err != nil || e.computeRoot() != root {
			t.Fatalf("root of %d leaves differs (%v)", n, err)
		}
		nodes, err := reader(edgeIndexes(n))
		if err != nil || !slices.Equal(nodes, e.nodes) {
			t.Fatalf("edge of %d leaves is stored elsewhere (%v)", n, err)
		}
		leaf := tlog.Hash(sha256.Sum256(fmt.Append(nil, n)))
		want, err := tlog.StoredHashesForRecordHash(n, leaf, reader)
		got := e.appendLeaf(leaf, nil)
		if err != nil || !slices.Equal(got, want) {
			t.Fatalf("stored hashes of leaf %d differ (%v)", n, err)
		}
		stored = append(stored, got...)
	}
}
