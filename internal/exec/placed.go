package exec

import (
	"context"
	"errors"
	"time"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/cost"
	"github.com/griffin-search/griffin/internal/gpu/pipeline"
	"github.com/griffin-search/griffin/internal/sched"
	"github.com/griffin-search/griffin/internal/traverse"
)

// placedRun is a run of a plan whose steps have places. It implements sched.Work: it
// may be continued at another place wherever it was left. Its memory is a Scratch's.
type placedRun struct {
	d      *Dispatcher
	plan   *Plan
	sc     *Scratch
	trace  *Trace
	job    sched.Job
	waited time.Duration // of what the job waited, what the trace has

	answer Answer
	dst    []base.Hit

	// Where it is: the stage, the lists of it that are done, in the order of the
	// stage, and what is left of a conjunction after them.
	stage int
	pos   int
	last  sched.Place
	moved bool // last is set
	torn  bool // a batch that it was in panicked, and left it anywhere
	have  *pipeline.Candidates
	steps [2]pipeline.Step // the candidates of one become those of the other

	// The GPU: what it holds of the snapshot (nil: not asked for yet) and why it is not
	// used ("": it may be).
	view    *pipeline.View
	refusal string

	// What the policy knows, and what it has chosen: the next piece at each place.
	outlook
	choices [sched.NumPlaces]choice
	other   choice // that is weighed against one of them
	batched time.Duration

	// patience is the context of the CPU where the GPU could take over; gaveUp: it did,
	// in this stage.
	patience patience
	gaveUp   bool

	ticks   uint           // counts pieces that are not all timed
	legs    []traverse.Leg // of a step on the CPU
	query   pipeline.Query
	queries []*pipeline.Query
	results []pipeline.Result
	device  pipeline.Trace
	group   runGroup // of a batch that it leads
}

var _ sched.Work = (*placedRun)(nil)

// choice is a piece of a stage at a place: the lists up to to, which may be all. It is
// large: functions fill it in where it lies.
type choice struct {
	to   int
	path pipeline.Path
	// took is predicted for the piece, total for it and all that follows; sched.Never:
	// it cannot be. parts are what the prediction is of.
	took, total time.Duration
	guessed     bool // the way that it takes on the GPU is not known: nothing is learnt of it
	parts       [maxParts]part
	numParts    int
}

// part is a prediction.
type part struct {
	kind     cost.Kind
	features cost.Features
	took     time.Duration
}

// maxParts is how many predictions of a piece are remembered, to be compared with what
// it takes.
const maxParts = 3

// begin makes c the piece up to a list by a path, of which nothing is predicted yet. It
// leaves the memory of parts as it is.
func (c *choice) begin(to int, path pipeline.Path) {
	c.to, c.path, c.took, c.total, c.guessed, c.numParts = to, path, 0, 0, false, 0
}

// is makes c the piece up to a list that takes so long.
func (c *choice) is(to int, path pipeline.Path, took time.Duration) {
	c.begin(to, path)
	c.took, c.total = took, took
}

// never makes c a piece that cannot be.
func (c *choice) never() {
	c.begin(0, pipeline.PathAuto)
	c.total = sched.Never
}

// add adds a prediction to the piece.
func (c *choice) add(k cost.Kind, f *cost.Features, took time.Duration) {
	if c.numParts < maxParts {
		c.parts[c.numParts] = part{k, *f, took}
		c.numParts++
	}
	c.took += took
	c.total += took
}

// begin makes r a run of a plan.
func (r *placedRun) begin(d *Dispatcher, p *Plan, sc *Scratch, dst []base.Hit, trace *Trace) {
	r.d, r.plan, r.sc, r.trace, r.dst = d, p, sc, trace, dst
	r.rewind()
	r.refusal = p.onCPU
	if d.gpu == nil {
		r.refusal = cpuNoGPU
	}
	if trace != nil {
		trace.Policy = r.policy()
	}
}

// rewind puts r before its first piece.
func (r *placedRun) rewind() {
	r.stage, r.pos, r.have, r.moved, r.torn, r.gaveUp = 0, 0, nil, false, false, false
	r.answer = Answer{}
}

// restart makes r, whose batch panicked, begin again.
func (r *placedRun) restart() {
	r.rewind()
	if r.trace != nil {
		r.trace.Notes = append(r.trace.Notes, "begun again: the batch that it was in met a bug")
	}
	r.decide()
}

// end forgets what the run was of, and gives back what it has of the GPU.
func (r *placedRun) end() {
	if r.view != nil {
		r.d.gpu.end(r.view)
		r.view = nil
	}
	r.d, r.plan, r.sc, r.trace, r.dst, r.answer.Hits = nil, nil, nil, nil, nil, nil
	r.query, r.patience = pipeline.Query{}, patience{}
	for i := range r.steps {
		s := &r.steps[i]
		s.Legs, s.From, s.Result = nil, nil, pipeline.Result{}
	}
	clear(r.results)
	clear(r.legs)
	r.legs = r.legs[:0]
}

// policy is that of the plan or else the dispatcher's.
func (r *placedRun) policy() Policy {
	if r.plan.policy != "" {
		return r.plan.policy
	}
	return r.d.policy
}

// result is the answer, or the error.
func (r *placedRun) result(err error) (Answer, error) {
	if err != nil {
		return Answer{}, err
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

// Run implements sched.Work: it answers what is left of the plan, beginning at a place.
func (r *placedRun) Run(ctx context.Context, at sched.Place) error {
	r.traceWait()
	if r.torn {
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
		r.reckon()
		if err := r.d.pool.Switch(ctx, &r.job, to); err != nil && !errors.Is(err, sched.ErrNoPlace) {
			return err
		}
		r.traceWait()
		at = r.job.Place
	}
}

// reckon tells the pool what the rest takes, as chosen last, of a run that leaves a place. By
// what an earlier piece was to take there, an idle processor might take it back at once.
func (r *placedRun) reckon() {
	for at := range r.choices {
		r.job.Cost[at] = r.choices[at].total
	}
}

// first is where the run begins if no pool says so.
func (r *placedRun) first() sched.Place {
	gpu, cpu := r.choices[sched.GPU].total, r.choices[sched.CPU].total
	if gpu != sched.Never && (r.wantsGPU() || gpu < cpu) {
		return sched.GPU
	}
	return sched.CPU
}

// wantsGPU reports whether the policy takes the GPU wherever it offers it.
func (r *placedRun) wantsGPU() bool {
	p := r.policy()
	return r.d.choose == nil && (p == PolicyGPU || p == PolicyBatch || p == PolicyRatio)
}

// next is where the run goes on that is at a place: for the policies that weigh,
// leaving it must pay.
func (r *placedRun) next(at sched.Place) sched.Place {
	other := 1 - at
	here, there := r.choices[at].total, r.choices[other].total
	switch {
	case there == sched.Never:
		return at
	case here == sched.Never:
		return other
	case r.wantsGPU():
		return sched.GPU
	case r.policy() == PolicyQuery, there >= here:
		return at
	}
	if wait := r.wait(other); wait != sched.Never && float64(there+wait) < r.pays()*float64(here) {
		return other
	}
	return at
}

// pays is the part of the time here that it must take there for the run to leave.
func (r *placedRun) pays() float64 {
	if r.pos > 0 {
		return splitPays
	}
	return 1
}

// advance runs the next piece of the plan, at a place. It is done if that was the last.
// An error that wraps sched.ErrFailed says that the GPU did not do it, and that the run
// may be continued on the CPU.
func (r *placedRun) advance(ctx context.Context, at sched.Place) (done bool, err error) {
	c := &r.choices[at]
	if c.total == sched.Never { // the pool knows better than the policy: on the CPU all can be done
		r.chooseCPU()
		at, c = sched.CPU, &r.choices[sched.CPU]
	}
	began, from := time.Time{}, r.pos
	if r.watches(c.took) || r.trace != nil {
		began = time.Now()
	}
	if at == sched.GPU {
		err = r.onGPU(ctx, c, began)
	} else {
		err = r.onCPU(ctx, c, began)
	}
	if errors.Is(err, errImpatient) {
		r.giveUp(c)
		return false, nil
	}
	if err != nil {
		if !began.IsZero() && ctx.Err() != nil {
			r.tookLonger(c, time.Since(began))
		}
		return false, err
	}
	if !began.IsZero() {
		r.observe(c, from, time.Since(began))
	}
	r.arrive(at)
	if r.pos == len(r.lengths) || r.have != nil && r.have.Len() == 0 {
		return r.endStage(at), nil
	}
	return false, nil
}

// arrive counts a piece that ran at a place.
func (r *placedRun) arrive(at sched.Place) {
	r.d.steps[at].Add(1)
	r.answer.StepsAt[at]++
	if r.moved && r.last != at {
		r.d.migrations.Add(1)
		r.answer.Migrations++
		if r.trace != nil {
			r.trace.Migrations++
		}
	}
	r.last, r.moved = at, true
}

// endStage goes to the next stage, unless there is none or enough was found.
func (r *placedRun) endStage(at sched.Place) (done bool) {
	p := r.plan
	if r.pos < len(r.lengths) { // a conjunction that is empty
		r.answer.Hits, r.answer.Matches = r.dst[:0], 0
		r.finished(at)
	}
	if len(r.answer.Hits) == p.k || r.stage+1 == len(p.stages) {
		return true
	}
	r.dst = r.answer.Hits[:0]
	r.stage++
	r.pos, r.have, r.gaveUp = 0, nil, false
	return false
}

// finished sets what the answer says of the stage that has ended at a place.
func (r *placedRun) finished(at sched.Place) {
	r.answer.Mode = r.plan.stages[r.stage].mode
	if r.answer.Traversal = stepsTraversal; at == sched.GPU {
		r.answer.Traversal = gpuTraversal
	}
}

// work is the length of the shortest list.
func (r *placedRun) work() int64 {
	if len(r.lengths) == 0 {
		return 0
	}
	return r.lengths[0]
}
