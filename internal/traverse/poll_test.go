package traverse_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/griffin-search/griffin/codec"
	"github.com/griffin-search/griffin/internal/leg"
	"github.com/griffin-search/griffin/internal/postings"
	"github.com/griffin-search/griffin/internal/postings/postingstest"
	"github.com/griffin-search/griffin/internal/score"
	"github.com/griffin-search/griffin/internal/topk"
	"github.com/griffin-search/griffin/internal/traverse"
)

type looks struct {
	context.Context
	n       int
	endedAt int // the check from which on the context has ended; 0: it does not end
}

func (l *looks) Err() error {
	l.n++
	if l.endedAt > 0 && l.n >= l.endedAt {
		return context.Canceled
	}
	return nil
}

// The context is checked by the number of decoded blocks, so that a cancelled query ends within
// a millisecond.
func TestConjunctionsLookAtContext(t *testing.T) {
	const numDocs, candidates = 400_000, 1000
	var lists [][]postingstest.Posting
	for _, step := range []int{numDocs / candidates, 2, 2} {
		var list []postingstest.Posting
		for d := 0; d < numDocs; d += step {
			list = append(list, postingstest.Posting{DocID: uint32(d), Freq: 1})
		}
		lists = append(lists, list)
	}
	lengths := make([]uint32, numDocs)
	opts := postings.Options{Codec: codec.SIMDBP{}, Saturation: score.Saturation{BM25: indexBM25, AvgLen: indexAvgLen}}
	index := postingstest.Write(t, opts, lengths, 128, lists...)
	q := traverse.Query{NumDocs: numDocs}
	for i := range lists {
		term := indexBM25.NewTerm(1, 1, indexAvgLen)
		leg := traverse.Leg{Leg: leg.Leg{List: index.Open(t, i), Term: term, Scale: score.NewScale(term, indexAvgLen, indexAvgLen)}, Lengths: lengths}
		leg.MaxScore = leg.Scale.Upper(leg.List.Max)
		q.Legs = append(q.Legs, leg)
	}
	rest := q
	rest.Legs = q.Legs[1:]
	named := func(name string) func(ctx context.Context, s *traverse.Scratch) error {
		traversal, err := traverse.Lookup(traverse.And, name)
		if err != nil {
			t.Fatal(err)
		}
		return func(ctx context.Context, s *traverse.Scratch) error {
			var queue topk.Queue
			queue.Reset(candidates)
			return traversal.Run(ctx, s, &q, &queue)
		}
	}
	given := traverse.Candidates{Scores: make([]uint32, candidates)}
	for _, p := range lists[0] {
		given.DocIDs = append(given.DocIDs, p.DocID)
	}
	for _, tt := range []struct {
		name string
		part int // candidates between two checks
		run  func(ctx context.Context, s *traverse.Scratch) error
	}{
		{"svs", codec.BlockLen, named("svs")},
		{"svs-binary", codec.BlockLen, named("svs-binary")},
		{"block-max-and", codec.BlockLen, named("block-max-and")},
		{"look-up", 4 * codec.BlockLen, named("look-up")},
		{"Begin", codec.BlockLen, func(ctx context.Context, s *traverse.Scratch) error {
			return traverse.Begin(ctx, s, &q, new(traverse.Candidates))
		}},
		{"Intersect", 4 * codec.BlockLen, func(ctx context.Context, s *traverse.Scratch) error {
			return traverse.Intersect(ctx, s, &rest, copyOf(&given))
		}},
		{"Finish", 4 * codec.BlockLen, func(ctx context.Context, s *traverse.Scratch) error {
			var queue topk.Queue
			queue.Reset(candidates)
			return traverse.Finish(ctx, s, &rest, copyOf(&given), &queue, true)
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var s traverse.Scratch
			ctx := &looks{Context: t.Context()}
			if err := tt.run(ctx, &s); err != nil {
				t.Fatal(err)
			}
			if most := int64(128 + 2*tt.part); s.Stats.BlocksDecoded < candidates || s.Stats.BlocksDecoded > most*int64(ctx.n) {
				t.Errorf("%s: %d blocks are decoded with %d checks, want one each %d", tt.name, s.Stats.BlocksDecoded, ctx.n, most)
			}
			for _, at := range []int{1, 2, ctx.n - 1, ctx.n} {
				ended := &looks{Context: t.Context(), endedAt: at}
				if err := tt.run(ended, &s); !errors.Is(err, context.Canceled) || ended.n != at {
					t.Errorf("%s: error %v after %d checks; the context ended at check %d of %d", tt.name, err, ended.n, at, ctx.n)
				}
			}
		})
	}
}

func copyOf(c *traverse.Candidates) *traverse.Candidates {
	return &traverse.Candidates{DocIDs: slices.Clone(c.DocIDs), Scores: slices.Clone(c.Scores)}
}

// TestStepsLookAtContextSeldom reads each block of two lists once.
func TestStepsLookAtContextSeldom(t *testing.T) {
	const numBlocks = 1000
	all := listOf(0, 1, numBlocks*codec.BlockLen, always(1))
	x := oneSegment(numBlocks*codec.BlockLen, []float64{1, 1}, all, all)
	x.write(t, codec.SIMDBP{})
	q := x.queries(t)[0]
	var s traverse.Scratch
	ctx := &looks{Context: t.Context()}
	if err := traverse.Begin(ctx, &s, &q, new(traverse.Candidates)); err != nil {
		t.Fatal(err)
	}
	const every = 1 << 14 // postings
	if most := 2*numBlocks*codec.BlockLen/every + 2; ctx.n > most {
		t.Errorf("%d checks, want at most %d", ctx.n, most)
	}
}

// TestNoCandidatesNoCheck has no work to end.
func TestNoCandidatesNoCheck(t *testing.T) {
	q := longQuery(t)
	ctx := &looks{Context: t.Context()}
	var s traverse.Scratch
	var queue topk.Queue
	queue.Reset(1)
	if err := traverse.Intersect(ctx, &s, &q, new(traverse.Candidates)); err != nil {
		t.Error(err)
	}
	if err := traverse.Finish(ctx, &s, &q, new(traverse.Candidates), &queue, false); err != nil {
		t.Error(err)
	}
	if ctx.n != 0 {
		t.Errorf("%d checks, want none", ctx.n)
	}
}
