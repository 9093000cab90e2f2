package exec

import (
	"context"
	"fmt"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/gpu/pipeline"
)

// RunBatch answers many plans of one mode of the Searcher, in as few launches as
// memory allows where there is a GPU, and else one after another. Answer i is that
// of plan i; its hits are appended to those of answers[i].Hits[:0], so that
// answers can be used again. It allocates nothing on a GPU once sc and the
// answers have served a batch as large and all lists are there.
func (s *Searcher) RunBatch(ctx context.Context, plans []*Plan, sc *Scratch, answers []Answer) error {
	if len(plans) != len(answers) {
		return fmt.Errorf("%d plans, but %d answers: %w", len(plans), len(answers), base.ErrBadInput)
	}
	for i, p := range plans {
		if p.searcher != s || p.mode != plans[0].mode {
			return fmt.Errorf("plan %d of %d is of another searcher or mode: %w", i, len(plans), base.ErrBadInput)
		}
		answers[i] = Answer{Hits: answers[i].Hits[:0]}
	}
	if s.gpu != nil && len(plans) > 0 {
		if err := s.runBatchGPU(ctx, plans, sc, answers); err != nil {
			return err
		}
	}
	for i, p := range plans {
		if answers[i].Traversal == gpuTraversal {
			s.gpu.onGPU.Add(1)
			continue
		}
		a, err := p.runCPU(ctx, sc, answers[i].Hits, nil)
		if err != nil {
			return err
		}
		answers[i] = a
		if s.gpu != nil {
			s.gpu.onCPU.Add(1)
		}
	}
	return nil
}

// runBatchGPU answers what it can of a batch; the others have no Traversal then.
func (s *Searcher) runBatchGPU(ctx context.Context, plans []*Plan, sc *Scratch, answers []Answer) error {
	view, refused := s.gpu.begin(s.snapshot, plans[0].mode == ModeSaat)
	if refused != nil {
		return nil // the CPU answers; Stats count it
	}
	defer s.gpu.end(view)
	b := &sc.gpu
	for stage := range 2 { // of ModeAndOr
		b.queries, b.results, b.plans = b.queries[:0], b.results[:0], b.plans[:0]
		for i, p := range plans {
			if p.onCPU != "" || stage >= len(p.stages) || stage > 0 && (answers[i].Traversal == "" || len(answers[i].Hits) == p.k) {
				continue
			}
			b.queries = append(b.queries, &p.stages[stage].gpu)
			b.results = append(b.results, pipeline.Result{Hits: answers[i].Hits[:0]})
			b.plans = append(b.plans, i)
		}
		if len(b.queries) == 0 {
			return nil
		}
		if err := view.Run(ctx, b.queries, b.results, nil); err != nil {
			return err
		}
		for j, i := range b.plans {
			p, r := plans[i], &b.results[j]
			if r.Err != nil {
				answers[i].Traversal = ""
				continue
			}
			p.fill(&answers[i], &p.stages[stage], r)
		}
	}
	return nil
}
