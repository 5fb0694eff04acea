package compaction

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"satchel/schemas"
)

// maxUnit is the longest unit in bytes: what has no sentence's end is cut at a space.
const maxUnit = 600

// units cuts a text into sentences and lines: spans without white space around them, in
// order, that hold everything but white space.
func units(text string) []schemas.Span {
	var out []schemas.Span
	start := 0
	emit := func(end int) {
		from, to := trim(text, start, end)
		start = end
		for to-from > maxUnit {
			cut := from + maxUnit
			if space := strings.LastIndexByte(text[from:cut], ' '); space > maxUnit/2 {
				cut = from + space
			}
			for cut > from && !utf8.RuneStart(text[cut]) {
				cut--
			}
			a, b := trim(text, from, cut)
			out = append(out, schemas.Span{Start: a, End: b})
			from, _ = trim(text, cut, to)
		}
		if from < to {
			out = append(out, schemas.Span{Start: from, End: to})
		}
	}
	for i, r := range text {
		if ends(text, start, i, r) {
			emit(i + utf8.RuneLen(r))
		}
	}
	emit(len(text))
	return out
}

// trim narrows a span to what is not white space.
func trim(text string, from, to int) (int, int) {
	for from < to {
		r, n := utf8.DecodeRuneInString(text[from:to])
		if !unicode.IsSpace(r) {
			break
		}
		from += n
	}
	for from < to {
		r, n := utf8.DecodeLastRuneInString(text[from:to])
		if !unicode.IsSpace(r) {
			break
		}
		to -= n
	}
	return from, to
}

// ends reports whether the character r at i ends the unit that began at start.
func ends(text string, start, i int, r rune) bool {
	switch r {
	case '\n', '。', '！', '？':
		return true
	case '!', '?', '.':
	default:
		return false
	}
	rest := text[i+1:]
	if rest == "" {
		return true
	}
	if rest[0] != ' ' && rest[0] != '\n' {
		return false
	}
	next, _ := utf8.DecodeRuneInString(strings.TrimLeft(rest, " \n\"'“‘(["))
	return !unicode.IsLower(next) && (r != '.' || !abbreviation(text[start:i]))
}

// abbreviation reports whether the text before a full stop ends in an abbreviation, an
// initial or the number of a list.
func abbreviation(before string) bool {
	word := before[strings.LastIndexAny(before, " \n(")+1:]
	if len(word) == 1 && word[0] >= 'A' && word[0] <= 'Z' && word != "I" {
		return true
	}
	if word == strings.TrimSpace(before) && len(word) <= 3 && strings.Trim(word, "0123456789") == "" {
		return true
	}
	switch strings.ToLower(word) {
	case "mr", "mrs", "ms", "dr", "prof", "st", "no", "vs", "etc", "e.g", "i.e", "approx", "fig", "inc", "jr", "sr":
		return true
	}
	return false
}
