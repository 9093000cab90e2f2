package traverse

import (
	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/simd/scoring"
	"github.com/griffin-search/griffin/internal/topk"
)

// svsGallop gallops over blocks' last DocIDs from the previous look-up (Bentley and Yao, "An
// almost optimal algorithm for unbounded searching", Information Processing Letters 5(3), 1976)
// and decodes the one block that may contain the candidate: small versus small with skipping
// (Culpepper and Moffat, §2; see svs, which adds pruning).
type svsGallop struct{}

var _ Traversal = svsGallop{}

func (svsGallop) Name() string { return "svs-gallop" }

func (svsGallop) Mode() Mode { return And }

func (svsGallop) Run(stop Interrupt, s *Scratch, q *Query, queue *topk.Queue) error {
	return runConjunction(stop, s, q, queue, searchByGalloping)
}

func searchByGalloping(x *conjunction, l *legState) {
	for i := 0; i < x.n; {
		if l.cursor.NextGEQ(base.DocID(x.docIDs[i])) == base.NoDocID {
			return
		}
		i = x.searchBlock(l, i)
	}
}

// searchBlock looks up the candidates from i on in the list's current block and returns
// the index of the first candidate after the block's last DocID.
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
