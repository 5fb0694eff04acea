package defend

import (
	"slices"
	"strings"
	"unicode"

	"github.com/agnivade/levenshtein"

	"satchel/pipeline/selection/words"
	"satchel/pipeline/store/keyword"
)

// shortFact is the bytes up to which a text is mostly one statement, in which any other
// word makes another: who is allergic to what, which server is in which place.
const shortFact = 160

// tellApart reports whether each of two texts that are nearly the same has a word which
// the other has not: in short texts any that says something, in longer ones a name. Words
// that are but one slip of the pen apart, or forms of each other, are the same.
func tellApart(a, b string) bool {
	short := max(len(a), len(b)) <= shortFact
	left, right := extra(a, b, short), extra(b, a, short)
	left = slices.DeleteFunc(left, func(w string) bool {
		i := slices.IndexFunc(right, func(v string) bool { return sameWord(w, v) })
		if i >= 0 {
			right = slices.Delete(right, i, i+1)
		}
		return i >= 0
	})
	return len(left) > 0 && len(right) > 0
}

// extra returns the words that a has more often than b, in lower case: all that say
// something, or only those that a begins with a capital.
func extra(a, b string, all bool) []string {
	have := map[string]int{}
	words.Each(b, func(w string) { have[w]++ })
	var out []string
	for _, w := range strings.FieldsFunc(a, func(r rune) bool { return !words.IsRune(r) }) {
		low := strings.ToLower(w)
		if have[low]--; have[low] >= 0 || keyword.StopWord(low) {
			continue
		}
		if all || unicode.IsUpper([]rune(w)[0]) {
			out = append(out, low)
		}
	}
	return out
}

// sameWord reports whether two words may be one: a letter is wrong, two have changed
// places, or one is the other with an ending.
func sameWord(a, b string) bool {
	if len(a) > len(b) {
		a, b = b, a
	}
	if len(a) >= 4 && strings.HasPrefix(b, a) {
		return true
	}
	slips := 1
	if len(a) >= 10 {
		slips = 2
	}
	return levenshtein.ComputeDistance(a, b) <= slips || letterSum(a) == letterSum(b)
}

func letterSum(word string) string {
	letters := []rune(word)
	slices.Sort(letters)
	return string(letters)
}
