package roles

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"satchel/schemas"
)

// pointers are the words of a question that stand for one thing as they are written: identifiers, and names
// within it.
func pointers(question string) []string {
	var out []string
	for i, w := range strings.Fields(question) {
		w = strings.TrimFunc(w, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '_' })
		if len(w) < 3 {
			continue
		}
		inside := strings.ContainsFunc(w[1:], unicode.IsUpper) || strings.Contains(w, "_")
		if r := []rune(w)[0]; inside || i > 0 && unicode.IsUpper(r) {
			out = append(out, w)
		}
	}
	return out
}

// holds reports whether a text has one of the words.
func holds(text string, words []string) bool {
	return slices.ContainsFunc(words, func(w string) bool { return strings.Contains(text, w) })
}

// named is 1 for a text that has one of the words, and 4 for one that gives it a value.
func named(text string, words []string) float64 {
	if !holds(text, words) {
		return 0
	}
	for line := range strings.Lines(text) {
		for _, w := range words {
			if before, after, ok := strings.Cut(line, w); ok && !strings.ContainsAny(before, "=(") {
				if name, value, ok := strings.Cut(after, "="); ok && !strings.ContainsAny(name, "(!<>") && !strings.HasPrefix(value, "=") {
					return 4
				}
			}
		}
	}
	return 1
}

// placeOf is a place of the pack, at the line where a piece of the item stands.
func placeOf(r *schemas.Record, place, piece string) string {
	file, _, ok := cutLine(place)
	_, line, numbered := cutLine(r.Provenance.SourceURI)
	if !ok || !numbered {
		return place
	}
	first, _, _ := strings.Cut(piece, "\n")
	before, _, found := strings.Cut(r.Content.Text(), first)
	if !found { // the comment stands before the content
		comment, _, _ := strings.Cut(piece, "\n"+r.Content.Text())
		return file + ":" + strconv.Itoa(max(1, line-1-strings.Count(comment, "\n")))
	}
	return file + ":" + strconv.Itoa(line+strings.Count(before, "\n"))
}

// cutLine cuts the number of a line off a place.
func cutLine(place string) (file string, line int, ok bool) {
	at := strings.LastIndexByte(place, ':')
	if at < 0 {
		return place, 0, false
	}
	line, err := strconv.Atoi(place[at+1:])
	return place[:at], line, err == nil
}

// identifierMention is what a question names by a number or an identifier: "recipe 42", "#17",
// "INV-1042".
type identifierMention struct {
	noun  string // "recipe", in lower case without a plural's s; "#", or what an identifier begins with
	value string // "42", "inv-1042"
}

var (
	numbered   = regexp.MustCompile(`(?i)([\p{L}][\p{L}'-]{2,})\s+(?:(?:no\.?|nr\.?|number)\s*)?#?(\d+(?:[.,:/-]\d+)*)\b`)
	hashed     = regexp.MustCompile(`(?:^|\s)#(\d+)\b`)
	identifier = regexp.MustCompile(`(?i)\b[a-z]+[a-z_-]*[-_]?\d[\w-]*\b`)
)

// notNouns stand before numbers that name nothing: amounts, dates, times, places in a list.
const notNouns = " " +
	"about above across after and are around before below between but by does for from give had has have into just last " +
	"least less list mention more most name next of off only onto or over past per since some than that the then these this those till to top under until up " +
	"was were when which who with within without give show tell find did number amount total " +
	"january february march april may june july august september october november december jan feb mar apr jun jul aug sep sept oct nov dec " +
	"monday tuesday wednesday thursday friday saturday sunday year page "

// designations are what a text names.
func designations(text string) []identifierMention {
	var out []identifierMention
	add := func(d identifierMention) {
		if !slices.Contains(out, d) {
			out = append(out, d)
		}
	}
	for _, m := range numbered.FindAllStringSubmatch(text, -1) {
		if noun := singular(m[1]); !strings.Contains(notNouns, " "+strings.ToLower(m[1])+" ") && !strings.Contains(notNouns, " "+noun+" ") {
			add(identifierMention{noun, m[2]})
		}
	}
	for _, m := range hashed.FindAllStringSubmatch(text, -1) {
		add(identifierMention{"#", m[1]})
	}
	for _, m := range identifier.FindAllString(text, -1) {
		m = strings.ToLower(m)
		add(identifierMention{strings.TrimRight(m[:strings.IndexAny(m, "0123456789")], "-_"), m})
	}
	return out
}

func singular(noun string) string {
	noun = strings.ToLower(noun)
	if len(noun) > 3 && !strings.HasSuffix(noun, "ss") {
		noun = strings.TrimSuffix(noun, "s")
	}
	return noun
}

// fit is how a sentence stands to what a question names.
type fit int

const (
	fitOpen  fit = iota // it names nothing of the kind
	fitOther            // it has figures, but not what is named
	fitRival            // it names another of the same kind
	fitNamed            // it names it
)

// fits tells how a sentence, with the heading that it stands under, fits.
func fits(asked []identifierMention, heading, text string) fit {
	for _, where := range []string{text, heading} { // the nearest that names one decides
		here := designations(where)
		if slices.ContainsFunc(here, func(d identifierMention) bool { return slices.Contains(asked, d) }) {
			return fitNamed
		}
		if slices.ContainsFunc(here, func(d identifierMention) bool {
			return slices.ContainsFunc(asked, func(a identifierMention) bool { return a.noun == d.noun })
		}) {
			return fitRival
		}
	}
	if figure.MatchString(text) {
		return fitOther
	}
	return fitOpen
}

// running are the sentences, by index, that may be about what a question names by number
// or identifier: none that names another one, and none with other figures where something
// names it. Where others of its kind are named and it is not, nothing is about it.
func (m *measure) running(question string) []int {
	running := make([]int, len(m.pool))
	for i := range running {
		running[i] = i
	}
	asked := designations(question)
	if len(asked) == 0 {
		asked = designations(m.asked)
	}
	if len(asked) == 0 {
		return running
	}
	has := map[fit]bool{}
	of := make(map[int]fit, len(running))
	for _, i := range running {
		of[i] = fits(asked, m.pool[i].heading, m.pool[i].text)
		has[of[i]] = true
	}
	if has[fitRival] && !has[fitNamed] {
		return nil
	}
	return slices.DeleteFunc(running, func(i int) bool { return of[i] == fitRival || of[i] == fitOther && has[fitNamed] })
}
