package topk_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/topk"
)

func oracle(hits []base.Hit, k int) []base.Hit {
	hits = slices.Clone(hits)
	slices.SortFunc(hits, func(a, b base.Hit) int {
		if a.Score != b.Score {
			if a.Score > b.Score {
				return -1
			}
			return 1
		}
		return int(a.DocID) - int(b.DocID)
	})
	return hits[:min(k, len(hits))]
}

func TestQueueAgainstSort(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	var q topk.Queue
	for _, n := range []int{0, 1, 2, 9, 10, 11, 16, 17, 63, 64, 500, 3000} {
		for _, scores := range []uint64{1, 2, 50, 1 << 40} { // few distinct scores: many ties
			hits := make([]base.Hit, n)
			for i, d := range rng.Perm(n) {
				hits[i] = base.Hit{DocID: base.DocID(d), Score: base.Score(rng.Uint64N(scores))}
			}
			for _, k := range []int{0, 1, 2, 10, 16, 17, 63, 64, 100, 1000, 5000} {
				q.Reset(k)
				for i, h := range hits {
					entered := q.Add(h)
					if i < 100 {
						if want := slices.Contains(oracle(hits[:i+1], k), h); entered != want {
							t.Fatalf("n=%d k=%d: Add of hit %d: %t, want %t", n, k, i, entered, want)
						}
					}
				}
				if got, want := q.AppendSorted(nil), oracle(hits, k); !slices.Equal(got, want) {
					t.Fatalf("n=%d scores=%d k=%d:\n got %v\nwant %v", n, scores, k, got, want)
				}
			}
		}
	}
}

// In increasing DocID order, a hit enters if and only if it scores at least Need.
func TestNeed(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	var q topk.Queue
	for _, k := range []int{0, 1, 3, 10} {
		q.Reset(k)
		for d := range base.DocID(500) {
			h := base.Hit{DocID: d, Score: base.Score(rng.Uint64N(20))}
			need := q.Need()
			if entered := q.Add(h); entered != (h.Score >= need) {
				t.Fatalf("k=%d: hit %v entered: %t, Need %d", k, h, entered, need)
			}
		}
	}
}

func TestQueueDoesNotAllocate(t *testing.T) {
	var q topk.Queue
	q.Reset(100)
	dst := make([]base.Hit, 0, 100)
	if n := testing.AllocsPerRun(10, func() {
		q.Reset(100)
		for d := range base.DocID(1000) {
			q.Add(base.Hit{DocID: d, Score: base.Score(d * 7919 % 1000)})
		}
		dst = q.AppendSorted(dst[:0])
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestAppendSortedKeeps(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	var q topk.Queue
	for _, k := range []int{5, 100, 1000} {
		for _, scores := range []uint64{1, 30, 1 << 20, 1 << 40} {
			q.Reset(k)
			var hits []base.Hit
			for range 6 {
				for range 300 {
					h := base.Hit{DocID: base.DocID(len(hits)), Score: base.Score(rng.Uint64N(scores))}
					hits = append(hits, h)
					q.Add(h)
				}
				if got, want := q.AppendSorted(nil), oracle(hits, k); !slices.Equal(got, want) {
					t.Fatalf("k=%d scores=%d after %d hits:\n got %v\nwant %v", k, scores, len(hits), got, want)
				}
			}
		}
	}
}

func BenchmarkQueue(b *testing.B) {
	rng := rand.New(rand.NewPCG(9, 10))
	hits := make([]base.Hit, 3000)
	for i := range hits {
		hits[i] = base.Hit{DocID: base.DocID(i), Score: base.Score(rng.ExpFloat64() * 50000)}
	}
	var q topk.Queue
	var dst []base.Hit
	for _, k := range []int{10, 1000} {
		b.Run(fmt.Sprintf("k=%d", k), func(b *testing.B) {
			for b.Loop() {
				q.Reset(k)
				for _, h := range hits {
					q.Add(h)
				}
				dst = q.AppendSorted(dst[:0])
			}
		})
	}
}

// After SetUnordered, a hit of the score that is needed may enter or not, and no better one is refused.
func TestNeedUnordered(t *testing.T) {
	var q topk.Queue
	q.Reset(2)
	q.Add(base.Hit{DocID: 7, Score: 5})
	q.Add(base.Hit{DocID: 9, Score: 4})
	if n := q.Need(); n != 5 {
		t.Errorf("a later document needs %d, want 5", n)
	}
	q.SetUnordered(true)
	if n := q.Need(); n != 4 || !q.Add(base.Hit{DocID: 8, Score: 4}) || q.Add(base.Hit{DocID: 10, Score: 4}) {
		t.Errorf("any document needs %d, want 4, which enters before document 9 only", n)
	}
	if q.SetUnordered(false); q.Need() != 5 {
		t.Errorf("in order: %d, want 5", q.Need())
	}
	q.SetUnordered(true)
	if q.Reset(1); q.Add(base.Hit{Score: 3}) && q.Need() != 4 {
		t.Errorf("after Reset: %d, want 4", q.Need())
	}
}
