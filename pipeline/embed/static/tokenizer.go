package static

import (
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

const (
	// maxPieces is how many pieces of a text are read.
	maxPieces = 256
	// maxWord is how many characters a word may have; a longer one is unknown.
	maxWord = 200
)

// asciiClass says what the tokenizer does with an ASCII character: a class
// below, or the lower-case form of a character that belongs to a word.
type asciiClass uint8

const (
	dropped asciiClass = iota
	separator
	punctuation
)

func asciiClasses() (classes [128]asciiClass) {
	for c := range classes {
		switch {
		case c == ' ' || c == '\t' || c == '\n' || c == '\r':
			classes[c] = separator
		case c < ' ' || c == 0x7f:
			classes[c] = dropped
		case 'A' <= c && c <= 'Z':
			classes[c] = asciiClass(c - 'A' + 'a')
		case 'a' <= c && c <= 'z' || '0' <= c && c <= '9':
			classes[c] = asciiClass(c)
		default:
			classes[c] = punctuation
		}
	}
	return classes
}

// tokenizer cuts one text into word pieces as BERT's uncased tokenizer does:
// control characters go, white space separates, CJK characters and punctuation
// stand alone, accents are stripped (NFD without Mn), letters lower-cased, and
// each word is cut into the longest pieces from the left. It lives on the stack
// of one call.
type tokenizer struct {
	vocabulary *vocabulary
	word       [maxWord * utf8.UTFMax]byte
	bytes      int // used of word
	characters int // of the word, those past maxWord included
	pieces     [maxPieces]uint16
	count      int // pieces read, unknown ones included
	kept       int // used of pieces
}

// known returns the numbers of the pieces that are known, in order.
func (t *tokenizer) known() []uint16 { return t.pieces[:t.kept] }

// run cuts text; it stops reading after maxPieces.
func (t *tokenizer) run(text string) {
	for i := 0; i < len(text) && t.count < maxPieces; {
		c := text[i]
		if c >= utf8.RuneSelf {
			r, size := utf8.DecodeRuneInString(text[i:])
			t.rune(r)
			i += size
			continue
		}
		i++
		switch class := t.vocabulary.ascii[c]; class {
		case dropped:
		case separator:
			t.endWord()
		case punctuation:
			t.single(rune(c))
		default:
			if t.characters < maxWord {
				t.word[t.bytes] = byte(class)
				t.bytes++
			}
			t.characters++
		}
	}
	t.endWord()
}

// rune takes any character; run has a shorter way for ASCII.
func (t *tokenizer) rune(r rune) {
	switch {
	case r == '\t' || r == '\n' || r == '\r':
		t.endWord()
	case r == utf8.RuneError || unicode.In(r, unicode.Cc, unicode.Cf, unicode.Co, unicode.Cs):
	case unicode.IsSpace(r):
		t.endWord()
	case isCJK(r):
		t.endWord()
		t.decompose(r)
		t.endWord()
	default:
		t.decompose(r)
	}
}

// decompose hands on the canonical decomposition of r.
func (t *tokenizer) decompose(r rune) {
	if r < utf8.RuneSelf {
		t.fold(r)
		return
	}
	const hangul, hangulEnd, vowels, trails = 0xac00, 0xd7a4, 21, 28
	if r >= hangul && r < hangulEnd {
		s := r - hangul
		t.fold(0x1100 + s/(vowels*trails))
		t.fold(0x1161 + s%(vowels*trails)/trails)
		if trail := s % trails; trail != 0 {
			t.fold(0x11a7 + trail)
		}
		return
	}
	var encoded [utf8.UTFMax]byte
	parts := norm.NFD.Properties(encoded[:utf8.EncodeRune(encoded[:], r)]).Decomposition()
	if parts == nil {
		t.fold(r)
		return
	}
	for len(parts) > 0 {
		part, size := utf8.DecodeRune(parts)
		t.fold(part)
		parts = parts[size:]
	}
}

// fold adds a decomposed character to the word, or ends the word with it.
func (t *tokenizer) fold(r rune) {
	switch {
	case r >= utf8.RuneSelf && unicode.Is(unicode.Mn, r):
	case isPunctuation(r):
		t.single(r)
	default:
		t.letter(unicode.ToLower(r))
	}
}

func (t *tokenizer) letter(r rune) {
	if t.characters < maxWord {
		t.bytes += utf8.EncodeRune(t.word[t.bytes:], r)
	}
	t.characters++
}

// single ends the word and emits r as a word of its own.
func (t *tokenizer) single(r rune) {
	t.endWord()
	t.letter(r)
	t.endWord()
}

// endWord cuts the word read so far into pieces, if there is one. A word with
// an unknown part is unknown as a whole.
func (t *tokenizer) endWord() {
	if t.characters == 0 {
		return
	}
	word, tooLong := t.word[:t.bytes], t.characters > maxWord
	t.bytes, t.characters = 0, 0
	if tooLong {
		t.count++
		return
	}
	before, cut := t.kept, 0
	for start := 0; start < len(word); cut++ {
		piece, length := t.vocabulary.longest(word[start:], start == 0)
		if piece == unknown {
			t.kept = before
			t.count++
			return
		}
		if t.count+cut < maxPieces {
			t.pieces[t.kept] = piece
			t.kept++
		}
		start += length
	}
	t.count += cut
}

// isPunctuation is BERT's: all of ASCII's symbols, and category P elsewhere.
func isPunctuation(r rune) bool {
	if r < utf8.RuneSelf {
		return r > ' ' && r < '0' || r > '9' && r < 'A' || r > 'Z' && r < 'a' || r > 'z' && r < 0x7f
	}
	return unicode.IsPunct(r)
}

// isCJK is BERT's: the ideographs, neither kana nor hangul.
func isCJK(r rune) bool {
	return r >= 0x3400 && r <= 0x4dbf || r >= 0x4e00 && r <= 0x9fff || r >= 0xf900 && r <= 0xfaff ||
		r >= 0x20000 && r <= 0x2a6df || r >= 0x2a700 && r <= 0x2ceaf || r >= 0x2f800 && r <= 0x2fa1f
}
