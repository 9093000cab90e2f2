package living

import (
	"context"

	"github.com/griffin-search/griffin/internal/index"
)

// merge merges until there is nothing to merge, at the start and after each change. What fails is
// repeated, because writes can wait for it.
func (s *Store) merge() {
	for {
		for merged := true; merged; {
			err := s.retry("merge", maxWorkWait, s.work.hurry, func() (err error) {
				merged, err = s.live.Merge(s.work.ctx, s.mergeFS(), func(sizes []index.SegmentSize) (from, to int) {
					return choose(sizes, s.opts.MaxSegments)
				})
				return err
			})
			if err != nil {
				return // the store is closed
			}
		}
		select {
		case <-s.work.quit:
			return
		case <-s.work.changed:
		}
	}
}

// Merge makes all acknowledged writes visible and joins segments until at most maxSegments are left,
// without deleted documents.
func (s *Store) Merge(ctx context.Context, maxSegments int) error {
	if err := s.Refresh(ctx); err != nil {
		return err
	}
	for {
		merged, err := s.live.Merge(ctx, s.mergeFS(), func(sizes []index.SegmentSize) (from, to int) {
			if len(sizes) > max(maxSegments, 1) {
				return smallestNeighbours(sizes, len(sizes)-max(maxSegments, 1)+1)
			}
			for i, size := range sizes {
				if size.NumLive < size.NumDocs {
					return i, i + 1
				}
			}
			return 0, 0
		})
		if err != nil || !merged {
			return s.explain(err)
		}
	}
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
