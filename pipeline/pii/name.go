package pii

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"satchel/pipeline/language"
)

// tryHonorific tries "Dr. Ada Lovelace" and "my name is Ada Lovelace" at the word [i, end).
func (s *scan) tryHonorific(i, end int) bool {
	if !s.d.person || end-i > len("professor") || strings.IndexByte("mdpsn", lowerByte(s.text[i])) < 0 {
		return false
	}
	t := s.text
	confidence := 0.0
	switch w := t[i:end]; {
	case end < len(t) && t[end] == '.' && foldAny(w, "mr", "mrs", "ms", "dr", "prof"):
		end = end + 1
		confidence = 0.8
	case roleOf(w)&language.Honorific != 0:
		confidence = 0.6
	case foldAny(w, "name") && strings.HasPrefix(t[end:], " is ") && foldSuffix(t[:i], "my "):
		end = end + 3
		confidence = 0.8
	default:
		return false
	}
	if end >= len(t) || t[end] != ' ' {
		return false
	}
	first := end + 1
	last := findCapitalisedEnd(t, first)
	return last > first && s.addFinding(Span{Start: first, End: last, Type: Person, Confidence: confidence, Rule: "honorific"})
}

func foldSuffix(t, suffix string) bool {
	return len(t) >= len(suffix) && foldAny(t[len(t)-len(suffix):], suffix)
}

// findCapitalisedEnd returns the end of up to three capitalised words at i; i when there is none.
func findCapitalisedEnd(t string, i int) int {
	end := i
	for n, at := 0, i; n < 3; n++ {
		first, _ := utf8.DecodeRuneInString(t[at:])
		if !unicode.IsUpper(first) {
			break
		}
		w := at
		for w < len(t) {
			r, size := utf8.DecodeRuneInString(t[w:])
			if !unicode.IsLetter(r) && !(r == '-' || r == '\'') || r == utf8.RuneError && size < 2 {
				break
			}
			w += size
		}
		for w > at && (t[w-1] == '\'' || t[w-1] == '-') {
			w--
		}
		end = w
		if w >= len(t) || t[w] != ' ' {
			break
		}
		at = w + 1
	}
	return end
}
