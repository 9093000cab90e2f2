package exec

import (
	"context"
	"fmt"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/gpu/pipeline"
	"github.com/griffin-search/griffin/internal/sched"
)

// RunBatch answers many plans of one mode of the Searcher, in as few launches as
// memory allows where there is a GPU, and else one after another. If the lists of a
// batch do not fit into the GPU's memory, idle CPUs answer queries of it meanwhile. Answer i is that
// of plan i; its hits are appended to those of answers[i].Hits[:0], so that
// answers can be used again. It allocates nothing on a GPU once sc and the
// answers have served a batch as large and all lists are there.
func (s *Searcher) RunBatch(ctx context.Context, plans []*Plan, sc *Scratch, answers []Answer) error {
	if len(plans) != len(answers) {
		return fmt.Errorf("%d plans, but %d answers: %w", len(plans), len(answers), base.ErrBadInput)
	}
	for i, p := range plans {
		if len(p.key) > 0 {
			return fmt.Errorf("plan %d of %d: %w", i, len(plans), errCached)
		}
		if p.searcher != s || p.mode != plans[0].mode {
			return fmt.Errorf("plan %d of %d is of another searcher or mode: %w", i, len(plans), base.ErrBadInput)
		}
		answers[i] = Answer{Hits: answers[i].Hits[:0]}
	}
	if d := s.dispatcher; d.GPU() != nil && d.policy != PolicyCPU && len(plans) > 0 {
		return s.runBatchGPU(ctx, plans, sc, answers)
	}
	for i, p := range plans {
		a, err := p.runCPU(ctx, sc, answers[i].Hits, nil)
		if err != nil {
			return err
		}
		answers[i] = a
	}
	return nil
}

// runBatchGPU answers a batch where there is a GPU: what the GPU cannot answer, or does
// not get to because lists have to be brought for it, is answered by CPUs that are idle.
func (s *Searcher) runBatchGPU(ctx context.Context, plans []*Plan, sc *Scratch, answers []Answer) error {
	share := &sc.gpu.share
	share.reset(ctx, s.dispatcher.gpu, plans, answers)
	ended := false
	defer func() {
		if !ended { // it panics, and nobody may write to answers after that
			share.abandon()
		}
	}()
	err := s.askGPU(ctx, plans, sc, answers)
	if err == nil {
		share.rest()
	}
	failed := share.wait()
	if ended = true; err == nil {
		err = failed
	}
	if err != nil {
		return err
	}
	onGPU := 0
	for i := range answers {
		if answers[i].Traversal == gpuTraversal {
			onGPU++
		}
	}
	s.dispatcher.steps[sched.GPU].Add(int64(onGPU))
	s.dispatcher.steps[sched.CPU].Add(int64(len(answers) - onGPU))
	s.dispatcher.gpu.onGPU.Add(int64(onGPU))
	s.dispatcher.gpu.onCPU.Add(int64(len(answers) - onGPU))
	return nil
}

// askGPU lets the GPU answer what it can of a batch; the share has the others.
func (s *Searcher) askGPU(ctx context.Context, plans []*Plan, sc *Scratch, answers []Answer) error {
	view, refused := s.dispatcher.gpu.begin(s.snapshot, plans[0].mode == ModeSaat)
	if refused != nil {
		return nil // the CPU answers; Stats count it
	}
	defer s.dispatcher.gpu.end(view)
	b := &sc.gpu
	for stage := range 2 { // of ModeAndOr
		b.queries, b.results, b.plans = b.queries[:0], b.results[:0], b.plans[:0]
		for i, p := range plans {
			if p.onCPU != "" || stage >= len(p.stages) || stage > 0 && (answers[i].Traversal != gpuTraversal || len(answers[i].Hits) == p.k) {
				continue
			}
			b.queries = append(b.queries, &p.stages[stage].gpu)
			b.results = append(b.results, pipeline.Result{Hits: answers[i].Hits[:0]})
			b.plans = append(b.plans, i)
		}
		if len(b.queries) == 0 {
			return nil
		}
		b.share.stage(b.plans)
		if err := view.Run(ctx, b.queries, b.results, &b.share, nil); err != nil {
			return err
		}
		// Those that the share has taken are its own until it ends.
		if err := b.share.wait(); err != nil {
			return err
		}
		for j, i := range b.plans {
			p, r := plans[i], &b.results[j]
			switch {
			case b.share.answered(i):
			case r.Err != nil:
				answers[i].Traversal = ""
			default:
				p.fill(&answers[i], &p.stages[stage], r)
			}
		}
	}
	return nil
}
