package inproc

import (
	"cmp"
	"slices"

	"satchel/pipeline/store/keyword"
)

// candidate is a document and its score; id is filled when first asked for.
type candidate struct {
	doc   uint32
	score float64
	id    string
}

// heap keeps the best limit candidates, the worst of them first.
type heap struct {
	s     *state
	limit int
	items []candidate
}

// better orders by score, then by id.
func (h *heap) better(a, b *candidate) bool {
	if a.score != b.score {
		return a.score > b.score
	}
	return h.id(a) < h.id(b)
}

func (h *heap) id(c *candidate) string {
	if c.id == "" {
		c.id = h.s.ids.ID(c.doc)
	}
	return c.id
}

func (h *heap) offer(c candidate) {
	if len(h.items) < h.limit {
		h.items = append(h.items, c)
		if len(h.items) == h.limit {
			for i := h.limit/2 - 1; i >= 0; i-- {
				h.down(i)
			}
		}
		return
	}
	if h.limit == 0 || c.score < h.items[0].score || !h.better(&c, &h.items[0]) {
		return
	}
	h.items[0] = c
	h.down(0)
}

func (h *heap) down(i int) {
	for {
		child := 2*i + 1
		if child >= len(h.items) {
			return
		}
		if child+1 < len(h.items) && h.better(&h.items[child], &h.items[child+1]) {
			child++
		}
		if !h.better(&h.items[i], &h.items[child]) {
			return
		}
		h.items[i], h.items[child] = h.items[child], h.items[i]
		i = child
	}
}

// hits returns the candidates, best first.
func (h *heap) hits() []keyword.Hit {
	hits := make([]keyword.Hit, len(h.items))
	for i := range h.items {
		hits[i] = keyword.Hit{ID: h.id(&h.items[i]), Score: h.items[i].score}
	}
	slices.SortFunc(hits, func(a, b keyword.Hit) int {
		return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(a.ID, b.ID))
	})
	return hits
}
