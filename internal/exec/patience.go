package exec

import (
	"context"
	"errors"
	"time"

	"github.com/griffin-search/griffin/internal/sched"
)

// defaultPatience is how many times as long as the GPU is predicted to take, with its
// queue, a query may take on the CPU before it is given up there and goes to the GPU: now
// and then a pruned OR takes a hundred times what was predicted.
//
// On an H200, one query at a time, 0 to 11 of a run of thousands were given up, by collection, log,
// mode and where lists lay (docs/benchmarks/one-engine.md). Its value was
// chosen on paper: 1,000 queries of the Terabyte track of 2006 as ORs over
// a collection like GOV2, timed on a CPU, against a GPU that takes 16 µs + 2 µs a list +
// 0.04 ns a posting, 172 µs on the mean. By a model's prediction (boosted trees over features
// as CPUOr has, times 1.1) with no limit the mean was 202 µs, for one query of
// 30 ms; limits of 2, 1, 0.5 and 0.3 gave 168.7, 168.9, 171.4 and 171.9. By a calibrated
// cost.Model nothing so far off came to the CPU: 169.3 without a limit and with those of 2 and 1.
const defaultPatience = 2

// errImpatient ends a piece on the CPU that the GPU does anew.
var errImpatient = errors.New("given up on the CPU for the GPU")

// patience is the context of a stage that the CPU runs whole though a GPU could. It ends
// with the context that it wraps, or with errImpatient once that would have paid.
// It is of one goroutine.
type patience struct {
	context.Context
	run   *placedRun
	began time.Time // of the first look
	limit time.Duration
	asked bool // what the GPU would take is known
	over  bool
}

// patient returns the context of a piece on the CPU: ctx itself if there is nowhere else
// to go, or if the run has been given up once.
func (r *placedRun) patient(ctx context.Context) context.Context {
	if r.d.patience == 0 || r.policy() != PolicyCost || r.refusal != "" || r.plan.placement != nil || r.d.choose != nil || r.gaveUp || r.plan.mode == ModeSaat {
		return ctx
	}
	r.patience = patience{Context: ctx, run: r}
	return &r.patience
}

// Err implements context.Context. Whoever polls it does so every ten microseconds or more,
// but for the first time, so that the clock costs little.
func (p *patience) Err() error {
	if p.over {
		return errImpatient
	}
	if err := p.Context.Err(); err != nil {
		return err
	}
	if p.began.IsZero() {
		p.began, p.limit = time.Now(), p.run.firstPatience()
		return nil
	}
	took := time.Since(p.began)
	if took < p.limit {
		return nil
	}
	p.limit = p.run.patienceFor(&p.asked)
	p.over = took >= p.limit
	if p.over {
		return errImpatient
	}
	return nil
}

// firstPatience is how long the CPU has before anybody looks at the GPU's queue, or at what
// the GPU would take, if that was not needed to begin on the CPU.
func (r *placedRun) firstPatience() time.Duration {
	gpu := r.choices[sched.GPU].total
	if gpu == sched.Never {
		gpu = quick
	}
	return time.Duration(r.d.patience * float64(gpu))
}

// patienceFor is how long the CPU has, as the GPU's queue is now.
func (r *placedRun) patienceFor(asked *bool) time.Duration {
	gpu := &r.choices[sched.GPU]
	if !*asked && gpu.total == sched.Never && r.locate() {
		r.wholeByCost()
	}
	*asked = true
	wait := r.wait(sched.GPU)
	if gpu.total == sched.Never || wait == sched.Never {
		return sched.Never
	}
	return time.Duration(r.d.patience * float64(gpu.total+wait))
}

// giveUp notes that the CPU has given up the piece c.
func (r *placedRun) giveUp(c *choice) {
	r.gaveUp = true
	r.d.givenUp.Add(1)
	began := r.patience.began
	r.tookLonger(c, time.Since(began))
	if r.trace != nil {
		r.traceGivenUp(began, c)
	}
	r.arrive(sched.CPU)
}

// muchLonger is how many times as long as it has taken already, and as the GPU takes, a query
// that was given up is reckoned to take on the CPU: it is not taken back unless the GPU's
// queue becomes that long.
const muchLonger = 4

// chooseAfterGivingUp has the GPU do what the CPU gave up, unless it fails.
func (r *placedRun) chooseAfterGivingUp() {
	cpu, gpu := &r.choices[sched.CPU], &r.choices[sched.GPU]
	r.boundOnCPU(cpu)
	gpu.never()
	if r.locate() {
		r.wholeByCost()
	}
	wait := r.wait(sched.GPU)
	if gpu.total == sched.Never || wait == sched.Never {
		r.chooseCPU()
	} else {
		cpu.total = muchLonger * max(time.Since(r.patience.began), gpu.total+wait)
	}
}
