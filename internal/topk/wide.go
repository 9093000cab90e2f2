package topk

import (
	"slices"

	"github.com/griffin-search/griffin/internal/base"
)

// wideHeap has the worst hit at the root. Invariant: h[(i-1)/2] comes after h[i] in the
// order of results.
type wideHeap []base.Hit

func (h *wideHeap) add(x base.Hit, k int) bool {
	if len(*h) < k {
		*h = append(*h, x)
		h.up(len(*h) - 1)
		return true
	}
	if k == 0 || !x.Before((*h)[0]) {
		return false
	}
	h.replaceWorst(x)
	return true
}

func (h wideHeap) up(i int) {
	x := h[i]
	for i > 0 {
		parent := (i - 1) / 2
		if !h[parent].Before(x) {
			break
		}
		h[i] = h[parent]
		i = parent
	}
	h[i] = x
}

func (h wideHeap) replaceWorst(x base.Hit) {
	i := 0
	for {
		child := 2*i + 1
		if child >= len(h) {
			break
		}
		if child+1 < len(h) && h[child].Before(h[child+1]) {
			child++
		}
		if !x.Before(h[child]) {
			break
		}
		h[i] = h[child]
		i = child
	}
	h[i] = x
}

func (h wideHeap) appendSorted(dst []base.Hit) []base.Hit {
	from := len(dst)
	dst = append(dst, h...)
	slices.SortFunc(dst[from:], func(a, b base.Hit) int {
		switch {
		case a.Before(b):
			return -1
		case b.Before(a):
			return 1
		}
		return 0
	})
	return dst
}
