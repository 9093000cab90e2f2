package traverse

import (
	"context"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/simd/scoring"
	"github.com/griffin-search/griffin/internal/topk"
)

// svsGallop looks candidates up by galloping over the last DocIDs of the blocks
// from where the look-up before ended (Bentley and Yao, "An almost optimal
// algorithm for unbounded searching", Information Processing Letters 5(3), 1976),
// and decodes the one block in which a candidate can be: small versus small with
// skipping, as Culpepper and Moffat describe it ("Efficient set intersection for
// inverted indexing", ACM TOIS 29(1), 2010, §2). svs adds pruning to it.
type svsGallop struct{}

var _ Traversal = svsGallop{}

// Name implements Traversal.
func (svsGallop) Name() string { return "svs-gallop" }

// Mode implements Traversal.
func (svsGallop) Mode() Mode { return And }

// Run implements Traversal.
func (svsGallop) Run(ctx context.Context, s *Scratch, q *Query, queue *topk.Queue) error {
	return runConjunction(ctx, s, q, queue, searchByGalloping)
}

func searchByGalloping(x *conjunction, l *legState) {
	for i := 0; i < x.n; {
		if l.cursor.NextGEQ(base.DocID(x.docIDs[i])) == base.NoDocID {
			return
		}
		i = x.searchBlock(l, i)
	}
}

// searchBlock looks the candidates from i on up in the current block of the list,
// as far as it reaches, each by binary search, and returns the first beyond it.
func (x *conjunction) searchBlock(l *legState, i int) int {
	block, last := l.cursor.Block(), uint32(l.cursor.BlockLastDocID())
	matches := 0
	for ; i < x.n && x.docIDs[i&127] <= last; i++ {
		d := x.docIDs[i&127]
		at := scoring.Search(block, d)
		x.matchOf[matches&127], x.matchAt[matches&127] = uint8(i), uint8(at)
		if block[at] == d {
			matches++
		}
	}
	x.match(l, matches)
	return i
}
