package pii

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"satchel/pipeline/language"
)

// secretKind says which values a word for a secret announces.
type secretKind uint8

const (
	kindPassword secretKind = iota + 1 // letters with figures or signs, or whatever stands in quotes
	kindPhrase                         // the same, and a word that is none of English
	kindToken                          // letters and figures, at least eight
	kindPIN                            // four to eight figures
	kindCode                           // three to eight figures, behind a link
)

// secretClasses are the words that name a secret in a sentence, by its kind.
var secretClasses = [...]language.Class{
	kindPhrase: language.SecretPhrase, kindPassword: language.SecretPassword, kindToken: language.SecretToken, kindPIN: language.SecretPIN,
	kindCode: language.SecretCode,
}

// secretWord is one of these words.
type secretWord struct {
	word string
	kind secretKind
}

// spokenWords holds them by their first two bytes.
type spokenWords [1 << 10][]secretWord

func indexSpoken() (table spokenWords) {
	for kind, class := range secretClasses {
		for _, word := range language.Default().Words(class) {
			at := spokenSlot(word)
			table[at] = append(table[at], secretWord{word, secretKind(kind)})
		}
	}
	return table
}

func spokenSlot(t string) int { return int(t[0]&31)<<5 | int(t[1]&31) }

// spokenReach is how many bytes behind the word for a secret its value may begin.
const spokenReach = 72

// trySpokenSecret tries "the password of the database is hunter2-x", "PIN 4821" and "Passwort
// lautet …", whose word for a secret begins at i.
func (s *scan) trySpokenSecret(i int) bool {
	if i+2 > len(s.text) {
		return false
	}
	for _, w := range s.d.spoken[spokenSlot(s.text[i:])] {
		end := i + len(w.word)
		if end > len(s.text) || !hasFold(s.text[i:], w.word) || !s.isTokenEnd(end) || letterAt(s.text, end) || isMemberAccess(s.text, end) {
			continue
		}
		if s.tryAnnounced(i, end, w.kind) || s.tryPrecedingSecret(i, w.kind) {
			return true
		}
	}
	return false
}

// hasFold reports whether t begins with prefix, which is in lower case.
func hasFold(t, prefix string) bool {
	for i := range len(prefix) {
		if lowerByte(t[i]) != prefix[i] {
			return false
		}
	}
	return true
}

// letterAt reports whether a letter outside ASCII stands at i.
func letterAt(t string, i int) bool {
	r, _ := utf8.DecodeRuneInString(t[min(i, len(t)):])
	return r >= utf8.RuneSelf && r != utf8.RuneError && unicode.IsLetter(r)
}

// isMemberAccess reports whether a dot with a name behind it stands at i.
func isMemberAccess(t string, i int) bool { return i+1 < len(t) && t[i] == '.' && isAlnum(t[i+1]) }

// tryWideWord tries the value behind a word for a password at i: the first that is set apart from
// the letters of its language.
func (s *scan) tryWideWord(i int) bool {
	for _, w := range language.Default().Words(language.SecretWide) {
		if !strings.HasPrefix(s.text[i:], w) {
			continue
		}
		at := i + len(w)
		for limit := min(len(s.text), at+spokenReach/2); at < limit && !isAlnum(s.text[at]) && s.text[at] != '\n'; at++ {
		}
		start, end, _ := spokenValue(s.text, at)
		for end > start && s.text[end-1] >= utf8.RuneSelf {
			end--
		}
		if value := s.text[start:end]; len(value) >= leastSecret && isAlphanumeric(value) && !isExpression(value) && !namesMethod(value) && !isPlaceholder(value) {
			return s.addFinding(Span{Start: start, End: end, Type: Secret, Confidence: 0.75, Rule: "spoken"})
		}
		return false
	}
	return false
}

// tryAnnounced tries each value that a link announces behind the word [begin, end).
func (s *scan) tryAnnounced(begin, end int, kind secretKind) bool {
	a := announcement{scan: s, kind: kind, begin: begin, at: end, limit: min(len(s.text), end+spokenReach)}
	a.readOpening()
	for ; a.words < mostWords; a.words++ {
		if a.readSign() {
			continue
		}
		if a.at >= a.limit || !a.linked && a.isSentenceEnd() {
			return false
		}
		if a.linked || a.words == 0 {
			if value, ok := s.readSecretValue(a.at, kind, a.linked); ok && a.isPlausible(s.text[value.Start:value.End]) {
				value.End = findGroupsEnd(s.text, value.Start, value.End)
				return s.addFinding(value)
			}
		}
		if !a.readWord() {
			return false
		}
	}
	return false
}

// findGroupsEnd returns the end of a number in groups as long as the first, which is [start, end):
// 4111 1111 1111 1111.
func findGroupsEnd(t string, start, end int) int {
	n := end - start
	if !digitsOnly(t[start:end]) {
		return end
	}
	for end+n < len(t) && (t[end] == ' ' || t[end] == '-') && digitsOnly(t[end+1:end+1+n]) && (end+1+n == len(t) || !isAlnum(t[end+1+n])) {
		end += 1 + n
	}
	return end
}

// announcement is what stands between a word for a secret and its value.
type announcement struct {
	*scan
	kind     secretKind
	begin    int  // of the word for the secret
	at       int  // what is read next
	limit    int  // where a value begins at the latest
	words    int  // how many were read
	linked   bool // what comes next may be the value
	assigned bool // by a sign, and not by a word
	member   bool // the word for the secret is the name of a member
	set      bool // a word said that something is set
}

// mostWords is how many words and signs may stand before a value.
const mostWords = 14

// readOpening reads what is joined to the word for the secret: 's, or the quote of a member.
func (a *announcement) readOpening() {
	rest := a.text[a.at:]
	switch {
	case strings.HasPrefix(rest, "'s "):
		a.linked = true
		a.at += 2
	case strings.HasPrefix(rest, "\":"), strings.HasPrefix(rest, "':"):
		a.member = true
		a.at++
	}
}

// readSign reads blanks, and a colon or an equals sign that announces a value.
func (a *announcement) readSign() bool {
	t := a.text
	from := a.at
	for a.at < a.limit && strings.IndexByte(" \t,(", t[a.at]) >= 0 {
		a.at++
	}
	if a.at >= a.limit || t[a.at] != ':' && (t[a.at] != '=' || a.words > 0) {
		return false
	}
	quoted := strings.IndexByte("\"'`", t[a.at-1]) >= 0
	if a.at-from > 1 || quoted && !(a.member && a.words == 0) {
		return false
	}
	a.linked = true
	a.assigned = true
	a.at++
	return true
}

// isSentenceEnd reports whether the sentence ends here.
func (a *announcement) isSentenceEnd() bool {
	return strings.IndexByte(".!?;\n\r)", a.text[a.at]) >= 0 && closesSentence(a.text, a.at)
}

// isPlausible reports whether a value is one behind a sign: a word in quotes may be code.
func (a *announcement) isPlausible(value string) bool {
	return !a.assigned || a.kind > kindPhrase || isAlphanumeric(value) || digitsOnly(value)
}

// readWord reads a word and what it says of the next, and reports whether the sentence goes on.
func (a *announcement) readWord() bool {
	t := a.text
	stop := a.at
	for stop < len(t) && t[stop] > ' ' && strings.IndexByte(",;()=", t[stop]) < 0 && (t[stop] != ':' || stop+1 < len(t) && t[stop+1] > ' ') {
		stop++
	}
	if stop == a.at {
		return false
	}
	word := strings.Trim(t[a.at:stop], ".!?\"'`*")
	a.at = stop
	switch {
	case foldAny(word, "to"):
		a.linked = a.set || a.words == 0 && a.kind <= kindPhrase && anyIs(a.readTextBefore(a.begin, 24), language.Setting)
	case roleOf(word)&language.Link != 0:
		a.linked = true
	case roleOf(word)&language.Setting != 0 || foldAny(word, "back"):
		a.set = true
	case roleOf(word)&language.Between != 0:
	default:
		a.linked = false
		a.assigned = false
		a.set = false
	}
	return strings.IndexByte(".!?", t[stop-1]) < 0
}

// closesSentence reports whether the mark at i ends a sentence and does not begin a value.
func closesSentence(t string, i int) bool {
	return i+1 >= len(t) || t[i+1] <= ' ' || t[i] == ')' || t[i] == ';'
}

// tryPrecedingSecret tries "hunter2-x is the password" and "use hunter2-x as password", whose word
// for a secret begins at i.
func (s *scan) tryPrecedingSecret(i int, kind secretKind) bool {
	if kind > kindPhrase {
		return false
	}
	line := s.readTextBefore(i, spokenReach)
	base := i - len(line)
	words := strings.Fields(line)
	for k, n := len(words)-1, 0; k > 0 && n < 6; k, n = k-1, n+1 {
		if foldAny(words[k], "is", "as", "ist", "als") {
			at := base + strings.LastIndex(line, words[k-1]+" "+words[k])
			if at < max(base, s.free) || !strings.Contains(line, words[k-1]+" "+words[k]) {
				return false
			}
			value, ok := s.readSecretValue(at, kind, false)
			return ok && value.End <= i && s.addFinding(value)
		}
		if strings.ContainsAny(words[k], ".!?;:") {
			return false
		}
	}
	return false
}

// readSecretValue reads a value of the kind at i. linked says that a link announced it.
func (s *scan) readSecretValue(i int, kind secretKind, linked bool) (Span, bool) {
	t := s.text
	start, end, isQuoted := spokenValue(t, i)
	text := t[start:end]
	if head, _, _ := strings.Cut(text, "-"); text == "" || isPlaceholder(text) || namesMethod(text) || namesMethod(head) || foldAny(head, "base64", "utf8", "x509", "sha1", "md5") {
		return Span{}, false
	}
	ok := false
	switch kind {
	case kindPIN, kindCode:
		least := 4
		if kind == kindCode {
			least = 3
		}
		for end = start; end < len(t) && isDigit(t[end]); end++ {
		}
		ok = end-start >= least && end-start <= 8 && s.isTokenEnd(end) && !isCounted(t, end)
	case kindToken:
		ok = linked && len(text) >= 8 && isAlphanumeric(text) && !isExpression(text)
	case kindPassword:
		ok = isPassword(text, linked, isQuoted, t, end)
	case kindPhrase:
		ok = isPassword(text, linked, isQuoted, t, end) || linked && unknownWord(text) && endsSentence(t, end)
	}
	return Span{Start: start, End: end, Type: Secret, Confidence: 0.75, Rule: "spoken"}, ok
}

// quotes are the marks that may stand around a value, opening and closing.
var quotes = [...][2]string{{"\"", "\""}, {"'", "'"}, {"`", "`"}, {"“", "”"}, {"‘", "’"}, {"„", "“"}, {"«", "»"}, {"**", "**"}, {"*", "*"}, {"<", ">"}}

// spokenValue returns the bounds of the value at i: between quotes, or up to a blank.
func spokenValue(t string, i int) (start, end int, isQuoted bool) {
	for _, q := range quotes {
		if !strings.HasPrefix(t[i:], q[0]) {
			continue
		}
		start = i + len(q[0])
		if n := strings.Index(t[start:min(len(t), start+maxSpoken)], q[1]); n > 0 && !strings.ContainsAny(t[start:start+n], "\n") {
			return start, start + n, true
		}
	}
	end = i
	for end < len(t) && end-i < maxSpoken && t[end] > ' ' && strings.IndexByte("\"`,;<>(){}[]", t[end]) < 0 {
		end++
	}
	for end > i && strings.IndexByte(".!?:'*", t[end-1]) >= 0 {
		end--
	}
	return i, end, false
}

// maxSpoken bounds a value in a sentence.
const maxSpoken = 80

// isPassword reports whether a value behind a word for a password is one.
func isPassword(text string, linked, isQuoted bool, t string, end int) bool {
	switch {
	case len(text) < leastSecret || isExpression(text):
		return false
	case isQuoted && linked:
		return len(text) <= 64 && !isOrdinaryWord(text)
	case digitsOnly(text):
		return linked && !isCounted(t, end)
	case isAlphanumeric(text):
		return linked || len(text) > leastSecret && !isAllCapitals(text)
	}
	return linked && strings.ContainsAny(strings.Trim(text, "!?%"), "!@#$%^&*+~_") && strings.ContainsFunc(text, unicode.IsLetter)
}

// unknownWord reports whether a value is small letters that are no English word.
func unknownWord(text string) bool {
	for i := range len(text) {
		if text[i] < 'a' || text[i] > 'z' {
			return false
		}
	}
	return len(text) >= leastUnknown && ranksOf(text).word == 0 && !isInflected(text)
}

// leastUnknown is the length of the shortest word that counts as a password.
const leastUnknown = 6

// isInflected reports whether a word ends as those do that say how something is.
func isInflected(text string) bool {
	for _, end := range language.Default().Words(language.Ending) {
		if strings.HasSuffix(text, end) {
			return true
		}
	}
	return false
}

// endsSentence reports whether the text, a line, a sentence or a clause ends at i.
func endsSentence(t string, i int) bool {
	return i >= len(t) || strings.IndexByte(".!?,;)\n\r", t[i]) >= 0
}

// isAlphanumeric reports whether a value has letters and figures.
func isAlphanumeric(text string) bool {
	return strings.ContainsAny(text, "0123456789") && strings.ContainsFunc(text, unicode.IsLetter)
}

// isAllCapitals reports whether a value is a name of a standard, such as RFC2898.
func isAllCapitals(text string) bool { return strings.ToUpper(text) == text }

// isExpression reports whether a value is code, a path, a URL or a range.
func isExpression(text string) bool {
	if strings.ContainsAny(text, "/\\()[]{}<>|=") || strings.Contains(text, "::") || strings.Contains(text, "->") {
		return true
	}
	if dotAt := strings.IndexByte(text, '.'); dotAt > 0 && dotAt < len(text)-1 {
		return true // a member, a file, a version
	}
	if text[0] == '-' || text[0] == '$' || text[0] == '@' || text[0] == '#' {
		return true
	}
	if head, tail, ok := strings.Cut(text, "-"); ok && head != "" && (digitsOnly(head) || strings.HasPrefix(tail, "bit") || strings.HasPrefix(tail, "byte") || strings.HasPrefix(tail, "char")) {
		return true
	}
	return false
}

// isOrdinaryWord reports whether a quoted value is a word that says how a password is.
func isOrdinaryWord(text string) bool {
	return roleOf(text)&language.Ordinary != 0
}

// isCounted reports whether a word that counts or dates stands behind a number.
func isCounted(t string, end int) bool {
	rest := strings.TrimLeft(t[end:min(len(t), end+24)], " ")
	if rest != "" && (rest[0] == '%' || rest[0] == '/' || rest[0] == '-' && len(rest) > 1 && isDigit(rest[1])) {
		return true
	}
	n := 0
	for n < len(rest) && isLetter(rest[n]) {
		n++
	}
	return roleOf(rest[:n])&language.Counted != 0
}
