package rank

import "slices"

// few is how many elements are sorted at once rather than parted further.
const few = 16

// sortFirst moves the n first elements by compare, which MUST be a total order, to the front
// of s and returns them, sorted; the others come after them in no order. It takes time
// linear in len(s), unless s is unlucky, and n·log n.
func sortFirst[E any](s []E, n int, compare func(a, b E) int) []E {
	n = min(n, len(s))
	from := 0
	to := len(s) // what stands before from is among the first, what stands from to on is not
	for from < n && n < to && to-from > few {
		pivot := s[(from+to)/2]
		i := from
		j := to - 1
		for i <= j {
			for compare(s[i], pivot) < 0 {
				i++
			}
			for compare(pivot, s[j]) < 0 {
				j--
			}
			if i <= j {
				s[i], s[j] = s[j], s[i]
				i = i + 1
				j = j - 1
			}
		}
		if n <= j+1 {
			to = j + 1
		} else {
			from = i
		}
	}
	if from < n && n < to {
		slices.SortFunc(s[from:to], compare)
	}
	slices.SortFunc(s[:n], compare)
	return s[:n]
}
