package traverse

import (
	"context"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/topk"
)

// svsBinary looks candidates up by binary search over the skip pointers of all
// blocks that are left, decodes the block found, and searches it by halving
// (griffin18: Liu, Wang and Swanson, PPoPP 2018, §2.2 and Figure 2, "CPU binary").
//
// We differ: skip pointers are the last DocIDs of blocks, which our directory
// holds beside the first; and candidates in the same block do not search the skip
// pointers again.
type svsBinary struct{}

var _ Traversal = svsBinary{}

// Name implements Traversal.
func (svsBinary) Name() string { return "svs-binary" }

// Mode implements Traversal.
func (svsBinary) Mode() Mode { return And }

// Run implements Traversal.
func (svsBinary) Run(ctx context.Context, s *Scratch, q *Query, queue *topk.Queue) error {
	return runConjunction(ctx, s, q, queue, searchByHalving)
}

func searchByHalving(x *conjunction, l *legState) {
	c := &l.cursor
	for i := 0; i < x.n; {
		if d := x.docIDs[i&127]; c.DocID() == base.NoDocID || d > uint32(c.BlockLastDocID()) {
			lo, hi := c.BlockIndex()+1, c.NumBlocks()
			for lo < hi {
				mid := int(uint(lo+hi) / 2)
				if l.List.Block(mid).Last < d {
					lo = mid + 1
				} else {
					hi = mid
				}
			}
			if c.LoadBlock(lo) == base.NoDocID {
				return
			}
		}
		i = x.searchBlock(l, i)
	}
}
