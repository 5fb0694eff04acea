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
		regions: cfg.Regions, least: cmp.Or(cfg.Least, .5), secrets: index(vendors[:]), spoken: indexSpoken(), memo: cache.NewMemo[[]Span](memoBytes)}
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
	return d.find(text, nil, also)
}

// find is Find for the types of only, nil for all, and the phrases, which count wherever they stand.
func (d *Detector) find(text string, only []Type, also *phrases) []Span {
	if also != nil && len(also.nodes) > 0 || len(text) < memoFrom {
		return d.look(text, only, also)
	}
	spans := slices.Clone(d.memo.Of(text, 0, func() ([]Span, int) {
		spans := d.look(text, nil, nil)
		return spans, spanBytes * len(spans)
	}))
	if only == nil {
		return spans
	}
	return slices.DeleteFunc(spans, func(sp Span) bool { return !slices.Contains(only, sp.Type) })
}

// look is find without a memory.
func (d *Detector) look(text string, only []Type, also *phrases) []Span {
	plain, shifts := fold(text)
	var spans []Span
	if only == nil || len(only) > 0 {
		spans = d.scan(plain, only)
	}
	spans = also.mark(spans, plain)
	if len(shifts) > 0 {
		for i := range spans {
			spans[i].Start, spans[i].End = original(shifts, spans[i].Start), original(shifts, spans[i].End)
		}
	}
	return spans
}

// scan returns the findings in a folded text.
func (d *Detector) scan(plain string, only []Type) []Span {
	s := scan{d: d, text: plain, looks: 16 + len(plain)/1024}
	for s.at < len(plain) {
		s.step()
	}
	spans := slices.DeleteFunc(s.spans, func(sp Span) bool { return sp.Confidence < d.least || !slices.Contains(d.wanted, sp.Type) })
	if d.person && d.least <= 0.5 {
		spans = merge(spans, persons(plain, spans))
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
	t['+'], t['('], t[':'], t['-'], t['@'], t['.'] = opening, opening, opening, dash, at, dot
	t['%'], t['&'] = escape, escape
	return t
}

func isAlnum(c byte) bool  { return classes[c] == letter || classes[c] == digit }
func isDigit(c byte) bool  { return classes[c] == digit }
func isLetter(c byte) bool { return classes[c] == letter }

// step looks at one byte and moves on: behind a finding, a word, or that byte.
func (s *scan) step() {
	i := s.at
	switch classes[s.text[i]] {
	case letter:
		s.word(i)
	case digit:
		s.number(i)
	case opening:
		s.open(i)
	case at:
		s.email(i, 1)
	case escape:
		s.escaped(i)
	case dot:
		s.domain(i)
	case dash:
		s.armour(i)
	case wide:
		s.wide(i)
	}
	s.at = max(s.at, i+1)
}

// word tries what begins with a letter and moves behind the letters and digits.
func (s *scan) word(i int) {
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
	if (joined || end-i >= shortestKey) && s.vendor(i) || s.at > end || s.iban(i) || s.honorific(i, end) {
		return
	}
	if next == ':' && (s.url(i, end) || s.ip6(i)) || next == '+' && s.url(i, end) {
		return
	}
	if !s.assignment(i, end) {
		s.spoken(i)
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

// number tries what begins with a digit and moves behind the group of digits.
func (s *scan) number(i int) {
	if i > 0 && (isAlnum(s.text[i-1]) || s.text[i-1] == '_') {
		s.at = s.endOfWord(i)
		return
	}
	if s.vendor(i) || s.ip4(i) || s.ip6(i) || s.digits(i) {
		return
	}
	s.at = s.endOfWord(i)
}

func (s *scan) open(i int) {
	if s.text[i] == ':' {
		s.ip6(i)
		return
	}
	if i+1 < len(s.text) && isDigit(s.text[i+1]) {
		s.digits(i)
	}
}

// add keeps a finding and moves behind it. What a finding overlaps it replaces, when it
// is the surer of the two.
func (s *scan) add(sp Span) bool {
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
	s.at, s.free = max(s.at, sp.End), sp.End
	return true
}

// before returns up to n bytes of the line before i.
func (s *scan) before(i, n int) string {
	part := s.text[max(0, i-n):i]
	if nl := strings.LastIndexByte(part, '\n'); nl >= 0 {
		part = part[nl+1:]
	}
	return part
}

// after returns up to n bytes of the line from i on.
func (s *scan) after(i, n int) string {
	part := s.text[i:min(len(s.text), i+n)]
	if nl := strings.IndexByte(part, '\n'); nl >= 0 {
		part = part[:nl]
	}
	return part
}

// closed reports whether nothing that belongs to a name or number goes on at i.
func (s *scan) closed(i int) bool {
	if i >= len(s.text) {
		return true
	}
	c := s.text[i]
	if isAlnum(c) || c == '_' {
		return false
	}
	return c != '-' || i+1 >= len(s.text) || !isAlnum(s.text[i+1])
}

// begins reports whether nothing that belongs to a name or number stands before i.
func (s *scan) begins(i int) bool {
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
		n, start := 0, i
		for i < len(part) && isWordByte(part[i]) {
			if n < len(buf) {
				buf[n] = lower(part[i])
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

func lower(c byte) byte {
	if c >= 'A' && c <= 'Z' {
		return c + 'a' - 'A'
	}
	return c
}
