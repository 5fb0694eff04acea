package language

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// Bounds of Entities.
const (
	maxEntities   = 16
	maxEntityLen  = 64 // bytes
	maxQuoteWords = 6
)

// Entities returns the names that a text mentions, folded (NFKC, lower case), each once,
// in order of appearance, at most 16. It knows no language; what counts as a name is its
// spelling:
//
//   - capitalised words in a row ("San Francisco"), without leading common words; a single
//     one that opens a sentence only when it is capitalised elsewhere in the text as
//     well, is possessive, or is the speaker;
//   - words with capitals or underscores inside (camelCase, snake_case), file paths and
//     names, ticket ids (ABC-123), @handles and #tags (without the mark, unless a number);
//   - quoted names of at most six words that start with a capital;
//   - the speaker, unless that is a role (user, assistant, system, tool).
//
// E-mail addresses, URLs and bare numbers are never names: they would make personal data
// a key. Scripts without capitals yield only what the other rules find.
func Entities(text, speaker string) []string {
	f := finder{starts: true}
	if s := foldName(strings.TrimSpace(speaker)); s != "" && !isRole(s) && !strings.ContainsRune(s, '@') {
		f.speaker = s
		f.addEntityName(s)
	}
	for i := 0; i < len(text); {
		for i < len(text) && isSpace(text[i]) {
			if text[i] == '\n' {
				f.endSentence()
			}
			i++
		}
		start := i
		for i < len(text) && !isSpace(text[i]) {
			i++
		}
		if start < i {
			if c := text[start]; c == '"' || c >= utf8.RuneSelf {
				f.addQuotedName(text[start:])
			}
			f.readWord(text[start:i])
		}
	}
	f.endSentence()
	f.addSentenceOpeners()
	return f.names
}

// finder collects names while a text passes.
type finder struct {
	names   []string
	maybe   []candidate // single words that open a sentence
	speaker string
	run     []string // capitalised words in a row
	atStart bool     // the run opens a sentence
	starts  bool     // the next word opens a sentence
	middle  []string // single capitalised words inside sentences, folded
}

// candidate is a word that is a name if it is seen elsewhere; at is its place in names.
type candidate struct {
	name string
	at   int
}

func isSpace(c byte) bool { return c == ' ' || c == '\n' || c == '\t' || c == '\r' }

func isRole(s string) bool { return s == "user" || s == "assistant" || s == "system" || s == "tool" }

// readWord takes the next word with the punctuation around it.
func (f *finder) readWord(w string) {
	core := strings.TrimLeft(w, "([{\"'“‘«„¿¡*`<-")
	if len(core) < len(w) {
		f.endRun(false)
	}
	trimmed := strings.TrimRight(core, ".,;:!?)]}\"'”’»*`>…-")
	tail := core[len(trimmed):]
	name, possessive := strings.CutSuffix(trimmed, "'s")
	if !possessive {
		name, possessive = strings.CutSuffix(trimmed, "’s")
	}
	f.classifyWord(name, possessive)
	if possessive || tail != "" {
		f.endRun(possessive)
	}
	if strings.ContainsAny(tail, ".!?:…") {
		f.starts = true
	}
}

// classifyWord says what a bare word is, and adds it to the run or to the names.
func (f *finder) classifyWord(w string, possessive bool) {
	opens := f.starts
	if w != "" {
		f.starts = false
	}
	switch {
	case len(w) < 2 || strings.Contains(w, "://") || strings.Contains(w, "www."):
		f.endRun(false)
	case w[0] == '@' || w[0] == '#':
		f.endRun(false)
		f.addMarkedName(w)
	case strings.IndexByte(w, '@') > 0: // an address
		f.endRun(false)
	case isIdentifier(w):
		f.endRun(false)
		f.addEntityName(foldName(w))
	default:
		r, _ := utf8.DecodeRuneInString(w)
		if !unicode.IsUpper(r) || strings.ContainsAny(w, "'’/=") && !possessive && !isElided(w) {
			f.endRun(false)
			return
		}
		if len(f.run) == 0 {
			if isCommon(w) {
				return
			}
			f.atStart = opens
		}
		f.run = append(f.run, w)
	}
}

// isElided reports whether an apostrophe stands inside a name: O'Brien, D'Angelo.
func isElided(w string) bool {
	i := strings.IndexAny(w, "'’")
	return (i == 1 || i == 2) && i+3 < len(w) && !strings.Contains(w, "/") && w[0] != 'I'
}

// addMarkedName takes a handle or a tag.
func (f *finder) addMarkedName(w string) {
	body := w[1:]
	if strings.ContainsAny(body, "@#/") || strings.IndexFunc(body, isWordRune) < 0 {
		return
	}
	if strings.IndexFunc(body, unicode.IsLetter) < 0 {
		if w[0] == '#' && len(body) <= 8 {
			f.addEntityName(w)
		}
		return
	}
	f.addEntityName(foldName(body))
}

func isWordRune(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }

// addQuotedName takes a quoted name at the head of s, if there is one.
func (f *finder) addQuotedName(s string) {
	open, size := utf8.DecodeRuneInString(s)
	closing := ""
	switch open {
	case '"':
		closing = "\""
	case '“':
		closing = "”"
	case '«':
		closing = "»"
	case '„':
		closing = "“"
	default:
		return
	}
	s = s[size:min(len(s), size+maxEntityLen+4)]
	end := strings.Index(s, closing)
	if end < 2 {
		return
	}
	s = strings.TrimRight(s[:end], ",. ")
	r, _ := utf8.DecodeRuneInString(s)
	if !unicode.IsUpper(r) || strings.ContainsAny(s, ".!?@\n") || strings.Count(s, " ") >= maxQuoteWords || isCommon(s) {
		return
	}
	f.addEntityName(foldName(s))
}

// endRun closes the capitalised words in a row.
func (f *finder) endRun(possessive bool) {
	run := f.run
	f.run = f.run[:0]
	switch {
	case len(run) == 0:
	case len(run) > 1:
		f.addEntityName(foldName(strings.Join(run, " ")))
	default:
		name := foldName(run[0])
		if !f.atStart || possessive {
			f.middle = append(f.middle, name)
			f.addEntityName(name)
		} else if name != f.speaker {
			f.maybe = append(f.maybe, candidate{name, len(f.names)})
		}
	}
}

func (f *finder) endSentence() {
	f.endRun(false)
	f.starts = true
}

// addSentenceOpeners adds the words that open a sentence and are names elsewhere. They are there
// already, later; so they only move to where they were first.
func (f *finder) addSentenceOpeners() {
	for _, c := range f.maybe {
		if i := slices.Index(f.names, c.name); i > c.at && slices.Contains(f.middle, c.name) {
			f.names = slices.Insert(slices.Delete(f.names, i, i+1), c.at, c.name)
		}
	}
}

func (f *finder) addEntityName(name string) {
	if len(name) < 2 || len(name) > maxEntityLen || len(f.names) >= maxEntities || slices.Contains(f.names, name) {
		return
	}
	f.names = append(f.names, name)
}

// foldName returns the form in which names are compared.
func foldName(s string) string {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return strings.ToLower(norm.NFKC.String(s))
		}
	}
	return strings.ToLower(s)
}
