package language

import (
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// token is a word of a text.
type token struct {
	text  string
	means []meaning
	value int  // of a number, else −1
	title bool // begins with a capital
	glued byte // what stands right before it: '.', '/', '-' where no space does
	apart bool // a comma or another mark stands before it
	owner bool // "'s" stands behind it
}

func (t *token) findMeaning(k kind) (int, bool) {
	for _, m := range t.means {
		if m.kind == k {
			return m.n, true
		}
	}
	return 0, false
}

func (t *token) isAny(kinds ...kind) bool {
	return slices.ContainsFunc(kinds, func(k kind) bool { _, ok := t.findMeaning(k); return ok })
}

// splitTokens cuts a text into words, numbers and dashes; a run of Chinese into the words of the lexicon.
func splitTokens(text string) (out []token) {
	dates := Default().dates
	rs := []rune(strings.ToLower(text))
	raw := []rune(text)
	if len(raw) != len(rs) {
		raw = rs
	}
	apart := false
	add := func(from, to int) {
		t := token{text: string(rs[from:to]), value: -1, title: unicode.IsUpper(raw[from]), apart: apart}
		apart = false
		if from > 0 && strings.ContainsRune("./-–", rs[from-1]) && (from < 2 || rs[from-2] != ' ') {
			t.glued = byte(rs[from-1])
		}
		if v, err := strconv.Atoi(t.text); err == nil && to-from <= 4 {
			t.value = v
		}
		t.means = dates[t.text]
		if t.value < 0 {
			if n, ok := t.findMeaning(number); ok {
				t.value = n
			}
		}
		out = append(out, t)
	}
	for i := 0; i < len(rs); {
		from := i
		r := rs[i]
		switch {
		case unicode.Is(unicode.Han, r):
			i++
			for n := min(4, len(rs)-from); n > 1; n-- {
				if dates[string(rs[from:from+n])] != nil {
					i = from + n
					break
				}
			}
			add(from, i)
		case unicode.IsDigit(r):
			for i < len(rs) && unicode.IsDigit(rs[i]) {
				i++
			}
			add(from, i)
			for _, ending := range []string{"st", "nd", "rd", "th", "er"} { // 1st, 1er
				if strings.HasPrefix(string(rs[i:min(len(rs), i+3)])+" ", ending+" ") || i+2 < len(rs) && string(rs[i:i+2]) == ending && !unicode.IsLetter(rs[i+2]) {
					i += 2
				}
			}
		case unicode.IsLetter(r):
			hyphens := 0 // no name has two
			for i < len(rs) && (unicode.IsLetter(rs[i]) && !unicode.Is(unicode.Han, rs[i]) || unicode.IsMark(rs[i]) ||
				(rs[i] == '\'' || rs[i] == '’' || rs[i] == '-') && i+1 < len(rs) && unicode.IsLetter(rs[i+1])) {
				if rs[i] == '-' {
					hyphens++
				}
				if hyphens > 1 {
					break
				}
				i++
			}
			from, end, next := findWordCore(dates, rs, from, i)
			i = next
			if dates[string(rs[from:end])] == nil {
				if at := compoundDays(dates, rs[from:end]); at > 0 { // "Januarhälfte" is "Hälfte Januar"
					add(from+at, end)
					end = from + at
				}
			}
			add(from, end)
			out[len(out)-1].owner = next > end && (rs[end] == '\'' || rs[end] == '’')
		case r == '–' || r == '-':
			add(from, i+1)
			i++
		default:
			apart = apart || !unicode.IsSpace(r)
			i++
		}
	}
	return out
}

// findWordCore returns the runes of a word that mean something, and where the next one begins: of "d'octobre" and "yesterday's"
// the longer part, of "mid-June" the first.
func findWordCore(dates map[string][]meaning, rs []rune, from, end int) (first, last, next int) {
	known := func(from, end int) bool { return dates[string(rs[from:end])] != nil }
	if known(from, end) {
		return from, end, end
	}
	if at := slices.IndexFunc(rs[from:end], func(r rune) bool { return r == '\'' || r == '’' }); at > 0 {
		switch mid := from + at; {
		case known(mid+1, end):
			return mid + 1, end, end
		case known(from, mid):
			return from, mid, end
		}
	}
	if at := slices.Index(rs[from:end], '-'); at > 0 {
		return from, from + at, from + at
	}
	return from, end, end
}

// compoundDays returns where the second noun of a German one begins that names a part of a month or a year, else 0.
func compoundDays(dates map[string][]meaning, rs []rune) int {
	for _, last := range []string{"hälfte", "anfang", "beginn", "mitte", "ende", "woche"} {
		if head, ok := strings.CutSuffix(string(rs), last); ok {
			for _, joint := range []string{"", "s", "es"} {
				w := token{means: dates[strings.TrimSuffix(head, joint)]}
				if w.isAny(month, unit) && strings.HasSuffix(head, joint) {
					return len(rs) - len([]rune(last))
				}
			}
		}
	}
	return 0
}
