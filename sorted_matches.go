package griffin

import (
	"context"

	"github.com/griffin-search/griffin/internal/dispatch"
	"github.com/griffin-search/griffin/internal/plan"
)

// findMatches sets matches, and answer if that costs less than ranking them later.
func findMatches(ctx context.Context, s *sortedSearch) (err error) {
	if s.query.PostFilter == nil && s.query.MinScore == 0 && s.byScore() && s.searcher.Dispatcher().Plain() {
		out := bitmapsOf(s, s.sc)
		answer, ok, err := plan.MatchRanked(ctx, &s.plan.Plan, &s.sc.search.Scratch, s.sc.hits, copyTo(out))
		if ok {
			s.matches, s.answer = out, &answer
			return err
		}
	}
	s.matches, err = s.allMatches(ctx, s.plan, s.sc)
	return err
}

// bitmapsOf returns the memory of a scratch for a bitmap of each segment.
func bitmapsOf(s *sortedSearch, sc *scratch) [][]uint64 {
	n := len(s.snapshot.Segments)
	sc.bitmaps = append(sc.bitmaps, make([][]uint64, max(0, n-len(sc.bitmaps)))...)
	return sc.bitmaps[:n]
}

func copyTo(bitmaps [][]uint64) func(segment int, words []uint64) error {
	return func(segment int, words []uint64) error {
		bitmaps[segment] = append(bitmaps[segment][:0], words...)
		return nil
	}
}

// allMatches returns the matching documents of a plan, one bitmap a segment, in the memory of sc.
func (s *sortedSearch) allMatches(ctx context.Context, q *dispatch.Query, sc *scratch) ([][]uint64, error) {
	out := bitmapsOf(s, sc)
	err := q.Matches(ctx, &sc.search.Scratch, copyTo(out))
	return out, err
}
