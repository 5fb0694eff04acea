package pii

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/nyaruka/phonenumbers"

	"satchel/pipeline/infra/cache"
)

// Type says what a span is.
type Type string

// The types.
const (
	Email  Type = "email"
	Phone  Type = "phone"
	Card   Type = "card"
	IBAN   Type = "iban"
	SSN    Type = "ssn"
	IP     Type = "ip"
	URL    Type = "url"
	Domain Type = "domain"
	Secret Type = "secret"
	Person Type = "person"
)

// Types returns every type, in the order of the package comment.
func Types() []Type {
	return []Type{Email, Phone, Card, IBAN, SSN, IP, URL, Domain, Secret, Person}
}

// Personal returns the types that name a person or open a door. Addresses of machines
// and the guessed names are not among them: masking those costs more than it protects.
func Personal() []Type { return []Type{Email, Phone, Card, IBAN, SSN, Secret} }

// Span is one finding: the bytes [Start, End) of the text.
type Span struct {
	Start      int
	End        int
	Type       Type
	Confidence float64 // 0–1
	Rule       string  // which rule found it: "github", "luhn", …
}

// Of the memory of what was found: what may be shown of an item is decided anew for each request, from the same text.
const (
	memoBytes = 1 << 20 // of a generation
	memoFrom  = 256     // bytes of a text that is remembered, at least
	spanBytes = 64
)

// Config says what a Detector looks for. The zero value works.
type Config struct {
	Types   []Type   // default Personal()
	Regions []string // ISO 3166 codes whose national phone numbers count without words beside them; default none
	Least   float64  // confidence below which a finding is none; default 0.5
}

// Detector finds spans. It is safe for concurrent use.
type Detector struct {
	wanted  []Type
	person  bool // wanted
	url     bool // wanted
	domain  bool // wanted
	regions []string
	least   float64
	secrets prefixes
	spoken  spokenWords
	memo    *cache.Memo[[]Span]
}

// New returns a Detector.
func New(cfg Config) (*Detector, error) {
	for _, t := range cfg.Types {
		if !slices.Contains(Types(), t) {
			return nil, fmt.Errorf("new detector: unknown type %q", t)
		}
	}
	for _, r := range cfg.Regions {
		if phonenumbers.GetCountryCodeForRegion(r) == 0 {
			return nil, fmt.Errorf("new detector: unknown region %q", r)
		}
	}
	if cfg.Least < 0 || cfg.Least > 1 {
		return nil, fmt.Errorf("new detector: least confidence %g is not between 0 and 1", cfg.Least)
	}
	return newDetector(cfg), nil
}

func newDetector(cfg Config) *Detector {
	wanted := slices.Clone(cfg.Types)
	if len(wanted) == 0 {
		wanted = Personal()
	}
	return &Detector{wanted: wanted, person: slices.Contains(wanted, Person), url: slices.Contains(wanted, URL), domain: slices.Contains(wanted, Domain),
		regions: cfg.Regions, least: cmp.Or(cfg.Least, .5), secrets: indexVendors(vendors[:]), spoken: indexSpoken(), memo: cache.NewMemo[[]Span](memoBytes)}
}

// Find returns the spans of text, in order. Names are whole words that count as persons
// wherever they stand, as the values of fields that are flagged. Typographic forms count
// as the plain ones: wide blanks, hyphens, fullwidth letters, Arabic digits, characters
// without width. Where there are more names than are looked for, the whole text is one.
func (d *Detector) Find(text string, names ...string) []Span {
	also, ok := phrasesOf(names, nil)
	if !ok {
		return []Span{{End: len(text), Type: Person, Confidence: 1, Rule: flaggedRule}}
	}
	return d.findSpans(text, nil, also)
}

// findSpans is Find for the types of only, nil for all, and the phrases, which count wherever they stand.
func (d *Detector) findSpans(text string, only []Type, also *phrases) []Span {
	if also != nil && len(also.nodes) > 0 || len(text) < memoFrom {
		return d.findUncached(text, only, also)
	}
	spans := slices.Clone(d.memo.Of(text, 0, func() ([]Span, int) {
		spans := d.findUncached(text, nil, nil)
		return spans, spanBytes * len(spans)
	}))
	if only == nil {
		return spans
	}
	return slices.DeleteFunc(spans, func(sp Span) bool { return !slices.Contains(only, sp.Type) })
}

// findUncached is find without a memory.
func (d *Detector) findUncached(text string, only []Type, also *phrases) []Span {
	plain, shifts := foldText(text)
	var spans []Span
	if only == nil || len(only) > 0 {
		spans = d.scanFoldedText(plain, only)
	}
	spans = also.markPhrases(spans, plain)
	if len(shifts) > 0 {
		for i := range spans {
			spans[i].Start, spans[i].End = findOriginalPlace(shifts, spans[i].Start), findOriginalPlace(shifts, spans[i].End)
		}
	}
	return spans
}

// scanFoldedText returns the findings in a folded text.
func (d *Detector) scanFoldedText(plain string, only []Type) []Span {
	s := scan{d: d, text: plain, looks: 16 + len(plain)/1024}
	for s.at < len(plain) {
		s.scanNextByte()
	}
	spans := slices.DeleteFunc(s.spans, func(sp Span) bool { return sp.Confidence < d.least || !slices.Contains(d.wanted, sp.Type) })
	if d.person && d.least <= 0.5 {
		spans = mergeSpans(spans, findPersons(plain, spans))
	}
	if only != nil {
		spans = slices.DeleteFunc(spans, func(sp Span) bool { return !slices.Contains(only, sp.Type) })
	}
	return spans
}

// scan is one pass over a text.
type scan struct {
	d     *Detector
	text  string
	at    int    // what stands before it is done with
	free  int    // end of the last span
	looks int    // library look-ups left: they cost microseconds, a text of numbers has many
	tried int    // end of the last word that was tried as a domain
	line  int    // start of the line that was looked at last
	lined int    // what was looked at of it
	spans []Span // in order
}

// class of a byte, as far as it can begin a finding.
type class uint8

const (
	plain class = iota
	letter
	digit
	opening // + ( :
	dash    // may begin an armoured key
	escape  // may begin the @ of a URL or of HTML
	at
	dot
	wide // a byte outside ASCII
)

var classes = classTable()

func classTable() (t [256]class) {
	for c := range t {
		switch b := byte(c); {
		case b >= 'a' && b <= 'z', b >= 'A' && b <= 'Z':
			t[c] = letter
		case b >= '0' && b <= '9':
			t[c] = digit
		case b >= utf8.RuneSelf:
			t[c] = wide
		}
	}
	t['+'] = opening
	t['('] = opening
	t[':'] = opening
	t['-'] = dash
	t['@'] = at
	t['.'] = dot
	t['%'] = escape
	t['&'] = escape
	return t
}

func isAlnum(c byte) bool  { return classes[c] == letter || classes[c] == digit }
func isDigit(c byte) bool  { return classes[c] == digit }
func isLetter(c byte) bool { return classes[c] == letter }

// scanNextByte looks at one byte and moves on: behind a finding, a word, or that byte.
func (s *scan) scanNextByte() {
	i := s.at
	switch classes[s.text[i]] {
	case letter:
		s.tryLetters(i)
	case digit:
		s.tryNumber(i)
	case opening:
		s.tryOpeningSign(i)
	case at:
		s.tryEmail(i, 1)
	case escape:
		s.tryEscapedEmail(i)
	case dot:
		s.tryDomain(i)
	case dash:
		s.tryPrivateKey(i)
	case wide:
		s.tryWideWord(i)
	}
	s.at = max(s.at, i+1)
}

// tryLetters tries what begins with a letter and moves behind the letters and digits.
func (s *scan) tryLetters(i int) {
	if i > 0 && (isAlnum(s.text[i-1]) || s.text[i-1] == '_') {
		s.at = s.endOfWord(i)
		return
	}
	end := s.endOfWord(i)
	next := byte(0)
	if end < len(s.text) {
		next = s.text[end]
	}
	joined := next == '_' || next == '-' || next == '.'
	if (joined || end-i >= shortestKey) && s.tryVendorKey(i) || s.at > end || s.tryBankAccount(i) || s.tryHonorific(i, end) {
		return
	}
	if next == ':' && (s.tryURLScheme(i, end) || s.tryIPv6Address(i)) || next == '+' && s.tryURLScheme(i, end) {
		return
	}
	if !s.tryAssignment(i, end) {
		s.trySpokenSecret(i)
	}
	s.at = max(s.at, end)
}

// shortestKey is the length of the shortest key without a joint after its prefix.
const shortestKey = 20

func (s *scan) endOfWord(i int) int {
	for i < len(s.text) && isAlnum(s.text[i]) {
		i++
	}
	return i
}

// tryNumber tries what begins with a digit and moves behind the group of digits.
func (s *scan) tryNumber(i int) {
	if i > 0 && (isAlnum(s.text[i-1]) || s.text[i-1] == '_') {
		s.at = s.endOfWord(i)
		return
	}
	if s.tryVendorKey(i) || s.tryIPv4Address(i) || s.tryIPv6Address(i) || s.tryDigits(i) {
		return
	}
	s.at = s.endOfWord(i)
}

func (s *scan) tryOpeningSign(i int) {
	if s.text[i] == ':' {
		s.tryIPv6Address(i)
		return
	}
	if i+1 < len(s.text) && isDigit(s.text[i+1]) {
		s.tryDigits(i)
	}
}

// addFinding keeps a finding and moves behind it. What a finding overlaps it replaces, when it
// is the surer of the two.
func (s *scan) addFinding(sp Span) bool {
	if sp.Confidence < s.d.least {
		return false
	}
	for len(s.spans) > 0 && s.spans[len(s.spans)-1].End > sp.Start {
		if s.spans[len(s.spans)-1].Confidence > sp.Confidence {
			return false
		}
		s.spans = s.spans[:len(s.spans)-1]
	}
	s.spans = append(s.spans, sp)
	s.at = max(s.at, sp.End)
	s.free = sp.End
	return true
}

// readTextBefore returns up to n bytes of the line before i.
func (s *scan) readTextBefore(i, n int) string {
	part := s.text[max(0, i-n):i]
	if nl := strings.LastIndexByte(part, '\n'); nl >= 0 {
		part = part[nl+1:]
	}
	return part
}

// readTextAfter returns up to n bytes of the line from i on.
func (s *scan) readTextAfter(i, n int) string {
	part := s.text[i:min(len(s.text), i+n)]
	if nl := strings.IndexByte(part, '\n'); nl >= 0 {
		part = part[:nl]
	}
	return part
}

// isTokenEnd reports whether nothing that belongs to a name or number goes on at i.
func (s *scan) isTokenEnd(i int) bool {
	if i >= len(s.text) {
		return true
	}
	c := s.text[i]
	if isAlnum(c) || c == '_' {
		return false
	}
	return c != '-' || i+1 >= len(s.text) || !isAlnum(s.text[i+1])
}

// isTokenStart reports whether nothing that belongs to a name or number stands before i.
func (s *scan) isTokenStart(i int) bool {
	if i == 0 {
		return true
	}
	c := s.text[i-1]
	if isAlnum(c) || c == '_' || c == '$' {
		return false
	}
	return c != '-' && c != '.' && c != '/' || i < 2 || !isAlnum(s.text[i-2])
}

// anyOf reports whether one of the words of part, in lower case, is accepted.
func anyOf(part string, accept func(word string) bool) bool {
	var buf [24]byte
	for i := 0; i < len(part); {
		if !isWordByte(part[i]) {
			i++
			continue
		}
		n := 0
		start := i
		for i < len(part) && isWordByte(part[i]) {
			if n < len(buf) {
				buf[n] = lowerByte(part[i])
				n++
			}
			i++
		}
		if i-start <= len(buf) && accept(string(buf[:n])) {
			return true
		}
	}
	return false
}

func isWordByte(c byte) bool { return isLetter(c) || c >= utf8.RuneSelf }

func lowerByte(c byte) byte {
	if c >= 'A' && c <= 'Z' {
		return c + 'a' - 'A'
	}
	return c
}
