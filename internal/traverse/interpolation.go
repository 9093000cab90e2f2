package traverse

import (
	"context"

	"github.com/griffin-search/griffin/internal/topk"
)

// interpolation looks candidates up by interpolation search (Perl, Itai and Avni,
// CACM 21(7), 1978; ao11, §4.3): at each step where the candidate would be if the
// DocIDs between the ends of the range were evenly spread. It needs no structure,
// and reads more than binary search does where they are not.
type interpolation struct{}

var _ Traversal = interpolation{}

// Name implements Traversal.
func (interpolation) Name() string { return "interpolation" }

// Mode implements Traversal.
func (interpolation) Mode() Mode { return And }

// Run implements Traversal.
func (interpolation) Run(ctx context.Context, s *Scratch, q *Query, queue *topk.Queue) error {
	return runContracted(ctx, s, q, queue, byInterpolation, 0)
}
