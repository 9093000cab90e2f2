package traverse

import (
	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/topk"
)

// merge decodes every block, up to the end of the shortest list (griffin18: Liu, Wang and
// Swanson, PPoPP 2018, §2.2, "CPU merge"). It suits similar lengths, where nearly every block
// has a match.
type merge struct{}

var _ Traversal = merge{}

func (merge) Name() string { return "merge" }

func (merge) Mode() Mode { return And }

func (merge) Run(stop Interrupt, s *Scratch, q *Query, queue *topk.Queue) error {
	return runConjunction(stop, s, q, queue, searchByMerging)
}

func searchByMerging(x *conjunction, l *legState) {
	c := &l.cursor
	if c.DocID() == base.NoDocID && c.NextBlock() == base.NoDocID {
		return
	}
	for i := 0; ; {
		block := c.Block()
		at, size := c.BlockPos(), len(c.BlockDocIDs())
		matches := 0
		// Without branches, because both steps are unpredictable.
		for i < x.n && at < size {
			a, b := x.docIDs[i&127], block[at&127]
			x.matchOf[matches&127], x.matchAt[matches&127] = uint8(i), uint8(at)
			if a == b {
				matches++
			}
			if a <= b {
				i++
			}
			if b <= a {
				at++
			}
		}
		x.match(l, matches)
		if at < size {
			c.LeaveBlock(at)
			return
		}
		if c.NextBlock() == base.NoDocID || i == x.n {
			return
		}
	}
}
