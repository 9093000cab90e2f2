package traverse

import (
	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/topk"
)

// svsBinary finds blocks by binary search over the skip pointers of all remaining blocks,
// decodes and searches them (griffin18, §2.2 and Figure 2, "CPU binary"; see merge).
//
// We differ: skip pointers are last DocIDs, which our directory stores in addition to the
// first; further candidates in the same block do not search them again.
type svsBinary struct{}

var _ Traversal = svsBinary{}

func (svsBinary) Name() string { return "svs-binary" }

func (svsBinary) Mode() Mode { return And }

func (svsBinary) Run(stop Interrupt, s *Scratch, q *Query, queue *topk.Queue) error {
	return runConjunction(stop, s, q, queue, searchByHalving)
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
