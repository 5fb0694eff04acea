package language

import (
	"encoding/json"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Alias is what an item says about names: all of them mean the same thing. They are folded
// as Entities folds them.
type Alias struct {
	Names []string
	// Initials says that the second name was made here, of the initials of the first: it
	// means that only where it is written in capitals.
	Initials bool
}

// aliasMark starts the entity under which an item is found that says what else a name is
// called.
const aliasMark = "≡"

// Bounds of Aliases and of its keys.
const (
	maxAliases   = 8
	maxSameNames = 8
	maxNameWords = 4
	maxKeyWords  = 3
	maxAskedKeys = 64
)

// Mentions returns the entities of an item: those of its text, the names it gives to
// things, and the keys by which AliasKeys finds it again.
func Mentions(text, speaker string, attributes json.RawMessage) []string {
	names := Entities(text, speaker)
	var keys []string
	for _, a := range Aliases(text, attributes, names) {
		for _, name := range a.Names {
			if !a.Initials && !slices.Contains(names, name) {
				names = append(names, name)
			}
			keys = append(keys, aliasMark+name)
		}
	}
	return append(names, keys...)
}

// Aliases returns what an item says about names: by its attributes entity and aliases, by a
// definition in its text ("Kubernetes (K8s)", "service level agreement (SLA)", "Bob is
// short for Robert", "the Acme Group, also known as Acme"), and by the initials of an entity
// of three capitalised words or more. entities are those of the text.
func Aliases(text string, attributes json.RawMessage, entities []string) []Alias {
	f := aliasFinder{}
	f.readAttributes(attributes)
	f.findBracketAliases(text)
	f.findMarkerAliases(text)
	for _, name := range entities {
		if short := collectInitials(strings.Fields(name)); len(short) >= 3 && len(short) <= maxNameWords+4 && strings.Count(name, " ")+1 == len(short) {
			f.addAliases(true, name, short)
		}
	}
	return f.found
}

// AliasKeys returns what to look up among the entities for other names of what a query
// names: its words, and two and three of them in a row.
func AliasKeys(query string) []string {
	words := plainWords(query)
	var keys []string
	for i := range words {
		for n := 1; n <= maxKeyWords && i+n <= len(words); n++ {
			name := foldName(strings.Join(words[i:i+n], " "))
			if n == 1 && isCommon(name) || len(name) < 2 || len(name) > maxEntityLen || len(keys) >= maxAskedKeys {
				continue
			}
			if key := aliasMark + name; !slices.Contains(keys, key) {
				keys = append(keys, key)
			}
		}
	}
	return keys
}

// OtherNames returns the names in a that the query does not have, when it has one of them.
func (a *Alias) OtherNames(query string) []string {
	words := plainWords(query)
	asked := func(name string) bool {
		n := strings.Count(name, " ") + 1
		for i := 0; i+n <= len(words); i++ {
			written := strings.Join(words[i:i+n], " ")
			if foldName(written) == name && (!a.Initials || n > 1 || written == strings.ToUpper(written)) {
				return true
			}
		}
		return false
	}
	var others []string
	for _, name := range a.Names {
		if !asked(name) {
			others = append(others, name)
		}
	}
	if len(others) == len(a.Names) {
		return nil
	}
	return others
}

// plainWords are the words of a text without the punctuation around them and possessives.
func plainWords(text string) []string {
	var out []string
	for w := range strings.FieldsSeq(text) {
		w = strings.TrimFunc(w, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '#' })
		w = strings.TrimSuffix(strings.TrimSuffix(w, "'s"), "’s")
		if w != "" {
			out = append(out, w)
		}
	}
	return out
}

// aliasFinder collects what an item says about names.
type aliasFinder struct{ found []Alias }

// addAliases takes names for the same thing, unless fewer than two of them are names.
func (f *aliasFinder) addAliases(initials bool, names ...string) {
	var kept []string
	for _, name := range names {
		name = foldName(strings.Join(plainWords(name), " "))
		name = strings.TrimPrefix(name, "the ")
		if len(name) < 2 || len(name) > maxEntityLen || isRole(name) || isCommon(name) || strings.ContainsRune(name, '@') ||
			strings.IndexFunc(name, unicode.IsLetter) < 0 || slices.Contains(kept, name) || len(kept) == maxSameNames {
			continue
		}
		kept = append(kept, name)
	}
	if len(kept) > 1 && len(f.found) < maxAliases {
		f.found = append(f.found, Alias{Names: kept, Initials: initials})
	}
}

func (f *aliasFinder) readAttributes(raw json.RawMessage) {
	if len(raw) == 0 {
		return
	}
	var a struct {
		Entity  string   `json:"entity"`
		Aliases []string `json:"aliases"`
	}
	if json.Unmarshal(raw, &a) == nil && a.Entity != "" { // attributes of other types name nothing
		f.addAliases(false, append([]string{a.Entity}, a.Aliases...)...)
	}
}

// findBracketAliases takes "long name (SHORT)" and "SHORT (long name)".
func (f *aliasFinder) findBracketAliases(text string) {
	for from := 0; ; {
		open := strings.IndexByte(text[from:], '(')
		if open < 0 {
			return
		}
		open += from
		from = open + 1
		shut := strings.IndexByte(text[from:min(len(text), from+maxEntityLen)], ')')
		if shut < 1 {
			continue
		}
		inside := strings.TrimSpace(text[from : from+shut])
		before := lastWords(text[:open], 2*maxNameWords)
		if len(before) == 0 {
			continue
		}
		if name, ok := afterMarker(inside); ok {
			f.addAliases(false, findCapitalisedRun(before, true), name)
			continue
		}
		words := plainWords(inside)
		last := before[len(before)-1]
		switch {
		case len(words) == 1 && isNumeronym(words[0], last), len(words) == 1 && isNumeronym(last, words[0]):
			f.addAliases(false, last, words[0])
		case len(words) == 1 && isShort(words[0]):
			f.addAliases(false, spelledOut(before, words[0]), words[0])
		case len(words) > 1 && isShort(last) && strings.EqualFold(collectInitials(words), lettersOf(last)):
			f.addAliases(false, inside, last)
		}
	}
}

// afterMarker returns what follows a marker at the head of s.
func afterMarker(s string) (string, bool) {
	for _, m := range Default().Words(alias) {
		m += " "
		if len(s) > len(m) && strings.EqualFold(s[:len(m)], m) {
			return s[len(m):], true
		}
	}
	return "", false
}

// findMarkerAliases takes "NAME, also known as NAME" and its like.
func (f *aliasFinder) findMarkerAliases(text string) {
	for _, m := range Default().Words(alias) {
		m += " "
		for from := 0; ; {
			at := strings.Index(text[from:], m)
			if at < 0 {
				break
			}
			at += from
			from = at + len(m)
			if at == 0 || text[at-1] != ' ' {
				continue
			}
			head := strings.TrimSuffix(strings.TrimRight(text[:at], " ,"), " is")
			rest := text[from:min(len(text), from+2*maxEntityLen)]
			if end := strings.IndexAny(rest, ".;,()\n"); end >= 0 {
				rest = rest[:end]
			}
			f.addAliases(false, findCapitalisedRun(lastWords(head, maxNameWords), true), findCapitalisedRun(strings.Fields(rest), false))
		}
	}
}

// lastWords are the last n words of the sentence that text ends with.
func lastWords(text string, n int) []string {
	text = text[max(0, len(text)-2*maxEntityLen):]
	for len(text) > 0 && !utf8.RuneStart(text[0]) {
		text = text[1:]
	}
	if end := strings.LastIndexAny(text, ".;:!?\n"); end >= 0 && end+1 < len(text) && text[end+1] == ' ' {
		text = text[end+1:]
	}
	words := plainWords(text)
	return words[max(0, len(words)-n):]
}

// findCapitalisedRun returns the names in a row that a list of words ends or begins with.
func findCapitalisedRun(words []string, atEnd bool) string {
	is := func(w string) bool {
		w = strings.TrimFunc(w, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
		r, _ := utf8.DecodeRuneInString(w)
		return w != "" && !isCommon(w) && (unicode.IsUpper(r) || unicode.IsLower(r) && strings.ContainsAny(w, "0123456789"))
	}
	if atEnd {
		from := len(words)
		for from > 0 && is(words[from-1]) && len(words)-from < maxNameWords {
			from--
		}
		return strings.Join(words[from:], " ")
	}
	for len(words) > 0 && (strings.EqualFold(words[0], "the") || strings.EqualFold(words[0], "a")) {
		words = words[1:]
	}
	to := 0
	for to < len(words) && to < maxNameWords && is(words[to]) {
		to++
	}
	return strings.Join(words[:to], " ")
}

// isShort reports whether a word is two to eight capitals.
func isShort(w string) bool {
	w = lettersOf(w)
	return len(w) >= 2 && len(w) <= 8 && strings.Trim(w, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") == ""
}

// lettersOf is an abbreviation without its full stops and its plural.
func lettersOf(w string) string {
	w = strings.ReplaceAll(w, ".", "")
	if n := len(w); n > 2 && w[n-1] == 's' {
		w = w[:n-1]
	}
	return w
}

// collectInitials are the first letters of words, small ones apart.
func collectInitials(words []string) string {
	var b strings.Builder
	for _, w := range words {
		if r, _ := utf8.DecodeRuneInString(w); !Default().Is(small, w) && r < utf8.RuneSelf && unicode.IsLetter(r) {
			b.WriteRune(r)
		}
	}
	return strings.ToLower(b.String())
}

// spelledOut returns the fewest words at the end of before whose initials are short's.
func spelledOut(before []string, short string) string {
	want := strings.ToLower(lettersOf(short))
	for from := len(before) - 2; from >= 0; from-- {
		if !Default().Is(small, before[from]) && collectInitials(before[from:]) == want {
			return strings.Join(before[from:], " ")
		}
	}
	return ""
}

// isNumeronym reports whether short is long with its inner letters counted: k8s, i18n.
func isNumeronym(short, long string) bool {
	n := len(short)
	if n < 3 || n > 5 || len(long) < 5 {
		return false
	}
	inner := 0
	for _, c := range short[1 : n-1] {
		if c < '0' || c > '9' {
			return false
		}
		inner = 10*inner + int(c-'0')
	}
	return inner == len(long)-2 && strings.EqualFold(short[:1], long[:1]) && strings.EqualFold(short[n-1:], long[len(long)-1:])
}
