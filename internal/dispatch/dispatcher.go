package dispatch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/cost"
	"github.com/griffin-search/griffin/internal/engine"
	"github.com/griffin-search/griffin/internal/gpu/pipeline"
	"github.com/griffin-search/griffin/internal/invariant"
	"github.com/griffin-search/griffin/internal/plan"
	"github.com/griffin-search/griffin/internal/sched"
)

// Dispatcher decides where and when the steps of queries run. It owns the GPU, the predictions
// and the queues that the Searchers of an index share. It is safe for concurrent use.
//
// Without a GPU and without limits it is inactive: a query takes no lock and is not counted.
type Dispatcher struct {
	gpu    *GPU          // nil: none
	engine engine.Engine // answers all queries instead; nil: none
	pool   *sched.Pool   // nil: runs are neither admitted nor queued
	costs  *cost.Model
	crew   *plan.Crew
	policy policy
	ratio  float64
	slots  chan struct{} // of batchSlots; nil: allCPUs
	led    ledBatches
	parts  atomic.Int64 // of batches that are with the GPU, or are planned for it

	start       time.Time
	preloader   preloader
	selectivity selectivity
	steps       [sched.NumPlaces]atomic.Int64 // that ran
	migrations  atomic.Int64
	restarted   atomic.Int64
	bugs        atomic.Int64
	// overrunFactor is defaultOverrunFactor, except in tests; 0: no query restarts.
	overrunFactor float64
	partQueries   int

	// onBug, if set by a test, gets bugs instead of the log.
	onBug func(*invariant.Caught)
}

// Config configures a Dispatcher. The zero value of each field is its default.
type Config struct {
	// Policy chooses places; default PolicyCost.
	Policy Policy
	// Ratio of PolicyRatio; default DefaultRatio.
	Ratio float64
	// CPUs is the number of queries that run on the CPU at the same time, and of goroutines that work
	// for batches; default GOMAXPROCS.
	CPUs int
	// MaxQueue is the number of queries that may wait; excess queries return *sched.Overload.
	// The default is sched.Options': 64 for each of the CPUs, and more with a GPU, but at most
	// 1024. Negative: unlimited.
	MaxQueue int
	// Deadline is the time limit of a query from its arrival (default: none). A query that is
	// predicted to miss it is shed.
	Deadline time.Duration
	// Window is the longest time that a query waits at an idle GPU for others to share a launch;
	// default 0.
	Window time.Duration
	// WorkersPerQuery bounds the CPUs that a query uses at a time, beyond the first only idle ones;
	// 0: all, 1: no query gets helpers.
	WorkersPerQuery int
	// Pin binds threads that run queries on the CPU to processors of their own (Linux).
	Pin bool
	// Admit enables queues and admission without a GPU. CPUs, MaxQueue and Deadline enable them too.
	Admit bool
	// Engine answers all queries instead of the Dispatcher, which only admits them. The Dispatcher
	// closes it. nil: none.
	Engine engine.Engine
	// Costs predicts; nil: an uncalibrated model.
	Costs *cost.Model
	// CostsErr is the reason, from LoadCosts, why the saved file is unusable on any machine,
	// for example damage. The Config is valid all the same.
	CostsErr error
}

func (o *Config) limited() bool {
	return o.Admit || o.CPUs != 0 || o.MaxQueue != 0 || o.Deadline != 0
}

// Check returns an error that wraps base.ErrBadInput if an option cannot be used.
func (o *Config) Check() error {
	_, err := ParsePolicy(string(o.Policy))
	switch {
	case err != nil:
		return err
	case !(o.Ratio >= 0):
		return fmt.Errorf("ratio %g: it cannot be negative: %w", o.Ratio, base.ErrBadInput)
	case o.CPUs < 0 || o.Deadline < 0 || o.Window < 0:
		return fmt.Errorf("%d CPUs, deadline %v, window %v: none can be negative: %w", o.CPUs, o.Deadline, o.Window, base.ErrBadInput)
	case o.WorkersPerQuery < 0:
		return fmt.Errorf("%d workers per query: they cannot be negative: %w", o.WorkersPerQuery, base.ErrBadInput)
	}
	return nil
}

// NewDispatcher returns a Dispatcher that owns g, which may be nil and is nil with an Engine.
func NewDispatcher(g *GPU, o Config) (*Dispatcher, error) {
	if err := o.Check(); err != nil {
		return nil, err
	}
	d := &Dispatcher{gpu: g, engine: o.Engine, costs: o.Costs, ratio: o.Ratio, overrunFactor: defaultOverrunFactor, partQueries: defaultPartQueries, start: time.Now()}
	d.policy, _ = findPolicy(o.Policy)
	if d.ratio == 0 {
		d.ratio = DefaultRatio
	}
	if d.costs == nil {
		d.costs = cost.New(cost.Machine{})
	}
	d.crew = plan.NewCrew(cmp.Or(o.CPUs, runtime.GOMAXPROCS(0)), o.WorkersPerQuery)
	if g == nil && !o.limited() {
		return d, nil
	}
	lanes, slots := 0, cmp.Or(o.CPUs, runtime.GOMAXPROCS(0))
	if g != nil {
		lanes, slots = g.lanes, min(slots, idleCPUs())
	}
	d.slots, d.led = make(chan struct{}, slots), make(ledBatches, max(lanes, 0))
	var err error
	d.pool, err = sched.NewPool(sched.Options{
		Policy: d.Policy(), CPUs: o.CPUs, Lanes: lanes, MaxQueue: o.MaxQueue, Deadline: o.Deadline, Window: o.Window, Pin: o.Pin,
		Beside: launchBeside, MaxLaunch: maxLaunch, Patience: gpuPatience, Feeding: feedingTime,
	})
	return d, err
}

const (
	// launchBeside is the number of queries for each busy lane that a launch beside them is worth: on an H200, 8 launches at
	// the same time take 1.4 ms each with 25 OR queries, and 3.9 ms with 100 (docs/benchmarks/load.md).
	launchBeside = 16
	// maxLaunch is below deadlines of 10 ms, and takes some hundred queries. The launches of several lanes share a GPU, and
	// predictions are of one alone.
	maxLaunch = 6 * time.Millisecond
	// gpuPatience is the time at a busy GPU up to which queries wait there although a CPU is idle. It is longer than the waits
	// of a GPU that keeps up with its queries: in the time that a CPU needs for one query, it could feed about a
	// hundred queries to the GPU.
	gpuPatience = 20 * time.Millisecond
)

// hasSpareCPU reports whether a CPU may take a query that a GPU supports.
func (d *Dispatcher) hasSpareCPU() bool { return d.pool == nil || d.pool.Spare() }

func (d *Dispatcher) isGPUBusy() bool { return d.pool != nil && d.pool.Busy(sched.GPU) }

func (d *Dispatcher) active() bool { return d != nil && (d.gpu != nil || d.pool != nil) }

// Plain reports whether queries run at once on the CPU, by the default engine: there are neither limits nor a GPU.
func (d *Dispatcher) Plain() bool { return !d.active() && d.Engine() == nil }

// Close releases the GPU. Later queries run on the CPU. With an Engine, no query may run then or
// later. A nil Dispatcher has nothing to release.
func (d *Dispatcher) Close() error {
	if d == nil {
		return nil
	}
	if d.engine != nil {
		return d.engine.Close()
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
func (d *Dispatcher) Policy() Policy { return d.policy.info().Name }

// Costs returns the model that predicts.
func (d *Dispatcher) Costs() *cost.Model { return d.costs }

// Stats are the counters of a Dispatcher; griffin.DispatchStats documents them.
type Stats struct {
	Policy     Policy            `json:"policy"` // "" with an engine
	CPUSteps   int64             `json:"cpu_steps"`
	GPUSteps   int64             `json:"gpu_steps"`
	Migrations int64             `json:"migrations"`
	Restarted  int64             `json:"restarted"`
	Preloaded  int64             `json:"preloaded"`
	Bugs       int64             `json:"bugs,omitempty"`
	Shared     int64             `json:"shared,omitempty"`
	Helpers    int64             `json:"helpers,omitempty"`
	Errors     []cost.ClassError `json:"prediction_errors,omitempty"`
	Engine     *engine.Stats     `json:"engine,omitempty"`
	Pool       *sched.Stats      `json:"pool,omitempty"`
}

// Stats returns the counts as of now.
func (d *Dispatcher) Stats() Stats {
	s := Stats{
		Policy: d.Policy(), CPUSteps: d.steps[sched.CPU].Load(), GPUSteps: d.steps[sched.GPU].Load(), Migrations: d.migrations.Load(), Restarted: d.restarted.Load(), Preloaded: d.preloader.preloaded.Load(),
		Bugs: d.bugs.Load(), Errors: d.costs.Errors(),
	}
	crew := d.crew.Stats()
	s.Shared, s.Helpers = crew.Shared, crew.Helpers
	if d.pool != nil {
		p := d.pool.Stats()
		s.Pool = &p
	}
	if d.engine != nil {
		e := d.engine.Stats()
		s.Engine, s.Policy = &e, ""
	}
	return s
}

// reportBug logs a panic of background work. In builds that check invariants it panics again, and ends
// the process.
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

func (d *Dispatcher) run(ctx context.Context, p *Query, sc *Scratch, dst []base.Hit, trace *plan.Trace) (plan.Answer, error) {
	r := &sc.run
	r.begin(ctx, d, p, sc, dst, trace)
	defer r.end()
	r.decide()
	if d.pool == nil {
		err := r.Run(ctx, r.first())
		if errors.Is(err, sched.ErrFailed) {
			err = r.Run(ctx, sched.CPU)
		}
		return r.result(err)
	}
	own := r.plan.policy != nil && r.plan.policy != d.policy
	r.offer(own)
	if r.first() == sched.GPU { // now, so that no lane waits for it
		if err := p.gpu.masks.make(ctx, p, &sc.Scratch); err != nil {
			return r.result(err)
		}
	}
	err := d.pool.Do(ctx, &r.job, r)
	if own && (errors.Is(err, sched.ErrFailed) || errors.Is(err, sched.ErrNoPlace)) {
		r.gpu.refusal = cmp.Or(r.gpu.refusal, err.Error())
		r.decide()
		until := r.job.Deadline
		if r.offer(false); until != sched.Never {
			r.job.Within = max(until-d.pool.Now(), 1)
		}
		err = d.pool.Do(ctx, &r.job, r)
	}
	return r.result(err)
}

// offer fills the run's job from its choices. With own, for a policy that is not the
// Dispatcher's, the pool may run it only where that policy begins.
func (r *queryRun) offer(own bool) {
	j, gpu := &r.job, &r.choices[sched.GPU] // the pool resets the other fields
	j.Cost = [sched.NumPlaces]time.Duration{r.choices[sched.CPU].total, gpu.total}
	if own {
		j.Cost[r.first().Other()] = sched.Never
	}
	j.Batched, j.Work, j.Within, r.trace.waited = r.predictor.batchShare, r.predictor.work(), 0, 0
	j.Patient = r.predictor.leavesCPU
	j.Alone = gpu.to < len(r.predictor.lengths) || gpu.path == pipeline.PathPacked
}
