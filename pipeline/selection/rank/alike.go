package rank

import (
	"cmp"
	"math"
	"slices"

	"satchel/pipeline/infra/cache"
	"satchel/pipeline/language"
	"satchel/schemas"
)

// Items are alike when they differ in few words, none of which the question has, and bear on it about
// as much.
const (
	alikeWords     = 6    // that each has at least
	alikeDiffer    = 8    // one of so many words may differ
	alikeRelevance = .027 // difference at most
	leastAlike     = .02  // relevance from which it matters
)

// preferBetter has the signals of the items themselves decide between items that are alike: the better
// takes the higher score and the earlier place of theirs. The weights are those of the H4R document. Of
// turns of a conversation, what was said around them has decided; of code and commits, their passages will.
func (p *Pool) preferBetter(order []int32, req *Request, known *cache.Memo[[]uint64]) {
	texts := make([][]uint64, len(order)) // hashes of the words that are read, sorted
	asked := make([]uint64, len(req.Question.words))
	for i, w := range req.Question.words {
		asked[i] = language.HashWord(w)
	}
	wordsOf := func(at int) []uint64 {
		if texts[at] == nil {
			text := language.ComparedHead(schemas.SearchText(&p.items[order[at]].MemoryItem))
			texts[at] = known.Of(text, sortedWords, func() ([]uint64, int) {
				sorted := language.HashWords(text)
				slices.Sort(sorted)
				return sorted, 8 * cap(sorted)
			})
		}
		return texts[at]
	}
	done := make([]bool, len(order))
	for a := range order {
		if done[a] {
			continue
		}
		group := []int{a}
		for b := a + 1; b < len(order); b++ {
			if !done[b] && p.mayBeAlike(order[a], order[b]) && hasSimilarWords(wordsOf(a), wordsOf(b), asked) {
				group = append(group, b)
			}
		}
		for _, at := range group {
			done[at] = true
		}
		if len(group) > 1 {
			p.redistributeScores(order, group, req)
		}
	}
}

func (p *Pool) mayBeAlike(i, j int32) bool {
	a := p.items[i]
	b := p.items[j]
	return min(p.relevant[i], p.relevant[j]) >= leastAlike && math.Abs(p.relevant[i]-p.relevant[j]) <= alikeRelevance &&
		a.Kind != schemas.KindCode && a.Kind != schemas.KindCommit && a.Kind == b.Kind && a.Speaker == b.Speaker && !a.IsTurn() && !b.IsTurn()
}

// hasSimilarWords reports whether two sorted lists of words differ in few that nobody asked for.
func hasSimilarWords(a, b, asked []uint64) bool {
	if min(len(a), len(b)) < alikeWords {
		return false
	}
	most := max(len(a), len(b)) / alikeDiffer
	if max(len(a), len(b))-min(len(a), len(b)) > most {
		return false
	}
	for one, other := 0, 0; len(a) > 0 || len(b) > 0; { // words of the one alone
		var word uint64
		switch {
		case len(a) > 0 && len(b) > 0 && a[0] == b[0]:
			a = a[1:]
			b = b[1:]
			continue
		case len(b) == 0 || len(a) > 0 && a[0] < b[0]:
			word = a[0]
			a = a[1:]
			one++
		default:
			word = b[0]
			b = b[1:]
			other++
		}
		if max(one, other) > most || slices.Contains(asked, word) {
			return false
		}
	}
	return true
}

// redistributeScores gives the places and scores of a group to its items by their own signals.
func (p *Pool) redistributeScores(order []int32, group []int, req *Request) {
	type member struct {
		at     int32
		signal float64
	}
	seed := seedProfile()
	members := make([]member, len(group))
	fused := make([]float64, len(group))
	relevant := make([]float64, len(group))
	for n, at := range group {
		i := order[at]
		v := measureSignals(p.items[i], 0, -1, req.Now, req.Profile.Lambda)
		members[n] = member{i, seed.scoreSignals(&v)}
		fused[n] = p.fused[i]
		relevant[n] = p.relevant[i]
	}
	slices.SortStableFunc(members, func(a, b member) int { return cmp.Compare(b.signal, a.signal) })
	slices.SortFunc(fused, func(a, b float64) int { return cmp.Compare(b, a) })
	slices.SortFunc(relevant, func(a, b float64) int { return cmp.Compare(b, a) })
	for n, at := range group {
		i := members[n].at
		order[at] = i
		p.fused[i] = fused[n]
		p.relevant[i] = relevant[n]
	}
}

// seedProfile has the weights of the H4R document.
func seedProfile() Profile {
	list := Profiles()
	return list[slices.IndexFunc(list, func(p Profile) bool { return p.Name == ProfileSeed })]
}
