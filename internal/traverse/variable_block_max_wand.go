package traverse

import (
	"fmt"

	"github.com/griffin-search/griffin/internal/topk"
)

// variableBlockMaxWand is block-max-wand with the bounds of variableBlocks instead of the
// codec's blocks (Mallia et al., SIGIR 2017).
type variableBlockMaxWand struct{}

var _ Traversal = variableBlockMaxWand{}

func (variableBlockMaxWand) Name() string { return "variable-block-max-wand" }

func (variableBlockMaxWand) Mode() Mode { return Or }

func (variableBlockMaxWand) Run(stop Interrupt, s *Scratch, q *Query, queue *topk.Queue) error {
	if err := q.check(); err != nil {
		return err
	}
	legs := s.open(q)
	for i := range legs {
		l := &legs[i]
		if l.List.DocFreq == 0 {
			continue
		}
		if err := stop.Err(); err != nil { // cutting a long list takes time
			return s.close(err)
		}
		if err := l.openVariable(q.NumDocs); err != nil {
			return s.close(fmt.Errorf("leg %d: %w", i, err))
		}
		l.nextVariable(0)
	}
	need := firstNeed(legs, q, queue)
	s.order.start(legs)
	return s.close(runBlockMaxWand(stop, s, q, queue, need))
}
