package column

import (
	"bytes"
	"container/heap"
	"fmt"
	"math"

	"github.com/griffin-search/griffin/internal/base"
)

// maxTerms is less than the counts of a uint32, so that an ordinal is one.
const maxTerms = math.MaxUint32

var errTooManyTerms = fmt.Errorf("more than %d distinct values: %w", int64(maxTerms), base.ErrBadInput)

type termRef struct {
	in    *termInput
	index int
}

// termHeap has the input with the smallest term first.
type termHeap []termRef

var _ heap.Interface = (*termHeap)(nil)

// Len implements heap.Interface.
func (h termHeap) Len() int { return len(h) }

// Less implements heap.Interface.
func (h termHeap) Less(i, j int) bool {
	c := bytes.Compare(h[i].in.term, h[j].in.term)
	return c < 0 || c == 0 && h[i].index < h[j].index
}

// Swap implements heap.Interface.
func (h termHeap) Swap(i, j int) { h[i], h[j] = h[j], h[i] }

// Push implements heap.Interface.
func (h *termHeap) Push(x any) { *h = append(*h, x.(termRef)) }

// Pop implements heap.Interface.
func (h *termHeap) Pop() any {
	last := (*h)[len(*h)-1]
	*h = (*h)[:len(*h)-1]
	return last
}

func (h *termHeap) push(r termRef) { heap.Push(h, r) }

// fix restores the order after the first input advanced, or removes it.
func (h *termHeap) fix(ok bool) {
	if ok {
		heap.Fix(h, 0)
		return
	}
	heap.Pop(h)
}
