package sqlite

import (
	"bytes"
	"encoding/binary"
	"slices"

	"satchel/pipeline/store/internal/columns"
)

// nearest keeps the limit first ids of a level, in byte order.
type nearest struct {
	ids   *columns.IDs
	limit int
	found []found // a heap with the last id at its head, once it is full
	a, b  []byte
}

// found is a step with the head of its id, by which most comparisons are decided.
type found struct {
	high, low uint64
	ord       uint32
	step      int32
}

func (n *nearest) startSearch(ids *columns.IDs, limit int) {
	n.ids = ids
	n.limit = limit
	n.found = n.found[:0]
}

func (n *nearest) compareFound(x, y found) int {
	switch {
	case x.high != y.high:
		return chooseSign(x.high < y.high)
	case x.low != y.low:
		return chooseSign(x.low < y.low)
	case x.ord == y.ord:
		return 0
	}
	n.a, n.b = n.ids.AppendID(n.a[:0], x.ord), n.ids.AppendID(n.b[:0], y.ord)
	return bytes.Compare(n.a, n.b)
}

func chooseSign(less bool) int {
	if less {
		return -1
	}
	return 1
}

func (n *nearest) offerNode(ord uint32, step int32) {
	n.a = n.ids.AppendID(n.a[:0], ord)
	var head [16]byte
	copy(head[:], n.a)
	f := found{binary.BigEndian.Uint64(head[:8]), binary.BigEndian.Uint64(head[8:]), ord, step}
	if len(n.found) < n.limit {
		n.found = append(n.found, f)
		if len(n.found) == n.limit {
			for i := n.limit/2 - 1; i >= 0; i-- {
				n.siftDown(i)
			}
		}
		return
	}
	if n.compareFound(f, n.found[0]) < 0 {
		n.found[0] = f
		n.siftDown(0)
	}
}

// siftDown moves element i down to its place in the heap.
func (n *nearest) siftDown(i int) {
	for {
		last := i
		for c := 2*i + 1; c <= 2*i+2 && c < len(n.found); c++ {
			if n.compareFound(n.found[c], n.found[last]) > 0 {
				last = c
			}
		}
		if last == i {
			return
		}
		n.found[i], n.found[last] = n.found[last], n.found[i]
		i = last
	}
}

func (n *nearest) sortFound() []found {
	slices.SortFunc(n.found, n.compareFound)
	return n.found
}
