package memory_test

import (
	"fmt"
	"math/rand/v2"
	"strings"

	"satchel/pipeline/store/keyword"
	"satchel/schemas"
)

// corpus makes texts of about 40 words: Zipf words over a vocabulary of half a million,
// four in ten of them English function words, as prose has.
type corpus struct {
	rng  *rand.Rand
	zipf *rand.Zipf
}

var function = [...]string{"the", "of", "and", "a", "to", "in", "is", "was", "that", "it", "with", "for", "on", "as"}

func newCorpus(seed uint64) *corpus {
	rng := rand.New(rand.NewPCG(seed, 1))
	return &corpus{rng: rng, zipf: rand.NewZipf(rng, 1.07, 20, 500_000)}
}

func word(n uint64) string {
	const syllables = "badegihokulumanoperisotuvaxezi"
	var b strings.Builder
	for i := 0; i < 2 || n > 0; i++ {
		at := n % 15 * 2
		b.WriteString(syllables[at : at+2])
		n /= 15
	}
	return b.String() + "k"
}

func (c *corpus) text(words int) string {
	var b strings.Builder
	for range words {
		if c.rng.IntN(10) < 4 {
			b.WriteString(function[c.rng.IntN(len(function))])
		} else {
			b.WriteString(word(c.zipf.Uint64()))
		}
		b.WriteByte(' ')
	}
	return b.String()
}

func (c *corpus) doc(position int64) *keyword.Doc {
	return &keyword.Doc{
		ID:       fmt.Sprintf("%08x-0000-7000-8000-%012x", uint32(position)*2654435761, position),
		Position: position, Text: c.text(20 + c.rng.IntN(41)),
		Facets: schemas.Facets{Kind: "memory", Level: schemas.Level(c.rng.IntN(4)), Session: fmt.Sprint(position / 50), Trust: 1},
	}
}

func (c *corpus) changes(from int64, n int) []keyword.Change {
	out := make([]keyword.Change, n)
	for i := range out {
		out[i] = keyword.Change{Position: from + int64(i), Put: c.doc(from + int64(i))}
	}
	return out
}

// terms is a query of 3 to 6 words, none of the 60 most frequent.
func (c *corpus) terms() string {
	var words []string
	for len(words) < 3+c.rng.IntN(4) {
		if n := c.zipf.Uint64(); n > 60 {
			words = append(words, word(n))
		}
	}
	return strings.Join(words, " ")
}
