package defend

import (
	"hash/maphash"
	"slices"

	"satchel/pipeline/language"
)

// wording is what a text is compared by. It takes 74 bytes of the cache and has none of the text.
type wording struct {
	whole  uint64       // hash of the tokens in order, under a seed
	least  [bins]uint16 // of the tokens of each bin the least hash, 0 for none
	tokens uint16       // how many; comparable bounds it
}

const (
	bins     = 32
	binBits  = 5
	sameBins = 50 // percent of the bins that hold anything; two thirds are the same where texts are just alike
	golden   = 0x9e3779b97f4a7c15
)

func wordingOf(tokens []language.Token, seed maphash.Seed) wording {
	var w wording
	var h maphash.Hash
	h.SetSeed(seed)
	for _, t := range tokens {
		maphash.WriteComparable(&h, t.Hash)
	}
	w.whole = h.Sum64()
	w.tokens = uint16(min(len(tokens), longest+1))
	if w.tokens < shortest || w.tokens > longest {
		return w
	}
	before := uint64(0)
	times := uint64(0)
	for _, hash := range inOrder(tokens) {
		times++
		if hash != before {
			before = hash
			times = 0
		}
		hash = (hash ^ times) * golden
		hash = (hash ^ hash>>32) * golden
		bin := hash >> (64 - binBits)
		value := uint16(hash>>16) | 1
		if w.least[bin] == 0 || value < w.least[bin] {
			w.least[bin] = value
		}
	}
	return w
}

// inOrder returns the hashes of tokens, the least first.
func inOrder(tokens []language.Token) []uint64 {
	out := hashesOf(tokens)
	slices.Sort(out)
	return out
}

// mayAlign reports whether two texts are likely alike. Where it errs, both stay whole.
func (w *wording) mayAlign(o *wording) bool {
	if int(max(w.tokens, o.tokens)-min(w.tokens, o.tokens)) > mostDiffer(int(w.tokens), int(o.tokens)) {
		return false
	}
	same := 0
	held := 0
	for i, value := range w.least {
		if value|o.least[i] != 0 {
			held++
		}
		if value == o.least[i] && value != 0 {
			same++
		}
	}
	return 100*same >= sameBins*held
}

// mostDiffer is how many tokens of two texts of so many may differ in versions of one statement.
func mostDiffer(a, b int) int { return (a + b) * (100 - alike) / 100 }

// countDifferences counts the tokens that one of two texts has alone, whatever their order, up to one more than most.
func countDifferences(a, b []uint64, most int) int {
	n := 0
	for len(a) > 0 && len(b) > 0 && n <= most {
		switch {
		case a[0] == b[0]:
			a = a[1:]
			b = b[1:]
		case a[0] < b[0]:
			a = a[1:]
			n++
		default:
			b = b[1:]
			n++
		}
	}
	return min(n+len(a)+len(b), most+1)
}

// hashesOf returns the hashes of tokens in their order.
func hashesOf(tokens []language.Token) []uint64 {
	out := make([]uint64, len(tokens))
	for i := range tokens {
		out[i] = tokens[i].Hash
	}
	return out
}
