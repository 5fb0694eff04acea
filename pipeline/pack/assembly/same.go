package assembly

import "slices"

// aboutFiles is how many files a commit may change and still be about each of them.
const aboutFiles = 5

// Same returns for each item the index of a more relevant one that shows the same
// thing, −1 for an item that stays. The items are in order of relevance, best first.
func Same(items []Item) []int {
	of := make([]int, len(items))
	type seen struct {
		source string
		at     int
	}
	ghaps := map[string]seen{}
	files := map[string][]seen{}
	for i := range items {
		it := &items[i]
		of[i] = -1
		if it.ghap != "" {
			if first, ok := ghaps[it.ghap]; ok {
				of[i] = first.at
				continue
			}
		}
		about := it.files
		if len(about) > aboutFiles {
			about = nil
		}
		for _, f := range about {
			other := slices.IndexFunc(files[f], func(s seen) bool { return s.source != it.Source })
			if other >= 0 {
				of[i] = files[f][other].at
				break
			}
		}
		if of[i] >= 0 {
			continue
		}
		if it.ghap != "" {
			ghaps[it.ghap] = seen{it.Source, i}
		}
		for _, f := range about {
			files[f] = append(files[f], seen{it.Source, i})
		}
	}
	return of
}
