package memory

import (
	"cmp"
	"slices"

	"satchel/pipeline/store/internal/columns"
)

// scoredRow is a document with its score and, where documents have several rows, its best.
type scoredRow struct {
	Score float64
	Doc   uint32
	Row   uint32
}

// topRows is a heap of the best Limit candidates, the worst of them first.
type topRows struct {
	Limit  int
	Before func(a, b uint32) bool // whether a document's id comes before another's
	Items  []scoredRow
}

// isBetter orders by score, then by id.
func (h *topRows) isBetter(a, b *scoredRow) bool {
	if a.Score != b.Score {
		return a.Score > b.Score
	}
	return h.Before(a.Doc, b.Doc)
}

// Beneath reports whether a score does not get into a full heap.
func (h *topRows) Beneath(score float64) bool {
	return len(h.Items) == h.Limit && (h.Limit == 0 || score < h.Items[0].Score)
}

// Offer takes a candidate in, in the place of the worst when the heap is full.
func (h *topRows) Offer(c scoredRow) {
	if len(h.Items) < h.Limit {
		h.Items = append(h.Items, c)
		if len(h.Items) == h.Limit {
			for i := h.Limit/2 - 1; i >= 0; i-- {
				h.siftDown(i)
			}
		}
		return
	}
	if h.Limit == 0 || !h.isBetter(&c, &h.Items[0]) {
		return
	}
	h.Items[0] = c
	h.siftDown(0)
}

func (h *topRows) siftDown(i int) {
	for {
		child := 2*i + 1
		if child >= len(h.Items) {
			return
		}
		if child+1 < len(h.Items) && h.isBetter(&h.Items[child], &h.Items[child+1]) {
			child++
		}
		if !h.isBetter(&h.Items[i], &h.Items[child]) {
			return
		}
		h.Items[i], h.Items[child] = h.Items[child], h.Items[i]
		i = child
	}
}

// sortBest sorts candidates by falling score, then by id.
func sortBest(all []scoredRow, ids *columns.IDs) {
	slices.SortFunc(all, func(a, b scoredRow) int {
		if c := cmp.Compare(b.Score, a.Score); c != 0 {
			return c
		}
		return ids.Compare(a.Doc, b.Doc)
	})
}
