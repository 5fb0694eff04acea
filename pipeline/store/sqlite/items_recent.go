package sqlite

import (
	"cmp"
	"slices"

	"satchel/pipeline/store/items"
)

// blockSize is how many ordinals share an upper bound of their times.
const blockSize = 1024

// findRecentItems returns the newest items behind a place whose profile is allowed. It visits blocks by their
// newest time and stops at the first one that has nothing new enough.
func (d *directory) findRecentItems(allowed []bool, behind items.Place, limit int) []string {
	from := behind.Created.UnixMicro()
	all := behind == (items.Place{})
	blocks := make([]int, len(d.newest))
	for i := range blocks {
		blocks[i] = i
	}
	slices.SortFunc(blocks, func(a, b int) int {
		return cmp.Or(cmp.Compare(d.newest[b], d.newest[a]), cmp.Compare(b, a))
	})
	best := newestHeap{created: d.created, ords: make([]uint32, 0, min(limit, d.live))}
	for _, block := range blocks {
		if len(best.ords) == limit && d.newest[block] < d.created[best.ords[0]] {
			break
		}
		end := min((block+1)*blockSize, len(d.created))
		for i := end - 1; i >= block*blockSize; i-- {
			past := all || d.created[i] < from || d.created[i] == from && d.usage[i].first < behind.First
			if past && d.flags[i]&flagLive != 0 && allowed[d.profile[i]] {
				best.offerItem(uint32(i), limit)
			}
		}
	}
	slices.SortFunc(best.ords, func(a, b uint32) int {
		if best.isOlderItem(b, a) {
			return -1
		}
		return 1
	})
	ids := make([]string, len(best.ords))
	for i, ord := range best.ords {
		ids[i] = d.ids.ID(ord)
	}
	return ids
}

// newestHeap keeps the newest ordinals, the oldest of them at its head.
type newestHeap struct {
	created []int64
	ords    []uint32
}

func (h *newestHeap) isOlderItem(a, b uint32) bool {
	if h.created[a] != h.created[b] {
		return h.created[a] < h.created[b]
	}
	return a < b
}

func (h *newestHeap) offerItem(ord uint32, limit int) {
	if len(h.ords) < limit {
		h.ords = append(h.ords, ord)
		for i := len(h.ords) - 1; i > 0 && h.isOlderItem(h.ords[i], h.ords[(i-1)/2]); i = (i - 1) / 2 {
			h.ords[i], h.ords[(i-1)/2] = h.ords[(i-1)/2], h.ords[i]
		}
		return
	}
	if !h.isOlderItem(h.ords[0], ord) {
		return
	}
	h.ords[0] = ord
	for i := 0; ; {
		least := i
		for c := 2*i + 1; c <= 2*i+2 && c < len(h.ords); c++ {
			if h.isOlderItem(h.ords[c], h.ords[least]) {
				least = c
			}
		}
		if least == i {
			return
		}
		h.ords[i], h.ords[least] = h.ords[least], h.ords[i]
		i = least
	}
}
