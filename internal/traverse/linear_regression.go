package traverse

import (
	"context"

	"github.com/griffin-search/griffin/internal/topk"
)

// linearRegression looks candidates up by binary search within their safe search
// range: as far around where the list's least-squares line puts a DocID as any of
// its DocIDs strays (ao11, §4.3). Lists of the codecs lrc, lrcseg and seglrc are
// searched as the paper's Algorithm 1 does it, without decoding them.
type linearRegression struct{}

var _ Traversal = linearRegression{}

// Name implements Traversal.
func (linearRegression) Name() string { return "linear-regression" }

// Mode implements Traversal.
func (linearRegression) Mode() Mode { return And }

// Run implements Traversal.
func (linearRegression) Run(ctx context.Context, s *Scratch, q *Query, queue *topk.Queue) error {
	return runContracted(ctx, s, q, queue, byLine, 0)
}
