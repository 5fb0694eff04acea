package defend

// letters is how often each letter and digit is in a text, upper and lower case as one.
// Other ASCII bytes are not looked at. A text has less than 64 KiB.
type letters struct {
	counts [128]uint16 // by letterAt
	length int         // of the text
	beyond bool        // there are bytes beyond ASCII
}

// letterAt numbers bytes without the bit of case: 0–9 are at 16, a–z and what stands behind
// it from 33 on, what is beyond ASCII from 64 on.
func letterAt(b byte) byte { return b>>6<<5 | b&0x1f }

func lettersOf(text string) *letters {
	l := &letters{length: len(text)}
	for i := range len(text) {
		l.counts[letterAt(text[i])]++
		l.beyond = l.beyond || text[i] >= 0x80
	}
	return l
}

// near is a cheap upper bound of similarity: every edit changes the count of at most two
// letters or digits.
func (l *letters) near(o *letters, enough float64) bool {
	last := letterAt(0x7f)
	if l.beyond || o.beyond {
		last = letterAt(0xff)
	}
	off := 0
	for c := letterAt('0'); c <= letterAt('9'); c++ {
		d := int(l.counts[c]) - int(o.counts[c])
		off += max(d, -d)
	}
	for c := letterAt('a'); c <= last; c++ {
		d := int(l.counts[c]) - int(o.counts[c])
		off += max(d, -d)
	}
	return off <= 2*int(float64(max(l.length, o.length))*(1-enough))
}

// effort is how many cells of distances may still be computed. What would take more
// counts as different: an item too many is shown, and no request waits for ever.
type effort int

// fullEffort is for all the texts of one request: some ten milliseconds.
const fullEffort effort = 24 << 20

// alike reports whether the Levenshtein similarity of a and b is at least enough.
func alike[T comparable](left *effort, a, b []T, enough float64) bool {
	if len(a) < len(b) {
		a, b = b, a
	}
	if len(a) == 0 {
		return true
	}
	most := int(float64(len(a)) * (1 - enough))
	if len(a)-len(b) > most {
		return false
	}
	cells := effort(len(a)) * effort(2*most+1)
	if cells > *left {
		return false
	}
	*left -= cells
	return distance(a, b, most) <= most
}

// distance is the Levenshtein distance of a and b, or most+1 when it is above most.
// Only the band of width most around the diagonal is computed.
func distance[T comparable](a, b []T, most int) int {
	const far = 1 << 30
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
		if j > most {
			row[j] = far
		}
	}
	for i := 1; i <= len(a); i++ {
		lo, hi := max(1, i-most), min(len(b), i+most)
		diagonal := row[lo-1]
		left := far
		if lo == 1 {
			row[0] = i
			left = i
		}
		best := left
		for j := lo; j <= hi; j++ {
			up := far
			if j < i+most {
				up = row[j]
			}
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			v := min(diagonal+cost, left+1, up+1)
			diagonal, row[j], left = row[j], v, v
			best = min(best, v)
		}
		if best > most {
			return most + 1
		}
	}
	return row[len(b)]
}
