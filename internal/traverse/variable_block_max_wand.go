package traverse

import (
	"context"
	"fmt"

	"github.com/griffin-search/griffin/internal/topk"
)

// variableBlockMaxWand is block-max-wand with the bounds of variableBlocks in
// place of those of the blocks in which postings are decoded (Mallia et al.,
// SIGIR 2017).
type variableBlockMaxWand struct{}

var _ Traversal = variableBlockMaxWand{}

// Name implements Traversal.
func (variableBlockMaxWand) Name() string { return "variable-block-max-wand" }

// Mode implements Traversal.
func (variableBlockMaxWand) Mode() Mode { return Or }

// Run implements Traversal.
func (variableBlockMaxWand) Run(ctx context.Context, s *Scratch, q *Query, queue *topk.Queue) error {
	if err := q.check(); err != nil {
		return err
	}
	legs := s.open(q)
	for i := range legs {
		l := &legs[i]
		if l.List.DocFreq == 0 {
			continue
		}
		if err := ctx.Err(); err != nil { // cutting a long list may take a while
			return s.close(err)
		}
		if err := l.openVariable(q.NumDocs); err != nil {
			return s.close(fmt.Errorf("leg %d: %w", i, err))
		}
		l.nextVariable(0)
	}
	need := firstNeed(legs, q, queue)
	s.order.start(legs)
	return s.close(runBlockMaxWand(ctx, s, q, queue, need))
}
