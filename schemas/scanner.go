package schemas

import (
	"bytes"
	"strconv"
	"time"
	"unicode/utf16"
	"unicode/utf8"
)

// scanner reads JSON strictly and gives up at the first thing that is not plain: bad
// syntax, null, a wrong type, too deep a nesting. What it accepts, encoding/json
// accepts with the same values; what it refuses goes the slower way that says why.
type scanner struct {
	data  []byte
	pos   int
	depth int
	bad   bool
	seen  uint64 // fields of the innermost object
}

func (p *scanner) fail() { p.bad = true }

// next skips white space and returns the byte there, 0 at the end.
func (p *scanner) next() byte {
	for p.pos < len(p.data) {
		switch c := p.data[p.pos]; c {
		case ' ', '\t', '\r', '\n':
			p.pos++
		default:
			return c
		}
	}
	return 0
}

func (p *scanner) expect(c byte) {
	if p.next() != c {
		p.fail()
		return
	}
	p.pos++
}

func (p *scanner) enter(open byte) bool {
	p.expect(open)
	if p.depth++; p.depth > MaxNesting {
		p.fail()
	}
	return !p.bad
}

// once fails when field i of the present object was given before.
func (p *scanner) once(i int) {
	if p.seen&(1<<i) != 0 {
		p.fail()
	}
	p.seen |= 1 << i
}

// object reads an object; field reads the value of one name.
func (p *scanner) object(field func(name []byte)) {
	if !p.enter('{') {
		return
	}
	outer := p.seen
	p.seen = 0
	for first := true; !p.bad; first = false {
		if p.next() == '}' && first {
			break
		}
		name := p.raw()
		p.expect(':')
		if p.bad {
			return
		}
		field(name)
		if p.next() != ',' {
			break
		}
		p.pos++
	}
	p.expect('}')
	p.depth, p.seen = p.depth-1, outer
}

// array reads an array; element reads one value.
func (p *scanner) array(element func()) {
	if !p.enter('[') {
		return
	}
	for first := true; !p.bad; first = false {
		if p.next() == ']' && first {
			break
		}
		element()
		if p.next() != ',' {
			break
		}
		p.pos++
	}
	p.expect(']')
	p.depth--
}

// raw reads a string and returns what stands between its quotes, escapes checked.
func (p *scanner) raw() []byte {
	if p.next() != '"' {
		p.fail()
		return nil
	}
	p.pos++
	start := p.pos
	for p.pos < len(p.data) {
		switch c := p.data[p.pos]; {
		case c == '"':
			p.pos++
			return p.data[start : p.pos-1]
		case c == '\\':
			if !p.escape() {
				p.fail()
				return nil
			}
		case c < 0x20:
			p.fail()
			return nil
		default:
			p.pos++
		}
	}
	p.fail()
	return nil
}

// escape steps over one escape sequence.
func (p *scanner) escape() bool {
	rest := p.data[p.pos+1:]
	if len(rest) == 0 {
		return false
	}
	switch rest[0] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		p.pos += 2
		return true
	case 'u':
		if _, ok := hex4(rest[1:]); ok {
			p.pos += 6
			return true
		}
	}
	return false
}

func hex4(b []byte) (rune, bool) {
	if len(b) < 4 {
		return 0, false
	}
	var r rune
	for _, c := range b[:4] {
		switch {
		case isDigit(c):
			r = r<<4 | rune(c-'0')
		case c >= 'a' && c <= 'f':
			r = r<<4 | rune(c-'a'+10)
		case c >= 'A' && c <= 'F':
			r = r<<4 | rune(c-'A'+10)
		default:
			return 0, false
		}
	}
	return r, true
}

func (p *scanner) str() string {
	raw := p.raw()
	if bytes.IndexByte(raw, '\\') < 0 {
		return string(raw)
	}
	return unescape(raw)
}

// unescape replaces escapes that were checked before. A surrogate without its
// partner becomes U+FFFD, as in encoding/json.
func unescape(raw []byte) string {
	out := make([]byte, 0, len(raw))
	for i := 0; i < len(raw); {
		if raw[i] != '\\' {
			next := bytes.IndexByte(raw[i:], '\\')
			if next < 0 {
				next = len(raw) - i
			}
			out = append(out, raw[i:i+next]...)
			i += next
			continue
		}
		switch c := raw[i+1]; c {
		case 'b':
			out = append(out, '\b')
		case 'f':
			out = append(out, '\f')
		case 'n':
			out = append(out, '\n')
		case 'r':
			out = append(out, '\r')
		case 't':
			out = append(out, '\t')
		case 'u':
			r, size := unescapeRune(raw[i:])
			out = utf8.AppendRune(out, r)
			i += size
			continue
		default:
			out = append(out, c)
		}
		i += 2
	}
	return string(out)
}

func unescapeRune(raw []byte) (r rune, size int) {
	r, _ = hex4(raw[2:])
	if !utf16.IsSurrogate(r) {
		return r, 6
	}
	if len(raw) >= 12 && raw[6] == '\\' && raw[7] == 'u' {
		low, _ := hex4(raw[8:])
		if both := utf16.DecodeRune(r, low); both != utf8.RuneError {
			return both, 12
		}
	}
	return utf8.RuneError, 6
}

// num reads a number and returns its text and whether it is written as a whole one.
func (p *scanner) num() (text []byte, whole bool) {
	p.next()
	start := p.pos
	if p.at('-') {
		p.pos++
	}
	switch {
	case p.at('0'):
		p.pos++
	case !p.digits():
		p.fail()
	}
	whole = true
	if p.at('.') {
		p.pos++
		if whole = false; !p.digits() {
			p.fail()
		}
	}
	if p.at('e') || p.at('E') {
		p.pos++
		if p.at('+') || p.at('-') {
			p.pos++
		}
		if whole = false; !p.digits() {
			p.fail()
		}
	}
	return p.data[start:p.pos], whole
}

func (p *scanner) at(c byte) bool { return p.pos < len(p.data) && p.data[p.pos] == c }

// digits steps over one or more digits.
func (p *scanner) digits() bool {
	start := p.pos
	for p.pos < len(p.data) && isDigit(p.data[p.pos]) {
		p.pos++
	}
	return p.pos > start
}

func (p *scanner) integer() int64 {
	text, whole := p.num()
	n, err := strconv.ParseInt(string(text), 10, 64)
	if err != nil || !whole {
		p.fail()
	}
	return n
}

func (p *scanner) float() float64 {
	text, _ := p.num()
	f, err := strconv.ParseFloat(string(text), 64)
	if err != nil {
		p.fail()
	}
	return f
}

func (p *scanner) time() (t time.Time) {
	if raw := p.raw(); p.bad || !strictTime(raw) || t.UnmarshalText(raw) != nil {
		p.fail()
	}
	return t
}

// skip reads any value and returns its text.
func (p *scanner) skip() []byte {
	c := p.next()
	start := p.pos
	switch c {
	case '{':
		p.object(func([]byte) { p.skip() })
	case '[':
		p.array(func() { p.skip() })
	case '"':
		p.raw()
	case 't':
		p.word("true")
	case 'f':
		p.word("false")
	case 'n':
		p.word("null")
	default:
		p.num()
	}
	if p.bad {
		return nil
	}
	return p.data[start:p.pos]
}

func (p *scanner) word(want string) {
	if !bytes.HasPrefix(p.data[p.pos:], []byte(want)) {
		p.fail()
		return
	}
	p.pos += len(want)
}
