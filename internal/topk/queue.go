package topk

import (
	"math"

	"github.com/griffin-search/griffin/internal/base"
)

// Queue holds the best k of the added hits: a binary heap with the worst at the root. The
// zero Queue holds none; Reset sets k.
//
// A hit is stored as one number, its key, which increases with its rank. Hits with scores
// of 2^32 or more, which need extreme boosts, have no key: from the first one on, all
// hits are stored in full (wide). Keys save 62 to 72 of 224 and 401 µs for a query with
// k=1000 (mean of OR on the wiki passages, one thread of a Zen 5).
type Queue struct {
	k int
	// Invariant: keys[(i-1)/2] <= keys[i] once there are k.
	keys   []uint64
	wide   wideHeap // replaces keys if isWide is set
	isWide bool
	ties   Ties // if there are any, hits are stored with their rank in place of the DocID
	// unordered: the next documents may have lower DocIDs than hits in the queue.
	unordered bool

	sorter sorter
}

// key requires a score below 2^32. Better hits have greater keys.
func key(h base.Hit) uint64 { return uint64(h.Score)<<32 | uint64(^uint32(h.DocID)) }

func hit(key uint64) base.Hit {
	return base.Hit{DocID: base.DocID(^uint32(key)), Score: base.Score(key >> 32)}
}

// Reset empties the queue and sets k >= 0, for ties in the order of DocIDs. It allocates only if k
// exceeds all earlier k.
func (q *Queue) Reset(k int) { q.ResetTies(k, nil) }

// ResetTies is Reset with another order of hits of equal score.
func (q *Queue) ResetTies(k int, ties Ties) {
	q.k, q.ties, q.unordered = k, ties, false
	if cap(q.keys) < k {
		q.keys = make([]uint64, 0, k)
	}
	q.keys = q.keys[:0]
	q.isWide = false
}

// K returns the k of the last Reset.
func (q *Queue) K() int { return q.k }

// Len is at most k.
func (q *Queue) Len() int {
	if q.isWide {
		return len(q.wide)
	}
	return len(q.keys)
}

// SetUnordered sets, until the next Reset, whether the next documents may have lower DocIDs than hits
// in the queue.
func (q *Queue) SetUnordered(unordered bool) { q.unordered = unordered }

// Need returns the least score that a document with a DocID greater than all in the queue
// needs to enter it: 0 until the queue is full, then the threshold (the k-th best score)
// plus 1. It is the threshold if the document may be before another one of equal score: if there are
// Ties, or after SetUnordered. Traversals in DocID order prune by it.
func (q *Queue) Need() base.Score {
	var threshold base.Score
	switch {
	case q.Len() < q.k:
		return 0
	case q.k == 0:
		return ^base.Score(0)
	case q.isWide:
		threshold = q.wide[0].Score
	default:
		threshold = base.Score(q.keys[0] >> 32)
	}
	if len(q.ties) > 0 || q.unordered {
		return threshold
	}
	return threshold + 1
}

// Add adds a hit, replacing the worst one if there are k already, and reports whether it is
// now in the queue. Hits may come in any order, but each document only once. Cost: O(log k)
// if it enters a full queue, otherwise O(1).
func (q *Queue) Add(h base.Hit) bool {
	if len(q.ties) > 0 {
		h = q.ties.ranked(h)
	}
	if q.isWide || h.Score > math.MaxUint32 {
		return q.addWide(h)
	}
	k := key(h)
	if len(q.keys) < q.k {
		q.keys = append(q.keys, k)
		if len(q.keys) == q.k {
			q.heapify()
		}
		return true
	}
	if q.k == 0 || k < q.keys[0] {
		return false
	}
	q.down(0, k)
	return true
}

// R. W. Floyd, "Algorithm 245: treesort 3", CACM 1964.
func (q *Queue) heapify() {
	for i := len(q.keys)/2 - 1; i >= 0; i-- {
		q.down(i, q.keys[i])
	}
}

func (q *Queue) down(i int, k uint64) {
	keys := q.keys
	for {
		child := 2*i + 1
		if child+1 >= len(keys) {
			if child < len(keys) && keys[child] < k {
				keys[i] = keys[child]
				i = child
			}
			break
		}
		// Without a branch, because it is unpredictable.
		right := 0
		if keys[child+1] < keys[child] {
			right = 1
		}
		child += right
		if k <= keys[child] {
			break
		}
		keys[i] = keys[child]
		i = child
	}
	keys[i] = k
}

// addWide is Add once a score does not fit in a key.
func (q *Queue) addWide(h base.Hit) bool {
	if !q.isWide {
		q.isWide = true
		if cap(q.wide) < q.k {
			q.wide = make(wideHeap, 0, q.k)
		}
		q.wide = q.wide[:0]
		for _, k := range q.keys {
			q.wide.add(hit(k), q.k)
		}
	}
	return q.wide.add(h, q.k)
}

// Each calls f for the hits of a queue without Ties, in any order. f must not use the queue.
func Each(q *Queue, f func(h base.Hit)) {
	if q.isWide {
		for _, h := range q.wide {
			f(h)
		}
		return
	}
	for _, k := range q.keys {
		f(hit(k))
	}
}

// AppendSorted appends the hits to dst, best first, and leaves the queue unchanged. It
// allocates only if dst is too small, or for the first queue of this length.
func (q *Queue) AppendSorted(dst []base.Hit) []base.Hit {
	from := len(dst)
	if q.isWide {
		dst = q.wide.appendSorted(dst)
	} else {
		q.sorter.sort(q.keys) // increasing keys are a heap
		for i := len(q.keys) - 1; i >= 0; i-- {
			dst = append(dst, hit(q.keys[i]))
		}
	}
	q.ties.documents(dst[from:])
	return dst
}
