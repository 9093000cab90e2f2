package dispatch

import (
	"context"
	"time"

	"github.com/griffin-search/griffin/internal/plan"
	"github.com/griffin-search/griffin/internal/sched"
)

// RunBatch implements sched.Work: it answers several runs together on the GPU, with the help of
// idle CPUs. It never waits for a CPU. A run that neither answers gets an outcome that wraps
// sched.ErrFailed and continues on the CPU; a run whose own context has ended, and that is not
// on the GPU, gets the error of that context. After a panic all runs begin again when they are
// run.
func (r *queryRun) RunBatch(ctx context.Context, all []sched.Work, outcomes []error) {
	leds, b := r.d.led, r.d.led.take()
	done := false
	defer func() {
		if !done {
			markIndeterminate(all)
			b.helpers.abandon()
		}
		b.reset()
		leds.put(b)
	}()
	began := time.Now()
	for _, w := range all { // all of them before anything can panic
		o := w.(*queryRun)
		o.trace.addWait(o.d.pool, &o.job)
	}
	at := r.d.gpu.choose()
	for _, w := range all {
		o := w.(*queryRun)
		it := batchItem{query: o.plan, run: o, stage: o.stage, answer: &o.answer}
		if err := o.ctx.Err(); err != nil {
			it.err = err
		} else if err := o.plan.gpu.masks.make(o.ctx, o.plan, &o.sc.Scratch); err != nil {
			it.err = err
		} else if err := o.gpu.attachTo(o.d.gpu, at, o.plan); err != nil {
			it.refused = err
		} else {
			it.view = o.gpu.view
			b.waiting = append(b.waiting, len(b.items))
		}
		b.items = append(b.items, it)
	}
	b.helpers.reset(ctx, r.d.batchSlots(), b.items, !r.d.gpu.unaided && r.isFree(sched.CPU) && r.d.hasSpareCPU())
	b.helpers.optional = true
	b.runGPU(ctx, r.d.gpu, r.d.costs)
	_ = b.helpers.wait() // optional helpers have no error of their own
	for i := range b.items {
		it := &b.items[i]
		switch {
		case it.err != nil:
			outcomes[i] = it.err
		case b.helpers.answered(i):
			it.run.countStep(sched.CPU)
		case it.refused != nil:
			outcomes[i] = it.run.refuse(it.refused)
		case it.run.trace.isOn():
			it.run.traceBatch(began, len(all))
		}
	}
	done = true
}

// ledBatches is memory for the batches that runs lead, one for each lane.
type ledBatches chan *batch

func (l ledBatches) take() *batch {
	select {
	case b := <-l:
		return b
	default:
		return new(batch)
	}
}

func (l ledBatches) put(b *batch) {
	select {
	case l <- b:
	default:
	}
}

// more: the next stage has to answer.
func (r *queryRun) completeFromBatch() (more bool) {
	r.countStep(sched.GPU)
	if r.endStage(sched.GPU) {
		return false
	}
	r.describe()
	return true
}

func (r *queryRun) traceBatch(began time.Time, size int) {
	r.trace.addGPU(began, plan.Step{
		Name: plan.StepGPU, Place: sched.GPU, Traversal: TraversalGPU, Mode: r.answer.Mode, Batch: size,
		Predicted: r.predictor.batchShare, Lists: r.plan.StageLists(r.stage),
	})
}

func markIndeterminate(all []sched.Work) {
	for _, w := range all {
		w.(*queryRun).indeterminate = true
	}
}
