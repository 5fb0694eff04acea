package inproc

import (
	"cmp"
	"slices"

	"satchel/pipeline/store/keyword"
)

// candidate is a document and its score.
type candidate struct {
	score float64
	doc   uint32
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
	return h.s.ids.Compare(a.doc, b.doc) < 0
}

// beneath reports whether a score does not get into a full heap.
func (h *heap) beneath(score float64) bool {
	return len(h.items) == h.limit && (h.limit == 0 || score < h.items[0].score)
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
	if h.limit == 0 || !h.better(&c, &h.items[0]) {
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
	slices.SortFunc(h.items, func(a, b candidate) int {
		if c := cmp.Compare(b.score, a.score); c != 0 {
			return c
		}
		return h.s.ids.Compare(a.doc, b.doc)
	})
	hits := make([]keyword.Hit, len(h.items))
	for i := range h.items {
		hits[i] = keyword.Hit{ID: h.s.ids.ID(h.items[i].doc), Score: h.items[i].score}
	}
	return hits
}
