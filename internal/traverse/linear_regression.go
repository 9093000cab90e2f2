package traverse

import (
	"github.com/griffin-search/griffin/internal/topk"
)

// linearRegression looks candidates up by binary search within their safe search range: the
// position on the list's least-squares line, plus and minus the maximum deviation of the
// list's DocIDs (ao11, §4.3). Lists of the codecs lrc, lrcseg and seglrc are searched by
// the paper's Algorithm 1, without decoding them.
type linearRegression struct{}

var _ Traversal = linearRegression{}

func (linearRegression) Name() string { return "linear-regression" }

func (linearRegression) Mode() Mode { return And }

func (linearRegression) Run(stop Interrupt, s *Scratch, q *Query, queue *topk.Queue) error {
	return runContracted(stop, s, q, queue, byLine, 0)
}
