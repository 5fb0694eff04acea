package token

import (
	"unicode"
	"unicode/utf8"
)

// Classes of runes that the encodings' patterns tell apart.
const (
	letter uint8 = 1 << iota
	number
	space
	line  // the end of a line, which is space, too
	upper // may begin a word of o200k_base
	lower // may end one
)

func classOf(r rune) uint8 {
	switch {
	case r >= 'a' && r <= 'z':
		return letter | lower
	case r >= 'A' && r <= 'Z':
		return letter | upper
	case r >= '0' && r <= '9':
		return number
	case r == '\n' || r == '\r':
		return space | line
	case r < utf8.RuneSelf:
		if unicode.IsSpace(r) {
			return space
		}
		return 0
	case unicode.Is(unicode.Ll, r):
		return letter | lower
	case unicode.In(r, unicode.Lu, unicode.Lt):
		return letter | upper
	case unicode.IsLetter(r):
		return letter | upper | lower
	case unicode.IsMark(r):
		return upper | lower
	case unicode.IsNumber(r):
		return number
	case unicode.IsSpace(r):
		return space
	}
	return 0
}

// splitter finds the parts of a text that tokens do not span, as the pattern of an encoding does:
//
//	cl100k_base  (?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}
//	             | ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+
//	o200k_base   [^\r\n\p{L}\p{N}]?U*W+C?|[^\r\n\p{L}\p{N}]?U+W*C?|\p{N}{1,3}
//	             | ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+
//
// where U is [\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}], W is [\p{Ll}\p{Lm}\p{Lo}\p{M}] and C the
// contractions of cl100k_base.
type splitter struct {
	text  string
	cased bool // as o200k_base
}

// classifyRune returns the class of the rune at a place, and its length: 0 at the end.
func (s splitter) classifyRune(i int) (class uint8, size int) {
	if i >= len(s.text) {
		return 0, 0
	}
	if c := s.text[i]; c < utf8.RuneSelf {
		return classOf(rune(c)), 1
	}
	r, size := utf8.DecodeRuneInString(s.text[i:])
	return classOf(r), size
}

// findRunEnd returns where the runes end that begin at i and have one of the classes.
func (s splitter) findRunEnd(i int, any uint8) int {
	for {
		class, size := s.classifyRune(i)
		if size == 0 || class&any == 0 {
			return i
		}
		i += size
	}
}

// measurePart returns the length of the first part of a text that is not empty.
func (s splitter) measurePart() int {
	if n := s.measureWord(); n > 0 {
		return n
	}
	class, size := s.classifyRune(0)
	if class&number != 0 {
		n := size
		for range 2 {
			class, size = s.classifyRune(n)
			if class&number == 0 {
				break
			}
			n += size
		}
		return n
	}
	if n := s.measureMarks(); n > 0 {
		return n
	}
	return s.measureSpace()
}

// measureMarks returns the length of what is neither space, letter nor number.
func (s splitter) measureMarks() int {
	begin := 0
	if s.text[0] == ' ' {
		begin = 1
	}
	n := begin
	for {
		class, size := s.classifyRune(n)
		if size == 0 || class&(space|letter|number) != 0 {
			break
		}
		n += size
	}
	if n == begin {
		return 0
	}
	for n < len(s.text) && (s.text[n] == '\r' || s.text[n] == '\n' || s.cased && s.text[n] == '/') {
		n++
	}
	return n
}

// measureSpace returns the length of white space: to the last end of a line in it, or all but the
// last rune, which goes with the word behind it.
func (s splitter) measureSpace() int {
	end := 0
	lines := 0
	last := 0
	for {
		class, size := s.classifyRune(end)
		if size == 0 || class&space == 0 {
			break
		}
		last = end
		end = end + size
		if class&line != 0 {
			lines = end
		}
	}
	switch {
	case lines > 0:
		return lines
	case end < len(s.text) && last > 0:
		return last
	}
	return end
}

// measureWord returns the length of a word with what stands before it, 0 where there is none.
func (s splitter) measureWord() int {
	if !s.cased {
		if n := s.measureContraction(0); n > 0 {
			return n
		}
	}
	class, size := s.classifyRune(0)
	begin := 0
	if class&(letter|number|line) == 0 {
		begin = size
	}
	if !s.cased {
		if n := s.findRunEnd(begin, letter); n > begin {
			return n
		}
		return 0
	}
	for _, end := range []func(int) int{s.findLoweredEnd, s.findRaisedEnd} {
		from := begin
		n := end(begin)
		if n == from {
			from, n = 0, end(0) // the rune may be a mark that is the word's own
		}
		if n > from {
			return n + s.measureContraction(n)
		}
	}
	return 0
}

// findLoweredEnd returns where U*W+ ends that begins at i, or i.
func (s splitter) findLoweredEnd(i int) int {
	end := s.findRunEnd(i, upper)
	if n := s.findRunEnd(end, lower); n > end {
		return n
	}
	last := i // behind the last rune of the run that is in W, too
	for at := i; at < end; {
		class, size := s.classifyRune(at)
		at += size
		if class&lower != 0 {
			last = at
		}
	}
	return last
}

// findRaisedEnd returns where U+W* ends that begins at i, or i.
func (s splitter) findRaisedEnd(i int) int {
	end := s.findRunEnd(i, upper)
	if end == i {
		return i
	}
	return s.findRunEnd(end, lower)
}

// measureContraction returns the length of 's, 't, 're, 've, 'm, 'll or 'd at i, 0 of anything else.
func (s splitter) measureContraction(i int) int {
	rest := s.text[i:]
	if len(rest) < 2 || rest[0] != '\'' {
		return 0
	}
	switch rest[1] | 0x20 {
	case 's', 't', 'm', 'd':
		return 2
	}
	if len(rest) < 3 {
		return 0
	}
	if rest[1:3] == "ſ" { // a form of s
		return 3
	}
	switch string([]byte{rest[1] | 0x20, rest[2] | 0x20}) {
	case "re", "ve", "ll":
		return 3
	}
	return 0
}
