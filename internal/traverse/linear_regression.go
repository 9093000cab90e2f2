package traverse

import (
	"github.com/griffin-search/griffin/internal/topk"
)

// linearRegression searches a candidate's safe search range: the position on the list's
// least-squares line, plus and minus the maximum deviation (ao11, §4.3). Lists of lrc, lrcseg
// and seglrc are searched by the paper's Algorithm 1, without decoding.
type linearRegression struct{}

var _ Traversal = linearRegression{}

func (linearRegression) Name() string { return "linear-regression" }

func (linearRegression) Mode() Mode { return And }

func (linearRegression) Run(stop Interrupt, s *Scratch, q *Query, queue *topk.Queue) error {
	return runContracted(stop, s, q, queue, byLine, 0)
}
