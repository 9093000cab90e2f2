package traverse

import (
	"math"
	"slices"

	"github.com/griffin-search/griffin/internal/score"
)

// cutBounds costs at most (1+partitionEdges) * (1+partitionSteps) times the minimum.
const (
	partitionEdges = 0.1
	partitionSteps = 0.4
)

// cutBounds returns the ends of blocks of a list's bounds of nearly minimum cost (see
// variableBlocks).
//
// The cuts are a shortest path from 0 to n, with an edge for each block [i, j). Of edges with
// costs within a factor of 1+partitionSteps, only the longest is tried, and none much longer
// than the cost of 1/partitionEdges further blocks (Ottaviano and Venturini, "Partitioned
// Elias-Fano indexes", SIGIR 2014, §4.2, whose approximation Mallia et al. use). One window for
// each power of 1+partitionSteps moves over the list once: O(n), 8 windows, about 180 ns a
// posting. On random bounds the cost is at most 1.09 times the minimum.
func cutBounds(bounds []score.Bound, lambda int64) (ends []int) {
	n := len(bounds)
	lambda = max(lambda, 1)
	var windows []costWindow
	for limit := float64(lambda); ; limit *= 1 + partitionSteps {
		windows = append(windows, costWindow{limit: int64(limit) - lambda, bounds: bounds})
		if limit >= float64(lambda)/partitionEdges {
			break
		}
	}
	costs, from := make([]int64, n+1), make([]int32, n+1)
	for i := 1; i <= n; i++ {
		costs[i] = math.MaxInt64
	}
	for i := range n {
		start := costs[i] + lambda
		for w := range windows {
			win := &windows[w]
			if win.end == i {
				win.take()
			}
			for {
				if c := start + win.waste; c < costs[win.end] {
					costs[win.end], from[win.end] = c, int32(i)
				}
				if !win.extend() {
					break
				}
			}
			win.leave()
		}
	}
	for end := n; end > 0; end = int(from[end]) {
		ends = append(ends, end)
	}
	slices.Reverse(ends)
	return ends
}

type costWindow struct {
	limit      int64 // maximum waste
	bounds     []score.Bound
	start, end int
	max        score.Bound // of the block
	waste      int64       // sum over the block of max - bound
	// The positions of possible maxima: in queue[head:], bounds decrease.
	queue []int32
	head  int
}

// extend lengthens the block by one bound, if there is one and the waste then stays
// within the limit, and reports whether it did.
func (w *costWindow) extend() bool {
	if w.end == len(w.bounds) {
		return false
	}
	b := w.bounds[w.end]
	waste := w.waste + int64(w.max) - int64(b)
	if b > w.max {
		waste = w.waste + int64(b-w.max)*int64(w.end-w.start)
	}
	if waste > w.limit {
		return false
	}
	w.take()
	return true
}

func (w *costWindow) take() {
	b := w.bounds[w.end]
	if b > w.max {
		w.waste += int64(b-w.max) * int64(w.end-w.start)
		w.max = b
	} else {
		w.waste += int64(w.max - b)
	}
	for len(w.queue) > w.head && w.bounds[w.queue[len(w.queue)-1]] <= b {
		w.queue = w.queue[:len(w.queue)-1]
	}
	if w.head > 64 && w.head*2 >= len(w.queue) {
		w.queue = w.queue[:copy(w.queue, w.queue[w.head:])]
		w.head = 0
	}
	w.queue = append(w.queue, int32(w.end))
	w.end++
}

// leave removes the block's first bound; the block must not be empty.
func (w *costWindow) leave() {
	w.waste -= int64(w.max - w.bounds[w.start])
	if int(w.queue[w.head]) == w.start {
		w.head++
		next := score.Bound(0)
		if w.head < len(w.queue) {
			next = w.bounds[w.queue[w.head]]
		}
		w.waste -= int64(w.max-next) * int64(w.end-w.start-1)
		w.max = next
	}
	w.start++
}
