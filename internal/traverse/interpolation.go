package traverse

import (
	"github.com/griffin-search/griffin/internal/topk"
)

// interpolation reads at each step the position expected under uniform DocIDs (Perl, Itai and
// Avni, CACM 21(7), 1978; ao11, §4.3). It needs no structure, but reads more than binary search
// on other distributions.
type interpolation struct{}

var _ Traversal = interpolation{}

func (interpolation) Name() string { return "interpolation" }

func (interpolation) Mode() Mode { return And }

func (interpolation) Run(stop Interrupt, s *Scratch, q *Query, queue *topk.Queue) error {
	return runContracted(stop, s, q, queue, byInterpolation, 0)
}
