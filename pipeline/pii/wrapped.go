package pii

import "satchel/pipeline/language"

// brokenCard tries a card whose groups stand on two lines, or with a word for it before
// them on more. The cells of a table are none: no other group of four digits or more
// stands beside it.
func (s *scan) brokenCard(r *run) bool {
	if r.groups[0].measureGroup() != 4 || s.text[r.start] == '(' || s.text[r.start] == '+' {
		return false
	}
	w := s.readWrappedRun(r.start)
	lines := 0
	number := make([]byte, 0, maxGroups*maxWrapped)
	for k, g := range w.groups[:w.n] {
		if g.sep == '\n' {
			lines++
		}
		number = append(number, s.text[g.start:g.end]...)
		if k < 2 || lines == 0 || len(number) < 14 || !cardGroups(&w, k) || !isIssuedNumber(string(number)) || !isLuhnValid(number) || !s.isTokenEnd(g.end) || s.hasDigitsBeside(r.start, g.end) {
			continue
		}
		if lines == 1 || anyIs(s.text[max(0, r.start-60):r.start], language.Card) {
			return s.addFinding(Span{Start: r.start, End: g.end, Type: Card, Confidence: 0.9, Rule: "luhn"})
		}
	}
	return false
}

// maxWrapped is the length of the longest group that wrapped reads.
const maxWrapped = 6

// readWrappedRun reads up to five groups with a separator or a line end between them, at which
// a group's sep is a line feed.
func (s *scan) readWrappedRun(i int) (r run) {
	r.start = i
	for sep := byte(0); r.n < 5; {
		end := i
		for end < len(s.text) && end-i <= maxWrapped && isDigit(s.text[end]) {
			end++
		}
		if end == i || end-i > maxWrapped {
			break
		}
		r.groups[r.n] = group{start: i, end: end, sep: sep}
		r.n++
		i, sep = s.findGapEnd(end)
		if i == end {
			break
		}
	}
	return r
}

// findGapEnd returns where what stands between two groups from i on ends: one separator, or a
// line end with blanks around it, which is given as a line feed.
func (s *scan) findGapEnd(i int) (end int, sep byte) {
	broken := false
	for end = i; end < len(s.text) && end-i < 16; end++ {
		switch c := s.text[end]; {
		case c == '\n':
			if broken {
				return i, 0 // an empty line ends what stands before it
			}
			broken = true
		case c != ' ' && c != '\t' && c != '\r' && (c != '-' && c != '.' || end > i):
			if !broken && end > i+1 {
				return i, 0
			}
			if broken {
				return end, '\n'
			}
			return end, ' '
		}
	}
	return i, 0
}

// hasDigitsBeside reports whether a group of four digits or more stands before start or behind end,
// blanks and line ends apart.
func (s *scan) hasDigitsBeside(start, end int) bool {
	blank := func(c byte) bool { return c == ' ' || c == '\t' || c == '\r' || c == '\n' }
	last := start
	for last > 0 && start-last < 16 && blank(s.text[last-1]) {
		last--
	}
	first := end
	for first < len(s.text) && first-end < 16 && blank(s.text[first]) {
		first++
	}
	return last >= 4 && digitsOnly(s.text[last-4:last]) || first+4 <= len(s.text) && digitsOnly(s.text[first:first+4])
}

func digitsOnly(t string) bool {
	for i := range len(t) {
		if !isDigit(t[i]) {
			return false
		}
	}
	return true
}
