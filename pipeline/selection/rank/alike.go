package rank

import (
	"cmp"
	"math"
	"slices"

	"satchel/pipeline/selection/words"
	"satchel/schemas"
)

// Items are alike when they differ in few words, none of which the question has, and bear on it about
// as much.
const (
	alikeWords     = 6    // that each has at least
	alikeDiffer    = 8    // one of so many words may differ
	alikeRelevance = .02  // difference at most
	leastAlike     = .015 // relevance from which it matters
)

// preferBetter has the signals of the items themselves decide between items that are alike: the better
// takes the higher score and the earlier place of theirs. The weights are those of the H4R document. Of
// turns of a conversation, what was said around them has decided.
func (p *Pool) preferBetter(order []int32, req *Request) {
	texts := make([][]string, len(order)) // words that are read, sorted
	asked := make(map[string]bool, len(req.Question.words))
	for _, w := range req.Question.words {
		asked[w] = true
	}
	done := make([]bool, len(order))
	for a := range order {
		if done[a] {
			continue
		}
		group := []int{a}
		for b := a + 1; b < len(order); b++ {
			if !done[b] && p.mayBeAlike(order[a], order[b]) && differ(p.wordsOf(texts, order, a), p.wordsOf(texts, order, b), asked) {
				group = append(group, b)
			}
		}
		for _, at := range group {
			done[at] = true
		}
		if len(group) > 1 {
			p.redistribute(order, group, req)
		}
	}
}

func (p *Pool) mayBeAlike(i, j int32) bool {
	a, b := p.items[i], p.items[j]
	return min(p.relevant[i], p.relevant[j]) >= leastAlike && math.Abs(p.relevant[i]-p.relevant[j]) <= alikeRelevance &&
		a.Kind == b.Kind && a.Speaker == b.Speaker && !IsTurn(&a.MemoryItem) && !IsTurn(&b.MemoryItem)
}

func (p *Pool) wordsOf(texts [][]string, order []int32, at int) []string {
	if texts[at] == nil {
		texts[at] = words.Of(schemas.SearchText(&p.items[order[at]].MemoryItem))
		slices.Sort(texts[at])
	}
	return texts[at]
}

// differ reports whether two lists of sorted words differ in few that nobody asked for.
func differ(a, b []string, asked map[string]bool) bool {
	if min(len(a), len(b)) < alikeWords {
		return false
	}
	most := max(len(a), len(b)) / alikeDiffer
	one, other := 0, 0
	for i, j := 0, 0; i < len(a) || j < len(b); {
		switch c := compareAt(a, b, i, j); {
		case c == 0:
			i, j = i+1, j+1
			continue
		case c < 0:
			if one++; asked[a[i]] {
				return false
			}
			i++
		default:
			if other++; asked[b[j]] {
				return false
			}
			j++
		}
		if max(one, other) > most {
			return false
		}
	}
	return true
}

func compareAt(a, b []string, i, j int) int {
	switch {
	case i == len(a):
		return 1
	case j == len(b):
		return -1
	}
	return cmp.Compare(a[i], b[j])
}

// redistribute gives the places and scores of a group to its items by their own signals.
func (p *Pool) redistribute(order []int32, group []int, req *Request) {
	type member struct {
		at     int32
		signal float64
	}
	seed := seedProfile()
	members := make([]member, len(group))
	fused, relevant := make([]float64, len(group)), make([]float64, len(group))
	for n, at := range group {
		i := order[at]
		v := measure(p.items[i], 0, -1, req.Now, req.Profile.Lambda)
		members[n] = member{i, seed.score(&v)}
		fused[n], relevant[n] = p.fused[i], p.relevant[i]
	}
	slices.SortStableFunc(members, func(a, b member) int { return cmp.Compare(b.signal, a.signal) })
	slices.SortFunc(fused, func(a, b float64) int { return cmp.Compare(b, a) })
	slices.SortFunc(relevant, func(a, b float64) int { return cmp.Compare(b, a) })
	for n, at := range group {
		i := members[n].at
		order[at], p.fused[i], p.relevant[i] = i, fused[n], relevant[n]
	}
}

// seedProfile has the weights of the H4R document.
func seedProfile() Profile {
	list := Profiles()
	return list[slices.IndexFunc(list, func(p Profile) bool { return p.Name == ProfileSeed })]
}
