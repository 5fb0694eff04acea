package pii

import (
	"github.com/nyaruka/phonenumbers"

	"satchel/pipeline/language"
)

// tryPhone tries a run as a telephone number. There is no checksum, so the shape, the words
// beside it and, for international numbers and the configured regions, the numbering
// plan say how sure it is.
func (s *scan) tryPhone(r *run) bool {
	best := Span{}
	for n := phoneGroups(s.text, r); n > 0; n-- {
		if sp := s.phoneOf(r, n); sp.Confidence > best.Confidence {
			best = sp
		}
		if best.Confidence >= s.d.least || n == 1 || r.groups[n-1].sep != ' ' && r.groups[n-1].start == r.groups[n-2].end+1 {
			break // but behind a blank another number may begin
		}
	}
	return best.Confidence > 0 && s.addFinding(best)
}

// phoneOf tries the first n groups of a run.
func (s *scan) phoneOf(r *run, n int) Span {
	digits := 0
	for _, g := range r.groups[:n] {
		digits += g.measureGroup()
	}
	end, extended := s.readExtension(r.groups[n-1].end)
	if !s.isTokenEnd(end) || digits < 6 || digits > 15 || n == 2 && s.isYearRange(r) {
		return Span{}
	}
	confidence := s.scoreShape(r, n, digits)
	if confidence == 0 {
		return Span{}
	}
	if extended {
		confidence += 0.3
	}
	confidence += s.scoreNeighbours(r.start, end)
	if confidence > 0.1 && confidence < 0.5 && s.isPlannedNumber(s.text[r.start:end]) {
		confidence += 0.4
	}
	return Span{Start: r.start, End: end, Type: Phone, Confidence: min(confidence, 0.99), Rule: "phone"}
}

// isYearRange reports whether the first two groups are years of the last century or this one:
// 2001–2007.
func (s *scan) isYearRange(r *run) bool {
	for _, g := range r.groups[:2] {
		if g.measureGroup() != 4 || s.text[g.start:g.start+2] != "19" && s.text[g.start:g.start+2] != "20" {
			return false
		}
	}
	return s.text[r.start] != '+' && s.text[r.start] != '('
}

// phoneGroups returns how many groups of the run one number can have at most.
func phoneGroups(text string, r *run) (n int) {
	for digits := 0; n < r.n; n++ {
		g := r.groups[n]
		if g.sep == '/' && (n != 1 || r.groups[0].measureGroup() < 3) { // a date or a fraction
			return 0
		}
		digits += g.measureGroup()
		if digits > 15 {
			break
		}
	}
	if n > 0 && (text[r.start] == '(' || text[r.start] == '+' && r.start+1 < len(text) && text[r.start+1] == '(') {
		if g := r.groups[0]; g.measureGroup() > 5 || g.end >= len(text) || text[g.end] != ')' {
			return 0
		}
	}
	return n
}

// readExtension reads x123 or ext. 123 behind a number.
func (s *scan) readExtension(i int) (end int, found bool) {
	t := s.text
	k := i
	for k < len(t) && k < i+2 && (t[k] == ' ' || t[k] == ',') {
		k++
	}
	word := k
	for k < len(t) && k-word < 9 && isLetter(t[k]) {
		k++
	}
	if word == k && k < len(t) && t[k] == '#' {
		k++
	} else if w := t[word:k]; !foldAny(w, "x", "ext", "extn", "extension") {
		return i, false
	}
	for n := 0; n < 2 && k < len(t) && (t[k] == '.' || t[k] == ' ' || t[k] == ':'); n++ {
		k++
	}
	first := k
	for k < len(t) && k-first < 7 && isDigit(t[k]) {
		k++
	}
	if k == first || k-first > 6 {
		return i, false
	}
	return k, true
}

// foldAny reports whether w is one of the words, whatever its case.
func foldAny(w string, words ...string) bool {
	for _, want := range words {
		if len(w) != len(want) {
			continue
		}
		same := true
		for i := range len(w) {
			same = same && lowerByte(w[i]) == want[i]
		}
		if same {
			return true
		}
	}
	return false
}

// scoreShape says how much a run of n groups looks like a telephone number; 0: not at all.
func (s *scan) scoreShape(r *run, n, digits int) float64 {
	g := r.groups[:n]
	first := s.text[r.start]
	switch {
	case first == '+':
		if digits < 8 {
			return 0
		}
		if s.isPlannedNumber(s.text[r.start:g[n-1].end]) {
			return 0.9
		}
		return 0.6
	case isDateShaped(g):
		return 0
	case first == '(':
		if n < 2 || digits < 7 || digits > 12 {
			return 0
		}
		if g[0].measureGroup() == 3 && n == 3 && g[1].measureGroup() == 3 && g[2].measureGroup() == 4 {
			return 0.85
		}
		return 0.5
	case n == 1:
		return scoreSingleGroup(s.text[g[0].start:g[0].end])
	}
	return scoreGroups(s.text, g, digits)
}

// scoreSingleGroup is the shape of digits without any separator.
func scoreSingleGroup(number string) float64 {
	switch l := len(number); {
	case l < 7 || l > 13:
		return 0
	case number[0] == '0' && l >= 9 && l <= 12, l == 10 || l == 11 && number[0] == '1':
		return 0.3
	case l >= 8 && l <= 12:
		return 0.2
	}
	return 0.1
}

// scoreGroups is the shape of several groups that no sign begins.
func scoreGroups(text string, g []group, digits int) float64 {
	n := len(g)
	even := true
	dots := g[1].sep == '.'
	for i := 1; i < n; i++ {
		even = even && g[i].sep == g[1].sep
		if g[i].measureGroup() < 2 || g[i].measureGroup() > 8 {
			return 0
		}
	}
	last := g[n-1].measureGroup()
	zero := text[g[0].start] == '0'
	nanp := n >= 3 && last == 4 && g[n-2].measureGroup() == 3 && g[n-3].measureGroup() == 3
	switch {
	case dots && !(nanp || zero && digits >= 9 && n >= 3):
		return 0 // a decimal, a version
	case nanp && n == 3 && even && g[1].sep != ' ':
		return 0.85
	case nanp && (n == 4 && g[0].measureGroup() <= 4 || n == 3):
		if text[g[0].start] == '1' || zero || n == 3 {
			return 0.6
		}
		return 0.3
	case len(g) > 6 || digits > 13 || g[0].measureGroup() > 5:
		return 0
	case zero && digits >= 8 && digits <= 13:
		return 0.45
	case digits == 6 && n < 3:
		return 0
	case n >= 3 && digits >= 7 && even:
		return 0.3
	}
	return 0.2
}

// isDateShaped reports whether the groups begin as a date does: 2000-04-16, 16.04.2000.
func isDateShaped(g []group) bool {
	if len(g) < 3 || g[1].sep != g[2].sep || g[1].sep == ' ' {
		return false
	}
	a := g[0].measureGroup()
	b := g[1].measureGroup()
	c := g[2].measureGroup()
	return a == 4 && b <= 2 && c <= 2 || a <= 2 && b <= 2 && c == 4
}

// scoreNeighbours adds what stands beside the number: what names a telephone counts for it, what
// names another kind of number against it.
func (s *scan) scoreNeighbours(start, end int) float64 {
	before := s.readTextBefore(start, 48)
	after := s.readTextAfter(end, 14)
	switch {
	case anyIs(before, language.Phone), anyIs(after, language.Phone):
		return 0.45
	case anyIs(before, language.Number):
		return -0.4
	case anyIs(after, language.Contact):
		return 0.35
	case anyIs(before, language.Contact):
		return 0.25
	}
	return 0
}

// isPlannedNumber reports whether a number is one that its country, or a configured region,
// gives out.
func (s *scan) isPlannedNumber(number string) bool {
	regions := s.d.regions
	if number[0] == '+' {
		regions = []string{phonenumbers.UNKNOWN_REGION}
	}
	for _, region := range regions {
		if s.looks == 0 {
			return false
		}
		s.looks--
		if parsed, err := phonenumbers.Parse(number, region); err == nil && phonenumbers.IsValidNumber(parsed) {
			return true
		}
	}
	return false
}
