package language

import (
	"hash/maphash"
	"slices"
)

// fewTerms are those that are compared with each other faster than looked up.
const fewTerms = 64

// Hashes reads a text, and returns the hashes of its terms, each once.
func (a *Analyzer) Hashes(seed maphash.Seed, text string) []uint64 {
	a.Analyze(text)
	out := make([]uint64, 0, a.Len())
	known := func(h uint64) bool { return slices.Contains(out, h) }
	if a.Len() > fewTerms {
		seen := make(map[uint64]bool, a.Len())
		known = func(h uint64) bool {
			was := seen[h]
			seen[h] = true
			return was
		}
	}
	for i := range a.Len() {
		if h := maphash.Bytes(seed, a.Term(i)); !known(h) {
			out = append(out, h)
		}
	}
	return out
}
