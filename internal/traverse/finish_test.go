package traverse_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/griffin-search/griffin/codec"
	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/topk"
	"github.com/griffin-search/griffin/internal/traverse"
)

// All documents have the same contribution.
func constantQuery(t *testing.T) (q traverse.Query, contribution base.Score) {
	const numDocs = 256
	x := oneSegment(numDocs, []float64{2}, listOf(0, 1, numDocs, always(3)))
	x.write(t, codec.SIMDBP{})
	return x.queries(t)[0], x.terms[0].Score(3, indexAvgLen)
}

func TestFinishDropsDeletedCandidates(t *testing.T) {
	q, sum := constantQuery(t)
	q.Live = []uint64{^uint64(1 << 5), ^uint64(0), ^uint64(0), ^uint64(0)}
	c := traverse.Candidates{DocIDs: []uint32{4, 5, 6}, Scores: []uint32{0, 0, 0}}
	var s traverse.Scratch
	var queue topk.Queue
	queue.Reset(3)
	if err := traverse.Finish(t.Context(), &s, &q, &c, &queue, true); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(c.DocIDs, []uint32{4, 6}) {
		t.Errorf("candidates %v are left, want 4 and 6", c.DocIDs)
	}
	if got, want := queue.AppendSorted(nil), []base.Hit{{DocID: 4, Score: sum}, {DocID: 6, Score: sum}}; !slices.Equal(got, want) {
		t.Errorf("%s", difference(got, want))
	}
}

// TestFinishThreshold gives candidates scores with which they reach a threshold exactly, or miss
// it by 1, and a list with a bound above its contributions.
func TestFinishThreshold(t *testing.T) {
	q, sum := constantQuery(t)
	upper := q.Legs[0].MaxScore
	if upper <= sum {
		t.Fatalf("the bound %d is tight, %d", upper, sum)
	}
	const before = 1000
	for _, tt := range []struct {
		name      string
		threshold base.Score
		scored    int64
		hits      int
	}{
		{"score", before + sum, 1, 1},
		{"score+1", before + sum + 1, 1, 0},
		{"bound", before + upper, 1, 0},
		{"bound+1", before + upper + 1, 0, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			q.Threshold = tt.threshold
			c := traverse.Candidates{DocIDs: []uint32{7}, Scores: []uint32{before}}
			var s traverse.Scratch
			var queue topk.Queue
			queue.Reset(3)
			if err := traverse.Finish(t.Context(), &s, &q, &c, &queue, false); err != nil {
				t.Fatal(err)
			}
			if s.Stats.PostingsScored != tt.scored || queue.Len() != tt.hits {
				t.Errorf("%d postings are scored, %d hits, want %d and %d", s.Stats.PostingsScored, queue.Len(), tt.scored, tt.hits)
			}
		})
	}
}

// TestTightBounds has lists with exact bounds, and a threshold that the best documents just reach.
func TestTightBounds(t *testing.T) {
	const numDocs, k = 20_000, 40
	x := oneSegment(numDocs, []float64{2, 3, 1},
		multiples(numDocs, 6, 3000, 5, 1), multiples(numDocs, 3, 2000, 2, 1), multiples(numDocs, 2, 900, 3, 1))
	for _, list := range x.segments[0].lists {
		for i := range list {
			list[i].Freq = min(list[i].Freq, 2)
		}
	}
	x.write(t, codec.SIMDBP{})
	q := x.queries(t)[0]
	for i := range q.Legs {
		q.Legs[i].MaxScore = 0
		for _, p := range x.segments[0].lists[i] {
			q.Legs[i].MaxScore = max(q.Legs[i].MaxScore, x.terms[i].Score(p.Freq, indexAvgLen))
		}
	}
	forAllTraversals(t, func(t *testing.T, tr traverse.Traversal) {
		want := x.oracle(tr.Mode())[:k]
		for _, threshold := range []base.Score{0, want[k-1].Score} {
			q.Threshold = threshold
			var s traverse.Scratch
			if got := run(t, tr, &s, []traverse.Query{q}, k); !slices.Equal(got, want) {
				t.Errorf("threshold %d: %s", threshold, difference(got, want))
			}
		}
	})
}

// TestForgetZeroesStats checks that the next query's work is counted alone.
func TestForgetZeroesStats(t *testing.T) {
	q, _ := constantQuery(t)
	var s traverse.Scratch
	run(t, traverse.Default(traverse.And), &s, []traverse.Query{q}, 1)
	if s.Stats == (traverse.Stats{}) {
		t.Error("no work is counted")
	}
	if s.Forget(); s.Stats != (traverse.Stats{}) {
		t.Errorf("%+v after Forget", s.Stats)
	}
}

// TestBoundsOfLongSpans looks at a list's blocks only if the first list's block spans few enough:
// 64 of 128 blocks of all documents. Only then does the first block turn out to be useless.
func TestBoundsOfLongSpans(t *testing.T) {
	const numDocs, limit = 128 * codec.BlockLen, 64 * codec.BlockLen
	decoded := map[int]int64{}
	for _, span := range []int{limit, limit + 1} {
		first := append(listOf(0, 60, codec.BlockLen-1, always(1)), listOf(span-1, 1, 1, always(1))...)
		first = append(first, listOf(numDocs-codec.BlockLen, 1, codec.BlockLen, always(1))...)
		second := listOf(0, 1, numDocs, func(i int) uint32 {
			if i < limit+1000 {
				return 1
			}
			return 100
		})
		x := oneSegment(numDocs, []float64{1, 5}, first, second)
		x.write(t, codec.SIMDBP{})
		queries := x.queries(t)
		queries[0].Threshold = x.oracle(traverse.And)[0].Score
		var s traverse.Scratch
		run(t, traverse.Default(traverse.And), &s, queries, 1)
		decoded[span] = s.Stats.BlocksDecoded
	}
	if decoded[limit] != 2 || decoded[limit+1] != 3 {
		t.Errorf("%d blocks are decoded, want 2 with the longest span, and 3 beyond", decoded)
	}
}

// TestDamagedDirectoryEnds has a block that seems to end at the greatest number, and bounds that
// exclude it.
func TestDamagedDirectoryEnds(t *testing.T) {
	const numDocs = 3 * codec.BlockLen
	x := oneSegment(numDocs, []float64{1, 1}, listOf(0, 1, numDocs, always(1)), listOf(0, 1, numDocs, always(1)))
	x.write(t, codec.SIMDBP{})
	q := x.queries(t)[0]
	q.Legs[0].List.Block(1).Last = 1<<32 - 1
	q.Threshold = q.Legs[0].MaxScore + q.Legs[1].MaxScore + 1
	forAllTraversals(t, func(t *testing.T, tr traverse.Traversal) {
		var s traverse.Scratch
		var queue topk.Queue
		queue.Reset(1)
		if err := tr.Run(t.Context(), &s, &q, &queue); err != nil && !errors.Is(err, base.ErrCorrupt) {
			t.Error(err)
		}
	})
}
