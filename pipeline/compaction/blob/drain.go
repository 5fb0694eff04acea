package blob

import (
	"bytes"
	"strings"

	"satchel/pipeline/candidate"
)

// wildcard stands in a template for what differs.
const wildcard = candidate.Varies

const (
	treeDepth    = 3    // tokens that a group is found by
	similar      = .5   // share of equal tokens that makes a line one of a template
	maxTemplates = 4096 // of one log; what comes after them counts as one
	maxShapes    = 1 << 16
	maxTokens    = 256 // of a line that are looked at
)

// template is what lines of a log have in common.
type template struct {
	tokens  []string
	count   int64
	tally   tally // of its lines that are not failures
	first   Line
	last    Span
	failure bool // it reads like an error
	varies  bool // its lines are not all the same
}

// formatPattern is the template as text: the line itself when all are the same.
func (t *template) formatPattern() string {
	if !t.varies {
		return strings.Join(strings.FieldsFunc(t.first.Text, isBlankRune), " ")
	}
	return strings.Join(t.tokens, " ")
}

// miner groups lines by template. Memory is bounded by maxTemplates and maxShapes.
type miner struct {
	shapes    map[uint64]*template // by the hash of a line without its digits
	groups    map[string][]*template
	templates []*template
	tokens    [][]byte
	key       []byte
}

func newMiner() *miner {
	return &miner{shapes: map[uint64]*template{}, groups: map[string][]*template{}}
}

// assignTemplate counts a line and returns its template.
func (m *miner) assignTemplate(l *line) *template {
	shape := shapeOf(l.text)
	t, ok := m.shapes[shape]
	if !ok {
		t = m.findTemplate(l)
		if len(m.shapes) >= maxShapes {
			clear(m.shapes)
		}
		m.shapes[shape] = t
	}
	t.varies = t.varies || string(l.text) != t.first.Text
	t.count++
	t.last = Span{l.start, l.end}
	return t
}

// shapeOf hashes a line (FNV-1a, 64 bit) with every token that holds a digit as one
// sign, and white space as another.
func shapeOf(text []byte) uint64 {
	const prime, offset = 1099511628211, 14695981039346656037
	h := uint64(offset)
	for i := 0; i < len(text); {
		if text[i] == ' ' || text[i] == '\t' {
			for i < len(text) && (text[i] == ' ' || text[i] == '\t') {
				i++
			}
			h = (h ^ 0x1ff) * prime
			continue
		}
		before := h
		digit := false
		for i < len(text) && text[i] != ' ' && text[i] != '\t' {
			digit = digit || text[i]-'0' <= 9
			h = (h ^ uint64(text[i])) * prime
			i++
		}
		if digit {
			h = (before ^ 0x2ff) * prime
		}
	}
	return h
}

// findTemplate finds or makes the template of a line whose shape is new.
func (m *miner) findTemplate(l *line) *template {
	m.tokens = m.tokens[:0]
	for tok := range bytes.FieldsFuncSeq(l.text, isBlankRune) {
		m.tokens = append(m.tokens, tok)
		if len(m.tokens) == maxTokens {
			break
		}
	}
	m.key = append(m.key[:0], byte(len(m.tokens)), byte(len(m.tokens)>>8))
	depth := 0
	for _, tok := range m.tokens {
		if hasDigit(tok) {
			continue // it would scatter a template's lines over groups
		}
		m.key = append(append(m.key, ' '), tok[:min(len(tok), 64)]...)
		depth++
		if depth == treeDepth {
			break
		}
	}
	group := m.groups[string(m.key)]
	var best *template
	score := similar
	for _, t := range group {
		if s := t.measureSimilarity(m.tokens); s >= score {
			best = t
			score = s
		}
	}
	switch {
	case best != nil:
		best.widenTemplate(m.tokens)
		return best
	case len(m.templates) >= maxTemplates:
		t := m.templates[maxTemplates-1]
		t.tokens = []string{wildcard}
		return t
	}
	t := &template{first: l.quoteLine(""), tokens: make([]string, len(m.tokens)), failure: isFailure(l.text)}
	for i, tok := range m.tokens {
		if hasDigit(tok) {
			t.tokens[i] = wildcard
			continue
		}
		t.tokens[i] = string(tok)
	}
	m.templates = append(m.templates, t)
	m.groups[string(m.key)] = append(group, t)
	return t
}

// isBlankRune is what separates tokens.
func isBlankRune(r rune) bool { return r == ' ' || r == '\t' }

func hasDigit(tok []byte) bool {
	for _, c := range tok {
		if c-'0' <= 9 {
			return true
		}
	}
	return false
}

func (t *template) measureSimilarity(tokens [][]byte) float64 {
	if len(t.tokens) != len(tokens) || len(tokens) == 0 {
		if len(tokens) == len(t.tokens) {
			return 1
		}
		return 0
	}
	same := 0
	for i, tok := range tokens {
		if t.tokens[i] == string(tok) || t.tokens[i] == wildcard && hasDigit(tok) {
			same++
		}
	}
	return float64(same) / float64(len(tokens))
}

// widenTemplate puts a wildcard where the tokens differ.
func (t *template) widenTemplate(tokens [][]byte) {
	for i, tok := range tokens {
		if t.tokens[i] != string(tok) {
			t.tokens[i] = wildcard
		}
	}
}

// Matches reports whether a line is one of a pattern: as many tokens, each equal or
// against a wildcard. The pattern of a single wildcard matches every line.
func Matches(pattern, text string) bool {
	want := strings.FieldsFunc(pattern, isBlankRune)
	text = strings.TrimSuffix(strings.TrimSuffix(text, "\n"), "\r")
	if len(want) == 1 && want[0] == wildcard {
		return true
	}
	i := 0
	for tok := range strings.FieldsFuncSeq(text, isBlankRune) {
		if i == maxTokens {
			return true
		}
		if i >= len(want) || want[i] != wildcard && want[i] != tok {
			return false
		}
		i++
	}
	return i == len(want)
}
