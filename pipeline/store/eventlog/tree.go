package eventlog

import (
	"crypto/sha256"
	"math/bits"

	"golang.org/x/mod/sumdb/tlog"
)

// edge is the right edge of a Merkle tree of size leaves: the roots of its complete
// subtrees, largest first. It is all that appending needs.
type edge struct {
	size  int64
	nodes []tlog.Hash
}

// edgeIndexes returns the stored hash indexes of the edge of a tree of size leaves.
func edgeIndexes(size int64) []int64 {
	var indexes []int64
	lo := int64(0)
	for level := bits.Len64(uint64(size)) - 1; level >= 0; level-- {
		if size&(1<<level) != 0 {
			indexes = append(indexes, tlog.StoredHashIndex(level, lo>>level))
			lo += 1 << level
		}
	}
	return indexes
}

// appendLeaf appends a leaf, and to stored the hashes to be stored for it: the leaf and the
// root of every subtree it completes.
func (e *edge) appendLeaf(leaf tlog.Hash, stored []tlog.Hash) []tlog.Hash {
	h := leaf
	stored = append(stored, h)
	for n := e.size; n&1 != 0; n >>= 1 {
		last := len(e.nodes) - 1
		h = tlog.NodeHash(e.nodes[last], h)
		e.nodes = e.nodes[:last]
		stored = append(stored, h)
	}
	e.nodes = append(e.nodes, h)
	e.size++
	return stored
}

func (e *edge) computeRoot() tlog.Hash {
	if e.size == 0 {
		return sha256.Sum256(nil)
	}
	last := len(e.nodes) - 1
	h := e.nodes[last]
	for i := last - 1; i >= 0; i-- {
		h = tlog.NodeHash(e.nodes[i], h)
	}
	return h
}

func (e *edge) cloneEdge() edge {
	return edge{size: e.size, nodes: append(make([]tlog.Hash, 0, len(e.nodes)+8), e.nodes...)}
}

// leafIndexes returns the stored hash indexes of the leaves of n positions from first.
func leafIndexes(first int64, n int) []int64 {
	indexes := make([]int64, n)
	for i := range indexes {
		indexes[i] = tlog.StoredHashIndex(0, first-1+int64(i))
	}
	return indexes
}
