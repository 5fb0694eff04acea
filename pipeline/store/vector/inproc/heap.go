package inproc

import "cmp"

// candidate is an item with its best row; id is filled when first asked for.
type candidate struct {
	item  uint32
	row   int
	score float64
	id    string
}

// heap keeps the best limit candidates, the worst of them first.
type heap struct {
	limit int
	name  func(item uint32) string
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
		c.id = h.name(c.item)
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

// byRank orders candidates whose ids are known, best first.
func byRank(a, b candidate) int {
	return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(a.id, b.id))
}
