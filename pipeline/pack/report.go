package pack

import (
	"slices"
	"strings"
	"unicode"

	"satchel/pipeline/language"
)

// How far apart the words of a report may be, in words.
const (
	reportReach   = 10 // between what happened and the subject
	negationReach = 6  // from a negation to what it denies
)

// reportSentence is a sentence as rules read it.
type reportSentence struct {
	words    []string // whole, in lower case
	clause   []int    // of each word
	resolved []bool   // by clause, whether it says that all is well
}

// reportOf reads one sentence. Punctuation ends its clauses, and so do "but" and "although".
func reportOf(text string) reportSentence {
	s := reportSentence{resolved: []bool{false}}
	start := -1
	clause := 0
	next := func() {
		if n := len(s.clause); n > 0 && s.clause[n-1] == clause {
			clause++
			s.resolved = append(s.resolved, false)
		}
	}
	end := func(at int) {
		if start < 0 {
			return
		}
		word := strings.Trim(text[start:at], "-_'’")
		start = -1
		if word == "but" || word == "although" {
			next()
		}
		word = strings.ReplaceAll(word, "’", "'")
		if word != "" {
			s.words = append(s.words, word)
			s.clause = append(s.clause, clause)
		}
	}
	for i, r := range text {
		if unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune("-_'’", r) {
			if start < 0 {
				start = i
			}
			continue
		}
		end(i)
		switch r {
		case ',', ';', ':', '(', ')', '–', '—', '!', '.':
			next()
		case '#':
			s.words = append(s.words, "#")
			s.clause = append(s.clause, clause)
		}
	}
	end(len(text))
	for i, w := range s.words {
		isBeforeTo := i+1 < len(s.words) && s.words[i+1] == "to"
		if isResolvingWord(w) && !isBeforeTo && !s.isDenied(i, 1) {
			s.resolved[s.clause[i]] = true
		}
	}
	return s
}

// isResolvingWord reports whether a word says that a failure is over or did not happen.
func isResolvingWord(w string) bool { return language.Default().Is(language.Resolved, w) }

// anySays reports whether a sentence of a text says one of the phrases, not denied and not over, and within
// reach of a phrase of each of the subjects. A list has "|" between its phrases.
func anySays(text string, phrases string, subjects ...string) bool {
	lacks := func(list string) bool { return !hasAnyPhrase(text, list) }
	if lacks(phrases) || slices.ContainsFunc(subjects, lacks) {
		return false
	}
	for sentence := range Sentences(text) {
		if strings.HasSuffix(sentence, "?") {
			continue
		}
		if s := reportOf(sentence); s.hasStatement(phrases, subjects) {
			return true
		}
	}
	return false
}

// hasAnyPhrase reports whether a text has all words of one of the phrases, be it as parts of other words.
func hasAnyPhrase(text, phrases string) bool {
	for phrase := range strings.SplitSeq(phrases, "|") {
		all := true
		for rest := strings.TrimSuffix(phrase, " ."); all && rest != ""; {
			var word string
			word, rest, _ = strings.Cut(rest, " ")
			all = strings.Contains(text, word)
		}
		if all {
			return true
		}
	}
	return false
}

func (s *reportSentence) hasStatement(phrases string, subjects []string) bool {
	for phrase := range strings.SplitSeq(phrases, "|") {
		words := strings.Fields(phrase)
		if len(words) == 0 {
			continue
		}
		for at := 0; ; at++ {
			at = s.findWords(words, at)
			if at < 0 {
				break
			}
			isOpen := !s.resolved[s.clause[at]] || slices.ContainsFunc(words, isResolvingWord)
			if isOpen && !s.isDenied(at, len(words)) && s.hasSubjectsNear(at, len(words), subjects) {
				return true
			}
		}
	}
	return false
}

// findWords returns where words are next to one another from a place on, −1 for nowhere. With a full stop as the last of
// them they end a clause.
func (s *reportSentence) findWords(words []string, from int) int {
	ends := words[len(words)-1] == "."
	if ends {
		words = words[:len(words)-1]
	}
	for at := from; at+len(words) <= len(s.words); at++ {
		to := at + len(words)
		isLast := to == len(s.words) || s.clause[to] > s.clause[to-1]
		if slices.Equal(s.words[at:to], words) && (isLast || !ends) {
			return at
		}
	}
	return -1
}

// hasSubjectsNear reports whether each subject is within reach of the n words at a place.
func (s *reportSentence) hasSubjectsNear(at, n int, subjects []string) bool {
	from := max(0, at-reportReach)
	to := min(len(s.words), at+n+reportReach)
	window := reportSentence{words: s.words[from:to], clause: s.clause[from:to]}
	for _, subject := range subjects {
		found := false
		for phrase := range strings.SplitSeq(subject, "|") {
			words := strings.Fields(phrase)
			found = found || len(words) > 0 && window.findWords(words, 0) >= 0
		}
		if !found {
			return false
		}
	}
	return true
}

// isDenied reports whether the n words at a place are negated, supposed or counted as none.
func (s *reportSentence) isDenied(at, n int) bool {
	clause := s.clause[at]
	for i := at - 1; i >= max(0, at-negationReach) && s.clause[i] == clause; i-- {
		if isDenial(s.words[i]) && s.words[i+1] != "only" {
			return true
		}
		if i == at-1 && (s.words[i] == "0" || s.words[i] == "zero") {
			return true
		}
	}
	if after := at + n; after < len(s.words) {
		switch s.words[after] {
		case "0", "zero", "none":
			return true
		}
	}
	return false
}

// isDenial reports whether a word negates what follows it or only supposes it.
func isDenial(w string) bool {
	return language.Default().Is(language.Denial|language.Supposed, w) || strings.HasSuffix(w, "n't")
}
