package exec

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/cost"
	"github.com/griffin-search/griffin/internal/gpu/pipeline"
	"github.com/griffin-search/griffin/internal/invariant"
	"github.com/griffin-search/griffin/internal/sched"
)

// Dispatcher decides where the steps of queries run, and when: it has the GPU, the
// predictions and the queues that the Searchers of an index share. It is safe for
// concurrent use.
//
// Without a GPU, and unless limits are asked for, it stands aside: a run takes no lock
// and is not counted.
type Dispatcher struct {
	gpu    *GPU        // nil: none
	pool   *sched.Pool // nil: runs are neither admitted nor queued
	costs  *cost.Model
	policy Policy
	ratio  float64

	start      time.Time
	feeder     feeder
	expect     selectivity
	steps      [sched.NumPlaces]atomic.Int64 // that ran
	migrations atomic.Int64
	givenUp    atomic.Int64
	bugs       atomic.Int64
	patience   float64 // defaultPatience, but in tests; 0: without end

	// choose, if set, takes the place of the policy, to test any placement there can be:
	// it returns where the lists from pos on of n run next, and up to which.
	choose func(pos, n int) (at sched.Place, to int)
	// onBug, if set, is told of bugs, to test what becomes of them.
	onBug func(*invariant.Caught)
}

// DispatchOptions configure a Dispatcher. The zero value of each field is its default.
type DispatchOptions struct {
	// Policy chooses places; default PolicyCost.
	Policy Policy
	// Ratio of PolicyRatio; default DefaultRatio.
	Ratio float64
	// CPUs is how many queries run on the CPU at once; default GOMAXPROCS.
	CPUs int
	// MaxQueue is how many queries may wait; more are shed with a *sched.Overload.
	// Default that of sched.Options: 64 for each of the CPUs, and more with a GPU, but at
	// most 1024; negative: any number.
	MaxQueue int
	// Deadline is the time that a query has from its arrival; one that cannot be
	// answered by then is shed. Default none.
	Deadline time.Duration
	// Window is how long a query may wait at an idle GPU for others to share a launch
	// with; default 0.
	Window time.Duration
	// Pin binds threads that run queries on the CPU to processors of their own (Linux).
	Pin bool
	// Admit asks for queues and admission though there is no GPU. CPUs, MaxQueue and
	// Deadline ask for it, too.
	Admit bool
	// Costs predicts; nil: a model that was not calibrated.
	Costs *cost.Model
	// CostsErr is set by LoadCosts: why a file that is there is of no use on any machine, such
	// as that it is damaged. It hinders nothing.
	CostsErr error
}

// limited reports whether limits are asked for.
func (o *DispatchOptions) limited() bool {
	return o.Admit || o.CPUs != 0 || o.MaxQueue != 0 || o.Deadline != 0
}

// Check returns an error that wraps base.ErrBadInput if an option cannot be used.
func (o *DispatchOptions) Check() error {
	_, err := ParsePolicy(string(o.Policy))
	switch {
	case err != nil:
		return err
	case !(o.Ratio >= 0):
		return fmt.Errorf("ratio %g: it cannot be negative: %w", o.Ratio, base.ErrBadInput)
	case o.CPUs < 0 || o.Deadline < 0 || o.Window < 0:
		return fmt.Errorf("%d CPUs, deadline %v, window %v: none can be negative: %w", o.CPUs, o.Deadline, o.Window, base.ErrBadInput)
	}
	return nil
}

// NewDispatcher returns a Dispatcher that owns g, which may be nil.
func NewDispatcher(g *GPU, o DispatchOptions) (*Dispatcher, error) {
	if err := o.Check(); err != nil {
		return nil, err
	}
	d := &Dispatcher{gpu: g, costs: o.Costs, ratio: o.Ratio, patience: defaultPatience, start: time.Now()}
	d.policy, _ = ParsePolicy(string(o.Policy))
	if d.ratio == 0 {
		d.ratio = DefaultRatio
	}
	if d.costs == nil {
		d.costs = cost.New(cost.Machine{})
	}
	if g == nil && !o.limited() {
		return d, nil
	}
	lanes := 0
	if g != nil {
		lanes = g.lanes
	}
	var err error
	d.pool, err = sched.NewPool(sched.Options{
		Policy: d.policy, CPUs: o.CPUs, Lanes: lanes, MaxQueue: o.MaxQueue, Deadline: o.Deadline, Window: o.Window, Pin: o.Pin,
	})
	return d, err
}

// active reports whether d has anything to decide.
func (d *Dispatcher) active() bool { return d != nil && (d.gpu != nil || d.pool != nil) }

// Close gives the GPU back. Runs that come later go to the CPU. A nil Dispatcher has
// nothing to give back.
func (d *Dispatcher) Close() error {
	if d == nil {
		return nil
	}
	return d.gpu.Close()
}

// GPU returns the GPU, nil if there is none.
func (d *Dispatcher) GPU() *GPU {
	if d == nil {
		return nil
	}
	return d.gpu
}

// Policy returns the policy of queries that ask for no other.
func (d *Dispatcher) Policy() Policy { return d.policy }

// Costs returns the model that predicts.
func (d *Dispatcher) Costs() *cost.Model { return d.costs }

// DispatchStats count what a Dispatcher did.
type DispatchStats struct {
	Policy Policy `json:"policy"`
	// CPUSteps and GPUSteps count the steps of queries by the processor that ran
	// them: a whole OR or AND is one. Migrations are changes between two of a query.
	CPUSteps   int64 `json:"cpu_steps"`
	GPUSteps   int64 `json:"gpu_steps"`
	Migrations int64 `json:"migrations"`
	// GivenUp counts steps that the CPU gave up since the GPU would have ended long before.
	GivenUp int64 `json:"given_up"`
	// Fed counts queries that ran without images of their lists, which were then brought.
	Fed int64 `json:"fed"`
	// Bugs counts panics of work that no query waits for. The log, slog.Default, has their
	// stacks.
	Bugs int64 `json:"bugs,omitempty"`
	// Errors are those of the predictions, by kind of work and class of size.
	Errors []cost.ClassError `json:"prediction_errors,omitempty"`
	// Pool tells of queues; nil if there are none.
	Pool *sched.Stats `json:"pool,omitempty"`
}

// Stats returns the counts as of now.
func (d *Dispatcher) Stats() DispatchStats {
	s := DispatchStats{
		Policy: d.policy, CPUSteps: d.steps[sched.CPU].Load(), GPUSteps: d.steps[sched.GPU].Load(), Migrations: d.migrations.Load(), GivenUp: d.givenUp.Load(), Fed: d.feeder.fed.Load(),
		Bugs: d.bugs.Load(), Errors: d.costs.Errors(),
	}
	if d.pool != nil {
		p := d.pool.Stats()
		s.Pool = &p
	}
	return s
}

// reportBug tells of a panic of work that no query waits for: in builds that check
// invariants it goes on, and ends the process.
func (d *Dispatcher) reportBug(doing string, c *invariant.Caught) {
	d.bugs.Add(1)
	switch {
	case d.onBug != nil:
		d.onBug(c)
	case invariant.Enabled:
		panic(c)
	default:
		slog.Error("griffin: a bug while "+doing+"; queries are answered all the same", "panic", c.Value, "stack", string(c.Stack))
	}
}

// Use lets the Searcher's plans run where d says. It must be called before the first
// Prepare. With nil they run on the CPU.
func (s *Searcher) Use(d *Dispatcher) { s.dispatcher = d }

// UseGPU is Use of a Dispatcher that has g, which may be nil, do what it can at once:
// policy gpu, without queues or limits.
func (s *Searcher) UseGPU(g *GPU) {
	if g == nil {
		s.Use(nil)
		return
	}
	s.Use(g.alone)
}

// run answers a plan, where and when the policy says.
func (d *Dispatcher) run(ctx context.Context, p *Plan, sc *Scratch, dst []base.Hit, trace *Trace) (Answer, error) {
	r := &sc.placed
	r.begin(d, p, sc, dst, trace)
	defer r.end()
	r.decide()
	if d.pool == nil {
		err := r.Run(ctx, r.first())
		if errors.Is(err, sched.ErrFailed) {
			err = r.Run(ctx, sched.CPU)
		}
		return r.result(err)
	}
	own := r.policy() != d.policy
	r.offer(own)
	err := d.pool.Do(ctx, &r.job, r)
	if own && (errors.Is(err, sched.ErrFailed) || errors.Is(err, sched.ErrNoPlace)) {
		r.refusal = cmp.Or(r.refusal, err.Error())
		r.decide()
		until := r.job.Deadline
		if r.offer(false); until != sched.Never {
			r.job.Within = max(until-d.pool.Now(), 1)
		}
		err = d.pool.Do(ctx, &r.job, r)
	}
	return r.result(err)
}

// offer makes the run's job one that the pool may run where the choices say; with a
// policy of its own, only where that one begins.
func (r *placedRun) offer(own bool) {
	j, gpu := &r.job, &r.choices[sched.GPU] // what else the job holds, the pool uses again
	j.Cost = [sched.NumPlaces]time.Duration{r.choices[sched.CPU].total, gpu.total}
	if own {
		j.Cost[1-r.first()] = sched.Never
	}
	j.Batched, j.Work, j.Within, r.waited = r.batched, r.work(), 0, 0
	j.Alone = gpu.to < len(r.lengths) || gpu.path == pipeline.PathDirect
}
