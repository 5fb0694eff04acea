package pii

import (
	"net/netip"
	"strings"

	"satchel/pipeline/language"
)

// maxGroups bounds a run: no number that is looked for has more.
const maxGroups = 10

// run is digits in groups as they stand in a text: 4532 0151-1283 0366.
type run struct {
	start  int
	n      int
	groups [maxGroups]group
}

type group struct {
	start, end int
	sep        byte // before the group; 0 for none; a run of separators has its last but blank one
}

func (g group) measureGroup() int { return g.end - g.start }

// readRun reads groups of digits with one or two separators between them.
func readRun(text string, i int) (r run) {
	r.start = i
	sep := byte(0)
	if i < len(text) && text[i] == '+' {
		i++
	}
	if i < len(text) && text[i] == '(' {
		i++
	}
	for r.n < maxGroups {
		g := group{start: i, sep: sep}
		for i < len(text) && isDigit(text[i]) {
			i++
		}
		g.end = i
		if g.measureGroup() == 0 {
			return r
		}
		r.groups[r.n] = g
		r.n++
		sep = 0
		for k := 0; k < 3 && i < len(text) && isSeparator(text[i]) && (k == 0 || text[i] != ' ' || text[i-1] != ' '); k++ {
			if sep == 0 || sep == ' ' {
				sep = text[i]
			}
			i++
		}
		if sep == 0 {
			return r
		}
	}
	return r
}

func isSeparator(c byte) bool {
	return c == ' ' || c == '-' || c == '.' || c == '/' || c == '(' || c == ')'
}

// tryDigits tries what is made of groups of digits.
func (s *scan) tryDigits(i int) bool {
	if !s.isTokenStart(i) {
		return false
	}
	r := readRun(s.text, i)
	if r.n == 0 {
		return false
	}
	return s.tryPaymentCard(&r) || s.brokenCard(&r) || s.trySocialSecurity(&r) || s.tryPhone(&r)
}

// tryPaymentCard tries the groups from the first on, all with one separator, as a payment card.
func (s *scan) tryPaymentCard(r *run) bool {
	total := 0
	for k := range r.n {
		g := r.groups[k]
		if k > 0 && (g.sep != ' ' && g.sep != '-' && g.sep != '.' || k > 1 && g.sep != r.groups[1].sep || g.start != r.groups[k-1].end+1) {
			return false
		}
		total += g.measureGroup()
		if total > 19 {
			return false
		}
		if total < 12 || k > 0 && !cardGroups(r, k) || !s.isTokenEnd(g.end) {
			continue
		}
		number := make([]byte, 0, 19)
		for _, part := range r.groups[:k+1] {
			number = append(number, s.text[part.start:part.end]...)
		}
		if !isLuhnValid(number) {
			continue
		}
		confidence := 0.0
		words := anyIs(s.readTextBefore(r.start, 60), language.Card)
		switch known := isIssuedNumber(string(number)); {
		case known && (k > 0 || words):
			confidence = 0.99
		case known && total >= 14:
			confidence = 0.8
		case words:
			confidence = 0.7
		}
		if confidence > 0 && s.text[r.start] != '(' && s.text[r.start] != '+' {
			return s.addFinding(Span{Start: r.start, End: g.end, Type: Card, Confidence: confidence, Rule: "luhn"})
		}
	}
	return false
}

// cardGroups reports whether the first k+1 groups are as cards are printed: 4-4-4-4,
// 4-6-5, 4-6-4 or 4-4-4-4-3.
func cardGroups(r *run, k int) bool {
	if r.groups[0].measureGroup() != 4 {
		return false
	}
	if k == 2 && r.groups[1].measureGroup() == 6 {
		return r.groups[2].measureGroup() == 4 || r.groups[2].measureGroup() == 5
	}
	for i := 1; i < k; i++ {
		if r.groups[i].measureGroup() != 4 {
			return false
		}
	}
	return k >= 3
}

// isLuhnValid checks the last digit (ISO/IEC 7812-1).
func isLuhnValid(number []byte) bool {
	sum := 0
	zero := true
	for i := range number {
		d := int(number[len(number)-1-i] - '0')
		zero = zero && d == 0
		if i%2 == 1 {
			d *= 2
			if d > 9 {
				d -= 9
			}
		}
		sum += d
	}
	return sum%10 == 0 && !zero
}

// isIssuedNumber reports whether a payment network gives out numbers of this prefix and length.
func isIssuedNumber(n string) bool {
	p2 := parseDigits(n[:2])
	p3 := parseDigits(n[:3])
	p4 := parseDigits(n[:4])
	switch l := len(n); {
	case n[0] == '4':
		return l == 13 || l == 16 || l == 19
	case p2 >= 51 && p2 <= 55, p4 >= 2221 && p4 <= 2720:
		return l == 16
	case p2 == 34 || p2 == 37:
		return l == 15
	case p4 >= 3528 && p4 <= 3589:
		return l >= 16
	case p4 == 1800 || p4 == 2131:
		return l == 15
	case p3 >= 300 && p3 <= 305, p3 == 309, p2 == 36, p2 == 38, p2 == 39:
		return l >= 14
	case p4 == 6011, p3 >= 644 && p3 <= 649, p2 == 65, p2 == 62, p2 == 60, p2 == 81:
		return l >= 16
	case p2 == 50, p2 >= 56 && p2 <= 58, p2 >= 61 && p2 <= 69:
		return true // Maestro
	case p4 >= 2200 && p4 <= 2204, p4 == 9792:
		return l >= 16 // Mir, Troy
	}
	return false
}

func parseDigits(s string) (n int) {
	for i := range len(s) {
		n = 10*n + int(s[i]-'0')
	}
	return n
}

// trySocialSecurity tries 3-2-4 digits; nine digits in one need words beside them.
func (s *scan) trySocialSecurity(r *run) bool {
	var number string
	var end int
	confidence := 0.0
	g := r.groups
	words := func() bool { return anyOf(s.readTextBefore(r.start, 48), ssnWord) }
	switch {
	case r.n >= 3 && g[0].measureGroup() == 3 && g[1].measureGroup() == 2 && g[2].measureGroup() == 4 && g[1].sep == g[2].sep &&
		g[1].start == g[0].end+1 && g[2].start == g[1].end+1 && (g[1].sep == '-' || g[1].sep == ' '):
		number = s.text[g[0].start:g[0].end] + s.text[g[1].start:g[1].end] + s.text[g[2].start:g[2].end]
		end = g[2].end
		if g[1].sep == '-' {
			confidence = 0.85
		}
		if words() {
			confidence = 0.98
		}
	case g[0].measureGroup() == 9 && words():
		number = s.text[g[0].start:g[0].end]
		end = g[0].end
		confidence = 0.8
	}
	if confidence == 0 || s.text[r.start] == '(' || s.text[r.start] == '+' || !s.isTokenEnd(end) {
		return false
	}
	// Areas 000, 666 and 900–999, group 00 and serial 0000 are never given out.
	if number[:3] == "000" || number[:3] == "666" || number[0] == '9' || number[3:5] == "00" || number[5:] == "0000" {
		return false
	}
	return s.addFinding(Span{Start: r.start, End: end, Type: SSN, Confidence: confidence, Rule: "ssn"})
}

func ssnWord(w string) bool {
	return w == "ssn" || w == "ssns" || w == "social" || w == "itin" || w == "tin"
}

// tryIPv4Address tries four numbers with dots between them.
func (s *scan) tryIPv4Address(i int) bool {
	end := i
	dots := 0
	for end < len(s.text) && end-i <= 15 && (isDigit(s.text[end]) || s.text[end] == '.' && end+1 < len(s.text) && isDigit(s.text[end+1])) {
		if s.text[end] == '.' {
			dots++
		}
		end++
	}
	if dots != 3 || !s.isTokenEnd(end) || i > 0 && s.text[i-1] == '.' {
		return false
	}
	addr, err := netip.ParseAddr(s.text[i:end])
	if err != nil || isLocalAddress(addr) {
		return false
	}
	confidence := 0.95
	if anyOf(s.readTextBefore(i, 16), versionWord) {
		confidence = 0.2
	}
	return s.addFinding(Span{Start: i, End: end, Type: IP, Confidence: confidence, Rule: "ipv4"})
}

func versionWord(w string) bool {
	switch w {
	case "v", "version", "versions", "release", "section", "chapter":
		return true
	}
	return false
}

// isLocalAddress reports whether an address is the host's own or none.
func isLocalAddress(a netip.Addr) bool { return a.IsLoopback() || a.IsUnspecified() }

// tryIPv6Address tries groups of hex digits with colons between them.
func (s *scan) tryIPv6Address(i int) bool {
	end := i
	colons := 0
	pairs := 0
	numerals := 0
	for end < len(s.text) && end-i < 46 {
		c := s.text[end]
		if c == ':' {
			colons++
			if end+1 < len(s.text) && s.text[end+1] == ':' {
				pairs++
			}
		} else if isDigit(c) {
			numerals++
		} else if l := lowerByte(c); (l < 'a' || l > 'f') && (c != '.' || colons < 2) {
			break
		}
		end++
	}
	for end > i && s.text[end-1] == '.' {
		end--
	}
	if end-i < 3 || colons < 2 || s.text[i] == ':' && (i+1 >= end || s.text[i+1] != ':') {
		return false
	}
	if s.text[end-1] == ':' && end-i > 2 && s.text[end-2] != ':' { // the colon of a sentence
		end--
		colons--
	}
	// Names of modules look like it, too: dead::beef.
	if pairs > 1 || pairs == 0 && colons < 7 || pairs > 0 && numerals < 2 && colons < 4 || !s.isTokenEnd(end) || !s.isTokenStart(i) {
		return false
	}
	addr, err := netip.ParseAddr(s.text[i:end])
	if err != nil || isLocalAddress(addr) {
		return false
	}
	return s.addFinding(Span{Start: i, End: end, Type: IP, Confidence: 0.95, Rule: "ipv6"})
}

// tryBankAccount tries two letters, two digits and the account, whole or in groups of four.
func (s *scan) tryBankAccount(i int) bool {
	t := s.text
	if i+14 > len(t) || !isLetter(t[i+1]) || !isDigit(t[i+2]) || !isDigit(t[i+3]) {
		return false
	}
	want := ibanLength(t[i : i+2])
	if want == 0 {
		return false
	}
	number := make([]byte, 0, 34)
	end := i
	for k := i; k < len(t) && len(number) < want; k++ {
		switch c := t[k]; {
		case isAlnum(c):
			number = append(number, upperByte(c))
			end = k + 1
		case (c == ' ' || c == '-' || c == '.' || c == '\n') && len(number)%4 == 0 && k+1 < len(t) && isAlnum(t[k+1]):
		case c == '\r' && k+1 < len(t) && t[k+1] == '\n':
		default:
			k = len(t)
		}
	}
	if len(number) != want || !s.isTokenEnd(end) || computeRemainder(number) != 1 {
		return false
	}
	return s.addFinding(Span{Start: i, End: end, Type: IBAN, Confidence: 0.99, Rule: "mod97"})
}

func upperByte(c byte) byte {
	if c >= 'a' && c <= 'z' {
		return c - ('a' - 'A')
	}
	return c
}

// computeRemainder is the remainder of ISO 7064 over the number with its first four characters
// behind the rest.
func computeRemainder(number []byte) int {
	m := 0
	for i := range number {
		c := number[(i+4)%len(number)]
		if isDigit(c) {
			m = (10*m + int(c-'0')) % 97
		} else {
			m = (100*m + int(c-'A') + 10) % 97
		}
	}
	return m
}

// ibanLengths is the IBAN registry: country code and length.
const ibanLengths = "AD24 AE23 AL28 AT20 AZ28 BA20 BE16 BG22 BH22 BI27 BR29 BY28 CH21 CR22 CY28 CZ24 DE22 DJ27 DK18 DO28 EE20 EG29 " +
	"ES24 FI18 FK18 FO18 FR27 GB22 GE22 GI23 GL18 GR27 GT28 HN28 HR21 HU28 IE22 IL23 IQ23 IS26 IT27 JO30 KW30 KZ20 LB28 LC32 LI21 " +
	"LT20 LU20 LV21 LY25 MC27 MD24 ME22 MK19 MN20 MR27 MT31 MU30 NI28 NL18 NO15 OM23 PK24 PL28 PS29 PT25 QA29 RO24 RS22 RU33 SA24 " +
	"SC31 SD18 SE24 SI19 SK24 SM27 SO23 ST25 SV28 TL23 TN24 TR26 UA29 VA22 VG24 XK20 YE30"

func ibanLength(country string) int {
	at := strings.Index(ibanLengths, string([]byte{upperByte(country[0]), upperByte(country[1])}))
	if at < 0 || at%5 != 0 {
		return 0
	}
	return parseDigits(ibanLengths[at+2 : at+4])
}
