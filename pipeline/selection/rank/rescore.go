package rank

import (
	"context"
	"math"
	"sort"

	"satchel/pipeline/selection/retrieve"
	"satchel/schemas"
)

// rescoreItems gives the items that the principal sees otherwise than the indexes hold them the
// scores of what it sees. What nothing visible speaks for is taken out: the principal would
// not have found it by what it may see.
func (p *Pool) rescoreItems(ctx context.Context, by Scorer, own []bool) error {
	var at []int32
	var texts []string
	for i, v := range p.items {
		if v != nil && own[i] {
			at = append(at, int32(i))
			texts = append(texts, schemas.SearchText(&v.MemoryItem))
			delete(p.spans, int32(i))
		}
	}
	if len(at) == 0 {
		return nil
	}
	speaks := make([]bool, len(at))
	for _, ch := range p.channels {
		scores, err := by.ScoreTexts(ctx, ch.name, texts)
		if err != nil {
			return err
		}
		least := ch.findLeastScore()
		for j, i := range at {
			if scores == nil && !p.items[i].Masked { // it sees what the index has, and more
				speaks[j] = speaks[j] || ch.rank[i] > 0
				continue
			}
			ch.raw[i] = ch.found.Mean
			ch.known[i] = true
			ch.rank[i] = 0
			if scores == nil {
				if ch.name == retrieve.NameEncoder {
					ch.raw[i] = math.NaN() // see estimate
				}
				continue
			}
			ch.raw[i] = scores[j]
			if scores[j] > 0 && scores[j] >= least {
				speaks[j] = true
				ch.rank[i] = ch.rankOf(scores[j])
			}
		}
	}
	for j, i := range at {
		if !speaks[j] && len(p.channels) > 0 && p.distance[i] < 0 && !p.recent[i] {
			p.items[i] = nil
		}
	}
	return nil
}

// rankOf returns the place that a score has among the hits.
func (c *channel) rankOf(score float64) int32 {
	hits := c.found.Hits
	return int32(sort.Search(len(hits), func(i int) bool { return hits[i].Score < score })) + 1
}

// findLeastScore is the score that an item must have to be found: that of the worst hit.
func (c *channel) findLeastScore() float64 {
	if n := len(c.found.Hits); n > 0 && !c.found.Complete {
		return c.found.Hits[n-1].Score
	}
	return 0
}
