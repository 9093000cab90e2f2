package traverse_test

import (
	"slices"
	"testing"

	"github.com/griffin-search/griffin/codec"
	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/postings/postingstest"
	"github.com/griffin-search/griffin/internal/score"
	"github.com/griffin-search/griffin/internal/topk"
	"github.com/griffin-search/griffin/internal/traverse"
)

// TestOrChecks counts checks of the context, one at the start and then one for each 2^14 units of
// work, counted in whole steps.
func TestOrChecks(t *testing.T) {
	const numDocs, numSupers = 1000 * codec.BlockLen, 600
	all := listOf(0, 1, numDocs, always(1))
	one := oneSegment(numDocs, []float64{1}, all)
	two := oneSegment(numDocs, []float64{1, 1}, all, all)
	rare := listOf(0, 2048, numSupers, always(1))
	sparse := oneSegment(numSupers*2048, []float64{1, 1}, rare, rare)
	for _, x := range []*collection{one, two, sparse} {
		x.write(t, codec.SIMDBP{})
	}
	for _, tt := range []struct {
		name string
		x    *collection
		want int
	}{
		// Windows of 1024, 2048, 4096, 8192 and 7 times up to 16384 documents, with 2 postings each, and 64 for each
		// list and the window: after the first and the fourth, and then after each.
		{"block-max-maxscore", two, 2 + 7},
		// Each document has 1.
		{"wand", one, 1 + (numDocs-1)/(1<<14)},
		// Each list has one to begin with; each superblock has 2 postings, and 64 for each list.
		{"block-max-pruning", sparse, 2 + 1 + (numSupers-1)/127},
		// Each list has one to begin with; each of 75 windows has 16 postings and counts 1024.
		{"windowed-taat", sparse, 2 + 1 + 74/16},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tr, err := traverse.Lookup(traverse.Or, tt.name)
			if err != nil {
				t.Fatal(err)
			}
			q := tt.x.queries(t)[0]
			var s traverse.Scratch
			var queue topk.Queue
			queue.Reset(numDocs)
			ctx := &looks{Context: t.Context()}
			if err := tr.Run(ctx, &s, &q, &queue); err != nil {
				t.Fatal(err)
			}
			if ctx.n != tt.want {
				t.Errorf("%d checks, want %d", ctx.n, tt.want)
			}
		})
	}
}

// TestPruningLimit has a threshold at the bound of the only range, and above it.
func TestPruningLimit(t *testing.T) {
	x := oneSegment(1000, []float64{0}, listOf(3, 1, 5, always(9)))
	x.linear = true
	x.terms[0] = x.term(2)
	x.write(t, codec.SIMDBP{})
	q := x.queries(t)[0]
	// Frequencies of at most 255 are the steps of the bounds.
	bound := 9 * score.NewScale(x.terms[0], 0, 0).Upper(1)
	tr, err := traverse.Lookup(traverse.Or, "block-max-pruning")
	if err != nil {
		t.Fatal(err)
	}
	for threshold, want := range map[base.Score]int64{bound: 5, bound + 1: 0} {
		q.Threshold = threshold
		var s traverse.Scratch
		run(t, tr, &s, []traverse.Query{q}, 10)
		if s.Stats.PostingsScored != want {
			t.Errorf("threshold %d, bound %d: %d postings are scored, want %d", threshold, bound, s.Stats.PostingsScored, want)
		}
	}
}

// TestFullWindow has 130 lists that share the documents of the largest window, all of which are
// looked up in another list, too weak to be essential.
func TestFullWindow(t *testing.T) {
	const numDocs, numLists = 17_000, 130
	lists := [][]postingstest.Posting{listOf(0, 1, numDocs, always(1))}
	weights := []float64{1e-9}
	for i := range numLists {
		lists = append(lists, listOf(i, numLists, codec.BlockLen, func(j int) uint32 { return uint32(1 + (i+j)%5) }))
		weights = append(weights, 1)
	}
	x := oneSegment(numDocs, weights, lists...)
	x.write(t, codec.SIMDBP{})
	queries := x.queries(t)
	queries[0].Threshold = queries[0].Legs[0].MaxScore + 1
	want := slices.DeleteFunc(x.oracle(traverse.Or), func(h base.Hit) bool { return h.Score < queries[0].Threshold })
	var s traverse.Scratch
	if got := run(t, traverse.Default(traverse.Or), &s, queries, numDocs); !slices.Equal(got, want) {
		t.Errorf("%s", difference(got, want))
	}
	if s.Stats.Candidates != numLists*codec.BlockLen {
		t.Errorf("%d candidates, want all %d", s.Stats.Candidates, numLists*codec.BlockLen)
	}
}

// TestWindowsOfLongSpans is TestBoundsOfLongSpans for windows of block-max-maxscore: only in a
// window of at most 64 of 128 blocks does the other list's bound exclude the window.
func TestWindowsOfLongSpans(t *testing.T) {
	const numDocs, limit = 128 * codec.BlockLen, 64 * codec.BlockLen
	for span, want := range map[int]int64{limit: 0, limit + 1: 1} {
		first := append(listOf(0, 60, codec.BlockLen-1, always(1)), listOf(span-1, 1, 1, always(1))...)
		second := listOf(0, 1, numDocs, func(i int) uint32 {
			if i < limit+1000 {
				return 1
			}
			return 100
		})
		x := oneSegment(numDocs, []float64{10, 5}, first, second)
		x.write(t, codec.SIMDBP{})
		queries := x.queries(t)
		// The first list is essential alone, and both bounds together reach the threshold.
		legs := queries[0].Legs
		queries[0].Threshold = legs[0].MaxScore + legs[1].MaxScore
		if legs[1].MaxScore >= queries[0].Threshold {
			t.Fatal("the second list is essential")
		}
		var s traverse.Scratch
		run(t, traverse.Default(traverse.Or), &s, queries, 1)
		if s.Stats.BlocksDecoded != want {
			t.Errorf("span %d: %d blocks are decoded, want %d", span, s.Stats.BlocksDecoded, want)
		}
	}
}
