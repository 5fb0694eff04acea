package main

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"math"
	"math/rand/v2"
	"slices"
	"strings"

	"satchel/pipeline/model/encoder"
	"satchel/pipeline/selection/defend/injection"
)

// Sizes of the groups of words.
const (
	groups     = 255
	rounds     = 8
	encodedAt  = 64
	sampledOne = 4 // of so many texts of people one counts
)

// groupWords puts the words of the grammar, and the most frequent ones of the texts, in groups: those
// whose vectors lie near each other.
func groupWords(ctx context.Context, rng *rand.Rand, g *grammar, t *texts) (*injection.Groups, error) {
	words := frequentWords(g, t)
	e, err := encoder.Open(encoder.Config{Threads: 2})
	if err != nil {
		return nil, fmt.Errorf("open encoder: %w", err)
	}
	vectors := make([][]float32, 0, len(words))
	for list := range slices.Chunk(words, encodedAt) {
		more, err := e.Embed(ctx, list)
		if err != nil {
			return nil, fmt.Errorf("encode words: %w", err)
		}
		vectors = append(vectors, more...)
	}
	of := cluster(rng, vectors)
	grouped := map[string]uint8{}
	for i, word := range words {
		grouped[word] = uint8(of[i] + 1)
	}
	slog.Info("groups", "words", len(words))
	return injection.NewGroups(grouped), nil
}

// frequentWords returns the words of the grammar and, as far as there is room, of the texts, the most
// frequent ones first.
func frequentWords(g *grammar, t *texts) []string {
	seen := map[string]int{}
	for _, lines := range g.sections {
		for _, line := range lines {
			injection.Words(strings.NewReplacer("{", " ", "}", " ", "|", " ", "<", " ", ">", " ").Replace(line), func(w string) { seen[w] += 1 << 20 })
		}
	}
	for _, list := range [][]string{t.turns, t.prose, t.glosses, t.comments, t.manuals} {
		for i := 0; i < len(list); i += sampledOne {
			injection.Words(list[i], func(w string) { seen[w]++ })
		}
	}
	words := make([]string, 0, len(seen))
	for w := range seen {
		words = append(words, w)
	}
	slices.SortFunc(words, func(a, b string) int { return cmp.Or(cmp.Compare(seen[b], seen[a]), cmp.Compare(a, b)) })
	return words[:min(len(words), injection.MostGrouped)]
}

// cluster returns the group of each vector, by k-means on vectors of length one.
func cluster(rng *rand.Rand, vectors [][]float32) []int {
	of := make([]int, len(vectors))
	centres := make([][]float32, groups)
	for i, at := range rng.Perm(len(vectors))[:groups] {
		centres[i] = slices.Clone(vectors[at])
	}
	for range rounds {
		for i, v := range vectors {
			best := float32(-2)
			for k, c := range centres {
				if d := dot(v, c); d > best {
					best, of[i] = d, k
				}
			}
		}
		for k := range centres {
			clear(centres[k])
		}
		for i, v := range vectors {
			for j, x := range v {
				centres[of[i]][j] += x
			}
		}
		for _, c := range centres {
			scale(c)
		}
	}
	return of
}

func dot(a, b []float32) float32 {
	var sum [4]float32
	for i := 0; i+4 <= len(a); i += 4 {
		sum[0] += a[i] * b[i]
		sum[1] += a[i+1] * b[i+1]
		sum[2] += a[i+2] * b[i+2]
		sum[3] += a[i+3] * b[i+3]
	}
	return sum[0] + sum[1] + sum[2] + sum[3]
}

// scale gives a vector length one.
func scale(v []float32) {
	if length := float32(math.Sqrt(float64(dot(v, v)))); length > 0 {
		for i := range v {
			v[i] /= length
		}
	}
}
