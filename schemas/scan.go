package schemas

import (
	"bytes"
	"errors"
	"reflect"
	"strconv"
	"strings"
	"time"
	"unicode/utf16"
	"unicode/utf8"
)

// spaces has the bit of each white space of JSON.
const spaces uint64 = 1<<' ' | 1<<'\t' | 1<<'\r' | 1<<'\n'

func (w *walker) skipSpace() {
	for w.pos < len(w.data) && spaces>>w.data[w.pos]&1 != 0 {
		w.pos++
	}
}

// atEnd reports whether there is nothing but white space left.
func (w *walker) atEnd() bool {
	w.skipSpace()
	return w.pos == len(w.data)
}

// readChar steps over white space and one character, when that is the next.
func (w *walker) readChar(want byte) bool {
	w.skipSpace()
	if !w.isAt(want) {
		return false
	}
	w.pos++
	return true
}

func (w *walker) isAt(c byte) bool { return w.pos < len(w.data) && w.data[w.pos] == c }

// readWord reads true, false or null.
func (w *walker) readWord(want string, value bool, to reflect.Value) bool {
	if !bytes.HasPrefix(w.data[w.pos:], []byte(want)) {
		return false
	}
	w.pos += len(want)
	if to.IsValid() {
		to.SetBool(value)
	}
	return true
}

// readText reads a string that is a value.
func (w *walker) readText(s *shape, to reflect.Value) bool {
	raw, ok := w.readString()
	if !ok {
		return false
	}
	if s.kind != shapeTime {
		if to.IsValid() {
			to.SetString(w.plainText(raw))
		}
		return true
	}
	if !strictTime(raw) || w.slow && !validTime(raw) {
		w.addIssue(errTime.Error())
		return true
	}
	if to.IsValid() && to.Addr().Interface().(*time.Time).UnmarshalText(raw) != nil {
		w.unfit = true
	}
	return true
}

// readString reads a string and returns what stands between its quotes, escapes included.
func (w *walker) readString() ([]byte, bool) {
	if !w.isAt('"') {
		return nil, false
	}
	data := w.data
	start := w.pos + 1
	w.escaped = false
	for i := start; i < len(data); i++ {
		switch c := data[i]; {
		case c > '\\': // most letters
		case c == '"':
			w.pos = i + 1
			return data[start:i], true
		case c == '\\':
			size := escapeSize(data[i+1:])
			if size == 0 {
				return nil, false
			}
			i += size
			w.escaped = true
		case c < ' ':
			return nil, false
		}
	}
	return nil, false
}

// plainText returns the text of the string that readString read last.
func (w *walker) plainText(raw []byte) string {
	if w.escaped {
		return unquoteText(raw)
	}
	switch string(raw) { // the most frequent words of the contract need no copy
	case "episodic":
		return "episodic"
	case "semantic":
		return "semantic"
	case "memory":
		return "memory"
	case "user":
		return "user"
	case "assistant":
		return "assistant"
	}
	return string(raw)
}

// The characters that stand for others behind a backslash, and those others.
const (
	escapes = `"\/bfnrt`
	escaped = "\"\\/\b\f\n\r\t"
)

// escapeSize returns how many bytes of an escape sequence stand behind its backslash, 0 for none.
func escapeSize(rest []byte) int {
	if len(rest) == 0 {
		return 0
	}
	if strings.IndexByte(escapes, rest[0]) >= 0 {
		return 1
	}
	const size = len("u00e9")
	if rest[0] != 'u' || len(rest) < size {
		return 0
	}
	if _, err := strconv.ParseUint(string(rest[1:size]), 16, 16); err != nil {
		return 0
	}
	return size
}

// unquoteText returns the text of a string that readString read. A surrogate without its partner becomes
// U+FFFD, as in encoding/json.
func unquoteText(raw []byte) string {
	plain, rest, more := bytes.Cut(raw, []byte{'\\'})
	if !more {
		return string(raw)
	}
	var b strings.Builder
	b.Grow(len(raw))
	for more {
		b.Write(plain)
		if rest[0] == 'u' {
			var r rune
			r, rest = codeUnits(rest[1:])
			b.WriteRune(r)
		} else {
			b.WriteByte(escaped[strings.IndexByte(escapes, rest[0])])
			rest = rest[1:]
		}
		plain, rest, more = bytes.Cut(rest, []byte{'\\'})
	}
	b.Write(plain)
	return b.String()
}

// codeUnits returns the character of one code unit of UTF-16, or of two that belong together,
// and what stands behind it.
func codeUnits(raw []byte) (r rune, rest []byte) {
	r = readHex(raw)
	rest = raw[4:]
	if utf16.IsSurrogate(r) && bytes.HasPrefix(rest, []byte(`\u`)) {
		if both := utf16.DecodeRune(r, readHex(rest[2:])); both != utf8.RuneError {
			return both, rest[6:]
		}
	}
	return r, rest
}

// readHex returns the number of four hex digits, which readString has checked.
func readHex(raw []byte) rune {
	n, _ := strconv.ParseUint(string(raw[:4]), 16, 16)
	return rune(n)
}

func (w *walker) readNumber(s *shape, to reflect.Value) bool {
	start := w.pos
	whole, ok := w.readNumeral()
	if !ok {
		return false
	}
	text := w.data[start:w.pos]
	switch {
	case s.kind == shapeInt && !whole:
		w.addIssue("must be a whole number")
	case s.kind == shapeInt && w.slow:
		if _, err := strconv.ParseInt(string(text), 10, 64); err != nil {
			w.addIssue("is out of range")
		}
	case w.slow || s.kind == shapeAny && (w.fills || !w.later):
		if !fitsFloat(text) {
			w.addIssue("is out of the range of a 64-bit float: write it as a string")
		}
	}
	if to.IsValid() && !setNumber(to, string(text)) {
		w.unfit = true
	}
	return true
}

// readNumeral steps over a number and reports whether it is written as a whole one.
func (w *walker) readNumeral() (whole, ok bool) {
	if w.isAt('-') {
		w.pos++
	}
	switch {
	case w.isAt('0'):
		w.pos++
	case !w.readDigits():
		return false, false
	}
	whole = true
	if w.isAt('.') {
		w.pos++
		whole = false
		if !w.readDigits() {
			return false, false
		}
	}
	if !w.isAt('e') && !w.isAt('E') {
		return whole, true
	}
	w.pos++
	if w.isAt('+') || w.isAt('-') {
		w.pos++
	}
	return false, w.readDigits()
}

// readDigits steps over one or more digits.
func (w *walker) readDigits() bool {
	start := w.pos
	for w.pos < len(w.data) && isDigit(w.data[w.pos]) {
		w.pos++
	}
	return w.pos > start
}

// fitsFloat reports whether a 64-bit float holds a number, perhaps rounded. Readers in other languages fail on one that it
// does not hold.
func fitsFloat(text []byte) bool {
	const always = 308 // digits
	if len(text) <= always && !bytes.ContainsAny(text, "eE") {
		return true
	}
	_, err := strconv.ParseFloat(string(text), 64)
	return !errors.Is(err, strconv.ErrRange)
}

func validTime(raw []byte) bool {
	_, err := ParseTime(string(raw))
	return err == nil
}
