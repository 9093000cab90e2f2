package traverse

import (
	"context"
	"strconv"

	"github.com/griffin-search/griffin/internal/topk"
)

// hashSegmentation looks candidates up by binary search in their hash bucket: the
// DocIDs with the same leading bits, at most bucket of them on average (ao11, §4.4,
// HS16 to HS256). Lists of the codec hs-lrc whose buckets have the same size are
// searched in these (ao11, §5.3, HS.LRC).
type hashSegmentation struct {
	bucket int
	name   string
}

func newHashSegmentation(bucket int) hashSegmentation {
	return hashSegmentation{bucket, "hash-segmentation-" + strconv.Itoa(bucket)}
}

var _ Traversal = hashSegmentation{}

// Name implements Traversal.
func (h hashSegmentation) Name() string { return h.name }

// Mode implements Traversal.
func (hashSegmentation) Mode() Mode { return And }

// Run implements Traversal.
func (h hashSegmentation) Run(ctx context.Context, s *Scratch, q *Query, queue *topk.Queue) error {
	return runContracted(ctx, s, q, queue, byHash, h.bucket)
}
