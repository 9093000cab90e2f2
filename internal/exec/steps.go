package exec

import (
	"context"
	"fmt"
	"time"

	"github.com/griffin-search/griffin/internal/gpu/pipeline"
	"github.com/griffin-search/griffin/internal/sched"
	"github.com/griffin-search/griffin/internal/traverse"
)

// stepsTraversal is the name of what runs a conjunction in steps.
const stepsTraversal = "steps"

// cpuNoGPU says that there is none.
const cpuNoGPU = "there is no GPU"

// onCPU runs a piece of the stage on the CPU: all of it, by the planner's traversal,
// or some lists of a conjunction.
func (r *placedRun) onCPU(ctx context.Context, c *choice, began time.Time) error {
	if r.pos == 0 && c.to == len(r.lengths) {
		return r.wholeOnCPU(r.patient(ctx), c)
	}
	p, st := r.plan, &r.plan.stages[r.stage]
	if r.have == nil {
		r.have = &r.steps[0].Out
		r.have.Reset(len(p.searcher.snapshot.Segments))
	}
	ends := c.to == len(r.lengths)
	if ends {
		r.sc.queue.Reset(min(p.k, p.searcher.snapshot.NumDocs))
	}
	var work Work
	from := r.have.Len()
	for i := range p.searcher.snapshot.Segments {
		if err := r.segmentOnCPU(ctx, st, i, c.to, &work); err != nil {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			return fmt.Errorf("segment %s: query %s: %w", p.searcher.snapshot.Segments[i].Name, p.query, err)
		}
	}
	r.answer.Work.Add(work)
	if r.trace != nil {
		r.traceStep(began, Step{
			Name: stepIntersect, Processor: cpu, Place: sched.CPU, Traversal: stepsTraversal, Mode: st.mode, Work: work, Predicted: c.took,
			Lists: r.lists(st, r.pos, c.to), Candidates: int64(from), Left: int64(r.have.Len()),
		})
	}
	r.pos = c.to
	if ends {
		r.answer.Hits = r.sc.queue.AppendSorted(r.dst[:0])
		if p.counts {
			r.answer.Matches = int64(r.have.Len())
		}
		r.finished(sched.CPU)
	}
	return nil
}

// segmentOnCPU takes the candidates of a segment, or what is in the first list, through
// the lists up to to.
func (r *placedRun) segmentOnCPU(ctx context.Context, st *stage, segment, to int, w *Work) error {
	p, sc := r.plan, r.sc
	view := &p.searcher.snapshot.Segments[segment]
	legs := st.segmentLegs(segment)
	r.legs = r.legs[:0]
	for _, j := range st.order[r.pos:to] {
		r.legs = append(r.legs, legs[j])
	}
	c := (*traverse.Candidates)(&r.have.Segments[segment])
	sc.query = traverse.Query{Legs: r.legs, NumDocs: view.NumDocs(), Live: view.Live.Words(), Base: view.Base}
	memory := takeTraversalMemory()
	var err error
	switch {
	case to == len(r.lengths):
		err = traverse.Finish(ctx, memory, &sc.query, c, &sc.queue, p.counts)
	case r.pos == 0:
		err = traverse.Begin(ctx, memory, &sc.query, c)
	default:
		err = traverse.Intersect(ctx, memory, &sc.query, c)
	}
	putTraversalMemory(memory, w)
	return err
}

// wholeOnCPU runs a stage on the CPU.
func (r *placedRun) wholeOnCPU(ctx context.Context, c *choice) (err error) {
	p, sc := r.plan, r.sc
	firstStep := 0
	if r.trace != nil {
		firstStep = len(r.trace.Steps)
	}
	if p.mode == ModeSaat {
		if r.answer, err = p.runSaat(ctx, sc, r.dst, r.trace); err != nil {
			return err
		}
	} else {
		st := &p.stages[r.stage]
		sc.queue.Reset(min(p.k, p.searcher.snapshot.NumDocs))
		if st.root != nil && p.k > 0 {
			if err := p.runStage(ctx, sc, st, &r.answer.Work, r.trace); err != nil {
				return err
			}
		}
		r.answer.Mode, r.answer.Traversal = st.mode, st.name()
		r.answer.Hits = sc.queue.AppendSorted(r.dst[:0])
		if p.counts && (len(r.answer.Hits) == p.k || r.stage+1 == len(p.stages)) {
			if r.answer.Matches, err = p.count(ctx, sc, st, &r.answer.Work); err != nil {
				return err
			}
		}
	}
	if r.trace != nil && firstStep < len(r.trace.Steps) {
		r.trace.Steps[firstStep].Predicted = c.took
	}
	r.pos = len(r.lengths)
	return nil
}

// onGPU runs a piece of the stage on the GPU. If it cannot, the error wraps
// sched.ErrFailed, and the refusal says why.
func (r *placedRun) onGPU(ctx context.Context, c *choice, began time.Time) error {
	if err := r.attach(); err != nil {
		return r.refuse(err)
	}
	if r.pos == 0 && c.to == len(r.lengths) {
		return r.wholeOnGPU(ctx, c, began)
	}
	p, st := r.plan, &r.plan.stages[r.stage]
	s := &r.steps[0]
	if r.have == &s.Out {
		s = &r.steps[1]
	}
	ends := c.to == len(r.lengths)
	s.Legs, s.NumTerms, s.First, s.End = st.gpu.Legs, st.gpu.NumTerms, r.pos, c.to
	s.From, s.K, s.Count = r.have, 0, ends && p.counts
	s.Result = pipeline.Result{Hits: r.dst[:0]}
	if ends {
		s.K = p.k
	}
	from := 0
	if r.have != nil {
		from = r.have.Len()
	}
	if err := r.view.Intersect(ctx, s, r.deviceTrace()); err != nil {
		return err
	}
	if s.Result.Err != nil {
		return r.refuse(s.Result.Err)
	}
	if r.trace != nil {
		left := s.Out.Len()
		if ends {
			left = len(s.Result.Hits)
		}
		r.traceGPU(began, st, Step{
			Name: stepIntersect, Place: sched.GPU, Traversal: gpuTraversal, Mode: st.mode, Predicted: c.took,
			Lists: r.lists(st, r.pos, c.to), Candidates: int64(from), Left: int64(left),
		})
	}
	r.pos = c.to
	if !ends {
		r.have = &s.Out
		return nil
	}
	r.answer.Hits, r.answer.Matches = s.Result.Hits, s.Result.Matches
	if !p.counts {
		r.answer.Matches = 0
	}
	r.finished(sched.GPU)
	return nil
}

// wholeOnGPU runs a stage on the GPU, in one piece.
func (r *placedRun) wholeOnGPU(ctx context.Context, c *choice, began time.Time) error {
	st := &r.plan.stages[r.stage]
	r.query = st.gpu
	r.query.Path = c.path
	r.queries = append(r.queries[:0], &r.query)
	r.results = append(r.results[:0], pipeline.Result{Hits: r.dst[:0]})
	if err := r.view.Run(ctx, r.queries, r.results, nil, r.deviceTrace()); err != nil {
		return err
	}
	if err := r.results[0].Err; err != nil {
		return r.refuse(err)
	}
	if r.trace != nil {
		r.traceGPU(began, st, Step{Name: stepGPU, Place: sched.GPU, Traversal: gpuTraversal, Mode: st.mode, Predicted: c.took, Lists: r.plan.gpuLists(st)})
	}
	r.filled(&r.results[0])
	return nil
}

// filled takes the result of a whole stage from the GPU.
func (r *placedRun) filled(result *pipeline.Result) {
	r.plan.fill(&r.answer, &r.plan.stages[r.stage], result)
	r.pos = len(r.lengths)
}

// attach gets what the GPU holds of the snapshot.
func (r *placedRun) attach() (err error) {
	if r.view == nil {
		r.view, err = r.d.gpu.begin(r.plan.searcher.snapshot, r.plan.mode == ModeSaat)
	}
	return err
}

// refuse says why the GPU did not do a piece; the CPU goes on with the run.
func (r *placedRun) refuse(err error) error {
	r.refusal = err.Error()
	if r.trace != nil {
		r.trace.Notes = append(r.trace.Notes, "answered by the CPU: "+r.refusal)
	}
	r.chooseCPU()
	if r.job.Moves > 0 { // what it came with, or was reckoned to when it was given up, is of no use now
		r.job.Cost[sched.CPU] = r.choices[sched.CPU].total
	}
	if r.d.gpu.lost() {
		return sched.ErrLost
	}
	return sched.ErrFailed
}
