package defend

import "slices"

// aligner finds the shortest difference of lists of tokens, as Myers describes it (An O(ND) Difference Algorithm,
// 1986). It counts its steps, so that the same texts are aligned at every load.
type aligner struct {
	left  int     // steps that it may still take
	reach []int   // by diagonal, the furthest place in a
	trace [][]int // of each number of differences, reach before
}

// alignTokens returns for each token of a the place in b where it stands too, −1 for none. It reports false where more
// than most tokens are of one list alone, and where it may take no more steps.
func (l *aligner) alignTokens(a, b []uint64, most int) (same []int, ok bool) {
	mid := most + 1
	l.trace, l.reach = l.trace[:0], slices.Grow(l.reach[:0], 2*mid+1)[:2*mid+1]
	for d := range most + 1 {
		before := l.reach[mid-max(d-1, 0) : mid+max(d, 1)]
		l.trace = append(l.trace, slices.Clone(before))
		for k := -d; k <= d; k += 2 {
			x, _ := findDiagonalStart(before, d, k)
			start := x
			for y := x - k; x < len(a) && y < len(b) && a[x] == b[y]; y++ {
				x++
			}
			l.reach[mid+k] = x
			l.left -= 1 + x - start
			if l.left <= 0 {
				return nil, false
			}
			if k == len(a)-len(b) && x >= len(a) {
				return l.followTrace(len(a), len(b), d), true
			}
		}
	}
	return nil, false
}

// findDiagonalStart returns where the tokens that are the same begin on diagonal k, with d differences: behind a token of b alone, or
// behind one of a. reach is of the diagonals −d+1 to d−1, with one difference less.
func findDiagonalStart(reach []int, d, k int) (x int, ofB bool) {
	if d == 0 {
		return 0, false
	}
	at := k + d - 1 // of diagonal k
	if k == -d || k != d && reach[at-1] < reach[at+1] {
		return reach[at+1], true
	}
	return reach[at-1] + 1, false
}

// followTrace follows the trace of d differences from the ends of both lists.
func (l *aligner) followTrace(x, y, d int) []int {
	same := make([]int, x)
	for i := range same {
		same[i] = -1
	}
	for ; d >= 0; d-- {
		start, ofB := findDiagonalStart(l.trace[d], d, x-y)
		for x > start {
			x = x - 1
			y = y - 1
			same[x] = y
		}
		if ofB {
			y--
		} else {
			x--
		}
	}
	return same
}
