package injection

import (
	"html"
	"regexp"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	lang "satchel/pipeline/language"
)

var (
	comments = regexp.MustCompile(`(?s)<!--.*?-->`)
	escapes  = regexp.MustCompile(`\\u[0-9A-Fa-f]{4}|\\u\{[0-9A-Fa-f]{1,6}\}|\\x[0-9A-Fa-f]{2}`)
)

// undoEscapes is a text as it is read: without comments of HTML, and with the characters for escapes.
func undoEscapes(text string) string {
	if strings.Contains(text, "<!--") {
		text = comments.ReplaceAllString(text, "")
	}
	if strings.Contains(text, `\`) {
		text = escapes.ReplaceAllStringFunc(text, func(escape string) string {
			code, err := strconv.ParseUint(strings.Trim(escape[2:], "{}"), 16, 32)
			if err != nil {
				return escape
			}
			return string(rune(code))
		})
	}
	if strings.Contains(text, "&") {
		text = html.UnescapeString(text)
	}
	return lang.Bare(text)
}

// Words that stand apart are read together.
const (
	leastOdd = 4  // gaps that are no blanks, from which words stand apart
	window   = 24 // words that are read together
	step     = window / 2
	few      = 6 // words of a line that is read with the next
	language = 3 // one in so many words of a window is a common one, or the window is no prose
)

// findSeparatedText returns what the words of a text say that something else parts than blanks: the cells of a table, line ends,
// marks of Markdown, hyphens.
func findSeparatedText(text string) (out []string) {
	from := 0
	words := 0
	odd := 0
	usual := 0 // of a run of words
	for i := 0; i <= len(text); {
		gap := i
		for i < len(text) && !inWord(text[i:]) {
			_, n := utf8.DecodeRuneInString(text[i:])
			i += n
		}
		ended := i == len(text)
		switch {
		case words == 0:
			from = i
		case i == gap+1 && text[gap] == ' ' || !isOdd(text[gap:i]):
			usual++
		default:
			odd = odd + 1
			usual = 0
		}
		if usual > 1 || ended {
			if odd >= leastOdd && 2*odd >= words {
				out = append(out, splitWindows(text[from:gap])...)
			}
			from = i
			words = 0
			odd = 0
			usual = 0
		}
		if ended {
			break
		}
		for words++; i < len(text) && inWord(text[i:]); {
			_, n := utf8.DecodeRuneInString(text[i:])
			i += n
		}
	}
	return out
}

// inWord reports whether a text begins with a character of a word.
func inWord(text string) bool {
	if b := text[0]; b < utf8.RuneSelf {
		return isLetterByte(b) || isDigitByte(b) || b == '\''
	}
	r, _ := utf8.DecodeRuneInString(text)
	return unicode.In(r, unicode.L, unicode.M, unicode.N)
}

// isOdd reports whether more than blanks and the marks of a sentence part two words.
func isOdd(gap string) bool {
	gap = strings.TrimLeft(gap, `.,;:!?"')`)
	blanks := len(gap) - len(strings.TrimLeft(gap, " "))
	return blanks == 0 || strings.TrimLeft(gap[blanks:], `"'(`) != ""
}

// splitWindows are the parts of a run of words that may be prose; each begins in the middle of the one before.
func splitWindows(run string) (out []string) {
	words := wordsOf(run)
	for at := 0; at == 0 || at+step < len(words); at += step {
		out = addProse(out, words[at:])
	}
	return out
}

// addProse adds the first words of a run where they may be prose.
func addProse(out, words []string) []string {
	part := strings.Join(words[:min(len(words), window)], " ")
	if hits, n := countCommonWords(part); language*hits >= n {
		out = append(out, part)
	}
	return out
}

func wordsOf(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool { return !inWord(string(r)) })
}

// findStackedText returns what lines of few words say that stand one below the other, whatever marks they begin and end with. Each part
// begins with a line.
func findStackedText(text string) (out []string) {
	var run []string
	var begins []int // in run, the lines
	end := func() {
		last := -step
		for _, at := range begins {
			if len(begins) > 1 && at-last >= step/2 {
				out = addProse(out, run[at:])
				last = at
			}
		}
		run = run[:0]
		begins = begins[:0]
	}
	for line := range strings.Lines(text) {
		words := wordsOf(strings.TrimLeftFunc(line, func(r rune) bool { return !unicode.IsLetter(r) }))
		if len(words) > few {
			end()
		} else if len(words) > 0 {
			run, begins = append(run, words...), append(begins, len(run))
		}
	}
	end()
	return out
}

// splitChunks are the parts of a long text that are judged by themselves: what stands in its middle counts as what stands
// at its ends. Each begins a little before the end of the one before.
func splitChunks(text string) (out []string) {
	for len(text) > longest {
		end := longest
		if line := strings.LastIndexByte(text[longest-overlap:longest], '\n'); line >= 0 {
			end = longest - overlap + line + 1
		}
		out = append(out, text[:end])
		text = text[end-overlap:]
	}
	return append(out, text)
}
