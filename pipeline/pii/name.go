package pii

import (
	"cmp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// honorific tries "Dr. Ada Lovelace" and "my name is Ada Lovelace" at the word [i, end).
func (s *scan) honorific(i, end int) bool {
	if !s.d.person || end-i > len("professor") || strings.IndexByte("mdpsn", lower(s.text[i])) < 0 {
		return false
	}
	t := s.text
	confidence := 0.0
	switch w := t[i:end]; {
	case end < len(t) && t[end] == '.' && foldAny(w, "mr", "mrs", "ms", "dr", "prof"):
		end, confidence = end+1, 0.8
	case foldAny(w, "mr", "mrs", "ms", "dr", "prof", "professor", "miss", "madam", "sir"):
		confidence = 0.6
	case foldAny(w, "name") && strings.HasPrefix(t[end:], " is ") && foldSuffix(t[:i], "my "):
		end, confidence = end+3, 0.8
	default:
		return false
	}
	if end >= len(t) || t[end] != ' ' {
		return false
	}
	first := end + 1
	last := capitalised(t, first)
	return last > first && s.add(Span{Start: first, End: last, Type: Person, Confidence: confidence, Rule: "honorific"})
}

func foldSuffix(t, suffix string) bool {
	return len(t) >= len(suffix) && foldAny(t[len(t)-len(suffix):], suffix)
}

// capitalised returns the end of up to three capitalised words at i; i when there is none.
func capitalised(t string, i int) int {
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

// flaggedRule is the rule of words that the caller gave.
const flaggedRule = "flagged"

// withWords adds every place of a folded text where one of list stands as whole words, as
// a finding of the type, and keeps the order; of two findings that overlap the first stays.
func withWords(spans []Span, text string, list []string, as Type) []Span {
	found := len(spans)
	for _, name := range list {
		if name, _ = fold(name); len(name) < 2 || as == Person && !strings.ContainsFunc(name, unicode.IsLetter) {
			continue
		}
		for at := 0; ; {
			k := strings.Index(text[at:], name)
			if k < 0 {
				break
			}
			start := at + k
			at = start + len(name)
			if whole(text, start, at) {
				spans = append(spans, Span{Start: start, End: at, Type: as, Confidence: 1, Rule: flaggedRule})
			}
		}
	}
	if len(spans) == found {
		return spans
	}
	slices.SortStableFunc(spans, func(a, b Span) int { return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(b.End, a.End)) })
	end := 0
	return slices.DeleteFunc(spans, func(sp Span) bool {
		if sp.Start < end {
			return true
		}
		end = sp.End
		return false
	})
}

// whole reports whether [start, end) begins and ends at the border of a word.
func whole(text string, start, end int) bool {
	before, _ := utf8.DecodeLastRuneInString(text[:start])
	after, _ := utf8.DecodeRuneInString(text[end:])
	inWord := func(r rune) bool { return r != utf8.RuneError && (unicode.IsLetter(r) || unicode.IsDigit(r)) }
	return !inWord(before) && !inWord(after)
}
