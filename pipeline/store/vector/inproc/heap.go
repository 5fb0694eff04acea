package inproc

// candidate is an item with its best row.
type candidate struct {
	score float64
	item  uint32
	row   uint32
}

// heap keeps the best limit candidates, the worst of them first.
type heap struct {
	limit  int
	before func(a, b uint32) bool // whether an item's id comes before another's
	items  []candidate
}

// better orders by score, then by id.
func (h *heap) better(a, b *candidate) bool {
	if a.score != b.score {
		return a.score > b.score
	}
	return h.before(a.item, b.item)
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
