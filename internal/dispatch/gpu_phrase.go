package dispatch

import (
	"context"
	"sync"
	"time"

	"github.com/griffin-search/griffin/internal/cost"
	"github.com/griffin-search/griffin/internal/gpu/pipeline"
	"github.com/griffin-search/griffin/internal/plan"
	"github.com/griffin-search/griffin/internal/sched"
	"github.com/griffin-search/griffin/internal/traverse"
	"github.com/griffin-search/griffin/internal/vfs"
)

// This file has stages that require a phrase. A GPU has no positions. It intersects the words that every match has, and the CPU
// reads positions in these candidates only. The last step of such a stage, after all lists, is therefore the CPU's.

// cpuPhrasePath is the reason why the CPU finds the candidates of a phrase although there is a GPU.
const cpuPhrasePath = "it has a phrase, whose words a GPU intersects only in lists of codec simdbp with all documents on one GPU"

// gpuCommon prepares the intersection of a stage with common words.
func gpuCommon(q *Query, stage int) string {
	n, segments := q.Stage(stage).NumCommon(), len(q.Snapshot().Segments)
	legs := q.gpu.takeLegs(stage, n*segments)
	for i := range segments {
		for j := range n {
			var leg traverse.Leg
			if err := plan.CommonLeg(&q.Plan, &leg, stage, i, j); err != nil {
				return err.Error()
			}
			legs[i*n+j].Leg = leg.Leg
		}
	}
	q.gpu.common[stage] = true
	q.gpu.stages[stage] = pipeline.Query{Conjunctive: true, K: 1, Path: pipeline.PathPacked, Legs: legs, NumTerms: n}
	return ""
}

// hasCommon reports whether a stage of a query on a GPU has candidates, which only the CPU completes.
func (g *gpuPlan) hasCommon() bool { return g.common[0] || g.common[1] }

// prepareIntersection makes s the step of a GPU that finds the candidates of a stage.
func prepareIntersection(q *Query, stage int, s *pipeline.Step) {
	of := &q.gpu.stages[stage]
	s.Legs, s.NumTerms, s.First, s.End, s.From, s.K, s.Count = of.Legs, of.NumTerms, 0, of.NumTerms, nil, 0, false
	s.Result = pipeline.Result{Hits: s.Result.Hits[:0]}
}

// runPositions reads the positions of a stage's candidates and completes its answer.
func runPositions(ctx context.Context, q *Query, sc *plan.Scratch, stage int, from *pipeline.Candidates, a *plan.Answer, trace *plan.Trace) error {
	common := plan.Common{Docs: func(segment int) []uint32 { return from.Segments[segment].DocIDs }, Whole: q.gpu.small}
	if err := plan.RunCommon(ctx, &q.Plan, sc, stage, common, a.Hits, a, trace); err != nil {
		return err
	}
	a.Mode, a.By, a.Traversal = q.Stage(stage).Mode(), sched.CPU, TraversalSteps
	return nil
}

// candidatesOnGPU is onGPU of a stage with common words.
func candidatesOnGPU(ctx context.Context, r *queryRun, c *Step, began time.Time) error {
	s := &r.gpu.steps[0]
	prepareIntersection(r.plan, r.stage, s)
	if err := r.gpu.view.Intersect(ctx, s, r.trace.forDevice()); err != nil {
		return err
	}
	if s.Result.Err != nil {
		return r.refuse(s.Result.Err)
	}
	if r.trace.isOn() {
		r.trace.addGPU(began, plan.Step{
			Name: plan.StepIntersect, Place: sched.GPU, Traversal: TraversalGPU, Mode: r.plan.modeOf(r.stage), Predicted: c.took,
			Lists: r.plan.StageLists(r.stage), Left: int64(s.Out.Len()),
		})
	}
	r.pos, r.have = c.to, &s.Out
	return nil
}

// positionsOnCPU completes a stage whose candidates the GPU has found.
func positionsOnCPU(ctx context.Context, r *queryRun, c *Step) error {
	r.answer.Hits = r.dst[:0]
	firstStep := 0
	if r.trace.isOn() {
		firstStep = len(r.trace.Steps)
	}
	if err := runPositions(ctx, r.plan, &r.sc.Scratch, r.stage, r.have, &r.answer, r.trace.Trace); err != nil {
		return err
	}
	if r.trace.isOn() && firstStep < len(r.trace.Steps) {
		r.trace.Steps[firstStep].Predicted = c.took
	}
	r.pos = c.to
	return nil
}

// chooseCommon is policy.choose for a stage with common words, by every policy.
func chooseCommon(r *queryRun) {
	p := &r.predictor
	cpu, gpu := &r.choices[sched.CPU], &r.choices[sched.GPU]
	r.chooseCPU()
	if r.pos > 0 || r.gpu.refusal != "" || r.policy.traits().noGPU || !r.locate() {
		return
	}
	if !p.located.Packed {
		r.gpu.refusal = cpuPhrasePath
		if r.trace.isOn() {
			r.trace.Notes = append(r.trace.Notes, "answered by the CPU: "+r.gpu.refusal)
		}
		return
	}
	p.commonByCost(cpu, gpu)
	if placement, ok := r.policy.(*Placement); ok {
		placement.chooseCommon(r)
		return
	}
	if !r.policy.traits().prefersGPU && gpu.total >= cpu.total {
		preloadCommon(r)
	}
}

// chooseCommon prescribes the place of the candidates.
func (p *Placement) chooseCommon(r *queryRun) {
	at := p.First
	if r.stage > 0 {
		at = p.Or
	}
	first := &r.choices[sched.GPU]
	if at == sched.CPU {
		first.never()
		return
	}
	first.total = 1
	r.choices[sched.CPU].total = lastResort
}

// preloadCommon requests copies of lists that are only in files, if the GPU would then be faster.
func preloadCommon(r *queryRun) {
	p, f := &r.predictor, &r.d.preloader
	if p.located.BytesFile == 0 {
		return
	}
	for i := range p.located.Compressed {
		p.located.Compressed[i] = max(p.located.Compressed[i], pipeline.FormHost)
	}
	p.hasCumulative = false
	if p.commonByCost(&r.choices[sched.CPU], &p.other); preloadGain*float64(p.other.total) > float64(r.choices[sched.CPU].total) {
		return
	}
	if time.Since(r.d.start) < time.Duration(f.next.Load()) || !f.busy.CompareAndSwap(false, true) {
		return
	}
	go r.preloadRequest(false /* images */).serve()
}

// positionTime is the time to read the positions of a word in a document, about, with the look-up of its posting.
const positionTime = 100 * time.Nanosecond

// positionsTime predicts the rest of a stage after its candidates.
func (p *predictor) positionsTime(candidates float64) time.Duration {
	return max(time.Duration(float64(positionTime)*candidates*float64(len(p.lengths))), 1)
}

// commonByCost predicts a stage with common words whose candidates the GPU finds, after locate: in place of the CPU's time of the
// intersection, which is a part of the CPU's time for the stage, the time of the GPU's. Nothing is learnt from the former.
func (p *predictor) commonByCost(cpu, gpu *Step) {
	n := len(p.lengths)
	p.expectCandidates()
	intersection := time.Duration(0)
	for i := range n {
		intersection += p.cpuListTime(i)
	}
	gpu.begin(n, pipeline.PathPacked)
	f, file := p.packedFeatures(0, n)
	p.addFileCopies(gpu, file)
	gpu.add(cost.GPUIntersect, &f, p.model.costs.Predict(cost.GPUIntersect, &f))
	gpu.total += max(cpu.took-intersection, p.positionsTime(p.expected[n-1]))
}

// onBoth answers an item of SearchBatch whose query has candidates: by GPU and CPU, or by the CPU alone if that is predicted to end
// sooner, or if the GPU fails.
func (it *batchItem) onBoth(ctx context.Context, d *Dispatcher, sc *plan.Scratch) (err error) {
	defer vfs.RecoverFault(vfs.PanicOnFault(), &err)
	q, a := it.query, it.answer
	dst := a.Hits[:0]
	for stage := 0; ; stage++ {
		s, err := it.candidates(ctx, d, stage)
		if err != nil {
			return err
		}
		a.Hits = dst
		if s != nil {
			err = runPositions(ctx, q, sc, stage, &s.Out, a, nil)
			giveStep(s)
		} else {
			err = q.RunStage(ctx, ctx, sc, stage, dst, a, nil)
		}
		if err != nil {
			return err
		}
		if !q.FallsBack(stage, len(a.Hits)) {
			return nil
		}
		dst = a.Hits[:0]
	}
}

// candidates has the GPU find the candidates of a stage; nil without an error: the CPU should do everything. The error is the
// context's.
func (it *batchItem) candidates(ctx context.Context, d *Dispatcher, stage int) (*pipeline.Step, error) {
	q := it.query
	if it.view == nil || !q.gpu.common[stage] || !it.pays(d, stage) {
		return nil, nil
	}
	s := idleSteps.Get().(*pipeline.Step)
	prepareIntersection(q, stage, s)
	err := it.view.Intersect(ctx, s, nil)
	if err == nil && s.Result.Err == nil {
		d.steps[sched.GPU].Add(1)
		it.answer.StepsAt[sched.GPU]++
		it.answer.Migrations++
		d.migrations.Add(1)
		return s, nil
	}
	giveStep(s)
	return nil, err
}

// idleSteps and idlePredictors lend memory.
var (
	idleSteps      = sync.Pool{New: func() any { return new(pipeline.Step) }}
	idlePredictors = sync.Pool{New: func() any { return new(predictor) }}
)

func giveStep(s *pipeline.Step) {
	s.Legs = nil
	idleSteps.Put(s)
}

// pays reports whether the policy has the GPU find the candidates of a stage. Without a view it reports whether it may,
// wherever the lists are.
func (it *batchItem) pays(d *Dispatcher, stage int) bool {
	t := it.query.policyOf(d).traits()
	if t.prefersGPU {
		return true
	}
	p := idlePredictors.Get().(*predictor)
	defer idlePredictors.Put(p)
	p.begin(model{d.costs, &d.selectivity, t.trees}, false /* batches */)
	defer p.end()
	p.describe(it.query, stage)
	var cpu, gpu Step
	p.wholeOn(&cpu, sched.CPU)
	p.commonByCost(&cpu, &gpu) // as if all lists were on the GPU
	if gpu.total >= cpu.total || it.view == nil {
		return gpu.total < cpu.total
	}
	it.view.Locate(&it.query.gpu.stages[stage], p.relocate())
	if !p.located.Packed {
		return false
	}
	p.commonByCost(&cpu, &gpu)
	return gpu.total < cpu.total
}
