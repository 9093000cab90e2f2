package dispatch

import (
	"context"
	"errors"
	"time"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/gpu/pipeline"
	"github.com/griffin-search/griffin/internal/plan"
	"github.com/griffin-search/griffin/internal/sched"
)

// queryRun is the state machine of a query: it takes a plan stage by stage and step by step, at
// the place that the policy chooses for each. As a sched.Work it can continue at another place.
// Its memory is a Scratch's.
type queryRun struct {
	ctx    context.Context //nolint:containedctx // of the query; the context of a batch is its leader's
	d      *Dispatcher
	plan   *Query
	sc     *Scratch
	job    sched.Job
	policy policy

	position
	answer plan.Answer
	dst    []base.Hit
	// indeterminate: a batch with the run panicked, so that its position is unknown.
	indeterminate bool

	choices   [sched.NumPlaces]Step // the next step at each place
	predictor predictor
	trace     tracer
	gpu       gpuState
	overrun   overrun // of the present stage
}

// position is the stage, the finished lists in its order, and the remaining candidates of a
// conjunction.
type position struct {
	stage int
	pos   int
	have  *pipeline.Candidates
	last  sched.Place // of the last step
	moved bool        // last is set
}

type gpuState struct {
	view    *pipeline.View // of the snapshot; nil: not asked for yet
	refusal string         // why the GPU is not used; "": it may be
	steps   [2]pipeline.Step
	query   pipeline.Query // a whole stage
	queries []*pipeline.Query
	results []pipeline.Result
	small   smallAhead
}

var _ sched.Work = (*queryRun)(nil)

func (r *queryRun) begin(ctx context.Context, d *Dispatcher, q *Query, sc *Scratch, dst []base.Hit, trace *plan.Trace) {
	r.ctx, r.d, r.plan, r.sc, r.dst = ctx, d, q, sc, dst
	r.trace.Trace = trace
	r.policy = q.policyOf(d)
	if q.placement != nil {
		r.policy = q.placement
	}
	r.predictor.begin(model{d.costs, &d.selectivity, r.policy.traits().trees}, d.pool != nil)
	r.rewind()
	r.gpu.refusal = q.gpu.refusal
	if trace != nil {
		trace.Policy = r.policy.info().Name
	}
}

func (r *queryRun) rewind() {
	r.position, r.indeterminate, r.overrun = position{}, false, overrun{}
	r.answer = plan.Answer{}
}

// restart begins again after a panic of the batch.
func (r *queryRun) restart() {
	r.rewind()
	if r.trace.isOn() {
		r.trace.Notes = append(r.trace.Notes, "begun again: the batch that it was in met a bug")
	}
	r.decide()
}

// end also gives the view of the GPU back.
func (r *queryRun) end() {
	r.gpu.detach(r.d.gpu)
	r.sc.Forget()
	r.ctx, r.d, r.plan, r.sc, r.trace.Trace, r.dst, r.answer.Hits = nil, nil, nil, nil, nil, nil, nil
	r.predictor.end()
	r.gpu.query, r.overrun, r.policy = pipeline.Query{}, overrun{}, nil
	for i := range r.gpu.steps {
		s := &r.gpu.steps[i]
		s.Legs, s.From, s.Result = nil, nil, pipeline.Result{}
	}
	clear(r.gpu.results)
	r.gpu.small.forget()
}

func (r *queryRun) result(err error) (plan.Answer, error) {
	if err != nil {
		return plan.Answer{}, err
	}
	if g := r.d.gpu; g != nil {
		if r.last == sched.GPU {
			g.onGPU.Add(1)
		} else {
			g.onCPU.Add(1)
		}
	}
	return r.answer, nil
}

// Run runs the rest of the plan, beginning at a place.
func (r *queryRun) Run(ctx context.Context, at sched.Place) error {
	r.trace.addWait(r.d.pool, &r.job)
	if r.indeterminate {
		r.restart()
	}
	for {
		done, err := r.advance(ctx, at)
		if done || err != nil {
			return err
		}
		r.decide()
		to := r.next(at)
		if to == at {
			continue
		}
		if r.d.pool == nil {
			at = to
			continue
		}
		r.updateRemainingCost()
		if err := r.d.pool.Switch(ctx, &r.job, to); err != nil && !errors.Is(err, sched.ErrNoPlace) {
			return err
		}
		r.trace.addWait(r.d.pool, &r.job)
		at = r.job.Place
	}
}

func (r *queryRun) decide() {
	if r.pos == 0 {
		r.describe()
		if r.trace.isOn() {
			r.predictor.countEssential() // a trace reports the exact estimate
		}
	}
	r.syncPredictor()
	r.predictor.batchShare, r.predictor.leavesCPU = 0, false
	if r.predictor.isCommon() {
		chooseCommon(r)
	} else {
		r.policy.choose(r)
	}
	if r.trace.isOn() {
		r.trace.noteChoice(r)
	}
}

func (r *queryRun) describe() { r.predictor.describe(r.plan, r.stage) }

func (r *queryRun) syncPredictor() {
	candidates := 0
	if r.have != nil {
		candidates = r.have.Len()
	}
	r.predictor.advanceTo(r.pos, candidates)
}

// chooseCPU has the rest run on the CPU.
func (r *queryRun) chooseCPU() {
	r.predictor.wholeOn(&r.choices[sched.CPU], sched.CPU)
	r.choices[sched.GPU].never()
}

// updateRemainingCost tells the pool the predicted time of the rest of a run that moves. With
// the time of an earlier step, an idle processor could take it back at once.
func (r *queryRun) updateRemainingCost() {
	for at := range r.choices {
		r.job.Cost[at] = r.choices[at].total
	}
}

func (r *queryRun) first() sched.Place {
	gpu, cpu := r.choices[sched.GPU].total, r.choices[sched.CPU].total
	if gpu != sched.Never && (r.policy.traits().prefersGPU || r.predictor.leavesCPU || gpu < cpu) {
		return sched.GPU
	}
	return sched.CPU
}

func (r *queryRun) next(at sched.Place) sched.Place {
	other := at.Other()
	here, there := r.choices[at].total, r.choices[other].total
	switch {
	case there == sched.Never:
		return at
	case here == sched.Never:
		return other
	case r.policy.traits().prefersGPU:
		return sched.GPU
	case r.policy.traits().stays, there >= here, r.predictor.leavesCPU && at == sched.GPU:
		return at
	}
	gain := 1.0
	if r.pos > 0 {
		gain = splitGain
	}
	if wait := r.wait(other); wait != sched.Never && float64(there+wait) < gain*float64(here) {
		return other
	}
	return at
}

func (r *queryRun) wait(at sched.Place) time.Duration {
	if r.d.pool == nil {
		return 0
	}
	return r.d.pool.Wait(at)
}

// isFree reports whether a query would not wait for a place.
func (r *queryRun) isFree(at sched.Place) bool { return r.d.pool == nil || r.d.pool.Free(at) }

// splits reports whether the stage can run in several steps: a conjunction of several lists
// with scores below 2^32.
func (r *queryRun) splits() bool { return r.plan.splits(r.stage) }

// advance runs the next step of the plan at a place. It is done if that was the last one. After
// an error that wraps sched.ErrFailed, of the GPU, the run can continue on the CPU.
func (r *queryRun) advance(ctx context.Context, at sched.Place) (done bool, err error) {
	s := &r.choices[at]
	if s.total == sched.Never { // the pool overrules the policy: everything can run on the CPU
		r.chooseCPU()
		at, s = sched.CPU, &r.choices[sched.CPU]
	}
	began, from := time.Time{}, r.pos
	if r.predictor.isTimed(s.took) || r.trace.isOn() {
		began = time.Now()
	}
	before := r.answer.Workers
	r.answer.Workers = 0
	if at == sched.GPU {
		err = r.onGPU(ctx, s, began)
	} else {
		err = r.onCPU(ctx, s, began)
	}
	helped := r.answer.Workers > 1
	r.answer.Workers = max(before, r.answer.Workers)
	if errors.Is(err, errOverrun) {
		r.noteOverrun(s)
		return false, nil
	}
	if err != nil {
		if !began.IsZero() && ctx.Err() != nil {
			r.predictor.model.learnLowerBound(s, time.Since(began))
		}
		return false, err
	}
	if !began.IsZero() && !helped { // with helpers, the time says nothing about one processor
		r.observe(s, from, time.Since(began))
	}
	r.countStep(at)
	if r.pos == r.predictor.numSteps() || hasNoCandidates(r) {
		return r.endStage(at), nil
	}
	return false, nil
}

// hasNoCandidates reports whether no candidates are left, also in segments that are searched without.
func hasNoCandidates(r *queryRun) bool {
	return r.have != nil && r.have.Len() == 0 && (!r.predictor.isCommon() || len(r.plan.gpu.small) == 0)
}

func (r *queryRun) countStep(at sched.Place) {
	r.d.steps[at].Add(1)
	r.answer.StepsAt[at]++
	if r.moved && r.last != at {
		r.d.migrations.Add(1)
		r.answer.Migrations++
		if r.trace.isOn() {
			r.trace.Migrations++
		}
	}
	r.last, r.moved = at, true
}

// endStage goes to the next stage if the plan falls back to it, else it is done.
func (r *queryRun) endStage(at sched.Place) (done bool) {
	if r.pos < r.predictor.numSteps() { // a conjunction without candidates
		r.answer.Hits, r.answer.Matches = r.dst[:0], 0
		r.finished(at)
	}
	if !r.plan.FallsBack(r.stage, len(r.answer.Hits)) {
		return true
	}
	r.dst = r.answer.Hits[:0]
	r.stage++
	r.pos, r.have, r.overrun = 0, nil, overrun{}
	return false
}

// finished completes the answer for a stage that ended at a place.
func (r *queryRun) finished(at sched.Place) {
	r.answer.Mode = r.plan.Stage(r.stage).Mode()
	r.answer.By = at
	if r.answer.Traversal = TraversalSteps; at == sched.GPU {
		r.answer.Traversal = TraversalGPU
	}
}
