package injection

// Kinds of token.
const (
	wordToken = iota
	markToken
)

// tokenizer cuts a text into words and marks. Words are runs of letters, apostrophes
// and inner hyphens, lower-cased; a number is one token whatever its value, and so is
// an address. Marks are the other visible bytes.
type tokenizer struct {
	text  string
	at    int
	hash  uint32
	kind  int
	class class
	start int
	wide  bool // it has letters outside ASCII
}

const (
	hashNumber  = 0x9E3779B1
	hashAddress = 0x85EBCA6B
)

func isLetterByte(b byte) bool { return b|0x20 >= 'a' && b|0x20 <= 'z' || b >= 0x80 }

func isDigitByte(b byte) bool { return b >= '0' && b <= '9' }

// moveToNext moves to the next token.
func (t *tokenizer) moveToNext() bool {
	for t.at < len(t.text) && t.text[t.at] <= ' ' {
		if t.text[t.at] == '\n' { // the marks of a comment are no words of the sentence
			t.at = skipMarks(t.text, t.at)
			break
		}
		t.at++
	}
	if t.at >= len(t.text) {
		return false
	}
	t.start = t.at
	t.class = 0
	b := t.text[t.at]
	switch {
	case isDigitByte(b):
		for t.at < len(t.text) && (isDigitByte(t.text[t.at]) || (t.text[t.at] == ',' || t.text[t.at] == '.') && t.at+1 < len(t.text) && isDigitByte(t.text[t.at+1])) {
			t.at++
		}
		t.hash = hashNumber
		t.kind = wordToken
		t.class = number
	case isLetterByte(b):
		t.readWord()
	default:
		t.at++
		t.hash = (uint32(b) + 1) * 0x27D4EB2F
		t.kind = markToken
	}
	return true
}

func (t *tokenizer) readWord() {
	h := uint32(0x811C9DC5)
	all := byte(0)
	for t.at < len(t.text) {
		b := t.text[t.at]
		if b >= 'A' && b <= 'Z' {
			b |= 0x20
		}
		if !isLetterByte(b) && !isDigitByte(b) && (b != '\'' && b != '-' || t.at+1 >= len(t.text) || !isLetterByte(t.text[t.at+1])) {
			break
		}
		h = (h ^ uint32(b)) * 0x01000193
		all |= b
		t.at++
	}
	h ^= h >> 15
	t.hash = h
	t.kind = wordToken
	t.wide = all >= 0x80
	if t.at-t.start <= 5 && t.at+2 < len(t.text) && t.text[t.at] == ':' && t.text[t.at+1] == '/' || t.at+1 < len(t.text) && t.text[t.at] == '@' && isLetterByte(t.text[t.at+1]) {
		for t.at < len(t.text) && t.text[t.at] > ' ' && t.text[t.at] != ')' && t.text[t.at] != '"' && t.text[t.at] != '>' {
			t.at++
		}
		t.hash = hashAddress
		t.class = destination
	}
}
