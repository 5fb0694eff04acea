package wordpiece

import (
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

const (
	// maxPieces is the largest number of pieces that a caller may ask for.
	maxPieces = 512
	// maxWord is the largest number of characters that a caller may allow in a word.
	maxWord = 200
)

// Limits bound the pieces of a text.
type Limits struct {
	// Pieces is how many pieces Cut returns, at most 512; the rest of the text is not read.
	Pieces int
	// Word is how many characters a word may have, at most 200. A longer word is unknown.
	Word int
}

// Cut appends the pieces of text to dst. A word with an unknown part is one piece, Unknown.
// Cut allocates only if dst has no room for the pieces.
func (v *Vocabulary) Cut(dst []uint16, text string, limits Limits) []uint16 {
	t := tokenizer{vocabulary: v, longest: min(limits.Word, maxWord), most: min(limits.Pieces, maxPieces)}
	t.cutIntoPieces(text)
	return append(dst, t.pieces[:t.count]...)
}

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
	vocabulary *Vocabulary
	word       [maxWord * utf8.UTFMax]byte
	bytes      int // used of word
	characters int // of the word, those past longest included
	longest    int // characters of a known word
	pieces     [maxPieces]uint16
	count      int // used of pieces
	most       int // how many pieces may be used
}

// cutIntoPieces cuts text; it stops reading when there are enough pieces.
func (t *tokenizer) cutIntoPieces(text string) {
	for i := 0; i < len(text) && t.count < t.most; {
		c := text[i]
		if c >= utf8.RuneSelf {
			r, size := utf8.DecodeRuneInString(text[i:])
			t.takeRune(r)
			i += size
			continue
		}
		i++
		switch class := t.vocabulary.ascii[c]; class {
		case dropped:
		case separator:
			t.endWord()
		case punctuation:
			t.emitSingleRune(rune(c))
		default:
			if t.characters < t.longest {
				t.word[t.bytes] = byte(class)
				t.bytes++
			}
			t.characters++
		}
	}
	t.endWord()
}

// takeRune takes any character; run has a shorter way for ASCII.
func (t *tokenizer) takeRune(r rune) {
	switch {
	case r == '\t' || r == '\n' || r == '\r':
		t.endWord()
	case r == utf8.RuneError || unicode.In(r, unicode.Cc, unicode.Co, unicode.Cs) || t.vocabulary.hasOldCategory(unicode.Cf, r):
	case unicode.IsSpace(r):
		t.endWord()
	case isCJK(r):
		t.endWord()
		t.decomposeRune(r)
		t.endWord()
	default:
		t.decomposeRune(r)
	}
}

// decomposeRune hands on the canonical decomposition of r.
func (t *tokenizer) decomposeRune(r rune) {
	if r < utf8.RuneSelf {
		t.foldRune(r)
		return
	}
	const hangul, hangulEnd, vowels, trails = 0xac00, 0xd7a4, 21, 28
	if r >= hangul && r < hangulEnd {
		s := r - hangul
		t.foldRune(0x1100 + s/(vowels*trails))
		t.foldRune(0x1161 + s%(vowels*trails)/trails)
		if trail := s % trails; trail != 0 {
			t.foldRune(0x11a7 + trail)
		}
		return
	}
	var encoded [utf8.UTFMax]byte
	parts := norm.NFD.Properties(encoded[:utf8.EncodeRune(encoded[:], r)]).Decomposition()
	if parts == nil {
		t.foldRune(r)
		return
	}
	for len(parts) > 0 {
		part, size := utf8.DecodeRune(parts)
		t.foldRune(part)
		parts = parts[size:]
	}
}

// foldRune adds a decomposed character to the word, or ends the word with it.
func (t *tokenizer) foldRune(r rune) {
	switch {
	case r >= utf8.RuneSelf && t.vocabulary.isMark(r):
	case t.vocabulary.isPunctuation(r):
		t.emitSingleRune(r)
	default:
		t.addLetter(unicode.ToLower(r))
	}
}

func (t *tokenizer) addLetter(r rune) {
	if t.characters < t.longest {
		t.bytes += utf8.EncodeRune(t.word[t.bytes:], r)
	}
	t.characters++
}

// emitSingleRune ends the word and emits r as a word of its own.
func (t *tokenizer) emitSingleRune(r rune) {
	t.endWord()
	t.addLetter(r)
	t.endWord()
}

// endWord cuts the word read so far into pieces, if there is one. A word with
// an unknown part is unknown as a whole.
func (t *tokenizer) endWord() {
	if t.characters == 0 {
		return
	}
	word := t.word[:t.bytes]
	tooLong := t.characters > t.longest
	t.bytes = 0
	t.characters = 0
	before := t.count
	if tooLong {
		t.addPiece(Unknown)
		return
	}
	for start := 0; start < len(word); {
		piece, length := t.vocabulary.findLongestPiece(word[start:], start == 0)
		if piece == Unknown {
			t.count = before
			t.addPiece(Unknown)
			return
		}
		t.addPiece(piece)
		start += length
	}
}

// addPiece keeps a piece if there is room for it.
func (t *tokenizer) addPiece(piece uint16) {
	if t.count < t.most {
		t.pieces[t.count] = piece
		t.count++
	}
}

// hasOldCategory reports whether r is in a category and was a character in Unicode 8, whose categories the
// reference has. Later characters are letters to it.
func (v *Vocabulary) hasOldCategory(category *unicode.RangeTable, r rune) bool {
	return unicode.Is(category, r) && unicode.Is(v.assigned, r)
}

// isMark reports category Mn, as it was in Unicode 8.
func (v *Vocabulary) isMark(r rune) bool {
	switch r {
	case 0x1734:
		return true
	case 0x1885, 0x1886, 0xa9bd, 0x111c9:
		return false
	}
	return v.hasOldCategory(unicode.Mn, r)
}

// isPunctuation is BERT's: all of ASCII's symbols, and category P, as it was in Unicode 8.
func (v *Vocabulary) isPunctuation(r rune) bool {
	if r < utf8.RuneSelf {
		return r > ' ' && r < '0' || r > '9' && r < 'A' || r > 'Z' && r < 'a' || r > 'z' && r < 0x7f
	}
	return r == 0x166d || r == 0x111c9 || v.hasOldCategory(unicode.P, r)
}

// isCJK is BERT's, as the reference has it: the ideographs, neither kana nor hangul.
func isCJK(r rune) bool {
	return r >= 0x3400 && r <= 0x4dbf || r >= 0x4e00 && r <= 0x9fff || r >= 0xf900 && r <= 0xfaff ||
		r >= 0x20000 && r <= 0x2a6df || r >= 0x2a700 && r <= 0x2b81f || r >= 0x2b920 && r <= 0x2ceaf ||
		r >= 0x2f800 && r <= 0x2fa1f
}
