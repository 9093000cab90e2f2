package topk

import (
	"slices"

	"github.com/griffin-search/griffin/internal/base"
)

// Queue holds the best k of the hits that were added to it: a binary heap with
// the last of them, in the total order of results, at the root. The zero Queue
// holds none; Reset gives it its k.
type Queue struct {
	k int
	// Invariant: hits[(i-1)/2] is after hits[i] in the order of results.
	hits []base.Hit
}

// Reset empties the queue and sets k >= 0. It allocates only if k is greater
// than every k before.
func (q *Queue) Reset(k int) {
	q.k = k
	if cap(q.hits) < k {
		q.hits = make([]base.Hit, 0, k)
	}
	q.hits = q.hits[:0]
}

// K returns the k of the last Reset.
func (q *Queue) K() int { return q.k }

// Len returns the number of hits in the queue, at most k.
func (q *Queue) Len() int { return len(q.hits) }

// Need returns the least score with which a document enters the queue whose
// DocID is greater than those of all hits in it: 0 until the queue is full, then
// one more than the threshold, the score of the k-th best. It is what a traversal in DocID order prunes by.
func (q *Queue) Need() base.Score {
	if len(q.hits) < q.k {
		return 0
	}
	if q.k == 0 {
		return ^base.Score(0)
	}
	return q.hits[0].Score + 1
}

// Add adds a hit, in place of the worst one if there are k already, and says
// whether it is in the queue now. Hits may come in any order; no document may
// come twice. Cost: O(log k) if it enters, O(1) if not.
func (q *Queue) Add(h base.Hit) bool {
	if len(q.hits) < q.k {
		q.hits = append(q.hits, h)
		q.up(len(q.hits) - 1)
		return true
	}
	if q.k == 0 || !h.Before(q.hits[0]) {
		return false
	}
	q.replaceWorst(h)
	return true
}

// up moves the hit at i towards the root until its parent is after it.
func (q *Queue) up(i int) {
	h := q.hits[i]
	for i > 0 {
		parent := (i - 1) / 2
		if !q.hits[parent].Before(h) {
			break
		}
		q.hits[i] = q.hits[parent]
		i = parent
	}
	q.hits[i] = h
}

// replaceWorst puts h in the place of the root, and then where it belongs.
func (q *Queue) replaceWorst(h base.Hit) {
	hits := q.hits
	i := 0
	for {
		child := 2*i + 1
		if child >= len(hits) {
			break
		}
		if child+1 < len(hits) && hits[child].Before(hits[child+1]) {
			child++
		}
		if !h.Before(hits[child]) {
			break
		}
		hits[i] = hits[child]
		i = child
	}
	hits[i] = h
}

// AppendSorted appends the hits to dst, best first. The queue keeps them. It
// allocates only if dst is too small.
func (q *Queue) AppendSorted(dst []base.Hit) []base.Hit {
	from := len(dst)
	dst = append(dst, q.hits...)
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
