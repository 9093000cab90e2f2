package living

import (
	"context"
	"errors"

	"github.com/griffin-search/griffin/internal/index"
)

// merge merges segments of a level until there is nothing to merge, at the start and after each change.
// One goroutine for each level runs it, so that merges do not wait for larger ones. What fails is
// repeated, because writes can wait for it.
func (s *Store) merge(level int) {
	for {
		for merged := true; merged; {
			err := s.retry("merge", maxWorkWait, s.work.hurry[level], nil, func() (err error) {
				merged, err = s.live.Merge(s.work.ctx, s.slow, func(sizes []index.SegmentSize) (from, to int) {
					if s.opts.Neighbours != nil {
						return s.opts.Neighbours(sizes, len(sizes))
					}
					return choose(sizes, s.opts.MaxSegments, level)
				})
				return err
			})
			if err != nil {
				return // the store is closed
			}
			if merged {
				s.updateMerges()
				signalAll(&s.work.changed)
			}
		}
		select {
		case <-s.work.quit:
			return
		case <-s.work.changed[level]:
		}
	}
}

// updateMerges adapts the processors and the write limit of merges to the number of segments, and forgetting to their size.
func (s *Store) updateMerges() {
	s.work.turns.update()
	s.slow.update(numSegments(s.ix), s.opts.MaxSegments)
	s.slow.forgets.update(numBytes(s.ix))
}

// signals are of the goroutines that merge, by level.
type signals [numLevels]chan struct{}

func signalAll(all *signals) {
	for _, c := range all {
		signal(c)
	}
}

// Merge makes all acknowledged writes visible and joins their segments until at most maxSegments are left,
// without the documents that are deleted by then. Later segments are merged in the background
// meanwhile. If the index has impact-ordered lists, they are made again, unless writes change it before
// the end.
func (s *Store) Merge(ctx context.Context, maxSegments int) error {
	if err := s.Refresh(ctx); err != nil {
		return err
	}
	defer signalAll(&s.work.changed)
	s.work.turns.want(1)
	defer s.work.turns.want(-1)
	next := 0 // the first segment that can have deleted documents
	err := s.live.MergeAll(ctx, s.slow, func(sizes []index.SegmentSize) (from, to int) {
		if len(sizes) > max(maxSegments, 1) {
			n := len(sizes) - max(maxSegments, 1) + 1
			if s.opts.Neighbours != nil {
				return s.opts.Neighbours(sizes, n)
			}
			return smallestNeighbours(sizes, n)
		}
		for next < len(sizes) {
			i := next
			next++
			if sizes[i].NumLive < sizes[i].NumDocs {
				return i, i + 1
			}
		}
		return 0, 0
	})
	if err == nil && hasImpacts(s.ix) {
		if _, err = s.live.BuildImpacts(ctx, nil); errors.Is(err, index.ErrChanged) {
			err = nil
		}
	}
	return s.explain(err)
}

// smallestNeighbours returns the n neighbours that have the fewest documents together.
func smallestNeighbours(sizes []index.SegmentSize, n int) (from, to int) {
	least := -1
	for i := 0; i+n <= len(sizes); i++ {
		sum := 0
		for _, s := range sizes[i : i+n] {
			sum += s.NumLive
		}
		if least < 0 || sum < least {
			least, from = sum, i
		}
	}
	return from, from + n
}

func numSegments(ix *index.Index) int {
	snapshot, err := ix.Snapshot()
	if err != nil {
		return 0
	}
	defer snapshot.Release()
	return len(snapshot.Segments)
}

func numBytes(ix *index.Index) (n int64) {
	snapshot, err := ix.Snapshot()
	if err != nil {
		return 0
	}
	defer snapshot.Release()
	for i := range snapshot.Segments {
		n += snapshot.Segments[i].Meta().SizeBytes()
	}
	return n
}
