package assembly

// Same returns for each item the index of a more relevant one that tells the same experience,
// −1 for an item that stays. The items are in order of relevance, best first. A commit and the
// code that it changed say different things.
func Same(items []Item) []int {
	of := make([]int, len(items))
	ghaps := map[string]int{}
	for i := range items {
		of[i] = -1
		if ghap := items[i].ghap; ghap != "" {
			if first, ok := ghaps[ghap]; ok {
				of[i] = first
				continue
			}
			ghaps[ghap] = i
		}
	}
	return of
}
