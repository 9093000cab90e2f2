package traverse

import (
	"context"

	"github.com/griffin-search/griffin/internal/topk"
)

type batch struct{}

type svs struct{}

var _ Traversal = svs{}

// Name implements Traversal.
func (svs) Name() string { return "svs" }

// Mode implements Traversal.
func (svs) Mode() Mode { return And }

// Run implements Traversal.
func (svs) Run(ctx context.Context, s *Scratch, q *Query, queue *topk.Queue) error {
	return exhaustiveDAAT{And}.Run(ctx, s, q, queue)
}
