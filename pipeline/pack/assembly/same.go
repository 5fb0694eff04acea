package assembly

import (
	"slices"
	"strings"
	"unicode"
)

// aboutFiles is how many files a commit may change and still be about each of them.
const aboutFiles = 5

// Same returns for each item the index of a more relevant one that shows the same
// thing, −1 for an item that stays. The items are in order of relevance, best first.
// Code and a commit show the same when the commit changed few files, that one among
// them, and speaks of the unit; one item stands for one other, since a file has many
// units and many commits.
func Same(items []Item) []int {
	of := make([]int, len(items))
	ghaps := map[string]int{}
	files := map[string][]int{}
	stands := make([]bool, len(items))
	for i := range items {
		it := &items[i]
		of[i] = -1
		if it.ghap != "" {
			if first, ok := ghaps[it.ghap]; ok {
				of[i] = first
				continue
			}
		}
		about := it.files
		if len(about) > aboutFiles {
			about = nil
		}
		for _, f := range about {
			other := slices.IndexFunc(files[f], func(j int) bool { return !stands[j] && (speaks(it, &items[j]) || speaks(&items[j], it)) })
			if other >= 0 {
				of[i] = files[f][other]
				stands[of[i]] = true
				break
			}
		}
		if of[i] >= 0 {
			continue
		}
		if it.ghap != "" {
			ghaps[it.ghap] = i
		}
		for _, f := range about {
			files[f] = append(files[f], i)
		}
	}
	return of
}

// speaks reports whether a commit's message has the name of a unit as a word.
func speaks(commit, code *Item) bool {
	if commit.Source == code.Source || code.unit == "" {
		return false
	}
	return slices.ContainsFunc(strings.FieldsFunc(commit.body, func(r rune) bool { return r != '_' && !unicode.IsLetter(r) && !unicode.IsDigit(r) }),
		func(word string) bool { return strings.EqualFold(word, code.unit) })
}
