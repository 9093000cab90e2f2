package collect

import (
	"cmp"
	"slices"

	"github.com/griffin-search/griffin/internal/base"
)

// slot is the value of a document for a key, in its segment. Slots of a key are ordered by class, then by v.
type slot struct {
	class int8
	v     int64 // of a descending key: all bits flipped
}

func (a slot) compare(b slot) int {
	if a.class != b.class {
		return cmp.Compare(a.class, b.class)
	}
	return cmp.Compare(a.v, b.v)
}

// entry is a document with a row of slots.
type entry struct {
	doc   base.DocID
	rank  uint32 // in the order of writing
	score base.Score
	row   uint32 // of heap.slots
}

// heap holds the best k documents of a segment, the last of them at the root.
type heap struct {
	k, keys int
	entries []entry
	slots   []slot
}

func (h *heap) row(e *entry) []slot { return h.slots[int(e.row)*h.keys : int(e.row+1)*h.keys] }

func (h *heap) full() bool { return len(h.entries) == h.k }

// worst returns the slots of the last document.
func (h *heap) worst() []slot { return h.row(&h.entries[0]) }

func compareRows(a, b []slot) int {
	for i := range a {
		if c := a[i].compare(b[i]); c != 0 {
			return c
		}
	}
	return 0
}

func (h *heap) compare(a, b *entry) int {
	if c := compareRows(h.row(a), h.row(b)); c != 0 {
		return c
	}
	return cmp.Compare(a.rank, b.rank)
}

// add takes a document with a row that it copies.
func (h *heap) add(row []slot, e entry) {
	if !h.full() {
		e.row = uint32(len(h.entries))
		h.slots = append(h.slots, row...)
		h.entries = append(h.entries, e)
		if h.full() {
			for i := h.k/2 - 1; i >= 0; i-- {
				h.down(i)
			}
		}
		return
	}
	root := &h.entries[0]
	c := compareRows(row, h.row(root))
	if c > 0 || c == 0 && e.rank > root.rank {
		return
	}
	e.row = root.row
	copy(h.row(&e), row)
	*root = e
	h.down(0)
}

func (h *heap) down(i int) {
	for {
		child := 2*i + 1
		if child >= len(h.entries) {
			return
		}
		if child+1 < len(h.entries) && h.compare(&h.entries[child+1], &h.entries[child]) > 0 {
			child++
		}
		if h.compare(&h.entries[child], &h.entries[i]) <= 0 {
			return
		}
		h.entries[i], h.entries[child] = h.entries[child], h.entries[i]
		i = child
	}
}

// sorted returns the documents, best first.
func (h *heap) sorted() []entry {
	slices.SortFunc(h.entries, func(a, b entry) int { return h.compare(&a, &b) })
	return h.entries
}
