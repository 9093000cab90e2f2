package dispatch

import (
	"context"
	"time"

	"github.com/griffin-search/griffin/internal/gpu/pipeline"
	"github.com/griffin-search/griffin/internal/plan"
	"github.com/griffin-search/griffin/internal/sched"
	"github.com/griffin-search/griffin/internal/traverse"
)

// TraversalSteps is the Answer.Traversal of conjunctions that ran in several steps.
const TraversalSteps = "steps"

const cpuNoGPU = "there is no GPU"

// onCPU runs a whole stage by the planned traversal, or some lists of a conjunction.
func (r *queryRun) onCPU(ctx context.Context, c *Step, began time.Time) error {
	switch {
	case r.pos == 0 && c.to == r.predictor.numSteps():
		return r.wholeOnCPU(ctx, c)
	case r.predictor.isCommon():
		return positionsOnCPU(ctx, r, c)
	}
	p, st := r.plan, r.plan.Stage(r.stage)
	segments := len(p.Snapshot().Segments)
	if r.have == nil {
		r.have = &r.gpu.steps[0].Out
		r.have.Reset(segments)
	}
	ends := c.to == len(r.predictor.lengths)
	if ends {
		p.ResetHits(&r.sc.Scratch)
	}
	var work plan.Work
	from := r.have.Len()
	lists := plan.Lists{Stage: st, From: r.pos, To: c.to}
	for i := range segments {
		if err := p.RunLists(ctx, &r.sc.Scratch, lists, i, (*traverse.Candidates)(&r.have.Segments[i]), &work); err != nil {
			return err
		}
	}
	r.answer.Work.Add(work)
	if r.trace.isOn() {
		r.trace.Add(began, plan.Step{
			Name: plan.StepIntersect, Processor: plan.CPUName, Place: sched.CPU, Traversal: TraversalSteps, Mode: st.Mode(), Work: work, Predicted: c.took,
			Lists: r.plan.StageLists(r.stage)[r.pos:c.to], Candidates: int64(from), Left: int64(r.have.Len()),
		})
	}
	r.pos = c.to
	if ends {
		r.answer.Hits = r.sc.AppendHits(r.dst[:0])
		if p.Counts() {
			r.answer.Matches = int64(r.have.Len())
		}
		r.finished(sched.CPU)
	}
	return nil
}

func (r *queryRun) wholeOnCPU(ctx context.Context, c *Step) (err error) {
	firstStep := 0
	if r.trace.isOn() {
		firstStep = len(r.trace.Steps)
	}
	if err := r.plan.RunStage(ctx, r.interrupt(ctx), &r.sc.Scratch, r.stage, r.dst, &r.answer, r.trace.Trace); err != nil {
		return err
	}
	if r.trace.isOn() && firstStep < len(r.trace.Steps) {
		r.trace.Steps[firstStep].Predicted = c.took
	}
	r.pos = r.predictor.numSteps()
	return nil
}

// onGPU returns an error that wraps sched.ErrFailed if the GPU cannot run the step; the refusal
// is the reason.
func (r *queryRun) onGPU(ctx context.Context, c *Step, began time.Time) error {
	if err := r.attach(); err != nil {
		return r.refuse(err)
	}
	switch {
	case r.predictor.isCommon():
		return candidatesOnGPU(ctx, r, c, began)
	case r.pos == 0 && c.to == len(r.predictor.lengths):
		return r.wholeOnGPU(ctx, c, began)
	}
	p := r.plan
	s := &r.gpu.steps[0]
	if r.have == &s.Out {
		s = &r.gpu.steps[1]
	}
	ends := c.to == len(r.predictor.lengths)
	s.Legs, s.NumTerms, s.First, s.End = r.gpuQuery().Legs, r.gpuQuery().NumTerms, r.pos, c.to
	s.From, s.K, s.Count = r.have, 0, ends && p.Counts()
	s.Result = pipeline.Result{Hits: r.dst[:0]}
	if ends {
		s.K = plan.SelectK(&p.Plan)
	}
	from := 0
	if r.have != nil {
		from = r.have.Len()
	}
	if err := r.gpu.view.Intersect(ctx, s, r.trace.forDevice()); err != nil {
		return err
	}
	if s.Result.Err != nil {
		return r.refuse(s.Result.Err)
	}
	if ends && !settleTies(p, &s.Result) {
		return r.refuse(errTies)
	}
	if err := addSmallLists(ctx, r, s); err != nil {
		return err
	}
	if r.trace.isOn() {
		left := s.Out.Len()
		if ends {
			left = len(s.Result.Hits)
		}
		r.trace.addGPU(began, plan.Step{
			Name: plan.StepIntersect, Place: sched.GPU, Traversal: TraversalGPU, Mode: p.modeOf(r.stage), Predicted: c.took,
			Lists: r.plan.StageLists(r.stage)[r.pos:c.to], Candidates: int64(from), Left: int64(left),
		})
	}
	r.pos = c.to
	if !ends {
		r.have = &s.Out
		return nil
	}
	r.answer.Hits, r.answer.Matches = s.Result.Hits, s.Result.Matches
	if !p.Counts() {
		r.answer.Matches = 0
	}
	r.finished(sched.GPU)
	return nil
}

func (r *queryRun) wholeOnGPU(ctx context.Context, c *Step, began time.Time) error {
	if err := r.plan.gpu.masks.make(ctx, r.plan, &r.sc.Scratch); err != nil {
		return err
	}
	r.gpu.query = *r.gpuQuery()
	r.gpu.query.Path = c.path
	small := &r.gpu.small
	beside := small.begin(ctx, r.plan, &r.sc.Scratch, r.stage)
	if !r.trace.isOn() { // a trace has steps one after another
		r.gpu.query.Beside = beside
	}
	r.gpu.queries = append(r.gpu.queries[:0], &r.gpu.query)
	r.gpu.results = append(r.gpu.results[:0], pipeline.Result{Hits: r.dst[:0]})
	if err := r.d.gpu.runView(ctx, r.gpu.view, r.gpu.queries, r.gpu.results, nil, r.trace.forDevice()); err != nil {
		return err
	}
	if err := r.gpu.results[0].Err; err != nil {
		return r.refuse(err)
	}
	if !settleTies(r.plan, &r.gpu.results[0]) {
		return r.refuse(errTies)
	}
	if r.trace.isOn() {
		r.trace.addGPU(began, plan.Step{Name: plan.StepGPU, Place: sched.GPU, Traversal: TraversalGPU, Mode: r.plan.modeOf(r.stage), Predicted: c.took, Lists: r.plan.StageLists(r.stage)})
	}
	r.filled(&r.gpu.results[0])
	if err := small.finish(ctx, &r.answer, r.trace.Trace); err != nil {
		return err
	}
	plan.AddFilterScores(&r.plan.Plan, r.stage, r.answer.Hits)
	return nil
}

func (r *queryRun) filled(result *pipeline.Result) {
	r.plan.fillFromGPU(&r.answer, r.stage, result)
	r.pos = len(r.predictor.lengths)
}

func (r *queryRun) gpuQuery() *pipeline.Query { return &r.plan.gpu.stages[r.stage] }

func (r *queryRun) attach() error { return r.gpu.attach(r.d.gpu, r.plan) }

func (r *queryRun) attachOrRefuse() bool {
	err := r.attach()
	if err != nil {
		r.gpu.refusal = err.Error()
	}
	return err == nil
}

// locate tells the predictor where the lists of the stage are, false if the GPU cannot be used.
func (r *queryRun) locate() bool {
	if !r.attachOrRefuse() {
		return false
	}
	r.gpu.view.Locate(r.gpuQuery(), r.predictor.relocate())
	return true
}

// locateWhole is locate without the compressed lists if all lists have images.
func (r *queryRun) locateWhole() bool {
	if r.pos > 0 || !r.attachOrRefuse() || !r.gpu.view.HasImages(r.gpuQuery()) {
		return r.locate()
	}
	r.predictor.haveImages()
	return true
}

// refuse records why the GPU did not run a step; the run continues on the CPU.
func (r *queryRun) refuse(err error) error {
	r.gpu.refusal = err.Error()
	if r.trace.isOn() {
		r.trace.Notes = append(r.trace.Notes, "answered by the CPU: "+r.gpu.refusal)
	}
	r.chooseCPU()
	if r.job.Moves > 0 { // an earlier prediction, or one raised after an overrun, no longer applies
		r.job.Cost[sched.CPU] = r.choices[sched.CPU].total
	}
	if r.d.gpu.Lost() {
		return sched.ErrLost
	}
	return sched.ErrFailed
}
