package injection

import (
	"hash/maphash"
	"math"
	"sync/atomic"
)

// cached is the number of scores a Cached keeps.
const cached = 1 << 14

// Cached is a Classifier that remembers the scores of texts it saw last: the same items
// are candidates again and again. A score is kept to four digits, beside 48 bits of the
// text's hash under a random seed. It is safe for concurrent use.
type Cached struct {
	classifier *Classifier
	seed       maphash.Seed
	slots      []atomic.Uint64
}

// NewCached returns a Cached around a Classifier.
func NewCached(c *Classifier) *Cached {
	return &Cached{classifier: c, seed: maphash.MakeSeed(), slots: make([]atomic.Uint64, cached)}
}

// Score is the classifier's score, to four digits.
func (c *Cached) Score(text string) float64 {
	const digits, low = 10000, 1<<16 - 1
	hash := maphash.String(c.seed, text)
	slot := &c.slots[hash%cached]
	if kept := slot.Load(); kept != 0 && kept&^low == hash&^low {
		return float64(kept&low-1) / digits
	}
	score := math.Round(c.classifier.Score(text) * digits)
	slot.Store(hash&^low | uint64(score+1))
	return score / digits
}
