package traverse

import (
	"context"

	"github.com/griffin-search/griffin/internal/topk"
)

type window struct{}

type blockMaxMaxScore struct{}

var _ Traversal = blockMaxMaxScore{}

// Name implements Traversal.
func (blockMaxMaxScore) Name() string { return "block-max-maxscore" }

// Mode implements Traversal.
func (blockMaxMaxScore) Mode() Mode { return Or }

// Run implements Traversal.
func (blockMaxMaxScore) Run(ctx context.Context, s *Scratch, q *Query, queue *topk.Queue) error {
	return exhaustiveDAAT{Or}.Run(ctx, s, q, queue)
}
