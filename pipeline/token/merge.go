package token

import (
	"container/heap"
	"unicode/utf8"
)

// encoding takes a text apart into tokens, as tiktoken does.
type encoding struct {
	tokens *table
	cased  bool // as o200k_base splits
}

// visitTokens calls found with the length of each token of text.
func (e *encoding) visitTokens(text string, found func(length int)) {
	for len(text) > 0 {
		part := text[:splitter{text, e.cased}.measurePart()]
		text = text[len(part):]
		switch {
		case e.tokens.findRank(part) != noRank:
			found(len(part))
		case len(part) <= shortPart:
			e.mergeShort(part, found)
		default:
			e.mergeLong(part, found)
		}
	}
}

// countTokens returns how many tokens a text has. A byte that is no UTF-8 counts as U+FFFD.
func (e *encoding) countTokens(text string) int {
	if !utf8.ValidString(text) {
		text = string([]rune(text))
	}
	n := 0
	e.visitTokens(text, func(int) { n++ })
	return n
}

// shortPart is up to how many bytes looking through all pairs is faster than a heap.
const shortPart = 64

// mergeShort merges the leftmost pair of the lowest rank until there is none.
func (e *encoding) mergeShort(part string, found func(int)) {
	var starts [shortPart + 1]uint8 // of what is merged so far, and the end
	var ranks [shortPart]uint32     // of each with the next
	n := len(part)
	for i := range n + 1 {
		starts[i] = uint8(i)
	}
	rank := func(i int) uint32 {
		if i+2 > n {
			return noRank
		}
		return e.tokens.findRank(part[starts[i]:starts[i+2]])
	}
	for i := range n {
		ranks[i] = rank(i)
	}
	for {
		least := 0
		for i := 1; i < n; i++ {
			if ranks[i] < ranks[least] {
				least = i
			}
		}
		if ranks[least] == noRank {
			break
		}
		copy(starts[least+1:n], starts[least+2:n+1])
		copy(ranks[least+1:n-1], ranks[least+2:n])
		n--
		ranks[least] = rank(least)
		if least > 0 {
			ranks[least-1] = rank(least - 1)
		}
	}
	for i := range n {
		found(int(starts[i+1] - starts[i]))
	}
}

// pairs are pairs that may be merged, the leftmost of the lowest rank first: rank<<32 | start.
type pairs []uint64

// Len returns how many pairs there are.
func (p pairs) Len() int { return len(p) }

// Less reports whether one pair comes before another.
func (p pairs) Less(i, j int) bool { return p[i] < p[j] }

// Swap swaps two pairs.
func (p pairs) Swap(i, j int) { p[i], p[j] = p[j], p[i] }

// Push adds a pair.
func (p *pairs) Push(x any) { *p = append(*p, x.(uint64)) }

// Pop removes the last pair.
func (p *pairs) Pop() any {
	last := (*p)[len(*p)-1]
	*p = (*p)[:len(*p)-1]
	return last
}

// mergeLong does what mergeShort does in time that is nearly proportional to the length.
func (e *encoding) mergeLong(part string, found func(int)) {
	n := len(part)
	next := make([]int, n+1)
	before := make([]int, n+1)
	ranks := make([]uint32, n+1) // of what begins at a byte
	for i := range n + 1 {
		next[i] = i + 1
		before[i] = i - 1
		ranks[i] = noRank
	}
	var queue pairs
	look := func(i int) {
		ranks[i] = noRank
		if i < n && next[i] < n {
			ranks[i] = e.tokens.findRank(part[i:next[next[i]]])
		}
		if ranks[i] != noRank {
			heap.Push(&queue, uint64(ranks[i])<<32|uint64(i))
		}
	}
	for i := range n {
		look(i)
	}
	for queue.Len() > 0 {
		pair := heap.Pop(&queue).(uint64)
		i := int(pair & noRank)
		if ranks[i] != uint32(pair>>32) { // merged or changed since
			continue
		}
		gone := next[i]
		ranks[gone] = noRank
		next[i] = next[gone]
		before[next[i]] = i
		look(i)
		if before[i] >= 0 {
			look(before[i])
		}
	}
	for i := 0; i < n; i = next[i] {
		found(next[i] - i)
	}
}
