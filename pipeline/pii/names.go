package pii

import (
	_ "embed"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"satchel/pipeline/language"
)

// nameFile holds words by the first 26 bits of their hash, in order: numbers of four
// bytes, little end first, whose last six bits are the ranks. Program train makes it.
//
//go:embed names.bin
var nameFile string

// ranks says what a word is known as, from 0, not at all, to 3.
type ranks struct {
	first uint8 // given name
	last  uint8 // surname
	word  uint8 // word of the language; isPlace for a place or an organisation
}

const isPlace = 3

// ranksOf looks a word up.
func ranksOf(word string) ranks {
	h := hashName(word) >> 6
	low := 0
	high := len(nameFile) / 4
	for low < high {
		mid := int(uint(low+high) >> 1)
		entry := uint32(nameFile[4*mid]) | uint32(nameFile[4*mid+1])<<8 | uint32(nameFile[4*mid+2])<<16 | uint32(nameFile[4*mid+3])<<24
		switch at := entry >> 6; {
		case at == h:
			return ranks{first: uint8(entry & 3), last: uint8(entry >> 2 & 3), word: uint8(entry >> 4 & 3)}
		case at < h:
			low = mid + 1
		default:
			high = mid
		}
	}
	return ranks{}
}

// NameWords returns how many of the first words are the name of a person, with a title or a surname; 0 for none. It
// takes no word for a name that it does not know as one.
func NameWords(words []string) int {
	known := func(at int, rank func(ranks) uint8) bool {
		if at >= len(words) {
			return false
		}
		r := ranksOf(words[at])
		first, _ := utf8.DecodeRuneInString(words[at])
		return rank(r) >= 2 && r.word != isPlace && (r.word == 0 || unicode.IsUpper(first))
	}
	given := func(r ranks) uint8 { return r.first }
	last := func(r ranks) uint8 { return r.last }
	n := 0
	if len(words) > 1 && roleOf(words[0])&title != 0 {
		n = 1
	}
	switch {
	case known(n, given) && known(n+1, last):
		return n + 2
	case known(n, given), n > 0 && known(n, last):
		return n + 1
	}
	return 0
}

// hashName is the hash of a word in small letters without accents.
func hashName(word string) uint32 {
	h := uint32(0x811C9DC5)
	add := func(b byte) { h = (h ^ uint32(b)) * 0x01000193 }
	for i := range len(word) {
		if word[i] >= utf8.RuneSelf {
			h = 0x811C9DC5
			for k, plain := 0, plainWord(word); k < len(plain); k++ {
				add(plain[k])
			}
			break
		}
		add(lowerByte(word[i]))
	}
	return h ^ h>>15
}

// letters that are no letter with an accent.
var spelled = strings.NewReplacer("ß", "ss", "ø", "o", "ł", "l", "đ", "d", "æ", "ae", "œ", "oe", "ı", "i", "þ", "th", "ð", "d")

func plainWord(word string) string {
	return strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Mn, r) {
			return -1
		}
		return r
	}, norm.NFD.String(spelled.Replace(strings.ToLower(word))))
}

// isSurname reports whether an unknown word ends as surnames do.
func isSurname(word string) bool {
	if len(word) < 6 {
		return false
	}
	word = strings.ToLower(word)
	for _, end := range language.Default().Words(language.SurnameEnding) {
		if strings.HasSuffix(word, end) {
			return true
		}
	}
	return false
}
