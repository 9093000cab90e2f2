package traverse

import (
	"strconv"

	"github.com/griffin-search/griffin/internal/topk"
)

// hashSegmentation searches candidates' hash buckets, DocIDs with the same leading bits, at
// most bucket of them on average (ao11, §4.4, HS16 to HS256). Lists of the codec hs-lrc with
// the same bucket size use the codec's buckets (ao11, §5.3, HS.LRC).
type hashSegmentation struct {
	bucket int
	name   string
}

func newHashSegmentation(bucket int) hashSegmentation {
	return hashSegmentation{bucket, "hash-segmentation-" + strconv.Itoa(bucket)}
}

var _ Traversal = hashSegmentation{}

func (h hashSegmentation) Name() string { return h.name }

func (hashSegmentation) Mode() Mode { return And }

func (h hashSegmentation) Run(stop Interrupt, s *Scratch, q *Query, queue *topk.Queue) error {
	return runContracted(stop, s, q, queue, byHash, h.bucket)
}
