package dispatch

import (
	"context"
	"errors"
	"time"

	"github.com/griffin-search/griffin/internal/sched"
	"github.com/griffin-search/griffin/internal/traverse"
)

// defaultOverrunFactor is the multiple of the predicted GPU time, with its queue, that a query
// may take on the CPU before it restarts on the GPU. Occasionally a pruned OR takes a hundred
// times its prediction.
//
// On an H200, one query at a time, 0 to 11 of a run of thousands were restarted, by collection,
// log, mode and place of the lists (docs/benchmarks/one-engine.md). The value was chosen on
// paper: 1,000 queries of the Terabyte track of 2006 as ORs over a collection like GOV2, timed
// on a CPU, against a GPU that takes 16 µs + 2 µs a list + 0.04 ns a posting, 172 µs on the
// mean. With a model's predictions (boosted trees over the features of CPUOr, times 1.1) and no
// limit the mean was 202 µs, because of one query of 30 ms; limits of 2, 1, 0.5 and 0.3 gave
// 168.7, 168.9, 171.4 and 171.9. With a calibrated cost.Model no such query came to the CPU:
// 169.3 without a limit and with limits of 2 and 1.
const defaultOverrunFactor = 2

var errOverrun = errors.New("the step overran on the CPU and restarts on the GPU")

// overrun interrupts a stage that the CPU runs whole although a GPU could: with the context's
// error, or with errOverrun when it has taken too long. One goroutine may use it.
type overrun struct {
	ctx     context.Context //nolint:containedctx // of the step, during which it is used
	run     *queryRun
	began   time.Time // of the first check
	limit   time.Duration
	asked   bool // the time on the GPU is predicted
	isOver  bool
	checked bool // began is set
	noted   bool // the step was ended: the stage restarts
}

var _ traverse.Interrupt = (*overrun)(nil)

// interrupt returns ctx if the query cannot restart elsewhere, or has restarted once.
func (r *queryRun) interrupt(ctx context.Context) traverse.Interrupt {
	if !r.policy.traits().restarts || r.d.overrunFactor == 0 || r.gpu.refusal != "" || r.overrun.noted || r.plan.Impacts() != nil || r.predictor.isCommon() {
		return ctx
	}
	r.overrun = overrun{ctx: ctx, run: r}
	return &r.overrun
}

// Err is polled at most every ten microseconds, except for the first time, so reading the clock
// costs little.
func (o *overrun) Err() error {
	if o.isOver {
		return errOverrun
	}
	if err := o.ctx.Err(); err != nil {
		return err
	}
	if !o.checked {
		o.checked, o.began, o.limit = true, time.Now(), o.firstLimit()
		return nil
	}
	took := time.Since(o.began)
	if took < o.limit {
		return nil
	}
	o.limit = o.limitNow()
	o.isOver = took >= o.limit
	if o.isOver {
		return errOverrun
	}
	return nil
}

// firstLimit is the time on the CPU before the GPU's queue, and its time if not yet predicted,
// are looked at.
func (o *overrun) firstLimit() time.Duration {
	gpu := o.run.choices[sched.GPU].total
	if gpu == sched.Never {
		gpu = minGPUTime
	}
	return time.Duration(o.run.d.overrunFactor * float64(gpu))
}

// limitNow is the limit with the present queue of the GPU.
func (o *overrun) limitNow() time.Duration {
	r := o.run
	gpu := &r.choices[sched.GPU]
	if !o.asked && gpu.total == sched.Never && r.locate() {
		r.predictor.wholeByCost(gpu)
	}
	o.asked = true
	wait := r.wait(sched.GPU)
	if gpu.total == sched.Never || wait == sched.Never {
		return sched.Never
	}
	return time.Duration(r.d.overrunFactor * float64(gpu.total+wait))
}

func (r *queryRun) noteOverrun(s *Step) {
	r.overrun.noted = true
	r.d.restarted.Add(1)
	began := r.overrun.began
	r.predictor.model.learnLowerBound(s, time.Since(began))
	if r.trace.isOn() {
		r.trace.addOverrun(began, r.plan.Stage(r.stage), s.took)
	}
	r.countStep(sched.CPU)
}
