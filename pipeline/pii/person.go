package pii

import (
	"cmp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"satchel/pipeline/language"
)

// A name is guessed of words that begin with a capital: of what they are known as (names.bin),
// of what stands beside them, and of names that are found in the same text.

// token is a word of a text as far as names go.
type token struct {
	start, end int32 // in bytes; a token is small, as texts have many
	capital    bool  // begins with a capital
	shout      bool  // has capitals only, two or more
	owner      bool  // 's stands behind it
	digits     bool
	taken      bool // stands in another finding
	first      bool // begins a sentence or a line
	looked     bool // ranks and role are set
	ranks      ranks
	role       language.Class
}

// Evidence from which words are a name, and less for one that stands in a list with one.
const (
	leastName   = 1.5
	leastListed = 0.5
	mostNames   = 5 // words of a name
)

// naming is the search for names in one text.
type naming struct {
	text    string
	lexicon *language.Lexicon
	tokens  []token
	small   bool // the text has no capitals at all
	known   map[string]bool
	runs    []nameRun
}

// nameRun is a name that may be: tokens [from, to), and how much speaks for it.
type nameRun struct {
	from, to int
	end      int // in bytes, with what stands behind the name, as MD
	score    float64
}

// findPersons returns spans of names between others, which are in order.
func findPersons(text string, others []Span) []Span {
	n := naming{text: text, lexicon: language.Default(), known: map[string]bool{}, tokens: make([]token, 0, len(text)/bytesOfWord)}
	n.splitWords(others)
	for i := 0; i < len(n.tokens); {
		r := n.readNameRun(i)
		if r.to == i {
			i++
			continue
		}
		n.runs = append(n.runs, r)
		i = r.to
	}
	n.raiseListedNames()
	var out []Span
	for _, r := range n.runs {
		if r.score >= leastName {
			out = append(out, Span{Start: int(n.tokens[r.from].start), End: r.end, Type: Person, Confidence: min(0.95, 0.5+0.15*(r.score-leastName)), Rule: "name"})
		}
	}
	return out
}

// bytesOfWord is about how many bytes a word of a text has, and what parts it from the next.
const bytesOfWord = 5

// splitWords cuts the text into words.
func (n *naming) splitWords(others []Span) {
	t := n.text
	other := 0
	capitals := 0
	words := 0
	first := true
	for i := 0; i < len(t); {
		r := rune(t[i])
		size := 1
		if t[i] >= utf8.RuneSelf {
			r, size = utf8.DecodeRuneInString(t[i:])
		}
		if !isAlnum(t[i]) && !(size > 1 && unicode.IsLetter(r)) {
			if r == '.' || r == '!' || r == '?' || r == '\n' || r == ':' || r == '"' || r == '“' {
				first = true
			}
			i += size
			continue
		}
		tok := token{start: int32(i), first: first, digits: isDigit(t[i])}
		upper := 0
		letters := 0
		for i < len(t) {
			r, size = utf8.DecodeRuneInString(t[i:])
			if unicode.IsUpper(r) {
				upper++
				tok.capital = tok.capital || i == int(tok.start)
			}
			if unicode.IsLetter(r) || isDigit(t[i]) {
				letters++
				i += size
				continue
			}
			next, _ := utf8.DecodeRuneInString(t[min(len(t), i+size):])
			if (r == '\'' || r == '’' || r == '-') && unicode.IsLetter(next) && !ownerAt(t, i+size) {
				i += size
				continue
			}
			tok.owner = (r == '\'' || r == '’') && ownerAt(t, i+size)
			break
		}
		tok.end = int32(i)
		tok.shout = letters > 1 && upper == letters
		for other < len(others) && others[other].End <= int(tok.start) {
			other++
		}
		tok.taken = other < len(others) && others[other].Start < int(tok.end)
		tok.taken = tok.taken || isMark(t, int(tok.start), int(tok.end))
		if tok.taken {
			tok.looked = true
			tok.digits = false // nothing is guessed from what is masked, or was before
		} else if !tok.digits {
			words++
		}
		if tok.capital && !tok.taken {
			capitals++
		}
		n.tokens = append(n.tokens, tok)
		first = false
		if tok.owner {
			i += size + 1
		}
	}
	n.small = capitals == 0 && words >= leastSmall
}

// isMark reports whether the word at [start, end) is a mark that stands in place of something.
func isMark(t string, start, end int) bool {
	return start > 0 && t[start-1] == '[' && end < len(t) && t[end] == ']' &&
		("["+t[start:end]+"]" == Redacted || slices.Contains(Types(), Type(t[start:end])))
}

// leastSmall is the number of words from which a text without capitals is one that
// somebody writes so.
const leastSmall = 4

// ownerAt reports whether the s of a possessive stands at i, and the word ends behind it.
func ownerAt(t string, i int) bool {
	if i >= len(t) || lowerByte(t[i]) != 's' {
		return false
	}
	r, _ := utf8.DecodeRuneInString(t[i+1:])
	return i+1 == len(t) || !unicode.IsLetter(r)
}

func (n *naming) findWord(i int) string {
	if i < 0 || i >= len(n.tokens) {
		return ""
	}
	return n.text[n.tokens[i].start:n.tokens[i].end]
}

// lookUpWord returns the word i with what it is known as.
func (n *naming) lookUpWord(i int) *token {
	if i < 0 || i >= len(n.tokens) {
		return &nobody
	}
	t := &n.tokens[i]
	if !t.looked {
		w := n.text[t.start:t.end]
		t.looked, t.role = true, roleIn(n.lexicon, w)
		if !t.digits {
			t.ranks = ranksOf(w)
		}
	}
	return t
}

// nobody is the word before the first and behind the last.
var nobody = token{looked: true}

// readWordGap is what stands between the words i-1 and i.
func (n *naming) readWordGap(i int) string {
	if i <= 0 || i >= len(n.tokens) {
		return "\n"
	}
	start := n.tokens[i-1].end
	if n.tokens[i-1].owner {
		start = min(start+2, n.tokens[i].start)
	}
	return n.text[start:n.tokens[i].start]
}

// canBeginName reports whether a name can begin with the word i.
func (n *naming) canBeginName(i int) bool {
	t := &n.tokens[i]
	if t.taken || t.digits || t.end-t.start < 2 || t.start > 0 && strings.IndexByte("@_.#$/", n.text[t.start-1]) >= 0 {
		return false
	}
	if n.small {
		r := n.lookUpWord(i).ranks
		return r.word == 0 && (r.first >= 2 || r.last >= 2 || r == ranks{} && isSurname(n.findWord(i)))
	}
	return t.capital
}

// readNameRun returns the name that may begin at the word i; it ends there when there is none.
func (n *naming) readNameRun(i int) nameRun {
	none := nameRun{from: i, to: i}
	if !n.canBeginName(i) {
		return none
	}
	to := i + 1
	for to < len(n.tokens) && to-i < mostNames && !n.tokens[to-1].owner {
		next := n.countExtension(to)
		if next == 0 {
			break
		}
		to += next
	}
	from := i
	for from < to-1 && n.isLeadingWord(from) {
		from++
	}
	if n.canBeginName(from) && !n.namesOrganisation(from, to) {
		r := nameRun{from: from, to: to, end: int(n.tokens[to-1].end)}
		r.score = n.scoreName(from, to)
		n.addDegrees(&r)
		return r
	}
	return nameRun{from: i, to: to, score: -1}
}

// countExtension returns how many words from to on go on with a name: one name or initial, or a
// particle with one behind it.
func (n *naming) countExtension(to int) int {
	t := &n.tokens[to]
	gap := n.readWordGap(to)
	before := n.findWord(to - 1)
	if gap != " " && !(gap == ". " && len(before) == 1) || t.taken || t.digits {
		return 0
	}
	if n.small {
		r := n.lookUpWord(to).ranks
		if r.word == 0 && (r.first > 0 || r.last > 0 || len(n.findWord(to)) >= 5) {
			return 1
		}
		return 0
	}
	if t.capital {
		return 1
	}
	if to+1 < len(n.tokens) && n.tokens[to+1].capital && n.readWordGap(to+1) == " " && n.lookUpWord(to).role&language.Particle != 0 {
		return 2
	}
	return 0
}

// isLeadingWord reports whether the word i only stands before a name: a greeting, a title, a word
// that begins the sentence.
func (n *naming) isLeadingWord(i int) bool {
	t := n.lookUpWord(i)
	r := t.ranks
	w := n.findWord(i)
	return t.role&(title|calendar) != 0 || len(w) == 1 && n.readWordGap(i+1) != ". " || r.word > 0 && r.first < 2 && r.last < 3 || r.word == 2 && t.first && r.first < 3
}

// namesOrganisation reports whether a word of [from, to) or behind it says that it names a
// street, a company or a place.
func (n *naming) namesOrganisation(from, to int) bool {
	for i := from + 1; i < to; i++ {
		if n.lookUpWord(i).role&language.Thing != 0 {
			return true
		}
	}
	gap := n.readWordGap(to)
	return n.lookUpWord(to).role&language.Thing != 0 && (gap == " " || gap == ", " || gap == " & ")
}

// scoreName adds up what speaks for the words [from, to).
func (n *naming) scoreName(from, to int) float64 {
	sum := n.scoreWords(from, to) + n.scoreContext(from, to)
	if n.small {
		sum -= 0.3
	}
	return sum
}

// strength of what a word is known as, by rank.
var (
	firstStrength = [...]float64{0, 0.8, 1.4, 1.9}
	lastStrength  = [...]float64{0, 0.4, 0.8, 1.2}
	wordWeakness  = [...]float64{0, 0.7, 1.4, 1.3}
)

// scoreWords is what the words by themselves say.
func (n *naming) scoreWords(from, to int) float64 {
	sum := 0.0
	penalty := 0.0
	best := 0.0
	for i := from; i < to; i++ {
		t := n.lookUpWord(i)
		w := n.findWord(i)
		r := t.ranks
		switch {
		case t.role&calendar != 0:
			return -2
		case len(w) <= 2 && i > from: // an initial
			sum += 0.4
			continue
		}
		s := max(firstStrength[r.first], lastStrength[r.last])
		if r == (ranks{}) {
			s = 0.3
			if isSurname(w) {
				s = 1.1
			}
		}
		if t.shout {
			s -= 0.8
		}
		weak := wordWeakness[r.word]
		if r.first == 3 && r.word != 2 {
			weak /= 2 // such as Maria, which is the plural of mare, too
		}
		penalty += weak
		best = max(best, s)
		sum += s
	}
	if to-from == 1 {
		return best - penalty
	}
	if first := n.lookUpWord(from).ranks; first.first >= 2 && first.word != isPlace {
		sum += 0.7
	}
	return sum - 1.1*penalty
}

// scoreContext is what stands around the words.
func (n *naming) scoreContext(from, to int) float64 {
	sum := n.scoreBefore(from, to-from == 1) + n.scoreBehind(to)
	if from > 0 && n.tokens[from-1].digits && (n.readWordGap(from) == " " || n.readWordGap(from) == ", ") {
		sum -= 1.6 // the number of a house
	}
	if n.tokens[from].first && to-from == 1 {
		sum -= 0.2
	}
	return sum
}

func (n *naming) scoreBefore(from int, single bool) float64 {
	gap := n.readWordGap(from)
	role := n.lookUpWord(from - 1).role
	switch gap {
	case " ", ". ", ", ", ": ", " \"":
	default:
		return 0
	}
	switch {
	case role&title != 0 && (gap == " " || gap == ". "):
		return 2.5
	case role&language.Copula != 0 && n.isIntroduction(from-1):
		return 1.6
	case role&(language.Caller|language.Relation) != 0:
		return 0.8
	case role&language.Companion != 0:
		return 0.3
	case role&language.Place != 0 && single, role&language.Article != 0 && gap == " ":
		return -0.9
	}
	return 0
}

func (n *naming) scoreBehind(to int) float64 {
	last := n.tokens[to-1]
	rest := n.text[last.end:]
	switch {
	case last.owner:
		return 0.5
	case rest == "":
		return 0
	case rest[0] == ':':
		return 0.4
	case rest[0] == '(' || rest[0] == '_' || rest[0] == '/' || rest[0] == '.' && len(rest) > 1 && isAlnum(rest[1]):
		return -1
	case n.readWordGap(to) != " ":
		return 0
	case n.tokens[to].digits:
		return -1.6
	case n.lookUpWord(to).role&language.Deed != 0:
		return 0.4
	}
	return 0
}

// isIntroduction reports whether the words up to i are those by which somebody is introduced.
func (n *naming) isIntroduction(i int) bool {
	switch {
	case strings.HasPrefix(n.findWord(i), "I'") || foldAny(n.findWord(i), "i'm"):
		return true
	case foldAny(n.findWord(i), "am"):
		return foldAny(n.findWord(i-1), "i")
	}
	return n.lookUpWord(i-1).role&language.Introduced != 0
}

// addDegrees takes what belongs to a name behind it: MD, Jr.
func (n *naming) addDegrees(r *nameRun) {
	for r.to < len(n.tokens) && (n.readWordGap(r.to) == " " || n.readWordGap(r.to) == ", ") && n.lookUpWord(r.to).role&language.Degree != 0 && r.to-r.from > 1 {
		r.end = int(n.tokens[r.to].end)
		r.to++
		r.score += 0.8
	}
}

// raiseListedNames raises what stands in a list with a name, and what is a part of one that was
// found in the text.
func (n *naming) raiseListedNames() {
	for _, r := range n.runs {
		if r.score >= leastName {
			for i := r.from; i < r.to; i++ {
				if w := n.findWord(i); len(w) > 2 && n.lookUpWord(i).ranks.word == 0 {
					n.known[w] = true
				}
			}
		}
	}
	for range 2 {
		for i := range n.runs {
			r := &n.runs[i]
			if r.score >= leastName || r.score < 0 {
				continue
			}
			if r.to-r.from == 1 && n.known[n.findWord(r.from)] || r.score >= leastListed && (i > 0 && n.isListedWith(i-1, i) || i+1 < len(n.runs) && n.isListedWith(i+1, i)) {
				r.score = leastName
			}
		}
	}
}

// isListedWith reports whether the run other is a name and stands in a list with the run i.
func (n *naming) isListedWith(other, i int) bool {
	if n.runs[other].score < leastName {
		return false
	}
	a := n.runs[min(other, i)]
	b := n.runs[max(other, i)]
	switch between := n.text[a.end:n.tokens[b.from].start]; between {
	case ", ", " and ", " & ", ", and ", " or ", " und ", " y ", " et ":
		return true
	}
	return false
}

// mergeSpans puts spans among others, in order; of two that overlap the other stays.
func mergeSpans(others, spans []Span) []Span {
	if len(spans) == 0 {
		return others
	}
	out := slices.Concat(others, spans)
	slices.SortStableFunc(out, func(a, b Span) int { return cmp.Compare(a.Start, b.Start) })
	end := 0
	return slices.DeleteFunc(out, func(sp Span) bool {
		if sp.Start < end {
			return true
		}
		end = sp.End
		return false
	})
}
